package epoch

import (
	"slices"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
)

// A segment collapses once everything in it is decided, at numbers that every
// guard has reached: then nobody who is guarded, and nobody to come, can tell the
// numbers apart, and who has aborted is all there is to know (I14). It does not
// matter what is still open below.
//
// A scan is how far a segment has been looked at: so looking again costs nothing
// much while the same xid is undecided, or the same number too large.
type scan struct {
	decided int    // so many of its words are
	max     uint64 // the largest number among these, but for what prunes have written since
	aborts  bool   // there are some
}

// effort is what one trim may spend: a unit for each word that it loads, and look
// for each segment. What has been kept back for long is given up over several.
const (
	effort = 1 << 17
	look   = 64
)

// collect is called once in a segment, by the Begin that makes the next one, and
// collapses what it can.
func (m *Manager) collect() {
	if fault.On == "epoch/collect-waits" {
		m.turn.Lock()
		defer m.turn.Unlock()
	}
	if m.turn.TryLock() || fault.On == "epoch/trylock-ignored" { // whoever has the turn may do it next time
		m.trim()
		m.turn.Unlock()
	}
}

// trim installs a directory whose settled mark is as far as it can be, with
// segments collapsed. Caller has the turn. What they were stays reachable from
// older snapshots, unless it is reused.
func (m *Manager) trim() {
	// I7: the clock before the slots, as for a horizon. RetainSnapshot, which
	// could add an older guard, waits for its turn.
	n := m.guards.oldest(m.clock.now())
	if fault.On == "epoch/collapse-slots-then-clock" {
		n = min(m.guards.oldest(never), m.clock.now())
	}
	if fault.On == "epoch/collapse-past-guards" {
		n = m.clock.now()
	}
	u, d := m.upkeep.Write(), m.dir.Load()
	changes, lost := d.collapse(u, n)
	lost = max(lost, d.gapsUpTo(n))
	if lost > m.collapsed.Load() && fault.On != "epoch/collapse-unsaid" {
		m.collapsed.Store(lost) // before anybody misses it
	}
	if invariants.Enabled {
		m.checkGuards(lost)
	}
	var old []*segment
	for _, c := range changes {
		if s := d.segment(core.Xid(c.index << d.shift)); !s.collapsed() {
			old = append(old, s)
		}
	}
	if fault.On == "epoch/retires-early" {
		m.retire(old)
	}
	m.update(func(d *directory) {
		before := d.settled
		d.replace(changes)
		d.settled = d.firstUnsettled(d.settled, m.PeekNext())
		d.closeGaps(n)
		if invariants.Enabled && d.settled < before {
			panic("epoch: the settled mark falls")
		}
	})
	m.tally.Add(segmentsCollapsed, uint64(len(old)))
	if fault.On != "epoch/retires-early" {
		m.retire(old)
	}
}

// collapse returns the changes that collapse what can be at number n, ascending, and the
// largest number that is lost by it. It looks at all the newest segments, and
// goes round among the older ones.
func (d *directory) collapse(u *upkeep, n uint64) (changes []change, lost uint64) {
	budget := effort
	try := func(i uint64, s *segment) {
		if !s.unfinal() {
			return
		}
		o, at, cost := d.outcomeOf(s, core.Xid(i<<d.shift), n)
		budget -= cost
		switch {
		case o == s.outcome:
			return
		case o.aborted.empty() && o.sentences == nil:
			s = nil
		default:
			s = &segment{outcome: o}
		}
		changes, lost = append(changes, change{i, s}), max(lost, at)
	}
	for i, s := range d.newest {
		if s != nil {
			try(d.base+uint64(i), s)
		}
	}
	from := u.round
	for wrapped := false; budget > 0; {
		i, s := d.older.next(u.round, true)
		if s == nil || wrapped && i >= from {
			if wrapped {
				break
			}
			u.round, wrapped = 0, true
			continue
		}
		try(i, s)
		u.round = i + 1
	}
	slices.SortFunc(changes, func(a, b change) int { return int(int64(a.index - b.index)) })
	return changes, lost
}

