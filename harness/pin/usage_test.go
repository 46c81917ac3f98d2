package pin

import (
	"testing"
	"time"
)

func TestUsageSub(t *testing.T) {
	before := Usage{CPU: 10, RunDelay: Unknown, Voluntary: 5, Involuntary: 9}
	after := Usage{CPU: 30, RunDelay: 7, Voluntary: Unknown, Involuntary: 4}
	want := Usage{CPU: 20, RunDelay: Unknown, Voluntary: Unknown, Involuntary: 0}
	if got := after.Sub(before); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (Disturbance{Steal: 3, Pressure: Unknown}).Sub(Disturbance{Steal: 1, Pressure: 1}); got != (Disturbance{2, Unknown}) {
		t.Errorf("got %+v", got)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		name string
		u    Usage
		want float64
	}{
		{"half of the time it waited", Usage{CPU: 50, RunDelay: 50}, 0.5},
		{"blocking on a lock is not the machine's fault", Usage{CPU: 50, RunDelay: 0}, 1},
		{"without the run delay all is counted", Usage{CPU: 50, RunDelay: Unknown}, 0.5},
		{"never more than all", Usage{CPU: 101, RunDelay: Unknown}, 1},
		{"unknown", Usage{CPU: Unknown, RunDelay: 3}, Unknown},
		{"did not want to run", Usage{}, 1},
	} {
		if got := c.u.Share(100 * time.Nanosecond); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
