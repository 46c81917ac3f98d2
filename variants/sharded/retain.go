package sharded

import (
	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
	"xidlab/internal/ledger"
)

// The claims are what the collector's bound is made of, beside the active Xids.
type claims struct {
	pins   ledger.Pins
	guards ledger.Guards[hidden]

	answered core.Xid      // the largest that was ever answered
	forgot   uint64        // the instant when something was last forgotten
	deferred ledger.Prunes // those that wait for older guards
	stale    bool          // something forgotten is still in a shard, see [ledger.Aborts]
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
type guard ledger.Guard[hidden]

// A hidden is what a guard's snapshot hides.
type hidden struct {
	m     *Manager
	view  *view    // what this does not include; or, if nil,
	rest  core.Xid // everything from here on
	walks []walk   // by class; made when first needed
}

// A walk is where a guard's search is in one class.
type walk struct {
	listed []core.Xid // not passed yet
	rest   core.Xid   // then everything of the class from here on
}

// floor returns the smallest Xid below limit that the guard hides and that has
// committed since, or limit. Nothing below limit is active. It needs every
// lock.
func (h *hidden) floor(limit core.Xid) core.Xid {
	if h.walks == nil {
		h.walks = make([]walk, len(h.m.shards))
		for k := range h.walks {
			if h.view != nil {
				h.walks[k] = walk{h.view.list(k), h.view.parts[k].frontier}
			} else {
				h.walks[k] = walk{nil, h.m.after(k, h.rest)}
			}
		}
	}
	for k := range h.walks {
		limit = h.walks[k].floor(h.m, h.m.shards[k].fates.Read(), limit)
	}
	return limit
}

func (w *walk) floor(m *Manager, f *fates, limit core.Xid) core.Xid {
	for ; len(w.listed) > 0; w.listed = w.listed[1:] {
		if x := w.listed[0]; x >= limit || !m.passes(f, x) {
			return min(x, limit)
		}
	}
	for ; w.rest < limit; w.rest += m.stride() {
		if !m.passes(f, w.rest) {
			return w.rest
		}
	}
	return limit
}

// passes reports whether x, which has finished, had aborted.
func (m *Manager) passes(f *fates, x core.Xid) bool {
	ok := f.aborts.Has(x)
	if invariants.Enabled && (m.status(f, x) == core.Active || ok && !f.aborts.Aborted(x)) {
		panic("sharded: a guard's candidate is active, or was forgotten under it")
	}
	return ok
}

// guarding returns the guard, not registered yet, of a snapshot that m took, or
// nil.
func (m *Manager) guarding(s core.Snapshot) *ledger.Guard[hidden] {
	v, _, low, high, at := s.Parts()
	h := hidden{rest: low}
	switch v := v.(type) {
	case *view:
		h.m, h.view = v.m, v
	case *solid:
		h.m = (*Manager)(v)
	case *idle:
		h.m, h.rest = (*Manager)(v), high
	}
	if h.m != m {
		return nil
	}
	return &ledger.Guard[hidden]{At: at, State: h}
}

// Retain implements [core.Retainer], at the cost of a Snapshot. Whoever
// computes a horizon, or prunes, waits meanwhile: so none falls between the
// capture and the registration.
func (m *Manager) Retain(self core.Xid) core.Guard {
	m.horizon.Lock()
	defer m.horizon.Unlock()
	s := m.Snapshot(self)
	if fault.On == "sharded/retain-in-two-holds" {
		m.horizon.Unlock()
		m.horizon.Lock()
	}
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
	m.horizon.Lock()
	defer m.horizon.Unlock()
	if m.claims.Read().forgot > g.At || m.passed(g) {
		return core.Guard{}, core.ErrTooOld
	}
	if fault.On == "sharded/passed-in-two-holds" {
		m.horizon.Unlock()
		m.horizon.Lock()
	}
	return m.register(g, s), nil
}

// passed reports whether a horizon that was answered is above something that g
// would protect. Nothing below such a horizon is active (I7).
func (m *Manager) passed(g *ledger.Guard[hidden]) bool {
	m.lock()
	defer m.unlock()
	answered := m.claims.Read().answered
	return g.State.floor(answered) < answered
}

// register needs horizon. The guard is its own holder, so a token has nothing
// to tell apart.
func (m *Manager) register(g *ledger.Guard[hidden], s core.Snapshot) core.Guard {
	m.claims.Write().guards.Insert(g)
	return core.NewGuard(s, (*guard)(g), 0)
}

// Release implements [core.Holder]: O(1) and no shard's lock, unless a prune
// waits.
func (g *guard) Release(uint64) bool {
	m := g.State.m
	m.horizon.Lock()
	defer m.horizon.Unlock()
	c := m.claims.Write()
	oldest := c.guards.Oldest() == (*ledger.Guard[hidden])(g)
	if !c.guards.Remove((*ledger.Guard[hidden])(g)) {
		return false
	}
	g.State.view, g.State.walks = nil, nil
	if oldest && (c.stale || len(c.deferred) > 0) {
		m.settle()
	}
	return true
}

// settle forgets what no guard keeps from being forgotten any more, and drops
// what none of them knew. It needs horizon.
func (m *Manager) settle() {
	c := m.claims.Write()
	since := c.guards.Since()
	ready := c.deferred.Take(since)
	m.lock()
	defer m.unlock()
	if len(ready) > 0 {
		m.forget(ready)
	}
	m.drop(since)
}

// drop drops what was forgotten by the instant until. It needs horizon and
// every lock.
func (m *Manager) drop(until uint64) {
	c := m.claims.Write()
	c.stale = false
	for k := range m.shards {
		a := &m.shards[k].fates.Write().aborts
		a.Drop(until)
		c.stale = c.stale || a.Stale()
	}
}

// OldestRequired implements [core.Retainer]: exact, O(shards) amortised (see
// [guard]), under all locks.
func (m *Manager) OldestRequired() (core.Xid, bool) {
	m.horizon.Lock()
	defer m.horizon.Unlock()
	m.lock()
	defer m.unlock()
	next := m.bound()
	h := m.answer(next)
	return h, h < next
}

// answer needs horizon and every lock; next was read under them.
func (m *Manager) answer(next core.Xid) core.Xid {
	x, c := m.oldestActive(next), m.claims.Write()
	if p, ok := c.pins.Oldest(); ok {
		x = min(x, p)
	}
	if g := c.guards.Oldest(); g != nil {
		x = g.State.floor(x)
	}
	c.answered = max(c.answered, x)
	return x
}

// PruneAborted implements [core.Pruner] in O(shards + aborted), under all
// locks. Under a guard it is put on a list, which is 16 bytes a call.
func (m *Manager) PruneAborted(below core.Xid) int {
	m.horizon.Lock()
	defer m.horizon.Unlock()
	m.lock()
	defer m.unlock()
	c := m.claims.Write()
	p := ledger.Prune{Below: below, At: m.tick()}
	if fault.On != "sharded/deferral-untouched" {
		m.touch()
	}
	if c.guards.Oldest() != nil { // every live guard is older
		c.deferred = append(c.deferred, p)
		return 0
	}
	n := m.forget([]ledger.Prune{p})
	m.drop(m.cuts.Read().now)
	return n
}

// forget does what prunes have waited for (see [ledger.Aborts.Forget]). It needs
// horizon and every lock.
func (m *Manager) forget(prunes []ledger.Prune) (n int) {
	at, c := m.tick(), m.claims.Write()
	for k := range m.shards {
		n += m.shards[k].fates.Write().aborts.Forget(prunes, at, &c.pins)
	}
	if n > 0 {
		c.forgot = at
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
