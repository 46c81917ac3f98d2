package epoch

import (
	"runtime"

	"xidlab/core"
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
// committed.
func (m *Manager) PruneAborted(below core.Xid) int {
	m.turn.Lock()
	defer m.turn.Unlock()
	r := roundUp{m: m, below: min(below, m.PeekNext())}
	at := m.clock.fence()
	if m.guarded(at) {
		return m.deferPrune(deferral{r.below, at})
	}
	m.prune.Store(&r.prune)
	r.condemn(at)
	for {
		w := r.prune.word.Load()
		at = m.clock.fence()
		if m.guarded(at) {
			r.pardon()
			return m.deferPrune(deferral{r.below, at})
		}
		// What aborted before this fence is part of the prune. If more of it
		// turns up, it has been condemned after the fence: once more.
		if r.open && r.condemn(at) {
			continue
		}
		if r.execute(w, at) {
			m.trim()
			return len(r.cells)
		}
	}
}

// deferPrune makes d wait, and returns how many xids were forgotten because
// the guards in its way have just gone. Caller has the turn.
func (m *Manager) deferPrune(d deferral) int {
	// An older one that covers no more, and waits for the same guards, goes.
	if n := len(m.deferred); n > 0 {
		if last := m.deferred[n-1]; last.below <= d.below && !m.guardedBetween(last.at, d.at) {
			m.deferred = m.deferred[:n-1]
		}
	}
	m.deferred = append(m.deferred, d)
	m.waiting.Store(true)
	return m.pruneDeferred() // see slot.Release
}

// pruneDeferred lets the prunes go on whose guards have gone. Caller has the
// turn.
func (m *Manager) pruneDeferred() (forgotten int) {
	var waiting []deferral
	for _, d := range m.deferred {
		if m.guarded(d.at) {
			waiting = append(waiting, d)
			continue
		}
		r := roundUp{m: m, below: d.below}
		m.prune.Store(&r.prune)
		r.condemn(d.at)
		for !r.execute(r.prune.word.Load(), m.clock.fence()) {
		}
		forgotten += len(r.cells)
	}
	m.deferred = waiting
	m.waiting.Store(len(waiting) > 0)
	if forgotten > 0 {
		m.trim()
	}
	return forgotten
}

// guarded reports whether a guard lives that was captured at or below number.
func (m *Manager) guarded(number uint64) bool { return m.guardedBetween(0, number) }

// guardedBetween reports whether a guard lives at a number in (above, upTo]. A
// Retain that has not announced its number yet is waited for: it may belong to
// either side.
func (m *Manager) guardedBetween(above, upTo uint64) bool {
	for c := &m.guards.first; c != nil; c = c.next.Load() {
		for i := range c.slots {
			n := c.slots[i].number.Load()
			for n == settingIn {
				runtime.Gosched()
				n = c.slots[i].number.Load()
			}
			if n != free && above < n && n <= upTo {
				return true
			}
		}
	}
	return false
}

// A roundUp collects the words of one prune.
type roundUp struct {
	m     *Manager
	prune prune
	below core.Xid
	at    uint64           // what is condemned had aborted at this number or before
	cells []*atomic.Uint64 // condemned
	open  bool             // some word below was in progress when last seen
}

// condemn condemns what had aborted at number at or before, and is not pinned.
// It reports whether it found any. What is in progress is pushed: if it aborts
// after all, then above at.
func (r *roundUp) condemn(at uint64) (found bool) {
	r.at, r.open = at, false
	d := r.m.dir.Load()
	d.words(d.settled, r.below, func(x core.Xid, c *atomic.Uint64) bool {
		for c != nil {
			w := word(c.Load())
			if w.unfinished() {
				r.open = true
				if raise(c, w, at) {
					break
				}
				continue
			}
			if w.tag() == aborted && w.number() <= at && r.m.pins.Count(x) == 0 {
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

// execute makes the prune take effect after the fence at, unless a reader has
// pushed since w was loaded from its word.
func (r *roundUp) execute(w uint64, at uint64) bool {
	sentenced := newWord(forgotten, at+1)
	if !r.prune.word.CompareAndSwap(w, uint64(sentenced)) {
		return false
	}
	if len(r.cells) > 0 {
		r.m.lost.Store(max(r.at, r.m.lost.Load())) // before they are
		r.m.forgot.Store(at + 1)
		r.m.trimmed = 0 // segments that were kept for these aborts may go
	}
	for _, c := range r.cells {
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
}

// sentence reports whether a condemned word w, loaded from c, counts as
// committed at number at; if not, it makes sure that this stays so. It reports
// ok = false if w has changed and has to be loaded again.
func (m *Manager) sentence(c *atomic.Uint64, w word, at uint64) (gone, ok bool) {
	p := m.prune.Load()
	// A prune is installed after the one before has left no condemned word.
	// So if w is still there, p is its prune or a later one; and if p has not
	// failed, it is its prune.
	if word(c.Load()) != w {
		return false, false
	}
	switch v := word(p.word.Load()); v.tag() {
	case forgotten:
		return v.number() <= at, true
	case inProgress:
		return false, raise(&p.word, v, at)
	}
	return false, false
}
