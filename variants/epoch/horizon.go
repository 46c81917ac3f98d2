package epoch

import (
	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
	"xidlab/internal/sync/atomic"
)

// A horizon is what collectors of old versions have been told: nobody needs
// what is below xid, where the latest commit has this number. So it has passed
// a snapshot exactly if that number is above the snapshot's.
type horizon struct {
	xid    core.Xid
	number uint64
}

// OldestActive walks from where the last call stopped: amortised O(1) per xid,
// and O(1) while the oldest transaction stays the same. Lock-free.
func (m *Manager) OldestActive() (core.Xid, bool) {
	from := core.Xid(m.oldest.Load())
	x, next := from, m.PeekNext()
	for {
		if x == next {
			// Everything below next was seen finished before this load.
			if next = m.PeekNext(); x == next || fault.On == "epoch/oldest-bound-once" {
				m.advanceOldest(from, x)
				return core.None, false
			}
		}
		var stuck bool
		d := m.dir.Load() // after next: it has the gaps below (I9)
		if x, stuck = m.skipFinished(d, x, next); stuck {
			m.advanceOldest(from, x)
			return x, true
		}
	}
}

// skipFinished returns the first x in [x, next) that is active, and true; or
// the first that has to be looked at again, or next. The active one has been
// pushed with a number captured after everything below it was seen finished: an
// earlier number would not do.
func (m *Manager) skipFinished(d *directory, x, next core.Xid) (found core.Xid, active bool) {
	found = next
	early := uint64(0)
	if fault.On == "epoch/oldest-pushes-early" {
		early = m.clock.present()
	}
	d.words(x, next, func(x core.Xid, s *segment, c *atomic.Uint64) bool {
		for c != nil {
			w := word(c.Load())
			if !w.unfinished() {
				return true // also if it is another xid's: x is decided
			}
			if s.reused() && fault.On != "epoch/oldest-trusts-reused" {
				found = x
				return false
			}
			if m.idle(x, w) && fault.On != "epoch/oldest-names-reserved" {
				if fault.On == "epoch/oldest-passes-unsealed" {
					return true
				}
				m.seal(c, w)
				continue
			}
			if fault.On == "epoch/oldest-unpushed" || fault.On == "epoch/oldest-pushes-early" && m.raise(c, w, early) {
				break
			}
			if m.raise(c, w, m.clock.present()) {
				break
			}
		}
		// Without a cell its Begin has not returned (I4): not when d was
		// current, but what counts is now, when all below was seen finished.
		found, active = x, c != nil || fault.On == "epoch/oldest-stale-directory" || !m.dir.Load().covers(x)
		return false
	})
	return found, active
}

func (m *Manager) advanceOldest(from, to core.Xid) {
	for old := uint64(from); old < uint64(to) && !m.oldest.CompareAndSwap(old, uint64(to)); {
		old = m.oldest.Load()
	}
}

// OldestRequired walks from the published horizon, past what has aborted and
// what committed at a number that every guard has reached: amortised O(1) per
// xid, and O(number of guard slots). Lock-free.
func (m *Manager) OldestRequired() (core.Xid, bool) {
	for {
		h := m.horizon.Load()
		pin := core.Xid(m.minPin.Load())
		// I7: the clock before the slots. A guard that is not in its slot yet
		// captures later, so at this number or above.
		n := m.guards.oldest(m.clock.now())
		if fault.On == "epoch/slots-then-clock" {
			n = min(m.guards.oldest(never), m.clock.now())
		}
		next := m.PeekNext()
		reached := m.walkHorizon(*h, min(pin, next), n)
		if reached != *h && !m.publish(h, reached) {
			continue // I8: somebody published, or retained a snapshot
		}
		if pin < next {
			return min(reached.xid, pin), true
		}
		if fault.On == "epoch/required-old-bound" {
			return reached.xid, reached.xid < next
		}
		// Everything below next was seen finished before this load, not before
		// the one of next.
		return reached.xid, reached.xid < m.PeekNext()
	}
}

// publish replaces the horizon h. It copies next, so that a call that finds
// nothing new to say allocates nothing.
func (m *Manager) publish(h *horizon, next horizon) bool {
	if invariants.Enabled && (next.xid < h.xid || next.number < h.number) {
		panic("epoch: the horizon falls")
	}
	if fault.On == "epoch/horizon-overwritten" {
		m.horizon.Store(&next)
		return true
	}
	return m.horizon.CompareAndSwap(h, &next)
}

// walkHorizon returns h moved on, up to limit, over everything that a guard
// with number n or more can spare.
func (m *Manager) walkHorizon(h horizon, limit core.Xid, n uint64) horizon {
	pass := func(number uint64) bool {
		if number <= n && fault.On != "epoch/horizon-unnumbered" {
			h.number = max(h.number, number)
		}
		return number <= n
	}
	if h.xid >= limit {
		return h
	}
	from := h.xid
	h.xid = limit
	m.dir.Load().spans(from, limit, true, func(g *gap) bool {
		if !pass(m.numberOf(g)) {
			// I8: the walk may have begun inside g, where a pin stopped the last
			// one, or which has grown since (addGap).
			h.xid = max(from, core.Xid(g.from.Load()))
			if fault.On == "epoch/horizon-falls-in-gap" {
				h.xid = core.Xid(g.from.Load())
			}
			return false
		}
		return true
	}, func(s *segment, x, end core.Xid) bool {
		// An answer "still in progress" is only a bound here, so nothing is
		// pushed; and what has aborted nobody needs, at whatever number.
		//
		// What has collapsed is passed without a look: every guard has reached
		// its numbers. RetainSnapshot sees to those that come back, by
		// collapsed. And what is reused meanwhile only stops the walk early: its
		// numbers are above n.
		for ; s != nil && x < end; x++ {
			c := s.cell(x, m.stride)
			w := m.outcome(c)
			for m.idle(x, w) && fault.On != "epoch/horizon-stops-at-reserved" {
				if fault.On == "epoch/horizon-passes-unsealed" {
					w = newWord(sealed, 0)
					break
				}
				if s.reused() && fault.On != "epoch/horizon-trusts-reused" {
					break
				}
				m.seal(c, w)
				w = word(c.Load())
			}
			if w.unfinished() || w.tag() == committed && !pass(w.number()) {
				break
			}
		}
		if x < end {
			h.xid = x
		}
		return x == end
	})
	return h
}

// touchHorizon reports whether the horizon has not passed a snapshot at the
// given number, whose slot is announced. I8: a collector that read the slots
// before they said so read the horizon before that, and cannot publish over
// the new copy.
func (m *Manager) touchHorizon(at uint64) bool {
	for {
		h := m.horizon.Load()
		if at < h.number {
			return false
		}
		if fault.On == "epoch/horizon-untouched" || m.publish(h, *h) {
			return true
		}
	}
}
