package sharded

import (
	"slices"
	"testing"
	"unsafe"

	"xidlab/core"
	"xidlab/internal/invariants"
)

func newManager(seed uint64) full { return NewShards(1 << (seed % 4)) }

// TestAllocations holds the claims of the comments on Manager and Snapshot.
func TestAllocations(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector allocates")
	}
	turn := func(m *Manager) { x := m.Begin(); m.Snapshot(x); must(m.Commit(x)) }
	for _, c := range []struct {
		name      string
		setup, op func(*Manager)
		allocated float64
	}{
		{"alone", func(*Manager) {}, turn, 0},
		{"nothing is active, some aborted", abort, func(m *Manager) { m.AllocateCommitted(); m.Snapshot(core.None) }, 0},
		{"all are active", func(*Manager) {}, func(m *Manager) { m.Snapshot(m.Begin()) }, 0},
		{"few are active", func(m *Manager) { open(m, 5); m.AllocateCommitted() }, turn, 1},
		{"many are active", func(m *Manager) { open(m, 1000); m.AllocateCommitted() }, turn, 3},
		{"many are active, none finishes", func(m *Manager) { open(m, 1000); m.AllocateCommitted() }, func(m *Manager) { m.Snapshot(core.None) }, 0},
	} {
		m := NewShards(2)
		c.setup(m)
		if n := testing.AllocsPerRun(1000, func() { c.op(m) }); n != c.allocated {
			t.Errorf("%s: a snapshot allocates %v times, want %v", c.name, n, c.allocated)
		}
	}
}

func abort(m *Manager) { must(m.Rollback(m.Begin())) }

// TestFind compares the search with a simple one, on sets of every shape that
// its narrowing depends on: dense, sparse, with a gap.
func TestFind(t *testing.T) {
	for _, a := range [][]core.Xid{
		nil, {5}, {5, 6, 7, 8, 9}, {1, 2, 3, 4, 50}, {1, 47, 48, 49, 50}, {3, 9, 10, 30, 31, 32, 40}, {7, core.MaxXid},
	} {
		for x := range core.Xid(55) {
			i, ok := find(a, x)
			if want := slices.Index(a, x); ok != (want >= 0) || ok && i != want {
				t.Errorf("find(%v, %d) = %d, %v, want %d", a, x, i, ok, want)
			}
		}
	}
}

// TestDequeReusesItsSpace: the active set does not grow with the transactions
// that pass through it.
func TestDequeReusesItsSpace(t *testing.T) {
	var s ascending
	for x := core.Xid(1); x <= 100_000; x++ {
		s.push(x)
		if x > 10 && !s.remove(x-10) {
			t.Fatalf("%d is not there", x-10)
		}
	}
	if len(s.all()) != 10 || cap(s.buf) > 64 {
		t.Errorf("10 active take a capacity of %d (%d are there)", cap(s.buf), len(s.all()))
	}
}

// TestObserveCostsNoMemory: a jump to the end of the Xids is one store.
func TestObserveCostsNoMemory(t *testing.T) {
	m := NewShards(2)
	open(m, 3)
	must(m.ObserveCommitted(core.MaxXid - 1))
	if s := m.Status(core.MaxXid / 2); s != core.Committed {
		t.Errorf("an xid in the gap is %v", s)
	}
	if x, _ := m.OldestRequired(); x != 1 {
		t.Errorf("OldestRequired is %d, want 1", x)
	}
	if x := m.Begin(); x != core.MaxXid {
		t.Errorf("the last xid is %d", x)
	}
	for range 2 {
		func() {
			defer func() {
				if r := recover(); r != core.ErrExhausted {
					t.Errorf("beyond the last xid: %v", r)
				}
			}()
			m.Begin()
		}()
	}
	must(m.Commit(core.MaxXid)) // the lock was given back
}

// TestShardsAreApart: no two shards share a pair of cache lines.
func TestShardsAreApart(t *testing.T) {
	a := NewShards(2).shards
	last, next := uintptr(unsafe.Pointer(&a[0].aborts.lostXid)), uintptr(unsafe.Pointer(&a[1]))
	if next-last < line {
		t.Errorf("two shards are %d bytes apart", next-last)
	}
	for n, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 4, 64: 64} {
		if got := len(NewShards(n).shards); got != want {
			t.Errorf("NewShards(%d) has %d shards, want %d", n, got, want)
		}
	}
}

// TestForgottenLeave: what a young guard keeps from being dropped, though an
// older one has let it be forgotten, is dropped when that guard is released.
func TestForgottenLeave(t *testing.T) {
	m := NewShards(2)
	kept := func() int { return len(m.shards[0].aborts.xids) + len(m.shards[1].aborts.xids) }
	old := m.Retain(core.None)
	must(m.Rollback(m.Begin()))
	m.PruneAborted(m.PeekNext())
	young := m.Retain(core.None)
	old.Release()
	if s := m.Status(1); s != core.Committed || kept() != 1 || young.Includes(1) {
		t.Errorf("under a guard that knew it as aborted, a forgotten xid is %v, %d are kept, and the guard includes it: %v", s, kept(), young.Includes(1))
	}
	young.Release()
	if kept() != 0 {
		t.Errorf("%d forgotten xids are kept for nobody", kept())
	}
}
