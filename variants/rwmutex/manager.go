package rwmutex

import (
	"slices"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
	"xidlab/internal/ledger"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// A Manager keeps its whole state behind one lock: the allocator's bound, the
// active Xids, the aborted ones. What is below the bound and in neither set has
// committed, so commits leave nothing behind and a gap of observed Xids costs
// nothing.
//
// Writers (Begin, the finishes, everything about horizons) exclude everybody;
// readers (Snapshot, Status) exclude writers. So every operation happens at one
// instant, any while it holds the lock, and that is the whole argument for
// linearizability. It is also the cost: a finish waits for the copy that a
// snapshot makes, and a snapshot for every finish; nobody gets on while the
// holder of the lock is not running.
//
// A snapshot copies the active set: O(active). Nothing is copied, and nothing
// allocated, if nothing is active, if everything from the oldest unfinished Xid
// on is, or if nothing has finished since the last copy (see [view]). Whether
// an Xid had aborted is not copied but looked up, under the lock, and only for
// an Xid between the bounds of the set of that instant.
//
// Born-committed Xids need no pool: one increment under the lock is exact, and
// snapshots have no reserved window to hide (the package comment has the
// measurement).
type Manager struct {
	mu    sync.RWMutex
	state sync.Cell[state] // guarded by mu

	recent atomic.Pointer[view] // the last copy; of use while its instant is now
}

// A state is what the lock guards. Its methods need the lock: for reading, unless
// they say otherwise.
type state struct {
	next   core.Xid // the allocator's bound
	now    uint64   // the instant, see I3
	active ledger.Ascending
	aborts ledger.Aborts
	pins   ledger.Pins
	guards ledger.Guards[walk]

	answered core.Xid      // the largest horizon that was ever answered
	forgot   uint64        // the instant when something was last forgotten
	deferred ledger.Prunes // those that wait for older guards
}

var (
	_ core.Manager            = (*Manager)(nil)
	_ core.CommittedAllocator = (*Manager)(nil)
	_ core.Retainer           = (*Manager)(nil)
	_ core.Pinner             = (*Manager)(nil)
	_ core.Pruner             = (*Manager)(nil)
	_ core.Recoverer          = (*Manager)(nil)
	_ core.Checkpointer       = (*Manager)(nil)
	_ core.KeyReserver        = (*Manager)(nil)
	_ core.GroupCommitter     = (*Manager)(nil)
)

// New returns a manager that has seen no transactions.
func New() *Manager {
	m := new(Manager)
	m.state.Write().next = 1
	return m
}

// Ordered implements [core.Manager]: Xids are ordered, being handed out under
// the lock.
func (m *Manager) Ordered() bool { return true }

// Begin implements [core.Manager] in O(1), amortised.
func (m *Manager) Begin() core.Xid {
	m.mu.Lock()
	s := m.state.Write()
	x := m.allocate(s)
	s.active.Push(x)
	m.mu.Unlock()
	return x
}

// AllocateCommitted implements [core.CommittedAllocator]: it begins and commits
// at one instant.
func (m *Manager) AllocateCommitted() core.Xid {
	m.mu.Lock()
	s := m.state.Write()
	x := m.allocate(s)
	s.now++
	m.mu.Unlock()
	return x
}

// allocate needs the lock for writing, and gives it up if it panics.
func (m *Manager) allocate(s *state) core.Xid {
	x := s.next
	if x > core.MaxXid {
		m.mu.Unlock()
		panic(core.ErrExhausted)
	}
	s.next++
	return x
}

// Commit implements [core.Manager]: O(log n) and a memmove of at most half of
// the active set, O(1) for the newest or the oldest.
func (m *Manager) Commit(x core.Xid) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	if !s.active.Remove(x) {
		return core.FinishError("commit", x, s.status(x))
	}
	s.now++
	s.check(x)
	return nil
}

// Rollback implements [core.Manager], at the cost of Commit and a memmove of
// the aborted Xids above x.
func (m *Manager) Rollback(x core.Xid) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	if !s.active.Remove(x) {
		return core.FinishError("rollback", x, s.status(x))
	}
	s.check(x)
	if fault.On != "rwmutex/rollback-at-same-instant" {
		s.now++
	}
	s.aborts.Add(x, s.now)
	return nil
}

