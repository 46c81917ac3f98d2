package spec

import (
	"slices"

	"xidlab/core"
)

// A view is the manager's side of a snapshot. All that a snapshot knows is its
// instant.
type view struct {
	m  *Manager
	at uint64
}

func (m *Manager) Snapshot(self core.Xid) core.Snapshot {
	if m.Status(self) != core.Active {
		self = core.None
	}
	at := m.tick()
	return core.NewSnapshot(&view{m, at}, self, 1, m.next, at)
}

func (v *view) Lookup(x core.Xid, at uint64) (bool, error) {
	if o := v.m.observedAt(x); o != 0 {
		return o < at, nil
	}
	t := v.m.txs[x]
	return t != nil && t.committed != 0 && t.committed < at, nil
}

func (v *view) RolledBack(x core.Xid, _ uint64) (bool, error) {
	t := v.m.txs[x]
	return t != nil && t.aborted, nil
}

func (v *view) InProgress(low, high core.Xid, at uint64) (core.XidSet, error) {
	return v.m.xids(func(x core.Xid, t *tx) bool {
		return low <= x && x < high && t.began < at && (t.ended == 0 || t.ended > at)
	}), nil
}

func (m *Manager) Retain(self core.Xid) core.Guard { return m.guard(m.Snapshot(self)) }

func (m *Manager) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	v, ok := m.own(s)
	if !ok {
		return core.Guard{}, core.ErrForeign
	}
	if m.passed(v, m.answered) {
		return core.Guard{}, core.ErrTooOld
	}
	return m.guard(s), nil
}

// MayRefuse reports whether another manager may refuse to retain s although
// this one would not: OldestRequired has not passed s, but could have, or the
// other has collapsed what s can tell apart.
func (m *Manager) MayRefuse(s core.Snapshot) bool {
	v, ok := m.own(s)
	m.reached = max(m.reached, m.Required())
	return !ok || m.passed(v, m.reached) || m.mayHaveCollapsed(v)
}

// LetCollapse makes m follow managers that do, see [core.Collapser].
func (m *Manager) LetCollapse() { m.collapses = true }

// mayHaveCollapsed reports whether another manager may have given up what v can
// tell apart: something has finished after v, and then no guard lived that is as
// old as v.
func (m *Manager) mayHaveCollapsed(v *view) bool {
	if !m.collapses {
		return false
	}
	lost := func(at uint64) bool { return v.at < at && at < m.collapsible() }
	for _, g := range m.guards {
		if g.at == v.at {
			return false
		}
	}
	for _, t := range m.txs {
		if lost(t.ended) || lost(t.committed) {
			return true
		}
	}
	for _, g := range m.observed {
		if lost(g.at) {
			return true
		}
	}
	for _, at := range m.givenUp {
		if lost(at) {
			return true
		}
	}
	return false
}

// collapsible returns the first instant that no guard has ever let anybody give up.
func (m *Manager) collapsible() uint64 {
	oldest := m.now + 1
	for _, v := range m.guards {
		oldest = min(oldest, v.at)
	}
	return max(m.collapsed, oldest)
}

// MayForget reports whether another manager may answer ErrTooOld to questions
// about s: it may refuse to retain s, and no guard protects what s sees.
func (m *Manager) MayForget(s core.Snapshot) bool {
	v, ok := m.own(s)
	for _, g := range m.guards {
		if ok && g.at == v.at {
			return false
		}
	}
	return m.MayRefuse(s)
}

// passed reports whether a horizon has passed v: what v hides, and has
// committed, may have lost the versions that v needs.
func (m *Manager) passed(v *view, horizon core.Xid) bool {
	first, hides := m.hidden(v)
	return hides && first < horizon || m.forgot > v.at
}

// hidden returns the smallest Xid that v hides and that has committed since.
// (What has aborted is hidden from everybody; nobody needs its versions.)
func (m *Manager) hidden(v *view) (core.Xid, bool) {
	set := m.xids(func(x core.Xid, t *tx) bool { return !t.aborted && t.committed > v.at })
	for _, g := range m.observed {
		if g.at > v.at {
			set = append(set, g.from)
		}
	}
	return oldest(set)
}

func (m *Manager) own(s core.Snapshot) (*view, bool) {
	sv, _, _, _, _ := s.Parts()
	v, ok := sv.(*view)
	return v, ok && v.m == m
}

func (m *Manager) guard(s core.Snapshot) core.Guard {
	v, _ := m.own(s)
	m.collapsed = m.collapsible()
	m.tokens++
	m.guards[m.tokens] = v
	return core.NewGuard(s, (*holder)(m), m.tokens)
}

type holder Manager

func (h *holder) Release(token uint64) bool {
	m := (*Manager)(h)
	if m.guards[token] == nil {
		return false
	}
	delete(m.guards, token)
	m.deferred = slices.DeleteFunc(m.deferred, func(p prune) bool {
		ready := !m.guardedBefore(p.at)
		if ready {
			m.forget(p)
		}
		return ready
	})
	return true
}

func (m *Manager) OldestRequired() (core.Xid, bool) {
	h := m.Required()
	m.answer(h)
	return h, h < m.next
}

// OldestRequiredAs is OldestRequired with the answer that another manager has
// given while others used it: a smaller one than the exact one will do, if it
// has not moved backwards. It reports whether h, ok is such an answer.
func (m *Manager) OldestRequiredAs(h core.Xid, ok bool) bool {
	if h < m.floor || h > m.Required() || ok != (h < m.next) {
		return false
	}
	m.answer(h)
	return true
}

// CheckpointProjectionAs is to CheckpointProjection what OldestRequiredAs is to
// OldestRequired: it reports whether cutoff may be the answer now.
func (m *Manager) CheckpointProjectionAs(cutoff core.Xid) bool {
	return m.OldestRequiredAs(cutoff, cutoff < m.next)
}

// answer notes that h was the answer to a question for the horizon.
func (m *Manager) answer(h core.Xid) {
	m.answered = max(m.answered, h)
	m.floor = h
}

// Required returns what OldestRequired would answer now, without asking: next, or an active Xid, or a pinned one below
// next, or one that a live guard hides and that has committed since.
func (m *Manager) Required() core.Xid {
	h := m.next
	if x, ok := m.OldestActive(); ok {
		h = min(h, x)
	}
	if x, ok := m.OldestPinned(); ok {
		h = min(h, x)
	}
	for _, v := range m.guards {
		if x, ok := m.hidden(v); ok {
			h = min(h, x)
		}
	}
	return h
}

func (m *Manager) PruneAborted(below core.Xid) int {
	p := prune{below, m.tick()}
	if m.guardedBefore(p.at) {
		m.deferred = append(m.deferred, p)
		return 0
	}
	return m.forget(p)
}

func (m *Manager) guardedBefore(at uint64) bool {
	for _, v := range m.guards {
		if v.at < at {
			return true
		}
	}
	return false
}

// forget makes what p covers count as committed, from one instant on.
func (m *Manager) forget(p prune) int {
	at := m.tick()
	set := m.xids(func(x core.Xid, t *tx) bool {
		return x < p.below && t.aborted && t.ended < p.at && t.committed == 0 && m.pins[x] == 0
	})
	for _, x := range set {
		m.txs[x].committed = at
	}
	if len(set) > 0 {
		m.forgot = at
	}
	return len(set)
}
