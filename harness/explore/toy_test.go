package explore

import (
	"xidlab/core"
	"xidlab/core/spec"
	"xidlab/internal/sched"
)

// A toy is the specification under one scheduled lock, which makes it a right
// manager, in every build; or one with a mistake.
type toy struct {
	*spec.Manager
	mu, other sched.Mutex
	mistake   mistake
	cached    core.Snapshot
}

type mistake int

const (
	none             mistake = iota
	groupOneByOne            // CommitGroup commits one after the other
	oldestOneByOne           // OldestActive asks about one xid after the other
	finishInTwoHolds         // Rollback sees that x is active, and then believes it
	boundFirst               // CheckpointExcluded reads its bound in an earlier hold
	horizonLow               // OldestRequired answers one less
	cachesForEver            // Snapshot returns the first one again
	deadlocks                // Begin and AllocateCommitted take two locks in different orders
	leaks                    // a refused Commit keeps the lock
	panics                   // Commit panics beside another one
)

func newToy(k mistake) func() core.Manager {
	return func() core.Manager { return &toy{Manager: spec.New(), mistake: k} }
}

func (m *toy) hold() func() { m.mu.Lock(); return m.mu.Unlock }

func (m *toy) Begin() core.Xid {
	defer m.hold()()
	if m.mistake == deadlocks {
		m.other.Lock()
		defer m.other.Unlock()
	}
	return m.Manager.Begin()
}

func (m *toy) AllocateCommitted() core.Xid {
	if m.mistake == deadlocks {
		m.other.Lock()
		defer m.other.Unlock()
	}
	defer m.hold()()
	return m.Manager.AllocateCommitted()
}

func (m *toy) Commit(x core.Xid) error {
	if m.mistake == panics && !m.mu.TryLock() {
		panic("somebody else is here")
	} else if m.mistake != panics {
		m.mu.Lock()
	}
	err := m.Manager.Commit(x)
	if m.mistake != leaks || err == nil {
		m.mu.Unlock()
	}
	return err
}

func (m *toy) Rollback(x core.Xid) error {
	if m.mistake == finishInTwoHolds {
		if s := m.Status(x); s != core.Active {
			return core.FinishError("rollback", x, s)
		}
		defer m.hold()()
		_ = m.Manager.Rollback(x)
		return nil
	}
	defer m.hold()()
	return m.Manager.Rollback(x)
}

func (m *toy) CommitGroup(xs ...core.Xid) error {
	if m.mistake == groupOneByOne {
		for _, x := range xs {
			if err := m.Commit(x); err != nil {
				return err
			}
		}
		return nil
	}
	defer m.hold()()
	return m.Manager.CommitGroup(xs...)
}

func (m *toy) OldestActive() (core.Xid, bool) {
	if m.mistake == oldestOneByOne {
		next := m.PeekNext()
		for x := core.Xid(1); x < next; x++ {
			if m.Status(x) == core.Active {
				return x, true
			}
		}
		return core.None, false
	}
	defer m.hold()()
	return m.Manager.OldestActive()
}

func (m *toy) CheckpointExcluded() (core.Xid, core.XidSet) {
	if m.mistake == boundFirst {
		next := m.PeekNext()
		defer m.hold()()
		_, set := m.Manager.CheckpointExcluded()
		for len(set) > 0 && set[len(set)-1] >= next {
			set = set[:len(set)-1]
		}
		return next, set
	}
	defer m.hold()()
	return m.Manager.CheckpointExcluded()
}

func (m *toy) OldestRequired() (core.Xid, bool) {
	defer m.hold()()
	h, ok := m.Manager.OldestRequired()
	if m.mistake == horizonLow && h > 1 {
		return h - 1, true
	}
	return h, ok
}

func (m *toy) Snapshot(x core.Xid) core.Snapshot {
	defer m.hold()()
	if v, _, _, _, _ := m.cached.Parts(); m.mistake == cachesForEver && v != nil {
		return m.cached
	}
	m.cached = m.wrap(m.Manager.Snapshot(x))
	return m.cached
}

// wrap returns s with a view that takes the lock.
func (m *toy) wrap(s core.Snapshot) core.Snapshot {
	_, owner, low, high, at := s.Parts()
	return core.NewSnapshot(&lockedView{m, s}, owner, low, high, at)
}

type lockedView struct {
	m *toy
	s core.Snapshot
}

func (v *lockedView) Lookup(x core.Xid, at uint64) (bool, error) {
	defer v.m.hold()()
	return v.s.Lookup(x)
}

func (v *lockedView) RolledBack(x core.Xid, at uint64) (bool, error) {
	defer v.m.hold()()
	view, _, _, _, _ := v.s.Parts()
	return view.RolledBack(x, at)
}

func (v *lockedView) InProgress(low, high core.Xid, at uint64) (core.XidSet, error) {
	defer v.m.hold()()
	return v.s.InProgress()
}

func (m *toy) Status(x core.Xid) core.Status { defer m.hold()(); return m.Manager.Status(x) }
func (m *toy) PeekNext() core.Xid            { defer m.hold()(); return m.Manager.PeekNext() }

// Retain returns a guard whose release takes the lock.
func (m *toy) Retain(x core.Xid) core.Guard {
	defer m.hold()()
	return m.locked(m.Manager.Retain(x))
}

func (m *toy) locked(g core.Guard) core.Guard {
	return core.NewGuard(m.wrap(g.Snapshot), &held{m, g}, 0)
}

type held struct {
	m *toy
	g core.Guard
}

func (h *held) Release(uint64) bool { defer h.m.hold()(); return h.g.Release() }

func (m *toy) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	defer m.hold()()
	v, owner, _, _, _ := s.Parts()
	g, err := m.Manager.RetainSnapshot(v.(*lockedView).s.WithOwner(owner))
	if err != nil {
		return core.Guard{}, err
	}
	return m.locked(g), nil
}

func (m *toy) Pin(x core.Xid) error           { defer m.hold()(); return m.Manager.Pin(x) }
func (m *toy) Unpin(x core.Xid)               { defer m.hold()(); m.Manager.Unpin(x) }
func (m *toy) PinCount(x core.Xid) int        { defer m.hold()(); return m.Manager.PinCount(x) }
func (m *toy) OldestPinned() (core.Xid, bool) { defer m.hold()(); return m.Manager.OldestPinned() }
func (m *toy) PruneAborted(x core.Xid) int    { defer m.hold()(); return m.Manager.PruneAborted(x) }
func (m *toy) ObserveCommitted(x core.Xid) error {
	defer m.hold()()
	return m.Manager.ObserveCommitted(x)
}
func (m *toy) CheckpointProjection() (core.Xid, core.XidSet, core.Xid) {
	defer m.hold()()
	return m.Manager.CheckpointProjection()
}
func (m *toy) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	defer m.hold()()
	return m.Manager.ReservesUniqueKey(xmin, xmax, own)
}
