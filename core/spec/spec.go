// Package spec is the sequential specification of a snapshot manager: plain
// maps, no locks, slow and obvious. Other managers are judged by whether they
// behave like it.
//
// Time is a counter of instants, one more at every event. A transaction is
// three instants: when it began, when it ended, and from when on it counts as
// committed. Everything else is read off these.
package spec

import (
	"maps"
	"slices"

	"xidlab/core"
)

// A Manager implements [core.Manager] and every capability. It is not safe for
// concurrent use.
type Manager struct {
	now      uint64   // the latest instant
	next     core.Xid // the allocator's bound
	txs      map[core.Xid]*tx
	observed []gap
	givenUp  map[core.Xid]uint64 // when
	pins     map[core.Xid]int
	guards   map[uint64]*view // by token
	tokens   uint64

	answered core.Xid // the largest horizon ever answered
	floor    core.Xid // the last one, or what was pinned below it since
	reached  core.Xid // the largest that could have been answered, see MayRefuse
	forgot   uint64   // the instant when PruneAborted last forgot something
	deferred []prune  // prunes that wait for older guards

	collapses bool   // see LetCollapse
	collapsed uint64 // what was collapsible when there was a guard less
}

// A tx is a transaction that was handed out. Instant 0 is "not yet".
type tx struct {
	began, ended uint64
	aborted      bool
	committed    uint64 // when it committed, or was forgotten after an abort
}

// A gap is a range of xids, both ends included, that was observed as committed.
type gap struct {
	from, to core.Xid
	at       uint64
}

type prune struct {
	below core.Xid
	at    uint64
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
	return &Manager{
		next:   1,
		txs:    map[core.Xid]*tx{},
		pins:   map[core.Xid]int{},
		guards: map[uint64]*view{},
	}
}

func (m *Manager) tick() uint64 { m.now++; return m.now }

func (m *Manager) Ordered() bool      { return true }
func (m *Manager) PeekNext() core.Xid { return m.next }

func (m *Manager) Begin() core.Xid {
	x := m.allocate()
	m.BeginAs(x)
	return x
}

func (m *Manager) AllocateCommitted() core.Xid {
	x := m.allocate()
	m.AllocateCommittedAs(x)
	return x
}

func (m *Manager) allocate() core.Xid {
	if m.next > core.MaxXid {
		panic(core.ErrExhausted)
	}
	return m.next
}

// BeginAs is Begin with the Xid that another manager has chosen: a manager that
// is not ordered may hand out any Xid it never handed out before. It reports
// whether x is one. Xids below a chosen one that nobody has are Reserved.
func (m *Manager) BeginAs(x core.Xid) bool {
	if s := m.Status(x); x > core.MaxXid || s != core.Unallocated && s != core.Reserved {
		return false
	}
	m.next = max(m.next, x+1)
	m.txs[x] = &tx{began: m.tick()}
	return true
}

// AllocateCommittedAs is to AllocateCommitted what BeginAs is to Begin.
func (m *Manager) AllocateCommittedAs(x core.Xid) bool {
	if !m.BeginAs(x) {
		return false
	}
	m.finish(m.txs[x], m.now, false)
	return true
}

// Reserve moves the allocator's bound up to next, as a manager does that sets
// xids aside: those in between are Reserved until BeginAs or
// AllocateCommittedAs names them. A next below the bound changes nothing.
func (m *Manager) Reserve(next core.Xid) { m.next = max(m.next, next) }

// GiveUp makes x one that nobody will ever have, as a manager may do with what it
// has set aside: from now on x counts as committed, and holds no horizon back. It
// reports whether x is Reserved.
func (m *Manager) GiveUp(x core.Xid) bool {
	if m.Status(x) != core.Reserved {
		return false
	}
	if m.givenUp == nil {
		m.givenUp = map[core.Xid]uint64{}
	}
	m.givenUp[x] = m.tick()
	return true
}

func (m *Manager) finish(t *tx, at uint64, aborted bool) {
	t.ended, t.aborted = at, aborted
	if !aborted {
		t.committed = at
	}
}

func (m *Manager) Commit(x core.Xid) error {
	if s := m.Status(x); s != core.Active {
		return core.FinishError("commit", x, s)
	}
	m.finish(m.txs[x], m.tick(), false)
	return nil
}

