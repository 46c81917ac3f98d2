package rwmutex

import (
	"xidlab/core"
	"xidlab/internal/invariants"
	"xidlab/internal/ledger"
)

// A guard holds the horizon back for one snapshot.
//
// What it holds back is the smallest Xid that its snapshot hides and that has
// committed since. Let F(at) be that Xid for a snapshot of the instant at. A
// later snapshot hides no more than an earlier one, so F does not decrease, and
// of all guards only the one with the smallest at counts: the guards are a list
// in order of at.
//
// F of that guard is found by a walk over what its snapshot hides, ascending:
// first what was active, then everything from its bound on. An aborted
// candidate is passed for good (I5); a committed one is the answer for good;
// the first one that is still active ends the walk, for the horizon is not
// above it anyway. So a guard's walk costs O(1) amortised over the Xids it
// hides, and OldestRequired O(1) amortised, however many guards there are. (A
// walk is repeated by the next guard when the oldest is released.)
type guard ledger.Guard[walk]

// A walk is where a guard's search is.
type walk struct {
	m     *Manager
	hides []core.Xid // of what was active at the instant: not passed yet
	rest  core.Xid   // then everything from here on
}

// floor returns the smallest Xid below limit that the guard hides and that has
// committed since, or limit. Nothing below limit is active. It needs mu.
func (w *walk) floor(limit core.Xid) core.Xid {
	for ; len(w.hides) > 0; w.hides = w.hides[1:] {
		if x := w.hides[0]; x >= limit || !w.m.passes(x) {
			return min(x, limit)
		}
	}
	for ; w.rest < limit; w.rest++ {
		if !w.m.passes(w.rest) {
			return w.rest
		}
	}
	return limit
}

// passes reports whether x, which has finished, had aborted.
func (m *Manager) passes(x core.Xid) bool {
	ok := m.aborts.Has(x)
	if invariants.Enabled && (m.active.Has(x) || ok && !m.aborts.Aborted(x)) {
		panic("rwmutex: a guard's candidate is active, or was forgotten under it")
	}
	return ok
}

// guarding returns the guard, not registered yet, of a snapshot that m took, or
// nil.
func (m *Manager) guarding(s core.Snapshot) *ledger.Guard[walk] {
	v, _, low, high, at := s.Parts()
	w := walk{rest: low}
	switch v := v.(type) {
	case *view:
		w.m, w.hides, w.rest = v.m, v.active, v.high
	case *solid:
		w.m = (*Manager)(v)
	case *idle:
		w.m, w.rest = (*Manager)(v), high
	}
	if w.m != m {
		return nil
	}
	return &ledger.Guard[walk]{At: at, State: w}
}

// Retain implements [core.Retainer], at the cost of a Snapshot; the lock is
// held for writing.
func (m *Manager) Retain(self core.Xid) core.Guard {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.capture(self)
	return m.register(m.guarding(s), s)
}

// RetainSnapshot implements [core.Retainer]. It refuses exactly if a horizon
// that was answered has passed s, or something was forgotten since s was taken.
// It costs a walk over the aborted Xids that s hides, and over the guards that
// are younger than s.
func (m *Manager) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.guarding(s)
	switch {
	case g == nil:
		return core.Guard{}, core.ErrForeign
	case m.forgot > g.At || g.State.floor(m.answered) < m.answered: // nothing below answered is active (I4)
		return core.Guard{}, core.ErrTooOld
	}
	return m.register(g, s), nil
}

// register needs mu. The guard is its own holder, so a token has nothing to
// tell apart.
func (m *Manager) register(g *ledger.Guard[walk], s core.Snapshot) core.Guard {
	m.guards.Insert(g)
	return core.NewGuard(s, (*guard)(g), 0)
}

// Release implements [core.Holder]: O(1), unless it sets a prune free.
func (g *guard) Release(uint64) bool {
	m := g.State.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.guards.Remove((*ledger.Guard[walk])(g)) {
		return false
	}
	g.State.hides = nil
	since := m.guards.Since()
	if ready := m.deferred.Take(since); len(ready) > 0 {
		m.forget(ready)
	}
	m.aborts.Drop(since)
	return true
}

// OldestRequired implements [core.Retainer]: exact, and O(1) amortised (see
// [guard]). It excludes readers, since it moves the oldest guard's walk.
func (m *Manager) OldestRequired() (core.Xid, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.answer()
	return h, h < m.next
}

// answer needs mu.
func (m *Manager) answer() core.Xid {
	h := m.next
	if a := m.active.All(); len(a) > 0 {
		h = a[0]
	}
	if x, ok := m.pins.Oldest(); ok {
		h = min(h, x)
	}
	if g := m.guards.Oldest(); g != nil {
		h = g.State.floor(h)
	}
	m.answered = max(m.answered, h)
	return h
}

// PruneAborted implements [core.Pruner] in O(aborted). Under a guard it is put
// on a list, which is 16 bytes a call.
func (m *Manager) PruneAborted(below core.Xid) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now++
	p := ledger.Prune{Below: below, At: m.now}
	if m.guards.Oldest() != nil { // every live guard is older
		m.deferred = append(m.deferred, p)
		return 0
	}
	n := m.forget([]ledger.Prune{p})
	m.aborts.Drop(m.now)
	return n
}

// forget needs mu.
func (m *Manager) forget(prunes []ledger.Prune) int {
	m.now++
	n := m.aborts.Forget(prunes, m.now, &m.pins)
	if n > 0 {
		m.forgot = m.now
	}
	return n
}