// CommitGroup implements [core.GroupCommitter]. A refusal puts the members back
// that were taken out; nobody else saw that.
func (m *Manager) CommitGroup(xs ...core.Xid) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	for i, x := range xs {
		if s.active.Remove(x) {
			if fault.On == "rwmutex/group-one-by-one" {
				m.mu.Unlock()
				m.mu.Lock()
			}
			continue
		}
		for _, y := range xs[:i] {
			s.active.Insert(y)
		}
		if slices.Contains(xs[:i], x) {
			return &core.XidError{Op: "group commit", Xid: x, Status: core.Active, Err: core.ErrDuplicate}
		}
		return core.FinishError("group commit", x, s.status(x))
	}
	s.now++
	return nil
}

// Status implements [core.Manager] in O(log n).
func (m *Manager) Status(x core.Xid) core.Status {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.Read().status(x)
}

// status: nothing is ever Reserved, since nothing is set aside.
func (s *state) status(x core.Xid) core.Status {
	switch {
	case x >= s.next:
		return core.Unallocated
	case s.active.Has(x):
		return core.Active
	case s.aborts.Aborted(x):
		return core.Aborted
	}
	return core.Committed
}

// OldestActive implements [core.Manager] in O(1).
func (m *Manager) OldestActive() (core.Xid, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if a := m.state.Read().active.All(); len(a) > 0 {
		return a[0], true
	}
	return core.None, false
}

// PeekNext implements [core.Manager].
func (m *Manager) PeekNext() core.Xid {
	if fault.On == "rwmutex/bound-unlocked" {
		return m.state.Read().next
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.Read().next
}

// ObserveCommitted implements [core.Recoverer] in O(log n): what is below the
// bound and in no set has committed, so a gap is nothing to remember.
func (m *Manager) ObserveCommitted(x core.Xid) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	found := s.status(x)
	switch {
	case x > core.MaxXid:
		return &core.XidError{Op: "observe committed", Xid: x, Status: found, Err: core.ErrXidRange}
	case found == core.Unallocated:
		s.next = x + 1
		s.now++
	case found != core.Committed:
		return &core.XidError{Op: "observe committed", Xid: x, Status: found, Err: core.ErrNotCommitted}
	}
	return nil
}

// ReservesUniqueKey implements [core.KeyReserver].
func (m *Manager) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.state.Read()
	if fault.On == "rwmutex/read-lock-twice" && m.Status(xmin) == core.Aborted {
		return false
	}
	if s.status(xmin) == core.Aborted {
		return false
	}
	if xmax == core.None {
		return true
	}
	if fault.On == "rwmutex/key-in-two-holds" {
		m.mu.RUnlock()
		m.mu.RLock()
	}
	deleter := s.status(xmax)
	return deleter != core.Committed && (deleter == core.Aborted || !own.Has(xmax))
}

// CheckpointExcluded implements [core.Checkpointer] in O(active + aborted).
func (m *Manager) CheckpointExcluded() (core.Xid, core.XidSet) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.state.Read()
	return s.next, s.excluded()
}

// CheckpointProjection implements [core.Checkpointer]. It excludes readers, as
// OldestRequired does.
func (m *Manager) CheckpointProjection() (core.Xid, core.XidSet, core.Xid) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	next, set := s.next, s.excluded()
	if fault.On == "rwmutex/checkpoint-in-two-holds" {
		m.mu.Unlock()
		m.mu.Lock()
	}
	return next, set, s.answer()
}

func (s *state) excluded() core.XidSet {
	set := make(core.XidSet, 0, len(s.active.All())+s.aborts.Len())
	set = append(set, s.active.All()...)
	set = s.aborts.AppendTo(set)
	slices.Sort(set) // two ascending runs
	return set
}

// check looks at I1 and I2 around x, which has just been taken out of active.
func (s *state) check(x core.Xid) {
	if !invariants.Enabled {
		return
	}
	a := s.active.All()
	i, found := slices.BinarySearch(a, x)
	if found || s.aborts.Has(x) || i > 0 && a[i-1] >= x || i < len(a) && a[i] <= x || len(a) > 0 && a[len(a)-1] >= s.next {
		panic("rwmutex: active is out of order, or an xid is there twice")
	}
}