// outcomeOf returns what the outcome of s, which begins at first, is at number n,
// nil if not everything in it is decided at n or before; also the largest number that
// is lost by it, and what it cost to find out.
func (d *directory) outcomeOf(s *segment, first core.Xid, n uint64) (o *outcome, lost uint64, cost int) {
	if s.collapsed() {
		o, lost = s.outcome.forgetting(n)
		return o, lost, look
	}
	sc := s.scan.Write()
	from := sc.decided
	s.look(d, first, sc)
	cost = look + sc.decided - from
	if sc.decided < len(s.words) || sc.max > n {
		return nil, 0, cost
	}
	o = &outcome{max: sc.max}
	if sc.aborts {
		// A prune may have written since they were found.
		*o = outcome{min: never, aborted: newBitmap(len(s.words))}
		for place := range uint64(len(s.words)) {
			w := word(s.cell(first+core.Xid(place), d.stride).Load())
			switch {
			case w.tag() != aborted:
				o.min = min(o.min, w.number())
			case fault.On != "epoch/collapse-forgets-abort":
				o.aborted.add(place)
			}
			o.max = max(o.max, w.number())
		}
		cost += len(s.words)
		if sc.max = o.max; o.max > n {
			return nil, 0, cost
		}
	}
	return o, o.max, cost
}

// look goes on with the scan of s, which begins at first.
func (s *segment) look(d *directory, first core.Xid, sc *scan) {
	last := word(0)
	for i := range s.words[sc.decided:] {
		c := &s.words[sc.decided]
		w := d.m.outcome(c)
		if w == last && i > 0 {
			sc.decided++
			continue // as most are, where no snapshot separates them
		}
		if x := first + core.Xid(sc.decided); d.stride == 1 && x+2<<d.shift < d.end() && d.m.idle(x, w) {
			d.m.seal(c, w) // others have taken so many since; nobody else need come by
			w = word(c.Load())
		}
		if !w.decided() {
			return
		}
		if w.tag() == aborted {
			sc.aborts = true
		}
		sc.max = max(sc.max, w.number())
		sc.decided++
		last = w
	}
}

// decided reports whether w stays as it is, but for a prune.
func (w word) decided() bool {
	switch w.tag() {
	case committed, aborted, forgotten, sealed:
		return true
	}
	return fault.On == "epoch/collapse-open" && w.tag() == inProgress
}

// firstUnsettled returns the first x in [from, to) that is not committed, or to.
func (d *directory) firstUnsettled(from, to core.Xid) core.Xid {
	first := to
	d.spans(from, to, false, nil, func(s *segment, x, end core.Xid) bool {
		switch {
		case s == nil:
		case s.collapsed():
			place := d.place(x)
			x += core.Xid(s.outcome.settles(place, place+uint64(end-x)) - place)
		default:
			for x < end && d.m.outcome(s.cell(x, d.stride)).counts() {
				x++
			}
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

// outlived answers for a snapshot at number at whose word of x has been reused.
// Nothing is guessed: what the current directory still tells, or ErrTooOld, and
// then no guard protects the snapshot, since a segment collapses at numbers that
// all of them have reached.
func (m *Manager) outlived(x core.Xid, at uint64) (bool, error) {
	d := m.dir.Load()
	if s := d.segment(x); s != nil {
		if yes, known := s.outcome.includes(d.place(x), at); known {
			return yes, nil
		}
	} else if at >= m.collapsed.Load() { // read after d: it covers what d has lost
		return true, nil
	}
	m.count(refusals)
	return false, core.ErrTooOld
}

// checkGuards makes sure that no guard could tell the numbers apart that are lost
// by a collapse. Caller has the turn.
func (m *Manager) checkGuards(lost uint64) {
	for c := &m.guards.first; c != nil; c = c.next.Load() {
		for i := range c.slots {
			if n := c.slots[i].number.Load(); n != free && n != settingIn && n&leaving == 0 && n < lost {
				panic("epoch: collapses what a guard can tell apart")
			}
		}
	}
}
