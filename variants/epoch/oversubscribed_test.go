package epoch

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"xidlab/core"
	"xidlab/internal/invariants"
)

// TestOversubscribed: ten thousand goroutines on a few processors do the same work as 2,
// though most of them are stopped in the middle of something, with transactions
// open and guards held. Nothing is claimed about time here: see xbench run -threads.
func TestOversubscribed(t *testing.T) {
	work := 40_000
	if testing.Short() {
		work /= 4
	}
	crowd := 10_000
	if invariants.Enabled {
		crowd, work = 1_000, work/4 // the race detector takes 8128 at most, and its time
	}
	for _, goroutines := range []int{2, 64, crowd} {
		for _, o := range []Options{{}, {Block: 1}, {Segment: 256, Block: 4, Cursors: 2, Reclaim: Recycle}} {
			t.Run(fmt.Sprintf("%d goroutines, %+v", goroutines, o), func(t *testing.T) {
				m := With(o)
				oversubscribe(t, m, goroutines, work/goroutines)
				if err := soakEnds(m, uint64(goroutines)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// oversubscribe lets goroutines do units of work each, all at the same time, and
// checks what each can know.
func oversubscribe(t *testing.T, m *Manager, goroutines, units int) {
	var failed atomic.Pointer[string]
	fail := func(format string, args ...any) {
		s := fmt.Sprintf(format, args...)
		failed.CompareAndSwap(nil, &s)
	}
	xids := make([][]core.Xid, goroutines)
	var started, done sync.WaitGroup
	started.Add(goroutines)
	for i := range goroutines {
		done.Go(func() {
			started.Done()
			started.Wait()
			var latest core.Xid // committed
			for n := range units {
				x := m.Begin()
				xids[i] = append(xids[i], x)
				var s core.Snapshot
				var g core.Guard
				if n%4 == 0 {
					g = m.Retain(x)
					s = g.Snapshot
				} else {
					s = m.Snapshot(x)
				}
				runtime.Gosched() // with all this open
				if contradicts(s, x, true) || contradicts(s, latest, true) {
					fail("the snapshot of %d does not include it, or %d, which has committed", x, latest)
				}
				if n%16 == 0 {
					if h, ok := m.OldestRequired(); !ok || h > x {
						fail("%d is active, and the horizon is %d, %v", x, h, ok)
					}
				}
				if n%8 == 7 {
					if err := m.Rollback(x); err != nil {
						fail("%v", err)
					}
				} else if err := m.Commit(x); err != nil {
					fail("%v", err)
				} else {
					latest = x
				}
				if n%4 == 0 && !g.Release() {
					fail("the guard of %d ends twice", x)
				}
				if want := n%8 != 7; contradicts(m.Snapshot(core.None), x, want) {
					fail("a snapshot says %v of %d, which is %v", !want, x, m.Status(x))
				}
				if failed.Load() != nil {
					return
				}
			}
		})
	}
	done.Wait()
	if f := failed.Load(); f != nil {
		t.Fatal(*f)
	}
	all := slices.Concat(xids...)
	if len(all) != goroutines*units {
		t.Fatalf("%d transactions, want %d", len(all), goroutines*units)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d of %d xids were handed out twice", len(all)-n, len(all))
	}
	if forgot, want := m.PruneAborted(m.PeekNext()), goroutines*(units/8); forgot != want {
		t.Errorf("%d rollbacks are forgotten, want %d", forgot, want)
	}
	now := m.Snapshot(core.None)
	for _, x := range all {
		if !now.Includes(x) {
			t.Fatalf("at the end a snapshot does not include %d, which is %v", x, m.Status(x))
		}
	}
}

// contradicts reports whether s says something else of x. One that nobody guards may
// say nothing, if the goroutine stood still for long.
func contradicts(s core.Snapshot, x core.Xid, want bool) bool {
	got, err := s.Lookup(x)
	return err == nil && got != want || err != nil && !errors.Is(err, core.ErrTooOld)
}