func (m *Manager) Rollback(x core.Xid) error {
	if s := m.Status(x); s != core.Active {
		return core.FinishError("rollback", x, s)
	}
	m.finish(m.txs[x], m.tick(), true)
	return nil
}

func (m *Manager) CommitGroup(xs ...core.Xid) error {
	seen := map[core.Xid]bool{}
	for _, x := range xs {
		if s := m.Status(x); s != core.Active {
			return core.FinishError("group commit", x, s)
		}
		if seen[x] {
			return &core.XidError{Op: "group commit", Xid: x, Status: core.Active, Err: core.ErrDuplicate}
		}
		seen[x] = true
	}
	at := m.tick()
	for _, x := range xs {
		m.finish(m.txs[x], at, false)
	}
	return nil
}

func (m *Manager) Status(x core.Xid) core.Status {
	t := m.txs[x]
	switch {
	case x == core.None || m.observedAt(x) != 0:
		return core.Committed
	case x >= m.next:
		return core.Unallocated
	case t == nil:
		return core.Reserved
	case t.committed != 0:
		return core.Committed
	case t.ended != 0:
		return core.Aborted
	}
	return core.Active
}

// observedAt returns the instant when x was observed in a gap or given up, or 0.
func (m *Manager) observedAt(x core.Xid) uint64 {
	for _, g := range m.observed {
		if g.from <= x && x <= g.to {
			return g.at
		}
	}
	return m.givenUp[x]
}

func (m *Manager) OldestActive() (core.Xid, bool) {
	return oldest(m.xids(func(x core.Xid, t *tx) bool { return t.ended == 0 }))
}

// xids returns the transactions for which keep is true, ascending.
func (m *Manager) xids(keep func(core.Xid, *tx) bool) core.XidSet {
	var set core.XidSet
	for x, t := range m.txs {
		if keep(x, t) {
			set = append(set, x)
		}
	}
	slices.Sort(set)
	return set
}

func oldest(set core.XidSet) (core.Xid, bool) {
	if len(set) == 0 {
		return core.None, false
	}
	return slices.Min(set), true
}

func (m *Manager) ObserveCommitted(x core.Xid) error {
	s := m.Status(x)
	switch {
	case x > core.MaxXid:
		return &core.XidError{Op: "observe committed", Xid: x, Status: s, Err: core.ErrXidRange}
	case s == core.Unallocated:
		m.observed = append(m.observed, gap{m.next, x, m.tick()})
		m.next = x + 1
	case s != core.Committed:
		return &core.XidError{Op: "observe committed", Xid: x, Status: s, Err: core.ErrNotCommitted}
	}
	return nil
}

func (m *Manager) CheckpointExcluded() (core.Xid, core.XidSet) {
	var excluded core.XidSet
	for x := core.Xid(1); x < m.next; x++ {
		if i := slices.IndexFunc(m.observed, func(g gap) bool { return g.from == x }); i >= 0 {
			x = m.observed[i].to
			continue
		}
		if m.Status(x) != core.Committed {
			excluded = append(excluded, x)
		}
	}
	return m.next, excluded
}

func (m *Manager) CheckpointProjection() (core.Xid, core.XidSet, core.Xid) {
	next, excluded := m.CheckpointExcluded()
	cutoff, _ := m.OldestRequired()
	return next, excluded, cutoff
}

func (m *Manager) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	deleter := m.Status(xmax)
	switch {
	case m.Status(xmin) == core.Aborted:
		return false
	case xmax == core.None:
		return true
	case deleter == core.Committed:
		return false
	}
	return !own.Has(xmax) || deleter == core.Aborted
}

func (m *Manager) Pin(x core.Xid) error {
	if x > core.MaxXid {
		return &core.XidError{Op: "pin", Xid: x, Status: m.Status(x), Err: core.ErrXidRange}
	}
	m.reached = max(m.reached, m.Required()) // the only event that lowers it
	if x != core.None {
		m.pins[x]++
		m.floor = min(m.floor, x)
	}
	return nil
}

func (m *Manager) Unpin(x core.Xid) {
	if m.pins[x]--; m.pins[x] <= 0 {
		delete(m.pins, x)
	}
}

func (m *Manager) PinCount(x core.Xid) int { return m.pins[x] }

func (m *Manager) OldestPinned() (core.Xid, bool) {
	return oldest(slices.Collect(maps.Keys(m.pins)))
}
