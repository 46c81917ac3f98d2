package pin

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onThread runs f on a goroutine that ends with its thread.
func onThread(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Wait()
}

// mustPin pins, or skips the test where the system forbids it.
func mustPin(t *testing.T, cpu int) *Pin {
	p, err := Thread(cpu)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allowed(t *testing.T) []int {
	t.Helper()
	ids, err := Allowed()
	if err != nil || len(ids) == 0 {
		t.Fatalf("allowed CPUs: %v, %v", ids, err)
	}
	return ids
}

func TestThreadEveryAllowedCPU(t *testing.T) {
	for _, cpu := range allowed(t) {
		onThread(func() {
			p := mustPin(t, cpu)
			for range 100 {
				if err := p.Verify(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
}

// TestAllowedOutlivesPins pins so many threads that one of them is the main
// thread, as often as not.
func TestAllowedOutlivesPins(t *testing.T) {
	want := allowed(t)
	for range 20 {
		onThread(func() { mustPin(t, want[0]) })
	}
	if got := allowed(t); !slices.Equal(got, want) {
		t.Errorf("allowed CPUs %v became %v", want, got)
	}
	if got := len(ReadTopology().Order()); got != len(want) {
		t.Errorf("%d CPUs to use of %d allowed", got, len(want))
	}
}

func TestThreadRefused(t *testing.T) {
	ids := allowed(t)
	for _, cpu := range []int{-1, slices.Max(ids) + 1, 1 << 20} {
		onThread(func() {
			runtime.LockOSThread()
			var before unix.CPUSet
			if err := unix.SchedGetaffinity(0, &before); err != nil {
				t.Error(err)
				return
			}
			p, err := Thread(cpu)
			if err == nil {
				t.Errorf("pinned to CPU %d: %+v", cpu, p)
				return
			}
			if !strings.HasPrefix(err.Error(), "pin to CPU ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("CPU %d: unclear error: %v", cpu, err)
			}
			var after unix.CPUSet
			if err := unix.SchedGetaffinity(0, &after); err != nil || !slices.Equal(members(&after), members(&before)) {
				t.Errorf("CPU %d: a refusal left the thread with CPUs %v, %v", cpu, members(&after), err)
			}
		})
	}
}

func TestVerifyNoticesAMove(t *testing.T) {
	ids := allowed(t)
	if len(ids) < 2 {
		t.Skip("one CPU: nowhere to move to")
	}
	onThread(func() {
		p := mustPin(t, ids[0])
		var other unix.CPUSet
		other.Set(ids[1])
		if err := unix.SchedSetaffinity(0, &other); err != nil {
			t.Error(err)
			return
		}
		if err := p.Verify(); err == nil || !strings.Contains(err.Error(), "verify pin") {
			t.Errorf("moved away, Verify says %v", err)
		}
		other.Set(ids[0])
		if err := unix.SchedSetaffinity(0, &other); err != nil {
			t.Error(err)
			return
		}
		if err := p.Verify(); err == nil || !strings.Contains(err.Error(), "may run on") {
			t.Errorf("mask widened, Verify says %v", err)
		}
	})
}

// TestStarvedThread pins two spinning threads to one CPU and waits until their
// usage shows it.
func TestStarvedThread(t *testing.T) {
	cpu := allowed(t)[0]
	shares := make([]float64, 2)
	var wg sync.WaitGroup
	deadline := time.Now().Add(20 * time.Second)
	for i := range shares {
		wg.Go(func() {
			mustPin(t, cpu)
			before, start := ThreadUsage(), time.Now()
			if before.RunDelay == Unknown {
				shares[i] = Unknown
				return
			}
			for shares[i] = 1; shares[i] > 0.8 && time.Now().Before(deadline); {
				for spin := time.Now(); time.Since(spin) < 10*time.Millisecond; {
				}
				shares[i] = ThreadUsage().Sub(before).Share(time.Since(start))
			}
		})
	}
	wg.Wait()
	for i, share := range shares {
		if share == Unknown {
			t.Skip("this kernel keeps no run delay")
		}
		// The first to see it stops; the other one may then have the CPU alone.
		if share > 0.95 {
			t.Errorf("thread %d of 2 on one CPU got a share of %.2f", i, share)
		}
	}
}

func TestProcessUsageGrows(t *testing.T) {
	before, machine := ProcessUsage(), MachineUsage()
	for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
	}
	used := ProcessUsage().Sub(before)
	if used.CPU <= 0 || used.Voluntary < 0 || used.Involuntary < 0 {
		t.Errorf("after spinning: %+v", used)
	}
	if lost := MachineUsage().Sub(machine); lost.Steal < Unknown || lost.Pressure < Unknown {
		t.Errorf("disturbance %+v", lost)
	}
}
