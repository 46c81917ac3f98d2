package variants

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"xidlab/core"
)

// These are for benchstat and for a quick look; the figures of the laboratory
// come from xbench run, which pins, interleaves and measures references.

// actives is how many transactions are open, and idle.
var actives = []int{0, 16, 256, 4096}

// turns runs turn from all threads, on every variant beside every number of
// active transactions.
func turns(b *testing.B, actives []int, turn func(core.Manager) error) {
	for _, active := range actives {
		for _, v := range All {
			b.Run(fmt.Sprintf("active=%d/variant=%s", active, v.Name), func(b *testing.B) {
				m := withActive(v, active)
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := turn(m); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}

func BenchmarkBeginCommit(b *testing.B) {
	turns(b, actives, func(m core.Manager) error { return m.Commit(m.Begin()) })
}

func BenchmarkBeginSnapshotCommit(b *testing.B) {
	turns(b, actives, func(m core.Manager) error {
		x := m.Begin()
		m.Snapshot(x)
		return m.Commit(x)
	})
}

func BenchmarkAllocateCommitted(b *testing.B) {
	turns(b, []int{0}, func(m core.Manager) error {
		core.AllocateCommitted(m)
		return nil
	})
}

// BenchmarkGoroutines: many more goroutines than processors, each of which gives
// way now and then, as one does that waits for a client.
func BenchmarkGoroutines(b *testing.B) {
	for _, n := range []int{2, 64, 10_000} {
		for _, v := range All {
			b.Run(fmt.Sprintf("goroutines=%d/variant=%s", n, v.Name), func(b *testing.B) {
				m := v.New()
				var wg sync.WaitGroup
				for g := range n {
					turns := b.N / n
					if g < b.N%n {
						turns++
					}
					wg.Go(func() {
						for i := range turns {
							x := m.Begin()
							m.Snapshot(x)
							if err := m.Commit(x); err != nil {
								b.Error(err)
							}
							if i%16 == 0 {
								runtime.Gosched()
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// BenchmarkSnapshot is a phase in which nothing finishes.
func BenchmarkSnapshot(b *testing.B) {
	for _, active := range actives {
		for _, v := range All {
			b.Run(fmt.Sprintf("active=%d/variant=%s", active, v.Name), func(b *testing.B) {
				m := withActive(v, active)
				core.AllocateCommitted(m) // or all would be active, which some need no copy for
				b.ReportAllocs()
				for b.Loop() {
					sink = m.Snapshot(core.None)
				}
			})
		}
	}
}
