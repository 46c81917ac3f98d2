package epoch

import (
	"maps"
	"slices"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// A prune decides, like a commit, at one number from when on a set of aborted
// xids counts as committed (I10). Its word is one of the log's: in progress
// with a bound, then forgotten with that number; or aborted, if a guard turned
// up that is older, and the condemned words are pardoned.
//
// The words of the set are condemned before the number is drawn. A reader at
// S >= the number that still saw "aborted" would otherwise say no, and then yes.
type prune struct{ word atomic.Uint64 }

// A deferral is a prune that waits for the guards announced at or below at. It
// covers what had aborted by then, below its bound.
type deferral struct {
	below core.Xid
	at    uint64
}

// PruneAborted walks the words below the bound, from the first that is not
// committed. Under a guard it is put on a list, which is 16 bytes a call.
func (m *Manager) PruneAborted(below core.Xid) int {
	m.turn.Lock()
	defer m.turn.Unlock()
	for {
		n, at, done := m.pruneNow(below)
		if done || m.deferPrune(deferral{below, at}) {
			return n
		}
		// The guards in its way have just gone. So its instant is not the fence
		// that it was to wait with: since then more may have aborted.
	}
}

// pruneNow prunes, if no guard lives. Otherwise the prune has to wait for those
// announced at or below at. Caller has the turn.
func (m *Manager) pruneNow(below core.Xid) (forgotten int, at uint64, ok bool) {
	at = m.clock.fence()
	if m.guarded(at) {
		return 0, at, false
	}
	m.pruneDeferred() // the releases of those guards have forgotten this, not we
	r := m.roundUp(below)
	r.condemn(at)
	for {
		w := r.prune.word.Load()
		ended := m.guards.ended()
		at = m.clock.fence()
		if fault.On != "epoch/prune-guards-once" && m.guarded(at) {
			r.pardon()
			r.end()
			return 0, at, false
		}
		if m.guards.ended() != ended && fault.On != "epoch/prune-misses-ended-guard" {
			continue // it may have lived at the fence, which is the prune's instant
		}
		// What aborted before this fence is part of the prune. If more of it
		// turns up, it has been condemned after the fence: once more.
		if r.open && fault.On != "epoch/prune-covers-start" && r.condemn(at) {
			continue
		}
		if r.execute(w, at) {
			forgotten = r.forgotten()
			r.end()
			m.trim()
			return forgotten, at, true
		}
	}
}

// deferPrune makes d wait. It reports false, and d does not, if the guards in its
// way have gone. Caller has the turn.
//
// An older deferral is not merged into d even if d covers more and waits for the
// same guards: a snapshot from between the two may be retained yet.
func (m *Manager) deferPrune(d deferral) bool {
	u := m.upkeep.Write()
	if fault.On == "epoch/deferrals-merged" {
		u.deferred = nil
	}
	u.deferred = append(u.deferred, d)
	m.waiting.Store(true)
	if fault.On == "epoch/defer-unchecked" || m.guarded(d.at) { // see slot.Release
		return true
	}
	u.deferred = u.deferred[:len(u.deferred)-1]
	m.waiting.Store(len(u.deferred) > 0)
	m.pruneDeferred()
	return false
}

// pruneDeferred lets the prunes go on whose guards have gone, all at one number:
// they are part of the releases of these. Caller has the turn.
func (m *Manager) pruneDeferred() {
	u := m.upkeep.Write()
	n := 0 // those of the first n: a guard in the way of one is in the way of all later ones
	for n < len(u.deferred) && !m.guarded(u.deferred[n].at) {
		n++
	}
	if n == 0 {
		return
	}
	ready := u.deferred[:n]
	u.deferred = slices.Clone(u.deferred[n:])
	if fault.On == "epoch/waiting-cleared-early" {
		m.waiting.Store(len(u.deferred) > 0)
	}
	r := m.roundUp(0)
	for _, d := range undominated(ready) {
		r.below = d.below
		r.condemn(d.at)
	}
	for !r.execute(r.prune.word.Load(), m.clock.fence()) {
	}
	// Not before: a Release that sees that nothing waits any more returns, and
	// what its guard kept must have been forgotten by then.
	m.waiting.Store(len(u.deferred) > 0)
	forgotten := r.forgotten()
	r.end()
	if forgotten > 0 {
		m.trim()
	}
}

// undominated returns, in reverse, the deferrals of which no later one covers
// more. Bounds mostly grow, and then that is the last.
func undominated(ds []deferral) (kept []deferral) {
	for _, d := range slices.Backward(ds) {
		if len(kept) == 0 || d.below > kept[len(kept)-1].below {
			kept = append(kept, d)
		}
	}
	return kept
}

// guarded reports whether a guard lives that was captured at or below number. A
// Retain that has not announced its number yet is waited for: it may belong to
// either side.
func (m *Manager) guarded(number uint64) bool {
	for c := &m.guards.first; c != nil; c = c.next.Load() {
		for i := range c.slots {
			n := c.slots[i].number.Load()
			if fault.On == "epoch/prune-skips-setting-in" && n == settingIn {
				continue
			}
			for n == settingIn {
				sync.Yield()
				n = c.slots[i].number.Load()
			}
			if n != free && n <= number { // one that is leaving is above
				return true
			}
		}
	}
	return false
}

// A roundUp collects the words of one prune, and the aborts in collapsed segments.
type roundUp struct {
	m      *Manager
	prune  *prune // by itself: it is kept until the next one, the cells are not
	below  core.Xid
	at     uint64              // what is condemned had aborted at this number or before
	cells  []*atomic.Uint64    // condemned
	before map[uint64]*segment // collapsed segments of which some are, as they were
	places int                 // condemned in these
	open   bool                // some word below may yet be found aborted by then, see condemn
}

// forgotten returns how many xids the prune forgets.
func (r *roundUp) forgotten() int { return len(r.cells) + r.places }

// roundUp starts a prune. Caller has the turn.
func (m *Manager) roundUp(below core.Xid) roundUp {
	r := roundUp{m: m, prune: new(prune), below: below, cells: m.upkeep.Read().cells}
	m.prune.Store(r.prune)
	return r
}

// end hands the room for cells on to the next one, unless it is out of the
// ordinary. Caller has the turn.
func (r *roundUp) end() {
	const ordinary = 1 << 14
	clear(r.cells) // they would keep what is collected
	if cap(r.cells) > ordinary {
		r.cells = nil
	}
	r.m.upkeep.Write().cells = r.cells[:0]
}

// condemn condemns what had aborted at number at or before, and is not pinned.
// It reports whether it found any. What is in progress is pushed: if it aborts
// after all, then above at. Then, and also if it has done so already, it is part
// of a prune whose number is drawn later still, and that is then open. So it is
// if more can begin below, or is about to (I4).
func (r *roundUp) condemn(at uint64) (found bool) {
	limit := min(r.below, r.m.PeekNext())
	r.at, r.open = max(r.at, at), limit < r.below && fault.On != "epoch/prune-bound-closed"
	d := r.m.dir.Load() // after the bound: it has the gaps below (I9)
	if fault.On != "epoch/condemns-collapsed-late" {
		found = r.condemnCollapsed(d, limit)
	}
	d.words(d.settled, limit, func(x core.Xid, _ *segment, c *atomic.Uint64) bool {
		r.open = r.open || c == nil
		for c != nil {
			w := word(c.Load())
			if w.unfinished() {
				r.open = true
				if fault.On == "epoch/condemn-unpushed" || r.m.raise(c, w, at) {
					break
				}
				continue
			}
			switch {
			case w.tag() != aborted || r.m.upkeep.Read().pins.Count(x) != 0:
			case w.number() > at && fault.On != "epoch/deferral-covers-later":
				r.open = true
			default:
				c.Store(uint64(newWord(condemned, w.number()))) // decided: ours alone to change
				r.cells = append(r.cells, c)
				found = true
			}
			break
		}
		return true
	})
	return found
}

// condemnCollapsed condemns the aborts below limit in collapsed segments that are
// not pinned, and reports whether it found any. Their numbers are not known, and
// need not be: what a prune has waited for, until now, has kept everything above
// its instant from collapsing.
func (r *roundUp) condemnCollapsed(d *directory, limit core.Xid) bool {
	var changes []change
	pins := &r.m.upkeep.Read().pins
	for i, s := d.next(uint64(d.settled)>>d.shift, false); s != nil && core.Xid(i<<d.shift) < limit; i, s = d.next(i+1, false) {
		if !s.collapsed() {
			continue
		}
		first, found := core.Xid(i<<d.shift), bitmap(nil)
		end := min(uint64(limit-first), 1<<d.shift)
		for place := s.outcome.aborted.next(0, end); place < end; place = s.outcome.aborted.next(place+1, end) {
			if s.outcome.condemnedBy(place) != nil || pins.Count(first+core.Xid(place)) != 0 && fault.On != "epoch/collapsed-unpinned" {
				continue
			}
			if found == nil {
				found = newBitmap(1 << d.shift)
			}
			found.add(place)
			r.places++
		}
		if found == nil {
			continue
		}
		if _, ok := r.before[i]; !ok {
			if r.before == nil {
				r.before = map[uint64]*segment{}
			}
			r.before[i] = s
		}
		o := *s.outcome
		var sentences []sentence
		if o.sentences != nil {
			sentences = slices.Clip(*o.sentences)
		}
		sentences = append(sentences, sentence{found, r.prune})
		o.sentences = &sentences
		changes = append(changes, change{i, &segment{outcome: &o}})
	}
	if len(changes) > 0 {
		r.m.update(func(d *directory) { d.replace(changes) })
	}
	return len(changes) > 0
}

// execute makes the prune take effect after the fence at, unless a reader has
// pushed since w was loaded from its word.
func (r *roundUp) execute(w uint64, at uint64) bool {
	sentenced := newWord(forgotten, at+1)
	if fault.On == "epoch/prune-draws-first" {
		w = r.prune.word.Load()
	}
	if !r.prune.word.CompareAndSwap(w, uint64(sentenced)) {
		return false
	}
	if fault.On == "epoch/condemns-collapsed-late" {
		r.condemnCollapsed(r.m.dir.Load(), min(r.below, r.m.PeekNext()))
	}
	if r.forgotten() > 0 {
		r.m.lost.Store(max(r.at, r.m.lost.Load())) // before they are
		r.m.forgot.Store(at + 1)
	}
	for _, c := range r.cells {
		if invariants.Enabled && word(c.Load()).tag() != condemned {
			panic("epoch: a condemned word has changed")
		}
		c.Store(uint64(sentenced))
	}
	return true
}

// pardon undoes what was condemned. The word of the prune comes first: a reader
// who finds it in progress knows that the condemned word it saw was this one's.
func (r *roundUp) pardon() {
	r.prune.word.Store(uint64(newWord(aborted, 0)))
	for _, c := range r.cells {
		c.Store(uint64(newWord(aborted, word(c.Load()).number())))
	}
	var changes []change
	for _, i := range slices.Sorted(maps.Keys(r.before)) {
		changes = append(changes, change{i, r.before[i]})
	}
	if len(changes) > 0 && fault.On != "epoch/collapsed-unpardoned" {
		r.m.update(func(d *directory) { d.replace(changes) })
	}
}

// never is the number of a prune that has not happened.
const never = 1<<64 - 1

// number returns the number at which p forgets what it has condemned, or never, as
// yet.
func (p *prune) number() uint64 {
	if w := word(p.word.Load()); w.tag() == forgotten {
		return w.number()
	}
	return never
}

// sentence returns the number at which x is forgotten, whose word w, loaded from c
// in s, is condemned; or never, and then it has made sure that it is above at. It
// reports ok = false if w has changed and has to be loaded again.
func (m *Manager) sentence(x core.Xid, s *segment, c *atomic.Uint64, w word, at uint64) (number uint64, ok bool) {
	p := m.prune.Load()
	if c == nil {
		p = s.outcome.condemnedBy(uint64(x) & (1<<m.shift - 1))
	} else if fault.On != "epoch/sentence-unchecked" && (word(c.Load()) != w || m.prune.Load() != p) {
		return 0, false
	}
	// p was the current prune when w was there, and the ones before have left no
	// condemned word: so it is p that has condemned it.
	switch v := word(p.word.Load()); {
	case v.tag() == forgotten:
		return v.number(), true
	case v.unfinished():
		return never, fault.On == "epoch/sentence-unpushed" || m.raise(&p.word, v, at)
	}
	return never, true // pardoned; if it is condemned again, then by a prune that draws above at
}
