package coretest

import (
	"errors"
	"fmt"
	"slices"

	"xidlab/core"
)

// misuses: each is answered with the documented error, and changes nothing.
var misuses = []check{
	{"finishing what is not active is refused", 0, func(t *trial) {
		w := newWorld(t)
		next := t.m.PeekNext()
		for _, c := range []struct {
			x      core.Xid
			status core.Status
			kind   error
		}{
			{core.None, core.Committed, core.ErrNotActive},
			{w.committed, core.Committed, core.ErrNotActive},
			{w.aborted, core.Aborted, core.ErrNotActive},
			{w.born, core.Committed, core.ErrNotActive},
			{next, core.Unallocated, core.ErrUnallocated},
			{next + 12345, core.Unallocated, core.ErrUnallocated},
			{core.MaxXid, core.Unallocated, core.ErrUnallocated},
			{core.MaxXid + 1, core.Unallocated, core.ErrUnallocated},
			{^core.Xid(0), core.Unallocated, core.ErrUnallocated},
		} {
			w.unchanged(func() {
				t.refused(fmt.Sprintf("Commit(%s)", name(c.x)), t.m.Commit(c.x), c.x, c.status, c.kind)
				t.refused(fmt.Sprintf("Rollback(%s)", name(c.x)), t.m.Rollback(c.x), c.x, c.status, c.kind)
				if t.have.all(groupCommits) {
					g := t.m.(core.GroupCommitter)
					t.refused(fmt.Sprintf("CommitGroup(%s)", name(c.x)), g.CommitGroup(c.x), c.x, c.status, c.kind)
					t.refused(fmt.Sprintf("CommitGroup(active, %s)", name(c.x)), g.CommitGroup(w.active, c.x), c.x, c.status, c.kind)
				}
			})
		}
	}},
	{"finishing what is reserved is refused", 0, func(t *trial) {
		w := newWorld(t)
		for x := t.m.PeekNext() - 1; x > 0 && t.m.Status(x) == core.Reserved; x-- {
			w.unchanged(func() {
				t.refused(fmt.Sprintf("Commit(%s)", name(x)), t.m.Commit(x), x, core.Reserved, core.ErrNotActive)
				t.refused(fmt.Sprintf("Rollback(%s)", name(x)), t.m.Rollback(x), x, core.Reserved, core.ErrNotActive)
			})
			t.hides(t.snapshot(x), x)
		}
	}},
	{"a snapshot of nobody in particular is a pure reader's", 0, func(t *trial) {
		w := newWorld(t)
		for _, self := range []core.Xid{w.committed, w.aborted, t.m.PeekNext(), core.MaxXid, core.MaxXid + 1, ^core.Xid(0)} {
			w.unchanged(func() {
				s := t.snapshot(self)
				t.includes(s, w.committed)
				t.hides(s, w.aborted)
				t.hides(s, w.active)
				t.hides(s, t.m.PeekNext())
				t.hides(s, ^core.Xid(0))
			})
		}
	}},
	{"the zero Snapshot includes None and answers nothing else", 0, func(t *trial) {
		var s core.Snapshot
		x := t.begin()
		for _, owner := range []core.Snapshot{s, s.WithOwner(x)} {
			if ok, err := owner.Lookup(core.None); !ok || err != nil {
				t.fail("the zero Snapshot's Lookup(None) = %v, %v", ok, err)
			}
			if ok, err := owner.Lookup(x); ok || !errors.Is(err, core.ErrForeign) {
				t.fail("the zero Snapshot's Lookup(%s) = %v, %v, want %q", name(x), ok, err, core.ErrForeign)
			}
		}
		if _, err := s.InProgress(); !errors.Is(err, core.ErrForeign) {
			t.fail("the zero Snapshot's InProgress() answers %v, want %q", err, core.ErrForeign)
		}
	}},
	{"the zero Guard guards nothing", 0, func(t *trial) {
		w := newWorld(t)
		w.unchanged(func() {
			if (core.Guard{}).Release() {
				t.fail("the zero Guard's Release() = true")
			}
		})
	}},
	{"another manager's snapshot, or none's, is not retained", retains, func(t *trial) {
		w := newWorld(t)
		other := t.open()
		other.Begin()
		r := t.m.(core.Retainer)
		for _, c := range []struct {
			what string
			s    core.Snapshot
		}{
			{"the zero Snapshot", core.Snapshot{}},
			{"the zero Snapshot with an owner", core.Snapshot{}.WithOwner(w.active)},
			{"another manager's snapshot", other.Snapshot(core.None)},
			{"another manager's snapshot with our owner", other.Snapshot(core.None).WithOwner(w.active)},
			{"another manager's guarded snapshot", other.(core.Retainer).Retain(core.None).Snapshot},
		} {
			w.unchanged(func() {
				g, err := r.RetainSnapshot(c.s)
				t.say("RetainSnapshot(%s)", c.what)
				if !errors.Is(err, core.ErrForeign) {
					t.fail("it answers %v, want %q", err, core.ErrForeign)
				}
				if g.Release() {
					t.fail("the guard that it refused is released with true")
				}
			})
		}
	}},
	{"another manager's guard is the other manager's", retains, func(t *trial) {
		w := newWorld(t)
		other := t.open()
		x := other.Begin()
		theirs := other.(core.Retainer).Retain(core.None)
		if err := other.Commit(x); err != nil {
			t.fail("Commit(%s) of the other manager answers %q", name(x), err)
		}
		ours := t.retain(core.None)
		w.unchanged(func() {
			if !theirs.Release() || theirs.Release() {
				t.fail("the other manager's guard is not released exactly once")
			}
		})
		t.release(ours, true)
	}},
	{"a guard released twice stays released", retains, func(t *trial) {
		w := newWorld(t)
		g := t.retain(w.active)
		t.release(g, true)
		w.unchanged(func() { t.release(g, false) })
	}},
	{"pins of nothing and of too much do nothing", pins, func(t *trial) {
		w := newWorld(t)
		p := t.m.(core.Pinner)
		w.unchanged(func() {
			t.pin(core.None)
			t.pinned(core.None, 0)
			t.unpin(core.None)
			for _, x := range []core.Xid{core.MaxXid + 1, ^core.Xid(0)} {
				t.refused(fmt.Sprintf("Pin(%s)", name(x)), p.Pin(x), x, core.Unallocated, core.ErrXidRange)
				t.unpin(x)
				t.pinned(x, 0)
			}
			t.unpin(w.committed)
			t.unpin(t.m.PeekNext())
			t.pinned(w.committed, 0)
		})
		t.pin(w.committed)
		t.pinned(w.committed, 1) // the unpins before it left no debt
		t.unpin(w.committed)
		t.pin(core.MaxXid)
		t.pinned(core.MaxXid, 1)
		t.unpin(core.MaxXid)
	}},
	{"what cannot be observed is refused", recovers, func(t *trial) {
		w := newWorld(t)
		r := t.m.(core.Recoverer)
		w.unchanged(func() {
			t.observe(core.None)
			t.observe(w.committed)
			t.observe(w.born)
			for _, x := range []core.Xid{core.MaxXid + 1, core.MaxXid + 2, 1 << 63, ^core.Xid(0)} {
				t.refused(fmt.Sprintf("ObserveCommitted(%s)", name(x)), r.ObserveCommitted(x), x, core.Unallocated, core.ErrXidRange)
			}
			t.refused("ObserveCommitted(active)", r.ObserveCommitted(w.active), w.active, core.Active, core.ErrNotCommitted)
			t.refused("ObserveCommitted(aborted)", r.ObserveCommitted(w.aborted), w.aborted, core.Aborted, core.ErrNotCommitted)
		})
	}},
	{"a prune of nothing and of everything spares what is unfinished", prunes, func(t *trial) {
		w := newWorld(t)
		w.unchanged(func() {
			t.prune(core.None, 0)
			t.prune(1, 0)
		})
		t.prune(^core.Xid(0), 1)
		t.is(w.active, core.Active)
		t.hides(t.snapshot(core.None), w.active)
	}},
}

