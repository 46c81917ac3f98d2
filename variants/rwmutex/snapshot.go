package rwmutex

import (
	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/ledger"
)

// Snapshot implements [core.Manager]: O(active) if something has finished since
// the last one, and O(log active) otherwise.
//
// An Xid is above every finished one, and so needs no copy to be known as in
// progress, if it is at or above the bound of a copy at whose instant the
// manager still is: since then, Xids have only begun (I3).
func (m *Manager) Snapshot(self core.Xid) core.Snapshot {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.capture(m.state.Read(), self)
}

// capture needs mu for reading.
func (m *Manager) capture(s *state, self core.Xid) core.Snapshot {
	active := s.active.All()
	low, _ := s.aborts.Bounds()
	low = min(low, s.next)
	if len(active) > 0 {
		low = min(low, active[0])
	}
	if self != core.None && !s.active.Has(self) {
		self = core.None
	}
	var v core.View
	switch {
	case core.Xid(len(active)) == s.next-low:
		v = (*solid)(m)
	case len(active) == 0:
		v = (*idle)(m)
	default:
		v = m.view(s, active)
	}
	return core.NewSnapshot(v, self, low, s.next, s.now)
}

// A view is a copy of the active set, immutable and shared by all snapshots of
// one instant now. (They may differ in their bounds: Begin does not move now.)
type view struct {
	m      *Manager
	at     uint64
	active []core.Xid // ascending
	high   core.Xid   // the bound when it was copied

	abortedLow, abortedHigh core.Xid // nothing outside had aborted
}

// inlined is how many Xids are copied into the same object as the view.
const inlined = 8

// view needs mu for reading. Readers may race to store the copy of one instant:
// any of them will do.
func (m *Manager) view(s *state, active []core.Xid) *view {
	if v := m.recent.Load(); v != nil && v.at == s.now {
		return v
	}
	var v *view
	if len(active) <= inlined {
		small := new(struct {
			view
			buf [inlined]core.Xid
		})
		v = &small.view
		v.active = small.buf[:copy(small.buf[:], active)]
	} else {
		v = &view{active: append([]core.Xid(nil), active...)}
	}
	v.m, v.at, v.high = m, s.now, s.next
	v.abortedLow, v.abortedHigh = s.aborts.Bounds()
	m.recent.Store(v)
	return v
}

// Lookup implements [core.View] in O(log n); it takes the manager's lock for an
// x between the bounds of what had aborted.
func (v *view) Lookup(x core.Xid, at uint64) (bool, error) {
	if x >= v.high {
		return false, nil // begun after the copy, when nothing had finished (I3)
	}
	if _, ok := ledger.Find(v.active, x); ok {
		return false, nil
	}
	if x < v.abortedLow || x > v.abortedHigh {
		return true, nil
	}
	return v.m.committed(x, at)
}

// RolledBack implements [core.View].
func (v *view) RolledBack(x core.Xid, at uint64) (bool, error) { return v.m.rolledBack(x, at) }

// InProgress implements [core.View].
func (v *view) InProgress(_, high core.Xid, _ uint64) (core.XidSet, error) {
	set := append(core.XidSet(nil), v.active...)
	for x := v.high; x < high; x++ {
		set = append(set, x)
	}
	return set, nil
}

// A solid is the view of a snapshot all of whose Xids from low to high were
// active: what the bounds do not include is not included. It is the manager
// itself, so it costs no allocation.
type solid Manager

// Lookup implements [core.View].
func (*solid) Lookup(core.Xid, uint64) (bool, error) { return false, nil }

// RolledBack implements [core.View].
func (v *solid) RolledBack(x core.Xid, at uint64) (bool, error) {
	return (*Manager)(v).rolledBack(x, at)
}

// InProgress implements [core.View].
func (*solid) InProgress(low, high core.Xid, _ uint64) (core.XidSet, error) {
	var set core.XidSet
	for x := low; x < high; x++ {
		set = append(set, x)
	}
	return set, nil
}

// An idle is the view of a snapshot when nothing was active. It is the manager
// itself, like solid.
type idle Manager

// Lookup implements [core.View].
func (v *idle) Lookup(x core.Xid, at uint64) (bool, error) { return (*Manager)(v).committed(x, at) }

// RolledBack implements [core.View].
func (v *idle) RolledBack(x core.Xid, at uint64) (bool, error) {
	return (*Manager)(v).rolledBack(x, at)
}

// InProgress implements [core.View].
func (*idle) InProgress(_, _ core.Xid, _ uint64) (core.XidSet, error) { return nil, nil }

// committed reports whether x, which had finished by the instant at, counted as
// committed then. A live guard's snapshot is always answered (I5, I6).
func (m *Manager) committed(x core.Xid, at uint64) (bool, error) {
	if fault.On == "rwmutex/lookup-unlocked" {
		return m.state.Read().aborts.Committed(x, at)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.Read().aborts.Committed(x, at)
}

// rolledBack reports whether x, the owner of a snapshot of the instant at, has
// rolled back by now.
func (m *Manager) rolledBack(x core.Xid, at uint64) (bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.state.Read()
	gone, err := s.aborts.RolledBack(x, at)
	if err != nil && s.active.Has(x) {
		return false, nil
	}
	return gone, err
}
