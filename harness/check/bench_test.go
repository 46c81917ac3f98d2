package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"xidlab/core"
	"xidlab/harness/history"
)

// simulate returns what so many workers would record of a correct manager: each
// operation takes effect at its moment of one order, and its interval overlaps
// those of the other workers. Reads adds the other operations to begins, finishes
// and snapshots. The first hung commits never return.
func simulate(n, workers int, reads bool, hung int, seed uint64) *history.History {
	return simulateSpread(n, workers, reads, hung, seed, 10*workers)
}

// simulateSpread says how far calls and returns are from the effect, at most. A
// new effect comes every 10.
func simulateSpread(n, workers int, reads bool, hung int, seed uint64, spread int) *history.History {
	r := rand.New(rand.NewPCG(seed, 9))
	h := &history.History{Header: history.Header{Manager: "simulated", Ordered: true, Clock: history.Nanoseconds}, Ops: make([]history.Op, 0, n+2*hung)}
	next, now, snap := core.Xid(1), int64(0), uint64(0)
	var active, aborted core.XidSet
	end := func(x core.Xid) {
		i, _ := slices.BinarySearch(active, x)
		active = slices.Delete(active, i, i+1)
	}
	for i := range hung {
		h.Ops = append(h.Ops,
			history.Op{Worker: int32(workers + i), Kind: history.Begin, Xid: next, Call: now, Return: now},
			history.Op{Worker: int32(workers + i), Kind: history.Commit, Xid: next, Call: now + 1, Return: history.Pending})
		active = append(active, next)
		next++
	}
	now = 100
	free := make([]int64, workers)
	open := make([][]core.Xid, workers)
	guards := make([]uint64, workers)
	held := make([]core.Xid, workers) // the bound of each one's guard, and the oldest active then
	for len(h.Ops) < n {
		w := r.IntN(workers)
		at := max(now, free[w]) + 5
		now += 10
		o := history.Op{Worker: int32(w), Call: max(free[w]+1, at-int64(r.IntN(spread))), Return: at + int64(r.IntN(spread))}
		now = max(now, at)
		mine := open[w]
		take := func() core.Xid {
			k := r.IntN(len(mine))
			x := mine[k]
			open[w] = slices.Delete(mine, k, k+1)
			end(x)
			return x
		}
		k := r.IntN(20)
		switch {
		case k < 9 && len(mine) > 0:
			o.Kind = history.Snapshot
			snap++
			o.Snap, o.Next, o.Full, o.Set = snap, next, true, slices.Clone(active)
			if k < 4 {
				o.Xid, o.Other = mine[0], mine[0]
			}
		case len(mine) == 0 || len(mine) < 3 && k < 15:
			o.Kind, o.Xid = history.Begin, next
			open[w] = append(mine, next)
			active = append(active, next)
			next++
		case k < 18 || !reads:
			if o.Kind, o.Xid = history.Commit, take(); r.IntN(10) == 0 {
				o.Kind = history.Rollback
				aborted = append(aborted, o.Xid)
			}
		default:
			readOp(r, &o, active, aborted, next, w, guards, held, &snap)
		}
		// In the order of the effects, the intervals of a worker do not overlap,
		// and each contains its effect; that is all that is needed.
		free[w] = o.Return
		h.Ops = append(h.Ops, o)
	}
	slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	return h
}

func readOp(r *rand.Rand, o *history.Op, active, aborted core.XidSet, next core.Xid, w int, guards []uint64, held []core.Xid, snap *uint64) {
	horizon := next
	if len(active) > 0 {
		horizon = active[0]
	}
	for i, g := range guards {
		if g != 0 {
			horizon = min(horizon, held[i])
		}
	}
	status := func(x core.Xid) core.Status {
		if _, ok := slices.BinarySearch(active, x); ok {
			return core.Active
		}
		if slices.Contains(aborted[max(0, len(aborted)-200):], x) {
			return core.Aborted
		}
		return core.Committed
	}
	recent := next - 1 - core.Xid(r.IntN(int(min(next-1, 50))))
	switch r.IntN(7) {
	case 0:
		o.Kind, o.Xid, o.Status = history.Status, recent, status(recent)
	case 1:
		o.Kind, o.Xid = history.IsActive, recent
		o.Yes = status(recent) == core.Active
	case 2:
		if o.Kind = history.OldestActive; len(active) > 0 {
			o.Xid, o.Yes = active[0], true
		}
	case 3:
		o.Kind, o.Xid, o.Yes = history.OldestRequired, horizon, horizon < next
	case 4:
		o.Kind, o.Xid = history.ReservesUniqueKey, recent
		o.Yes = status(recent) != core.Aborted
	case 5:
		o.Kind, o.Next = history.PeekNext, next
	case 6:
		if guards[w] == 0 {
			*snap++
			o.Kind, o.Snap, o.Next, o.Full, o.Set = history.Retain, *snap, next, true, slices.Clone(active)
			// What it may hide is at or above the oldest active, or the bound.
			guards[w], held[w] = *snap, horizonOf(active, next)
		} else {
			o.Kind, o.Of, o.Yes = history.Release, guards[w], true
			guards[w] = 0
		}
	}
}

