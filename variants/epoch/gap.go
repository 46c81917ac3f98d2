package epoch

import (
	"slices"
	"sort"

	"xidlab/core"
	"xidlab/internal/fault"
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
	from   atomic.Uint64 // grows until the allocator has jumped, then fixed; above to if it could not
	to     core.Xid      // inclusive
	parity uint64        // of next before the jump
	number atomic.Uint64 // 0 until somebody needs it, after the jump
}

// parity is the bit of next that every jump turns over. The bound alone does
// not tell whether the allocator has jumped over a gap or begins have walked
// past it, before the observer could jump.
const parity = 1 << 63

// jumped reports whether the allocator has jumped over g. Jumps take turns: the
// next one begins when g has its number, or says in from that it failed. So the
// parity that was read is g's doing, unless one of these is seen after it.
func (g *gap) jumped(m *Manager) bool {
	if g.number.Load() != 0 {
		return true
	}
	if fault.On == "epoch/gap-by-bound" {
		return m.PeekNext() > g.to
	}
	if m.next.Load()&parity == g.parity {
		return fault.On != "epoch/gap-number-once" && g.number.Load() != 0
	}
	return core.Xid(g.from.Load()) <= g.to
}

// holds reports whether x lies in g and the allocator has jumped over g. From
// is read after the jump, when it is fixed.
func (g *gap) holds(m *Manager, x core.Xid) bool {
	if fault.On == "epoch/gap-from-early" {
		return x <= g.to && x >= core.Xid(g.from.Load()) && g.jumped(m)
	}
	return x <= g.to && g.jumped(m) && x >= core.Xid(g.from.Load())
}

// numberOf returns the number of g, over which the allocator has jumped,
// drawing it if nobody has: after the jump, so above every snapshot that does
// not include g, and before any snapshot that does has returned (I9).
func (m *Manager) numberOf(g *gap) uint64 {
	if g.number.Load() == 0 {
		if fault.On == "epoch/gap-numbered-twice" {
			g.number.Store(m.clock.draw())
		}
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

// jumpOver moves the allocator from its bound to x+1, or the first block after x;
// false if begins have moved it beyond x meanwhile. Caller has the turn.
func (m *Manager) jumpOver(x core.Xid) bool {
	if fault.On != "epoch/jump-unaligned" {
		x |= core.Xid(m.blockMask) // the rest of the block is never handed out
	}
	g := m.announceGap(x)
	for {
		next := m.next.Load()
		from := next &^ parity
		if core.Xid(from) > x {
			if fault.On != "epoch/gap-failure-unsaid" {
				g.from.Store(uint64(x) + 1)
			}
			m.update(func(d *directory) { d.pending = nil })
			return false
		}
		g.from.Store(from)
		if fault.On == "epoch/gap-numbered-early" {
			m.numberOf(g)
		}
		if m.next.CompareAndSwap(next, (uint64(x)+1)|next&parity^parity) {
			m.tally.Add(jumped, uint64(x)+1-from)
			m.numberOf(g)
			m.update(func(d *directory) { d.pending = nil; d.addGap(g) })
			// Where nothing begins, nobody else trims. Twice as many as were
			// left last time: so it costs O(1) gaps a jump, amortised.
			if u := m.upkeep.Write(); m.dir.Load().gapCount() > u.gapsLeft*2+16 {
				m.trim()
				u.gapsLeft = m.dir.Load().gapCount()
			}
			return true
		}
	}
}

// announceGap installs the pending gap up to x. Caller has the turn.
func (m *Manager) announceGap(x core.Xid) *gap {
	next := m.next.Load()
	g := &gap{to: x, parity: next & parity}
	g.from.Store(next &^ parity)
	m.update(func(d *directory) { d.pending = g })
	return g
}

// addGap adds the one that the allocator has just jumped over. If it touches the
// last one and has the same number the two become one, so that a log replayed
// record by record leaves one gap, not one each. Otherwise the last one is appended
// to the array that d shares with its predecessors, of which none has it: so a
// gap costs the same, however many there are. Caller has the turn.
func (d *directory) addGap(g *gap) {
	switch a := d.last; {
	case a == nil:
	case uint64(a.to)+1 == g.from.Load() && (a.number.Load() == g.number.Load() || fault.On == "epoch/gaps-merged"):
		g = join(a, g)
	default:
		d.gaps = append(d.gaps, a)
	}
	d.last = g
}

// gapsUpTo returns the largest number of a gap that is at most n, or 0. The
// numbers ascend.
func (d *directory) gapsUpTo(n uint64) uint64 {
	if d.last != nil && d.last.number.Load() <= n {
		return d.last.number.Load()
	}
	i := sort.Search(len(d.gaps), func(i int) bool { return d.gaps[i].number.Load() > n })
	if i == 0 {
		return 0
	}
	return d.gaps[i-1].number.Load()
}

// closeGaps drops the gaps that lie inside d's segments and whose numbers every
// guard has reached, as n has. The words that such a gap has, in the segments that
// it shares with others, are filled in first: reserved, they would read as in
// progress. Of those beyond the segments neighbours become one, at the later number:
// nobody can tell it from the earlier one, as whoever takes a snapshot with this
// directory has reached both (I6). But the first words of the earlier one may lie in a
// segment that older snapshots have too: these get its own number before. Caller has
// the turn.
func (d *directory) closeGaps(n uint64) {
	if d.gapsUpTo(n) == 0 {
		return
	}
	var kept []*gap
	for _, g := range append(slices.Clip(d.gaps), d.last) {
		switch k := len(kept) - 1; {
		case g.number.Load() > n:
			kept = append(kept, g)
		case g.to < d.end():
			d.fillIn(g)
		case k >= 0 && uint64(kept[k].to)+1 == g.from.Load():
			if fault.On != "epoch/gaps-joined-unfilled" {
				d.fillIn(kept[k])
			}
			kept[k] = join(kept[k], g)
		default:
			kept = append(kept, g)
		}
	}
	d.gaps, d.last = nil, nil
	if k := len(kept) - 1; k >= 0 {
		d.gaps, d.last = kept[:k:k], kept[k]
	}
}

// fillIn gives the words that g has its number, unless they have one of before g
// was joined.
func (d *directory) fillIn(g *gap) {
	from := core.Xid(g.from.Load())
	for i, s := d.next(uint64(from)>>d.shift, true); s != nil && i <= uint64(g.to)>>d.shift; i, s = d.next(i+1, true) {
		if s.collapsed() {
			continue
		}
		for x := max(from, core.Xid(i<<d.shift)); x <= g.to && x>>d.shift == core.Xid(i); x++ {
			if c := s.cell(x, d.stride); word(c.Load()).unfinished() {
				c.Store(uint64(newWord(committed, g.number.Load())))
			}
		}
	}
}

// join returns the gap of a and b, which follows it, at the later number.
func join(a, b *gap) *gap {
	both := &gap{to: b.to}
	both.from.Store(a.from.Load())
	both.number.Store(max(a.number.Load(), b.number.Load()))
	return both
}
