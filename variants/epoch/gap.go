package epoch

import (
	"slices"

	"xidlab/core"
	"xidlab/internal/sync/atomic"
)

// A gap is a range of xids that was observed as committed at one instant: the
// compare-and-swap that moved the allocator over it. However long, it is one
// entry of the directory, with one number.
//
// ObserveCommitted installs it first, as pending, and then tries to move the
// allocator from the bound that it has announced in from; if a Begin was
// faster, it announces the new bound and tries again (I9).
type gap struct {
	from   atomic.Uint64 // grows until the allocator has jumped, then fixed
	to     core.Xid      // inclusive
	number atomic.Uint64 // 0 until somebody needs it
}

// holds reports whether x lies in g and the allocator has jumped over g. If
// from is the same before and after the bound was seen above to, then it was
// from there that the allocator jumped: it is not announced anew afterwards.
func (g *gap) holds(m *Manager, x core.Xid) bool {
	for x <= g.to {
		from := g.from.Load()
		if x < core.Xid(from) || m.PeekNext() <= g.to {
			return false
		}
		if g.from.Load() == from {
			return true
		}
	}
	return false
}

// numberOf returns the number of g, drawing it if nobody has: after the
// allocator jumped, so above every snapshot that does not include g, and
// before any snapshot that does has returned (I9).
func (m *Manager) numberOf(g *gap) uint64 {
	if g.number.Load() == 0 {
		g.number.CompareAndSwap(0, m.clock.draw())
	}
	return g.number.Load()
}

// ObserveCommitted is O(1), but for copying the directory.
func (m *Manager) ObserveCommitted(x core.Xid) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	if x > core.MaxXid {
		return &core.XidError{Op: "observe committed", Xid: x, Status: core.Unallocated, Err: core.ErrXidRange}
	}
	if x >= m.PeekNext() && m.jumpOver(x) {
		return nil
	}
	if s := m.Status(x); s != core.Committed {
		return &core.XidError{Op: "observe committed", Xid: x, Status: s, Err: core.ErrNotCommitted}
	}
	return nil
}

// jumpOver moves the allocator from its bound to x+1; false if begins have
// moved it beyond x meanwhile. Caller has the turn.
func (m *Manager) jumpOver(x core.Xid) bool {
	g := &gap{to: x}
	g.from.Store(m.next.Load())
	m.update(func(d *directory) { d.gaps, d.pending = append(slices.Clip(d.gaps), g), g })
	for {
		from := m.next.Load()
		if core.Xid(from) > x {
			m.update(func(d *directory) { d.gaps, d.pending = d.gaps[:len(d.gaps)-1], nil })
			return false
		}
		g.from.Store(from)
		if m.next.CompareAndSwap(from, uint64(x)+1) {
			m.numberOf(g)
			m.update(func(d *directory) { d.pending = nil; d.mergeLastGap() })
			return true
		}
	}
}

// gapsFrom returns the gaps without those that lie below limit and inside d's
// segments. The words that such a gap has, in the segments that it shares with
// others, are filled in first: zero, they would read as in progress.
func (d *directory) gapsFrom(limit core.Xid) (kept []*gap) {
	for _, g := range d.gaps {
		if g == d.pending || g.to >= limit || g.to >= d.end() {
			kept = append(kept, g)
			continue
		}
		for _, e := range append(slices.Clip(d.older), extent{d.base, d.segments}) {
			from := max(core.Xid(g.from.Load()), core.Xid(e.base<<d.shift))
			to := min(g.to+1, core.Xid((e.base+uint64(len(e.segments)))<<d.shift))
			for x := from; x < to; x++ {
				if c := d.cell(x); c != nil {
					c.Store(uint64(newWord(committed, g.number.Load())))
				}
			}
		}
	}
	return kept
}

// mergeLastGap makes one gap of the last two if they touch and have the same
// number, so that a log replayed record by record leaves one gap, not one each.
func (d *directory) mergeLastGap() {
	n := len(d.gaps) - 2
	if n < 0 {
		return
	}
	a, b := d.gaps[n], d.gaps[n+1]
	if uint64(a.to)+1 != b.from.Load() || a.number.Load() != b.number.Load() {
		return
	}
	both := &gap{to: b.to}
	both.from.Store(a.from.Load())
	both.number.Store(b.number.Load())
	d.gaps = append(slices.Clone(d.gaps[:n]), both)
}

// update installs a changed copy of the directory. The function may be called
// several times. It must not write to what the old copy's slices hold.
func (m *Manager) update(change func(*directory)) {
	for {
		d := m.dir.Load()
		next := *d
		change(&next)
		if m.dir.CompareAndSwap(d, &next) {
			return
		}
	}
}
