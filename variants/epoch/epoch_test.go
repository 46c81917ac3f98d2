package epoch

import (
	"fmt"
	"sync"
	"testing"

	"xidlab/core"
	"xidlab/core/coretest"
)

// TestSmall runs the kit where the rare paths are common: a segment is made,
// passed and dropped every few transactions, a block of xids is used up or sealed.
func TestSmall(t *testing.T) {
	for _, o := range []Options{
		{Segment: 2, Block: 1, Fan: 2, Reclaim: Recycle}, {Segment: 8, Block: 1, Fan: 2},
		{Segment: 4, Block: 2, Cursors: 1, Fan: 2}, {Segment: 8, Block: 2, Cursors: 2, Fan: 2, Reclaim: Recycle}, {Segment: 16, Block: 8},
	} {
		t.Run(fmt.Sprintf("%d words, blocks of %d, reclaim %d", o.Segment, o.Block, o.Reclaim), func(t *testing.T) {
			coretest.TestManager(t, func() core.Manager { return With(o) })
		})
	}
}

// TestOptions: sizes are rounded up, and a block is at most half a segment.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o              Options
		segment, block int
	}{
		{Options{}, 4096, 64}, {Options{Segment: -1, Block: 1}, 2, 1}, {Options{Segment: 3, Block: 1}, 4, 1},
		{Options{Segment: 4, Block: 1}, 4, 1}, {Options{Segment: 5, Block: 3}, 8, 4}, {Options{Segment: 64}, 128, 64},
	} {
		m := With(c.o)
		if segment, block := 1<<m.shift, int(m.blockMask)+1; segment != c.segment || block != c.block {
			t.Errorf("With(%+v): segments of %d, blocks of %d, want %d, %d", c.o, segment, block, c.segment, c.block)
		}
	}
}

// small returns a manager whose segments have 8 words.
func small() *Manager { return With(Options{Segment: 8, Block: 1, Fan: 2}) }

// TestGuessedAllocation: who guesses the xid that an AllocateCommitted has just
// drawn may finish it, but does not spoil the answer.
func TestGuessedAllocation(t *testing.T) {
	for _, block := range []int{1, 4} {
		m := With(Options{Block: block})
		c := m.dir.Load().segment(1).cell(1, m.stride)
		c.Store(uint64(newWord(aborted, m.clock.draw())))
		if x := m.AllocateCommitted(); x == 1 || m.Status(x) != core.Committed || m.Status(1) != core.Aborted {
			t.Errorf("blocks of %d: AllocateCommitted() = %d, which is %v", block, x, m.Status(x))
		}
	}
}

// segments counts the segments in m's directory that have words, and all that
// something is left of.
func segments(m *Manager) (held, entries int) {
	words, outcomes := m.dir.Load().kept()
	return int(words), int(words + outcomes)
}

func wantSegments(t *testing.T, m *Manager, most int, when string) {
	t.Helper()
	if held, _ := segments(m); held > most {
		t.Errorf("%s: %d segments held, want at most %d", when, held, most)
	}
}

