package sharded

import (
	"math"

	"xidlab/core"
	"xidlab/internal/invariants"
	"xidlab/internal/sync"
)

// A horizon is what the collector's bound is made of, beside the active Xids.
type horizon struct {
	mu     sync.Mutex // I6: before the shards
	pins   pins
	guards guards

	answered core.Xid // the largest that was ever answered
	forgot   uint64   // the instant when something was last forgotten
	deferred []prune  // those that wait for older guards, by instant
	stale    bool     // something forgotten is still in a shard, see aborts
}

// A guard holds the horizon back for one snapshot.
//
// What it holds back is the smallest Xid that its snapshot hides and that has
// committed since. Let F(at) be that Xid for a snapshot of the instant at. A
// later snapshot hides no more than an earlier one, so F does not decrease, and
// of all guards only the one with the smallest at counts: the guards are a list
// in order of at.
//
// F of that guard is the smallest over the shards, and in a shard it is found
// by a walk over what the snapshot hides of the class, ascending: first what was
// listed, then everything from the frontier on. An aborted candidate is passed
// for good (I8); a committed one is the answer for good; the first one that is
// still active ends the walk, for the horizon is not above it anyway. So the
// walks of a guard cost O(1) amortised over the Xids it hides, and
// OldestRequired O(shards) amortised, however many guards there are. (A walk is
// repeated by the next guard when the oldest is released.)
type guard struct {
	m       *Manager
	at      uint64
	view    *view    // what it hides is what this does not include; or, if nil,
	rest    core.Xid // everything from here on
	walks   []walk   // by class; made when first needed
	retired bool

	older, younger *guard
}

