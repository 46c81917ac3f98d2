package epoch

import (
	"slices"

	"xidlab/core"
	"xidlab/internal/fault"
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
	d.words(x, next, func(x core.Xid, c *atomic.Uint64) bool {
		for c != nil {
			w := word(c.Load())
			if !w.unfinished() {
				return true
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
	m.dir.Load().spans(from, limit, func(g *gap) bool {
		if !pass(m.numberOf(g)) {
			// I8: the walk may have begun inside g, where a pin stopped the last
			// one, or which has grown since (mergeLastGap).
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
		for ; s != nil && x < end; x++ {
			c := s.cell(x, m.stride)
			w := m.outcome(c)
			for m.idle(x, w) && fault.On != "epoch/horizon-stops-at-reserved" {
				if fault.On == "epoch/horizon-passes-unsealed" {
					w = newWord(sealed, 0)
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

// collect is called once in a segment, by the Begin that makes the next one:
// it moves the horizon on behalf of managers that nobody asks for one, and
// drops what lies below it.
func (m *Manager) collect() {
	m.OldestRequired()
	if fault.On == "epoch/collect-waits" {
		m.turn.Lock()
		defer m.turn.Unlock()
	}
	if m.turn.TryLock() || fault.On == "epoch/trylock-ignored" { // whoever has the turn may do it next time
		m.trim()
		m.turn.Unlock()
	}
}

// trim installs a directory whose settled mark is as far as it can be, without
// the segments below the horizon in which everything is committed. Caller has
// the turn. What was dropped stays reachable from older snapshots.
func (m *Manager) trim() {
	u, limit := m.upkeep.Write(), m.horizon.Load().xid
	if fault.On == "epoch/trims-to-oldest-active" {
		limit = core.Xid(m.oldest.Load())
	}
	m.update(func(d *directory) {
		d.settled = d.firstUnsettled(d.settled, m.PeekNext())
		kept := *d
		kept.older = nil
		for _, e := range d.older {
			if e = d.dropped(e, u.trimmed, limit); len(e.segments) > 0 {
				kept.older = append(kept.older, e)
			}
		}
		newest := d.dropped(extent{d.base, d.segments}, u.trimmed, limit)
		kept.base, kept.segments = newest.base, newest.segments
		kept.gaps = d.gapsFrom(min(limit, d.settled))
		*d = kept
	})
	u.trimmed = limit
}

// dropped returns e without the segments that are all committed, of those that
// end in (done, limit]: cut off at the front, nil further on.
func (d *directory) dropped(e extent, done, limit core.Xid) extent {
	e.segments = slices.Clone(e.segments)
	first := max(uint64(done)>>d.shift, e.base) - e.base
	for i := first; i < uint64(len(e.segments)); i++ {
		from := core.Xid((e.base + i) << d.shift)
		to := from + 1<<d.shift
		if to > limit {
			break
		}
		if e.segments[i] != nil && (to <= d.settled || d.firstUnsettled(from, to) == to) {
			e.segments[i] = nil
		}
	}
	for len(e.segments) > 0 && e.segments[0] == nil {
		e.base, e.segments = e.base+1, e.segments[1:]
	}
	return e
}

// firstUnsettled returns the first x in [from, to) that is not committed, or to.
func (d *directory) firstUnsettled(from, to core.Xid) core.Xid {
	first := to
	d.spans(from, to, nil, func(s *segment, x, end core.Xid) bool {
		for ; s != nil && x < end && d.m.outcome(s.cell(x, d.stride)).counts(); x++ {
		}
		if x < end {
			first = x
		}
		return x == end
	})
	return first
}

// counts reports whether w counts as committed to every later snapshot: its
// number is not above the clock.
func (w word) counts() bool {
	return w.tag() == committed || w.tag() == forgotten || w.tag() == sealed || fault.On == "epoch/aborts-settle" && w.tag() == aborted
}