func commit(t *testing.T, m *Manager, n int) {
	t.Helper()
	for range n {
		if err := m.Commit(m.Begin()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLogIsTrimmed: what nobody can tell apart is not kept, and what somebody
// can still ask is, whether guarded or not.
func TestLogIsTrimmed(t *testing.T) {
	const n = 10_000
	m := small()
	commit(t, m, n)
	wantSegments(t, m, 3, "after commits")
	if _, entries := segments(m); entries > 3 {
		t.Errorf("%d directory entries after %d commits", entries, n)
	}

	x := m.Begin()
	s := m.Snapshot(core.None)
	if err := m.Commit(x); err != nil {
		t.Fatal(err)
	}
	commit(t, m, n)
	wantSegments(t, m, 3, "with an unguarded snapshot held")
	if s.Includes(x) || !s.Includes(x-1) || s.Includes(x+1) {
		t.Error("the snapshot changed its mind when its segment was dropped")
	}

	g := m.Retain(core.None)
	commit(t, m, n)
	if held, _ := segments(m); held < n/8 {
		t.Errorf("%d segments held below a guard, want all of the %d xids it hides", held, n)
	}
	g.Release()
	commit(t, m, 3*8)
	wantSegments(t, m, 4, "after the guard was released")
}

// TestAbortKeepsItsOutcome: until it is pruned, and of no other segment.
func TestAbortKeepsItsOutcome(t *testing.T) {
	m := small()
	for range 10 {
		x := m.Begin()
		if err := m.Rollback(x); err != nil {
			t.Fatal(err)
		}
		commit(t, m, 1000)
	}
	wantSegments(t, m, 3, "with ten aborts")
	if _, entries := segments(m); entries > 10+3 {
		t.Errorf("%d directory entries with ten aborts", entries)
	}
	if n := m.PruneAborted(m.PeekNext()); n != 10 {
		t.Errorf("PruneAborted forgot %d, want 10", n)
	}
	if _, entries := segments(m); entries > 3 {
		t.Errorf("%d directory entries after the prune", entries)
	}
}

// TestPrunesWaitApart: two prunes that wait for the same guard need not wait for
// the same guards in the end, since a snapshot from between them may be retained.
func TestPrunesWaitApart(t *testing.T) {
	m := small()
	x, y := m.Begin(), m.Begin()
	rollback(t, m, x)
	g := m.Retain(core.None)
	m.PruneAborted(m.PeekNext())
	s := m.Snapshot(core.None)
	rollback(t, m, y)
	m.PruneAborted(m.PeekNext())
	between, err := m.RetainSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []core.Status{core.Aborted, core.Committed} {
		g.Release()
		if a, b := m.Status(x), m.Status(y); a != core.Committed || b != want {
			t.Errorf("they are %v and %v, want committed and %v", a, b, want)
		}
		g = between
	}
}

// TestPrunesGoOnTogether: what waits under a guard costs no walk of the log each.
func TestPrunesGoOnTogether(t *testing.T) {
	ds := []deferral{{5, 1}, {9, 2}, {7, 3}, {7, 4}, {2, 5}}
	if got, want := fmt.Sprint(undominated(ds)), "[{2 5} {7 4} {9 2}]"; got != want {
		t.Errorf("to be done: %s, want %s", got, want)
	}
}

// TestJump: a gap costs an entry, whatever its length, and the segments on
// either side of it stay right when they are dropped.
func TestJump(t *testing.T) {
	m := small()
	open := m.Begin()
	for _, to := range []core.Xid{100, 101, 1 << 20, 1<<20 + 5, 1 << 50} {
		if err := m.ObserveCommitted(to); err != nil {
			t.Fatal(err)
		}
		commit(t, m, 20)
	}
	if held, entries := segments(m); held > 5*5 || entries > 5*6 {
		t.Errorf("%d segments and %d entries after five jumps of 20 commits each", held, entries)
	}
	status := func(x core.Xid, want core.Status) {
		t.Helper()
		if got := m.Status(x); got != want {
			t.Errorf("Status(%d) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []core.Xid{2, 99, 100, 101, 102, 1 << 19, 1 << 20, 1<<20 + 3, 1 << 49, 1 << 50, 1<<50 + 20} {
		status(x, core.Committed)
	}
	status(open, core.Active)
	status(1<<50+21, core.Unallocated)
	if err := m.Rollback(open); err != nil {
		t.Fatal(err)
	}
	m.PruneAborted(m.PeekNext())
	commit(t, m, 40)
	wantSegments(t, m, 3, "after the open transaction ended")
	if d := m.dir.Load(); !d.gapless() || d.older.root != nil {
		t.Errorf("%d gaps left, or older segments", d.gapCount())
	}
	for _, x := range []core.Xid{2, 100, 102, 1 << 20, 1 << 49, 1<<50 + 20} {
		status(x, core.Committed)
	}
}

// TestReplayedLogIsOneGap: recovery observes its log record by record.
func TestReplayedLogIsOneGap(t *testing.T) {
	m := small()
	for x := core.Xid(1); x <= 1000; x++ {
		if err := m.ObserveCommitted(x); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.dir.Load().gapCount(); n != 1 {
		t.Errorf("%d gaps after 1000 adjacent observations without a snapshot, want 1", n)
	}
}

// TestReplayWithReaders: nor does a gap stay for each record that a reader's
// snapshot separates from the next, though nothing ever begins.
func TestReplayWithReaders(t *testing.T) {
	m := small()
	for x := core.Xid(1); x <= 2000; x++ {
		if err := m.ObserveCommitted(x); err != nil {
			t.Fatal(err)
		}
		if s := m.Snapshot(core.None); !s.Includes(x) || !s.Includes(1) || s.Includes(x+1) {
			t.Fatalf("after %d: Includes(%d) = %v, Includes(1) = %v", x, x, s.Includes(x), s.Includes(1))
		}
	}
	if n := m.dir.Load().gapCount(); n > 100 {
		t.Errorf("%d gaps after 2000 adjacent observations with a snapshot each", n)
	}
	g := m.Retain(core.None)
	for x := core.Xid(2001); x <= 2200; x++ {
		if err := m.ObserveCommitted(x); err != nil {
			t.Fatal(err)
		}
		if !m.Snapshot(core.None).Includes(x) || g.Includes(2001) || g.Includes(x) || !g.Includes(2000) {
			t.Fatalf("after %d: a guard has changed its mind, or a snapshot is wrong", x)
		}
	}
	if h, ok := m.OldestRequired(); h != 2001 || !ok {
		t.Errorf("OldestRequired() = %d, %v, want the first that the guard hides", h, ok)
	}
}

// TestGuardSlots: more guards than a chunk has slots, each released once, by
// whichever copy comes first; a released guard's copy does not release the
// slot's next tenant.
func TestGuardSlots(t *testing.T) {
	m := small()
	var guards []core.Guard
	for range 100 {
		guards = append(guards, m.Retain(core.None))
		commit(t, m, 1)
	}
	for i, g := range guards {
		if h, ok := m.OldestRequired(); !ok || h != core.Xid(i+1) {
			t.Fatalf("OldestRequired() = %d, %v with the guards from %d on", h, ok, i)
		}
		var wg sync.WaitGroup
		var won [4]bool
		for j := range won {
			wg.Go(func() { won[j] = g.Release() })
		}
		wg.Wait()
		wins := 0
		for _, w := range won {
			if w {
				wins++
			}
		}
		if wins != 1 {
			t.Fatalf("%d of 4 racing releases say that they ended the guard", wins)
		}
	}
	tenant := m.Retain(core.None)
	commit(t, m, 1)
	for _, g := range guards {
		g.Release()
	}
	if h, ok := m.OldestRequired(); !ok || h != 101 {
		t.Errorf("OldestRequired() = %d, %v: an old guard released another one's slot", h, ok)
	}
	tenant.Release()
}

// TestAllocations: none, but for a segment (words, entry, directory) once in so
// many xids.
func TestAllocations(t *testing.T) {
	m := New()
	for range 4096 {
		m.Begin()
	}
	x := m.Begin()
	sink = m.Snapshot(x)
	for name, f := range map[string]func(){
		"Snapshot":       func() { sink = m.Snapshot(x) },
		"Includes":       func() { sink.Includes(x); sink.Includes(1) },
		"Retain":         func() { m.Retain(x).Release() },
		"Status":         func() { m.Status(1); m.Status(x) },
		"OldestActive":   func() { m.OldestActive() },
		"OldestRequired": func() { m.OldestRequired() },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

var sink core.Snapshot

func BenchmarkOps(b *testing.B) {
	for _, c := range []struct {
		name string
		op   func(*Manager)
	}{
		{"begin+commit", func(m *Manager) { _ = m.Commit(m.Begin()) }},
		{"begin+snapshot+commit", func(m *Manager) { x := m.Begin(); m.Snapshot(x); _ = m.Commit(x) }},
		{"snapshot", func(m *Manager) { m.Snapshot(core.None) }},
		{"allocate-committed", func(m *Manager) { m.AllocateCommitted() }},
		{"retain+release", func(m *Manager) { m.Retain(core.None).Release() }},
	} {
		for _, active := range []int{0, 4096} {
			b.Run(fmt.Sprintf("%s/active=%d", c.name, active), func(b *testing.B) {
				m := New()
				for range active {
					m.Begin()
				}
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						c.op(m)
					}
				})
			})
		}
	}
}

func rollback(t *testing.T, m *Manager, x core.Xid) {
	t.Helper()
	if err := m.Rollback(x); err != nil {
		t.Fatal(err)
	}
}
