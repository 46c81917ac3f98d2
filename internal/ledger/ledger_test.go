package ledger

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"xidlab/core"
)

// TestFind compares the search with a simple one, on sets of every shape that
// its narrowing depends on: dense, sparse, with a gap.
func TestFind(t *testing.T) {
	for _, a := range [][]core.Xid{
		nil, {5}, {5, 6, 7, 8, 9}, {1, 2, 3, 4, 50}, {1, 47, 48, 49, 50}, {3, 9, 10, 30, 31, 32, 40}, {7, core.MaxXid},
	} {
		for x := range core.Xid(55) {
			i, ok := Find(a, x)
			if want, found := slices.BinarySearch(a, x); i != want || ok != found {
				t.Errorf("Find(%v, %d) = %d, %v, want %d, %v", a, x, i, ok, want, found)
			}
		}
	}
}

// TestAscending compares the deque with a plain sorted slice.
func TestAscending(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s Ascending
	var want []core.Xid
	next := core.Xid(1)
	for step := range 20_000 {
		x := core.Xid(rng.Uint64N(uint64(next) + 2))
		i, there := slices.BinarySearch(want, x)
		switch {
		case len(want) < 8+step%100:
			s.Push(next)
			want = append(want, next)
			next += 1 + core.Xid(rng.Uint64N(3))
		case there || rng.IntN(4) > 0:
			if !there { // most xids are gone
				i = rng.IntN(len(want))
				x = want[i]
			}
			if !s.Has(x) || !s.Remove(x) || s.Has(x) {
				t.Fatalf("%d was an element, and did not leave once", x)
			}
			want = slices.Delete(want, i, i+1)
		case x < next:
			if s.Has(x) || s.Remove(x) {
				t.Fatalf("%d was no element, and left", x)
			}
			s.Insert(x)
			want = slices.Insert(want, i, x)
		}
		if !slices.Equal(s.All(), want) {
			t.Fatalf("the set is %v, want %v", s.All(), want)
		}
	}
}

// TestDequeReusesItsSpace: the set does not grow with what passes through it.
func TestDequeReusesItsSpace(t *testing.T) {
	var s Ascending
	for x := core.Xid(1); x <= 100_000; x++ {
		s.Push(x)
		if x > 10 && !s.Remove(x-10) {
			t.Fatalf("%d is not there", x-10)
		}
	}
	if len(s.All()) != 10 || cap(s.buf) > 64 {
		t.Errorf("10 elements take a capacity of %d (%d are there)", cap(s.buf), len(s.All()))
	}
}

// TestAborts is a history: what is forgotten is what had aborted before a
// prune, below its bound, unpinned; a snapshot knows what it can, and says so
// when it cannot.
func TestAborts(t *testing.T) {
	var a Aborts
	var pins Pins
	a.Add(3, 5)
	a.Add(8, 7)
	a.Add(1, 6)
	a.Add(2, 4)
	pins.Add(2)
	committed := func(when string, x core.Xid, at uint64, want bool, wantErr error) {
		t.Helper()
		if got, err := a.Committed(x, at); got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: Committed(%d, %d) = %v, %v, want %v, %v", when, x, at, got, err, want, wantErr)
		}
	}
	rolledBack := func(when string, x core.Xid, at uint64, want bool, wantErr error) {
		t.Helper()
		if got, err := a.RolledBack(x, at); got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: RolledBack(%d, %d) = %v, %v, want %v, %v", when, x, at, got, err, want, wantErr)
		}
	}
	current := func(when string, kept int, stale bool, want ...core.Xid) {
		t.Helper()
		if set := a.AppendTo(nil); !slices.Equal(set, want) || a.Len() != kept || a.Stale() != stale {
			t.Errorf("%s: %v count as aborted, of %d (stale %v), want %v of %d (%v)", when, set, a.Len(), a.Stale(), want, kept, stale)
		}
		for x := range core.Xid(10) {
			if a.Aborted(x) != slices.Contains(want, x) {
				t.Errorf("%s: Aborted(%d) = %v", when, x, a.Aborted(x))
			}
		}
	}
	current("before", 4, false, 1, 2, 3, 8)
	committed("before", 3, 9, false, nil)
	committed("before", 4, 9, true, nil)

	// 1 aborted at the prune's instant, 8 is not below, 2 is pinned.
	if n := a.Forget([]Prune{{Below: 8, At: 6}}, 10, &pins); n != 1 {
		t.Errorf("Forget marked %d, want 1", n)
	}
	current("forgotten", 4, true, 1, 2, 8)
	committed("forgotten", 3, 9, false, nil)
	committed("forgotten", 3, 10, true, nil)
	rolledBack("forgotten", 3, 9, true, nil)
	rolledBack("forgotten", 4, 9, false, nil)
	a.Drop(9) // a guard of that instant knew 3 as aborted
	current("kept", 4, true, 1, 2, 8)
	if lo, hi := a.Bounds(); lo != 1 || hi != 8 {
		t.Errorf("Bounds() = %d, %d", lo, hi)
	}

	a.Drop(10)
	current("dropped", 3, false, 1, 2, 8)
	committed("dropped", 3, 10, true, nil)
	for _, x := range []core.Xid{3, 0} { // whatever is not above what has left
		committed("dropped", x, 9, false, core.ErrTooOld)
		rolledBack("dropped", x, 9, false, core.ErrTooOld)
		rolledBack("dropped", x, 10, false, nil)
	}
	committed("dropped", 4, 9, true, nil)
	rolledBack("dropped", 4, 9, false, nil)
	committed("dropped", 2, 9, false, nil)

	// Of two prunes, each xid is covered by the first after its abort.
	pins.Remove(2)
	if n := a.Forget([]Prune{{Below: 9, At: 7}, {Below: 3, At: 8}}, 11, &pins); n != 2 {
		t.Errorf("Forget marked %d, want 1 and 2", n)
	}
	current("two prunes", 3, true, 8)
	if n := a.Forget([]Prune{{Below: 9, At: 8}}, 12, &pins); n != 1 {
		t.Errorf("Forget marked %d again, want 8 only", n)
	}
	a.Drop(math.MaxUint64)
	current("all gone", 0, false)
	if lo, hi := a.Bounds(); lo <= hi {
		t.Errorf("nothing is between %d and %d", lo, hi)
	}
}

