package rwmutex

import (
	"xidlab/core"
	"xidlab/internal/fault"
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
// committed since, or limit. Nothing below limit is active. It needs the lock for
// writing, and s is what that guards.
func (w *walk) floor(s *state, limit core.Xid) core.Xid {
	for ; len(w.hides) > 0; w.hides = w.hides[1:] {
		if x := w.hides[0]; x >= limit || !s.passes(x) {
			return min(x, limit)
		}
	}
	for ; w.rest < limit; w.rest++ {
		if !s.passes(w.rest) {
			return w.rest
		}
	}
	return limit
}

// passes reports whether x, which has finished, had aborted.
func (s *state) passes(x core.Xid) bool {
	ok := s.aborts.Has(x)
	if invariants.Enabled && (s.active.Has(x) || ok && !s.aborts.Aborted(x)) {
		panic("rwmutex: a guard's candidate is active, or was forgotten under it")
	}
	return ok
}

// guarding returns the guard, not registered yet, of a snapshot that m took, or
// nil.
func (m *Manager) guarding(snap core.Snapshot) *ledger.Guard[walk] {
	v, _, low, high, at := snap.Parts()
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
	s := m.state.Write()
	snap := m.capture(s, self)
	if fault.On == "rwmutex/retain-in-two-holds" {
		m.mu.Unlock()
		m.mu.Lock()
	}
	return s.register(m.guarding(snap), snap)
}

// RetainSnapshot implements [core.Retainer]. It refuses exactly if a horizon
// that was answered has passed s, or something was forgotten since s was taken.
// It costs a walk over the aborted Xids that s hides, and over the guards that
// are younger than s.
func (m *Manager) RetainSnapshot(snap core.Snapshot) (core.Guard, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, g := m.state.Write(), m.guarding(snap)
	switch {
	case g == nil:
		return core.Guard{}, core.ErrForeign
	case s.forgot > g.At || g.State.floor(s, s.answered) < s.answered: // nothing below answered is active (I4)
		return core.Guard{}, core.ErrTooOld
	}
	if fault.On == "rwmutex/passed-in-two-holds" {
		m.mu.Unlock()
		m.mu.Lock()
	}
	return s.register(g, snap), nil
}

// register needs the lock for writing. The guard is its own holder, so a token
// has nothing to tell apart.
func (s *state) register(g *ledger.Guard[walk], snap core.Snapshot) core.Guard {
	s.guards.Insert(g)
	return core.NewGuard(snap, (*guard)(g), 0)
}

// Release implements [core.Holder]: O(1), unless it sets a prune free.
func (g *guard) Release(uint64) bool {
	m := g.State.m
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	if !s.guards.Remove((*ledger.Guard[walk])(g)) {
		return false
	}
	g.State.hides = nil
	since := s.guards.Since()
	if ready := s.deferred.Take(since); len(ready) > 0 {
		s.forget(ready)
	}
	s.aborts.Drop(since)
	return true
}

// OldestRequired implements [core.Retainer]: exact, and O(1) amortised (see
// [guard]). It excludes readers, since it moves the oldest guard's walk.
func (m *Manager) OldestRequired() (core.Xid, bool) {
	if fault.On == "rwmutex/required-shared" {
		m.mu.RLock()
		defer m.mu.RUnlock()
		h := m.state.Write().answer()
		return h, h < m.state.Read().next
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	h := s.answer()
	return h, h < s.next
}

// answer needs the lock for writing.
func (s *state) answer() core.Xid {
	h := s.next
	if a := s.active.All(); len(a) > 0 {
		h = a[0]
	}
	if x, ok := s.pins.Oldest(); ok {
		h = min(h, x)
	}
	if g := s.guards.Oldest(); g != nil {
		h = g.State.floor(s, h)
	}
	s.answered = max(s.answered, h)
	return h
}

// PruneAborted implements [core.Pruner] in O(aborted). Under a guard it is put
// on a list, which is 16 bytes a call.
func (m *Manager) PruneAborted(below core.Xid) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	s.now++
	p := ledger.Prune{Below: below, At: s.now}
	if s.guards.Oldest() != nil { // every live guard is older
		s.deferred = append(s.deferred, p)
		return 0
	}
	n := s.forget([]ledger.Prune{p})
	s.aborts.Drop(s.now)
	return n
}

// forget needs the lock for writing.
func (s *state) forget(prunes []ledger.Prune) int {
	s.now++
	n := s.aborts.Forget(prunes, s.now, &s.pins)
	if n > 0 {
		s.forgot = s.now
	}
	return n
}