func horizonOf(active core.XidSet, next core.Xid) core.Xid {
	if len(active) > 0 {
		return active[0]
	}
	return next
}

// TestHungCommits: each commit that never returned may have taken effect or not;
// a search tries them all, this checker none.
func TestHungCommits(t *testing.T) {
	for _, hung := range []int{14, 64} {
		h := simulate(1000, 4, true, hung, 1)
		if err := h.Validate(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if v := Check(h); v.Violation != nil || v.Undecided > 0 {
			t.Errorf("%d hung commits: %v", hung, v)
		}
		took := time.Since(start)
		t.Logf("%d hung commits in %d operations: %v", hung, len(h.Ops), took)
		if took > 5*time.Second {
			t.Errorf("%d hung commits took %v", hung, took)
		}
	}
}

// TestSimulated: the histories that the benchmark is made of are good, and a
// torn snapshot in the middle is found.
func TestSimulated(t *testing.T) {
	for _, reads := range []bool{false, true} {
		h := simulate(20_000, 8, reads, 3, 7)
		if err := h.Validate(); err != nil {
			t.Fatal(err)
		}
		if v := Check(h); v.Violation != nil || v.Undecided > 0 {
			t.Fatalf("reads %v: %v", reads, v.Violation)
		}
		for i := len(h.Ops) / 2; ; i++ {
			if o := &h.Ops[i]; o.Kind == history.Snapshot && len(o.Set) > 3 {
				o.Set = slices.Delete(o.Set, len(o.Set)/2, len(o.Set)/2+1)
				break
			}
		}
		v := Check(h).Violation
		if v == nil || len(v.Ops) < 2 || len(v.Ops) > 4 {
			t.Fatalf("reads %v: a torn snapshot: %v", reads, v)
		}
		t.Log(v)
	}
}

// BenchmarkCheck shows how the cost grows, and porcupine's for the sizes that it
// can do.
func BenchmarkCheck(b *testing.B) {
	sizes := []int{1e4, 1e5, 1e6}
	if *long {
		sizes = append(sizes, 1e7)
	}
	for _, reads := range []bool{false, true} {
		for _, workers := range []int{2, 8} {
			for _, n := range sizes {
				name := fmt.Sprintf("ops=%d/workers=%d/reads=%v", n, workers, reads)
				b.Run("checker=ours/"+name, func(b *testing.B) {
					h := simulate(n, workers, reads, 0, 1)
					runtime.GC()
					b.ReportAllocs()
					b.ResetTimer()
					for b.Loop() {
						if v := Check(h); v.Violation != nil {
							b.Fatal(v.Violation)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/history-op")
				})
				if !reads && (n <= 1e4 || *long && n <= 1e5) {
					b.Run("checker=porcupine/"+name, func(b *testing.B) {
						h := simulate(n, workers, reads, 0, 1)
						for b.Loop() {
							if porcupine.CheckOperationsTimeout(large, largeCalls(h), time.Minute) != porcupine.Ok {
								b.Skip("porcupine gave no answer within a minute")
							}
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/history-op")
					})
				}
			}
		}
	}
}

// A largeState is the state that begins, finishes and snapshots need, for
// histories of any size.
type largeState struct {
	next   core.Xid
	active core.XidSet
	hash   uint64
}

func mix(x core.Xid) uint64 {
	z := uint64(x) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	return z ^ z>>27
}

// large is porcupine's model for them, as fast as that can be made.
var large = porcupine.Model{
	Init: func() any { return &largeState{next: 1} },
	Step: func(s, in, _ any) (bool, any) {
		st, o := s.(*largeState), in.(*history.Op)
		switch o.Kind {
		case history.Begin:
			if o.Xid != st.next {
				return false, s
			}
			return true, &largeState{st.next + 1, append(slices.Clone(st.active), o.Xid), st.hash ^ mix(o.Xid)}
		case history.Commit, history.Rollback:
			i, ok := slices.BinarySearch(st.active, o.Xid)
			if !ok {
				return false, s
			}
			return true, &largeState{st.next, slices.Delete(slices.Clone(st.active), i, i+1), st.hash ^ mix(o.Xid)}
		}
		return o.Next == st.next && slices.Equal(o.Set, st.active), s
	},
	Equal: func(a, b any) bool {
		x, y := a.(*largeState), b.(*largeState)
		return x.next == y.next && x.hash == y.hash && slices.Equal(x.active, y.active)
	},
	Hash: func(s any) uint64 { return s.(*largeState).hash ^ mix(s.(*largeState).next) },
}

func largeCalls(h *history.History) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(h.Ops))
	for i := range h.Ops {
		o := &h.Ops[i]
		ops[i] = porcupine.Operation{ClientId: int(o.Worker), Input: o, Call: o.Call, Return: o.Return}
	}
	return ops
}