// TestPrunesWait for the guards that are older than they, and what they cover
// then does not depend on which of them are taken together.
func TestPrunesWait(t *testing.T) {
	waiting := Prunes{{Below: 5, At: 1}, {Below: 9, At: 3}, {Below: 7, At: 4}, {Below: 2, At: 8}}
	if got := waiting.Take(0); got != nil || len(waiting) != 4 {
		t.Errorf("under an older guard %v may go on", got)
	}
	if got, want := waiting.Take(4), []Prune{{9, 1}, {9, 3}, {7, 4}}; !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	if want := (Prunes{{Below: 2, At: 8}}); !slices.Equal(waiting, want) {
		t.Errorf("%v wait, want %v", waiting, want)
	}
	if got := waiting.Take(math.MaxUint64); len(got) != 1 || len(waiting) != 0 {
		t.Errorf("without a guard %v go on and %v wait", got, waiting)
	}
}

// TestPins compares with a map.
func TestPins(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var p Pins
	want := map[core.Xid]int{}
	for range 5000 {
		x := 1 + core.Xid(rng.Uint64N(20))
		if rng.IntN(2) == 0 {
			if err := p.Add(x); err != nil {
				t.Fatal(err)
			}
			want[x]++
		} else {
			p.Remove(x)
			if want[x]--; want[x] <= 0 {
				delete(want, x)
			}
		}
		smallest := core.MaxXid + 1
		for y := range want {
			smallest = min(smallest, y)
		}
		oldest, ok := p.Oldest()
		if p.Count(x) != want[x] || ok != (len(want) > 0) || ok && oldest != smallest {
			t.Fatalf("Count(%d) = %d, Oldest() = %d, %v with %v", x, p.Count(x), oldest, ok, want)
		}
	}
}

// TestPinsRefuse what is no xid, and ignore None.
func TestPinsRefuse(t *testing.T) {
	var p Pins
	if err := p.Add(core.MaxXid + 1); !errors.Is(err, core.ErrXidRange) {
		t.Errorf("Add(MaxXid+1) answers %v", err)
	}
	if err := p.Add(core.None); err != nil {
		t.Errorf("Add(None) answers %v", err)
	}
	if x, ok := p.Oldest(); ok {
		t.Errorf("%d is pinned, by nobody", x)
	}
}

// TestGuards compares the list with a sorted slice.
func TestGuards(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var l Guards[int]
	var live, gone []*Guard[int]
	for step := range 5000 {
		if len(live) == 0 || rng.IntN(20) < 10 && len(live) < 50 {
			g := &Guard[int]{At: rng.Uint64N(1000), State: step}
			l.Insert(g)
			// Where several have one instant, the last comes last.
			i, _ := slices.BinarySearchFunc(live, g.At+1, func(g *Guard[int], at uint64) int { return int(g.At) - int(at) })
			live = slices.Insert(live, i, g)
		} else {
			i := rng.IntN(len(live))
			if !l.Remove(live[i]) {
				t.Fatal("a live guard was not in the list")
			}
			gone = append(gone, live[i])
			live = slices.Delete(live, i, i+1)
		}
		if len(gone) > 0 && l.Remove(gone[rng.IntN(len(gone))]) {
			t.Fatal("a guard left twice")
		}
		var got []*Guard[int]
		for g := l.oldest; g != nil; g = g.younger {
			got = append(got, g)
		}
		if !slices.Equal(got, live) {
			t.Fatalf("step %d: the list is not in order, or not what was entered", step)
		}
		switch {
		case len(live) == 0:
			if l.Oldest() != nil || l.youngest != nil || l.Since() != math.MaxUint64 {
				t.Fatal("an empty list has guards")
			}
		case l.Oldest() != live[0] || l.youngest != live[len(live)-1] || l.Since() != live[0].At:
			t.Fatal("the ends are wrong")
		}
	}
}
