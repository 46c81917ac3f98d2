package pin

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/loov/hrtime"
)

func TestClock(t *testing.T) {
	for _, c := range []Clock{newMonotonic(), NewClock()} {
		// A preemption between the reads of the two clocks spoils a try.
		ratio := 0.0
		for try := 0; try < 20 && (ratio < 0.99 || ratio > 1.01); try++ {
			start, wall := c.Now(), time.Now()
			last := start
			for time.Since(wall) < 10*time.Millisecond {
				now := c.Now()
				if now < last {
					t.Fatalf("%s went from %d back to %d", c.Name(), last, now)
				}
				last = now
			}
			ratio = c.Nanoseconds(c.Now()-start) / float64(time.Since(wall))
		}
		if ratio < 0.99 || ratio > 1.01 {
			t.Errorf("%s runs at %.3f of the system's clock", c.Name(), ratio)
		}
		if o := c.Nanoseconds(c.Overhead()); o < 0 || o > 1e6 {
			t.Errorf("%s: a read costs %v ns", c.Name(), o)
		}
	}
}

func TestClockChoice(t *testing.T) {
	const file = "devices/system/clocksource/clocksource0/available_clocksource"
	for _, c := range []struct {
		available string
		want      bool
	}{
		{"tsc kvm-clock acpi_pm", hrtime.TSCSupported()},
		{"kvm-clock tsc-early acpi_pm", false}, // the kernel has struck tsc out
	} {
		sys := fstest.MapFS{file: {Data: []byte(c.available + "\n")}}
		if got := tscTrusted(sys); got != c.want {
			t.Errorf("with %q: trusted %v, want %v", c.available, got, c.want)
		}
	}
	if got := tscTrusted(fstest.MapFS{}); got != hrtime.TSCSupported() {
		t.Errorf("without sysfs: trusted %v", got)
	}
}

func BenchmarkClock(b *testing.B) {
	for _, c := range []Clock{newMonotonic(), NewClock()} {
		b.Run(c.Name(), func(b *testing.B) {
			for b.Loop() {
				c.Now()
			}
		})
	}
}
