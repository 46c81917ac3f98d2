//go:build !sim && !race

// (A word of the sim build has more to remember than its value. And the race
// detector has nothing to find here: one goroutine, for a long time.)

package epoch

import (
	"flag"
	"fmt"
	"runtime"
	"testing"

	"xidlab/core"
)

var xids = flag.Int("xids", 1e7, "transactions of each benchmark of memory")

// A keeper is a history that keeps something of the log, in a way of its own.
type keeper struct {
	name string
	// start is called at first, step for each transaction; end, at last, gives up
	// what is kept.
	start func(*Manager)
	step  func(m *Manager, i int)
	end   func(*Manager)

	most float64 // bytes a transaction that may be kept in the meantime
	left float64 // bytes a transaction that may be kept after the end
}

func nothing(*Manager) {}

func finish(m *Manager, commit bool) {
	x := m.Begin()
	err := m.Rollback
	if commit {
		err = m.Commit
	}
	if err(x) != nil {
		panic("it is not active")
	}
}

func keepers() []keeper {
	var guard core.Guard
	return []keeper{
		{"steady", nothing, func(m *Manager, i int) { finish(m, true) }, nothing, 0, 0},
		{"snapshots", nothing, func(m *Manager, i int) { m.Snapshot(core.None); finish(m, true) }, nothing, 0, 0},
		{"aborts pruned", nothing, func(m *Manager, i int) {
			finish(m, i%16 != 0)
			if i%1024 == 0 {
				m.PruneAborted(m.PeekNext())
			}
		}, nothing, 0, 0},
		// A bit for each xid, and a fifth of one for the header.
		{"aborts left", nothing, func(m *Manager, i int) { finish(m, i%16 != 0) },
			func(m *Manager) { m.PruneAborted(m.PeekNext()) }, 1.25 / 8, 0},
		{"open", func(m *Manager) { m.Begin() }, func(m *Manager, i int) { finish(m, true) }, nothing, 0, 0},
		// Words, and 0.03 bytes for headers and the tree.
		{"guard", func(m *Manager) { guard = m.Retain(core.None) }, func(m *Manager, i int) { finish(m, i%16 != 0) },
			func(m *Manager) { guard.Release(); m.PruneAborted(m.PeekNext()) }, 8.05, 0},
		{"gaps under a guard", func(m *Manager) { guard = m.Retain(core.None) }, func(m *Manager, i int) {
			if i%64 == 0 {
				if m.ObserveCommitted(m.PeekNext()+5) != nil {
					panic("it is not above the bound")
				}
			}
			finish(m, true)
		}, func(m *Manager) { guard.Release(); m.PruneAborted(m.PeekNext()) }, 11, 0}, // of a gap about 200
	}
}

// fixed is what a small manager may keep besides: spares, a few segments that have
// not collapsed yet, and what the runtime takes for itself.
const fixed = 1 << 16

// run makes n transactions, and returns the bytes that were kept before the end and
// after it, and those that were asked for.
func (k keeper) run(o Options, n int) (kept, left, asked float64) {
	m := With(o)
	k.start(m)
	before, base := allocated()
	for i := range n {
		k.step(m, i)
	}
	during, live := allocated()
	k.end(m)
	for range 1<<17 + n/16 { // collapsing goes with the making of segments
		finish(m, true)
	}
	_, after := allocated()
	runtime.KeepAlive(m)
	return live - base, after - base, during - before
}

// allocated returns how many bytes were ever asked for, and how many are live.
func allocated() (asked, live float64) {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.TotalAlloc), float64(s.HeapAlloc)
}

// TestMemoryIsBounded by what is kept for somebody, and given back when he leaves;
// and no cost grows with the square of the history. In a small manager, so that
// there are many segments; the figures for those of the usual size, and for a
// thousand million transactions, are those of BenchmarkMemory.
func TestMemoryIsBounded(t *testing.T) {
	const n = 1 << 17
	for _, reclaim := range []Reclaim{Collect, Recycle} {
		for _, k := range keepers() {
			t.Run(fmt.Sprintf("%s, %v", k.name, reclaim), func(t *testing.T) {
				o := Options{Reclaim: reclaim, Segment: 256, Block: 16}
				const header = 0.75 // bytes a transaction in so small a segment, at most, where any are kept
				_, _, once := k.run(o, n)
				kept, left, asked := k.run(o, 4*n)
				most := k.most
				if most > 0 {
					most += header
				}
				if b := (kept - fixed) / float64(4*n); b > most {
					t.Errorf("%.2f bytes a transaction are kept, %.2f at most are allowed", b, most)
				}
				if b := (left - fixed) / float64(4*n); b > k.left {
					t.Errorf("%.2f bytes a transaction are kept after the end", b)
				}
				if asked > 6*once+fixed {
					t.Errorf("%.0f bytes for %d transactions, %.0f for four times as many: it grows with the square", once, n, asked)
				}
			})
		}
	}
}

// BenchmarkMemory has an operation for each transaction, at a tenth of -xids and
// at -xids. "kept" and "left" are bytes a transaction before somebody who keeps
// them has left, and after.
func BenchmarkMemory(b *testing.B) {
	for _, reclaim := range []Reclaim{Collect, Recycle} {
		for _, k := range keepers() {
			for _, n := range []int{*xids / 10, *xids} {
				b.Run(fmt.Sprintf("%s/%v/xids=%d", k.name, reclaim, n), func(b *testing.B) {
					if b.N > 1 {
						b.Skip("run with -benchtime 1x: an operation is the whole history")
					}
					kept, left, asked := k.run(Options{Reclaim: reclaim}, n)
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/xid")
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(kept/float64(n), "kept-B/xid")
					b.ReportMetric(kept/(1<<20), "kept-MiB")
					b.ReportMetric(left/(1<<20), "left-MiB")
					b.ReportMetric(asked/float64(n), "asked-B/xid")
				})
			}
		}
	}
}