// A walk is where a guard's search is in one class.
type walk struct {
	listed []core.Xid // not passed yet
	rest   core.Xid   // then everything of the class from here on
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
// committed since, or limit. Nothing below limit is active. It needs every
// lock.
func (g *guard) floor(limit core.Xid) core.Xid {
	if g.walks == nil {
		g.walks = make([]walk, len(g.m.shards))
		for k := range g.walks {
			if g.view != nil {
				g.walks[k] = walk{g.view.list(k), g.view.parts[k].frontier}
			} else {
				g.walks[k] = walk{nil, g.m.after(k, g.rest)}
			}
		}
	}
	for k := range g.walks {
		limit = g.walks[k].floor(g.m, &g.m.shards[k], limit)
	}
	return limit
}

func (w *walk) floor(m *Manager, s *shard, limit core.Xid) core.Xid {
	for ; len(w.listed) > 0; w.listed = w.listed[1:] {
		if x := w.listed[0]; x >= limit || !m.passes(s, x) {
			return min(x, limit)
		}
	}
	for ; w.rest < limit; w.rest += m.stride() {
		if !m.passes(s, w.rest) {
			return w.rest
		}
	}
	return limit
}

// passes reports whether x, which has finished, had aborted.
func (m *Manager) passes(s *shard, x core.Xid) bool {
	f, ok := s.aborts.find(x)
	if invariants.Enabled && (m.status(s, x) == core.Active || ok && f.forgotten != 0) {
		panic("sharded: a guard's candidate is active, or was forgotten under it")
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
			return &guard{m: m, at: at, view: v}
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

// Retain implements [core.Retainer], at the cost of a Snapshot. Whoever
// computes a horizon, or prunes, waits meanwhile: so none falls between the
// capture and the registration.
func (m *Manager) Retain(self core.Xid) core.Guard {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	s := m.Snapshot(self)
	return m.register(m.guarding(s), s)
}

// RetainSnapshot implements [core.Retainer]. It refuses exactly if a horizon
// that was answered has passed s, or something was forgotten since s was taken.
// It costs all locks, a walk over the aborted Xids that s hides, and one over
// the guards that are younger than s.
func (m *Manager) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	g := m.guarding(s)
	if g == nil {
		return core.Guard{}, core.ErrForeign
	}
	h := &m.horizon
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.forgot > g.at || m.passed(g) {
		return core.Guard{}, core.ErrTooOld
	}
	return m.register(g, s), nil
}

// passed reports whether a horizon that was answered is above something that g
// would protect. Nothing below such a horizon is active (I7).
func (m *Manager) passed(g *guard) bool {
	m.lock()
	defer m.unlock()
	return g.floor(m.horizon.answered) < m.horizon.answered
}

// register needs horizon. The guard is its own holder, so a token has nothing
// to tell apart.
func (m *Manager) register(g *guard, s core.Snapshot) core.Guard {
	m.horizon.guards.insert(g)
	return core.NewGuard(s, g, 0)
}

// Release implements [core.Holder]: O(1) and no shard's lock, unless a prune
// waits.
func (g *guard) Release(uint64) bool {
	m, h := g.m, &g.m.horizon
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.retired {
		return false
	}
	g.retired, g.view, g.walks = true, nil, nil
	oldest := h.guards.oldest == g
	h.guards.remove(g)
	if oldest && (h.stale || len(h.deferred) > 0) {
		m.settle()
	}
	return true
}

// settle forgets what no guard keeps from being forgotten any more, and drops
// what none of them knew. It needs horizon.
func (m *Manager) settle() {
	h := &m.horizon
	since := h.guards.since()
	ready := 0 // a prune waits for the guards that are older than it
	for ready < len(h.deferred) && h.deferred[ready].at <= since {
		ready++
	}
	m.lock()
	defer m.unlock()
	if ready > 0 {
		m.forget(h.deferred[:ready])
		h.deferred = append([]prune(nil), h.deferred[ready:]...)
	}
	m.drop(since)
}

// drop drops what was forgotten by the instant until. It needs horizon and
// every lock.
func (m *Manager) drop(until uint64) {
	m.horizon.stale = false
	for k := range m.shards {
		a := &m.shards[k].aborts
		a.drop(until)
		m.horizon.stale = m.horizon.stale || a.stale > 0
	}
}

// OldestRequired implements [core.Retainer]: exact, O(shards) amortised (see
// [guard]), under all locks.
func (m *Manager) OldestRequired() (core.Xid, bool) {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	m.lock()
	defer m.unlock()
	next := m.bound()
	h := m.answer(next)
	return h, h < next
}

// answer needs horizon and every lock; next was read under them.
func (m *Manager) answer(next core.Xid) core.Xid {
	x := m.oldestActive(next)
	if p, ok := m.horizon.pins.oldest(); ok {
		x = min(x, p)
	}
	if g := m.horizon.guards.oldest; g != nil {
		x = g.floor(x)
	}
	m.horizon.answered = max(m.horizon.answered, x)
	return x
}

// PruneAborted implements [core.Pruner] in O(shards + aborted), under all
// locks. Under a guard it is put on a list, which is 16 bytes a call.
func (m *Manager) PruneAborted(below core.Xid) int {
	h := &m.horizon
	h.mu.Lock()
	defer h.mu.Unlock()
	m.lock()
	defer m.unlock()
	p := prune{below, m.tick()}
	m.touch()
	if h.guards.oldest != nil { // every live guard is older
		h.deferred = append(h.deferred, p)
		return 0
	}
	n := m.forget([]prune{p})
	m.drop(m.now)
	return n
}

// forget does what prunes, which are in order of their instants, have waited
// for. It needs horizon and every lock.
func (m *Manager) forget(prunes []prune) (n int) {
	// A later prune covers an abort of any instant that an earlier one
	// covers, so what counts is the largest bound from some prune on.
	for i := len(prunes) - 1; i > 0; i-- {
		prunes[i-1].below = max(prunes[i-1].below, prunes[i].below)
	}
	at := m.tick()
	for k := range m.shards {
		n += m.shards[k].aborts.forget(prunes, at, &m.horizon.pins)
	}
	if n > 0 {
		m.horizon.forgot = at
	}
	m.touch()
	return n
}

// touch makes a snapshot after this instant differ from one before it, in the
// instant at least. It needs every lock.
func (m *Manager) touch() {
	for k := range m.shards {
		m.shards[k].touch()
	}
}
