package rwmutex

import (
	"math"

	"xidlab/core"
	"xidlab/internal/invariants"
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
type guard struct {
	m       *Manager
	at      uint64
	hides   []core.Xid // of what was active at the instant: not passed yet
	rest    core.Xid   // then everything from here on
	retired bool

	older, younger *guard
}

// guards is a list in order of at.
type guards struct{ oldest, youngest *guard }

// insert costs O(1) for a new snapshot, otherwise the number of younger guards.
func (l *guards) insert(g *guard) {
	g.older = l.youngest
	for g.older != nil && g.older.at > g.at {
		g.older, g.younger = g.older.older, g.older
	}
	if g.older != nil {
		g.older.younger = g
	} else {
		l.oldest = g
	}
	if g.younger != nil {
		g.younger.older = g
	} else {
		l.youngest = g
	}
}

func (l *guards) remove(g *guard) {
	if g.older != nil {
		g.older.younger = g.younger
	} else {
		l.oldest = g.younger
	}
	if g.younger != nil {
		g.younger.older = g.older
	} else {
		l.youngest = g.older
	}
	g.older, g.younger = nil, nil
}

// since returns the instant of the oldest guard, or one after everything.
func (l *guards) since() uint64 {
	if l.oldest == nil {
		return math.MaxUint64
	}
	return l.oldest.at
}

// floor returns the smallest Xid below limit that the guard hides and that has
// committed since, or limit. Nothing below limit is active. It needs mu.
func (g *guard) floor(limit core.Xid) core.Xid {
	for ; len(g.hides) > 0; g.hides = g.hides[1:] {
		if x := g.hides[0]; x >= limit || !g.passes(x) {
			return min(x, limit)
		}
	}
	for ; g.rest < limit; g.rest++ {
		if !g.passes(g.rest) {
			return g.rest
		}
	}
	return limit
}

// passes reports whether x, which has finished, had aborted.
func (g *guard) passes(x core.Xid) bool {
	f, ok := g.m.aborts.find(x)
	if invariants.Enabled && (g.m.active.has(x) || ok && f.forgotten != 0) {
		panic("rwmutex: a guard's candidate is active, or was forgotten under it")
	}
	return ok
}

// guarding returns the guard, not registered yet, of a snapshot that m took, or
// nil.
func (m *Manager) guarding(s core.Snapshot) *guard {
	v, _, low, high, at := s.Parts()
	switch v := v.(type) {
	case *view:
		if v.m == m {
			return &guard{m: m, at: at, hides: v.active, rest: v.high}
		}
	case *solid:
		if (*Manager)(v) == m {
			return &guard{m: m, at: at, rest: low}
		}
	case *idle:
		if (*Manager)(v) == m {
			return &guard{m: m, at: at, rest: high}
		}
	}
	return nil
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
	case m.forgot > g.at || g.floor(m.answered) < m.answered: // nothing below answered is active (I4)
		return core.Guard{}, core.ErrTooOld
	}
	return m.register(g, s), nil
}

// register needs mu. The guard is its own holder, so a token has nothing to
// tell apart.
func (m *Manager) register(g *guard, s core.Snapshot) core.Guard {
	m.guards.insert(g)
	return core.NewGuard(s, g, 0)
}

// Release implements [core.Holder]: O(1), unless it sets a prune free.
func (g *guard) Release(uint64) bool {
	m := g.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if g.retired {
		return false
	}
	g.retired, g.hides = true, nil
	m.guards.remove(g)
	ready := 0 // a prune waits for the guards that are older than it
	for ready < len(m.deferred) && m.deferred[ready].at <= m.guards.since() {
		ready++
	}
	if ready > 0 {
		m.forget(m.deferred[:ready])
		m.deferred = append([]prune(nil), m.deferred[ready:]...)
	}
	m.aborts.drop(m.guards.since())
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
	if a := m.active.all(); len(a) > 0 {
		h = a[0]
	}
	if x, ok := m.pins.oldest(); ok {
		h = min(h, x)
	}
	if g := m.guards.oldest; g != nil {
		h = g.floor(h)
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
	p := prune{below, m.now}
	if m.guards.oldest != nil { // every live guard is older
		m.deferred = append(m.deferred, p)
		return 0
	}
	n := m.forget([]prune{p})
	m.aborts.drop(m.now)
	return n
}

// forget needs mu.
func (m *Manager) forget(prunes []prune) int {
	m.now++
	n := m.aborts.forget(prunes, m.now, &m.pins)
	if n > 0 {
		m.forgot = m.now
	}
	return n
}