// A world is a manager with one transaction of each kind, and snapshots.
type world struct {
	t                                *trial
	active, committed, aborted, born core.Xid
	snaps                            []snap
}

func newWorld(t *trial) *world {
	w := &world{t: t}
	w.active, w.committed, w.aborted = t.begin(), t.begin(), t.begin()
	w.snaps = append(w.snaps, t.snapshot(w.active))
	t.commit(w.committed)
	t.rollback(w.aborted)
	w.born = t.allocate()
	w.snaps = append(w.snaps, t.snapshot(core.None), t.snapshot(w.active))
	return w
}

// unchanged claims that nothing that can be asked has another answer after f.
func (w *world) unchanged(f func()) {
	w.t.Helper()
	w.fingerprint() // asks for the horizon, which may end the old snapshots' protection
	before := w.fingerprint()
	f()
	after := w.fingerprint()
	for i, line := range before {
		if after[i] != line {
			w.t.fail("misuse changed the manager: %s became %s", line, after[i])
		}
	}
}

func (w *world) fingerprint() []string {
	m := w.t.m
	next := m.PeekNext()
	xs := core.NewXidSet(w.active, w.committed, w.aborted, w.born, next-1, next, next+1, core.MaxXid)
	lines := []string{fmt.Sprintf("PeekNext %s", name(next))}
	oldest, ok := m.OldestActive()
	lines = append(lines, fmt.Sprintf("OldestActive %s, %v", name(oldest), ok))
	for _, x := range xs {
		lines = append(lines, fmt.Sprintf("Status(%s) %v", name(x), m.Status(x)))
		for _, s := range append(slices.Clone(w.snaps), snap{m.Snapshot(core.None), "a new snapshot"}) {
			ok, err := s.Lookup(x)
			lines = append(lines, fmt.Sprintf("%s.Lookup(%s) %v, %v", s.name, name(x), ok, err))
		}
		if p, ok := m.(core.Pinner); ok {
			lines = append(lines, fmt.Sprintf("PinCount(%s) %d", name(x), p.PinCount(x)))
		}
	}
	if r, ok := m.(core.Retainer); ok {
		h, ok := r.OldestRequired()
		lines = append(lines, fmt.Sprintf("OldestRequired %s, %v", name(h), ok))
	}
	if c, ok := m.(core.Checkpointer); ok {
		next, set := c.CheckpointExcluded()
		lines = append(lines, fmt.Sprintf("CheckpointExcluded %s, %s", name(next), nameAll(set)))
	}
	return lines
}
