package sharded

import (
	"math/bits"
	"runtime"
	"slices"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// A Manager spreads outcomes over shards, each with a lock and on cache lines
// of its own; the shard of x is x modulo their number.
//
// # Begin
//
// The race that a design with many locks must avoid is an Xid that is drawn but
// not in its shard yet: a snapshot that reads the shard in between takes it for
// finished. Here there is no such moment, because there is nothing to insert: a
// shard lists the active Xids only below its frontier, and one that is not
// below it is active because the allocator has passed it and nobody has written
// that it finished (I1). Begin is one addition, takes no lock, and is ordered
// because the allocator is (I3). The frontier moves when something finishes
// beyond it; the Xids that it passes on the way, active all of them, are
// written down then. One that finishes before the next of its class does is
// never written down at all.
//
// # The cut
//
// A snapshot locks every shard, in ascending order, then reads next, then the
// shards, then unlocks. While it holds all locks nothing finishes (I1), and
// what begins gets an Xid at or above the bound that it read (I3): so what it
// sees is the state at the instant of that read. In the other order, next
// before the last lock, x may begin and commit in between, and then an older y:
// x is above the bound, hence hidden, but y, whose commit came later, is not.
// The same holds for every operation that looks at the whole state.
//
// Begin takes effect at its addition. Commit, Rollback and Status take effect
// at any moment while they hold the lock of their shard: no cut falls between,
// and operations on other shards do not show it. Status compares x with next
// while it holds the lock; next can only have grown since (I3), so that x was
// unallocated is true of the instant of the comparison. AllocateCommitted is a
// Begin and a Commit. CommitGroup and ReservesUniqueKey hold the locks of all
// the shards that they touch.
//
// # The cut, again
//
// If nothing has finished since a cut, its copy still serves. The second
// snapshot of a quiet phase publishes it; from then on a snapshot reads next,
// then every shard's version, and if they add up to the cut's sum it takes no
// lock. Versions only grow (I5), so an equal sum means that each is equal, and
// was so from the cut until it was read: all of them at the instant when next
// was read, which is the snapshot's. This is a double collect whose first half
// was done by somebody else. A double collect of the sets themselves would need
// them to be readable beside a writer, and has no bound under writers.
//
// # Who waits for whom
//
// Begin and PeekNext wait for nobody. A finish waits for its shard. A snapshot
// waits for every shard, and makes all finishes wait for its copy, which is the
// price of this design; so do the horizons and the checkpoints.
type Manager struct {
	_      [line]byte
	next   atomic.Uint64 // the allocator's bound, or more once it is exhausted
	_      [line]byte
	shards []shard
	shift  uint                 // log2 of their number
	recent atomic.Pointer[view] // a copy of a quiet phase, or nil
	_      [line]byte

	cuts sync.Cell[cuts] // guarded by all shards' locks: written with every one of them held

	horizon sync.Mutex        // I6: before the shards
	claims  sync.Cell[claims] // guarded by horizon
}

// The cuts so far, as far as they matter to the next.
type cuts struct {
	now   uint64 // I4: the instant
	quiet uint64 // the sum of the versions at the last one

	// For Counters.
	taken, copied, listed uint64
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

// New returns a manager that has seen no transactions, with as many shards as
// GOMAXPROCS says, rounded up to a power of two.
func New() *Manager { return NewShards(runtime.GOMAXPROCS(0)) }

// NewShards returns a manager with at least n shards: n is rounded up to a
// power of two, and to 1. More shards let more finishes run at once; a snapshot
// locks all of them.
func NewShards(n int) *Manager {
	m := &Manager{shift: uint(bits.Len(uint(max(n, 1) - 1)))}
	m.shards = make([]shard, 1<<m.shift)
	m.next.Store(1)
	for k := range m.shards {
		m.shards[k].fates.Write().frontier = m.after(k, 1)
	}
	return m
}

func (m *Manager) stride() core.Xid        { return core.Xid(len(m.shards)) }
func (m *Manager) class(x core.Xid) int    { return int(x & (m.stride() - 1)) }
func (m *Manager) shard(x core.Xid) *shard { return &m.shards[m.class(x)] }
func (m *Manager) bound() core.Xid         { return min(core.Xid(m.next.Load()), core.MaxXid+1) }

// after returns the first Xid of class k at or above x.
func (m *Manager) after(k int, x core.Xid) core.Xid {
	return x + (core.Xid(k)-x)&(m.stride()-1)
}

// lock locks every shard (I6).
func (m *Manager) lock() {
	for k := range m.shards {
		m.shards[k].mu.Lock()
	}
}

func (m *Manager) unlock() {
	for k := range m.shards {
		m.shards[k].mu.Unlock()
	}
}

// tick starts a new instant, and needs every lock (I4).
func (m *Manager) tick() uint64 {
	c := m.cuts.Write()
	c.now++
	return c.now
}

// Ordered implements [core.Manager]: Xids are ordered, being drawn from one
// counter.
func (m *Manager) Ordered() bool { return true }

// Begin implements [core.Manager]: one fetch-and-add, wait-free.
func (m *Manager) Begin() core.Xid {
	x := core.Xid(m.next.Add(1) - 1)
	if x > core.MaxXid {
		panic(core.ErrExhausted) // next goes on growing; it has 2^63 to go
	}
	return x
}

// AllocateCommitted implements [core.CommittedAllocator]: a Begin and a Commit.
func (m *Manager) AllocateCommitted() core.Xid {
	x := m.Begin()
	s := m.shard(x)
	s.mu.Lock()
	ok := m.take(s.fates.Write(), x)
	s.touch()
	s.mu.Unlock()
	if invariants.Enabled && !ok {
		panic("sharded: somebody finished an xid that nobody has")
	}
	return x
}

// Commit implements [core.Manager]: O(log n) among the active Xids of one shard,
// and a memmove of at most half of them; O(1) if none younger has finished.
func (m *Manager) Commit(x core.Xid) error {
	s := m.shard(x)
	s.mu.Lock()
	f := s.fates.Write()
	if !m.take(f, x) {
		if fault.On == "sharded/lock-leaked" {
			return m.refusal("commit", f, x)
		}
		defer s.mu.Unlock()
		return m.refusal("commit", f, x)
	}
	if fault.On == "sharded/touched-after-unlock" {
		s.mu.Unlock()
		s.touch()
		return nil
	}
	s.touch()
	m.check(f)
	s.mu.Unlock()
	return nil
}

// Rollback implements [core.Manager], at the cost of Commit and a memmove of
// the shard's aborted Xids above x.
func (m *Manager) Rollback(x core.Xid) error {
	s := m.shard(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fates.Write()
	if !m.take(f, x) {
		return m.refusal("rollback", f, x)
	}
	f.aborts.Add(x, m.cuts.Read().now) // I4: before the next prune, after the last
	if fault.On == "sharded/rollback-untouched" {
		return nil
	}
	s.touch()
	m.check(f)
	return nil
}

// refusal returns the error for an x that take has just refused, under the same
// hold of the lock.
func (m *Manager) refusal(op string, f *fates, x core.Xid) error {
	found := m.status(f, x)
	if found == core.Active && fault.On != "sharded/refused-as-active" {
		found = core.Unallocated // it has begun since it was refused
	}
	return core.FinishError(op, x, found)
}

// CommitGroup implements [core.GroupCommitter], holding the locks of all the
// shards of its members. A refusal puts back what was taken out; nobody else
// saw that.
func (m *Manager) CommitGroup(xs ...core.Xid) error {
	classes := m.lockOf(xs)
	defer func() {
		for _, k := range classes {
			m.shards[k].mu.Unlock()
		}
	}()
	for i, x := range xs {
		f := m.shard(x).fates.Write()
		if m.take(f, x) {
			continue
		}
		for _, y := range xs[:i] {
			m.shard(y).fates.Write().active.Insert(y)
		}
		if slices.Contains(xs[:i], x) {
			return &core.XidError{Op: "group commit", Xid: x, Status: core.Active, Err: core.ErrDuplicate}
		}
		return m.refusal("group commit", f, x)
	}
	for _, k := range classes {
		m.shards[k].touch()
	}
	return nil
}

// lockOf locks the shards of xs (I6), and returns their classes.
func (m *Manager) lockOf(xs []core.Xid) []int {
	classes := make([]int, len(xs))
	for i, x := range xs {
		classes[i] = m.class(x)
	}
	slices.Sort(classes)
	classes = slices.Compact(classes)
	if fault.On == "sharded/group-descends" {
		slices.Reverse(classes)
	}
	for _, k := range classes {
		m.shards[k].mu.Lock()
	}
	return classes
}

// Status implements [core.Manager] in O(log n), under the lock of one shard.
func (m *Manager) Status(x core.Xid) core.Status {
	s := m.shard(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.status(s.fates.Read(), x)
}

// OldestActive implements [core.Manager]: O(shards), under all locks.
func (m *Manager) OldestActive() (core.Xid, bool) {
	m.lock()
	defer m.unlock()
	bound := m.bound()
	if x := m.oldestActive(bound); x < bound {
		return x, true
	}
	return core.None, false
}

// oldestActive returns the smallest active Xid, or bound: next, read with every
// lock held.
func (m *Manager) oldestActive(bound core.Xid) core.Xid {
	oldest := bound
	for k := range m.shards {
		if fault.On == "sharded/oldest-shard-by-shard" {
			m.unlock()
			m.lock()
		}
		oldest = min(oldest, m.shards[k].fates.Read().oldest(bound))
	}
	return oldest
}

// PeekNext implements [core.Manager]: one load.
func (m *Manager) PeekNext() core.Xid { return m.bound() }

// ObserveCommitted implements [core.Recoverer] in O(shards + active), under all
// locks: a gap is nothing to remember, but the frontiers must pass it, and the
// active Xids before it are written down.
func (m *Manager) ObserveCommitted(x core.Xid) error {
	refuse := func(s core.Status, err error) error {
		return &core.XidError{Op: "observe committed", Xid: x, Status: s, Err: err}
	}
	if x > core.MaxXid {
		return refuse(core.Unallocated, core.ErrXidRange)
	}
	m.lock()
	defer m.unlock()
	for {
		bound := m.bound()
		if x < bound {
			if s := m.status(m.shard(x).fates.Read(), x); s != core.Committed {
				return refuse(s, core.ErrNotCommitted)
			}
			return nil
		}
		// A snapshot without locks that sees the new bound must find that the
		// versions have moved too, or it hides the gap from those who see that
		// it has been allocated.
		if fault.On != "sharded/observe-touches-late" {
			m.touch()
		}
		// Begins go on, and take effect before this instant or after it.
		if fault.On == "sharded/observe-overwrites" {
			m.next.Store(uint64(bound))
		}
		if m.next.CompareAndSwap(uint64(bound), uint64(x+1)) {
			m.skip(bound, x+1)
			if fault.On == "sharded/observe-touches-late" {
				m.touch()
			}
			return nil
		}
	}
}

// skip makes the gap from bound to end, which nobody has begun, committed. It
// needs every lock.
func (m *Manager) skip(bound, end core.Xid) {
	for k := range m.shards {
		s := &m.shards[k]
		f := s.fates.Write()
		m.extend(f, bound)
		f.frontier = m.after(k, end)
	}
}

// ReservesUniqueKey implements [core.KeyReserver], under the locks of one or
// two shards.
func (m *Manager) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	if xmax == core.None {
		return m.Status(xmin) != core.Aborted
	}
	lo, hi := m.class(xmin), m.class(xmax)
	if lo > hi && fault.On != "sharded/key-locks-unordered" {
		lo, hi = hi, lo
	}
	m.shards[lo].mu.Lock()
	defer m.shards[lo].mu.Unlock()
	if lo != hi && fault.On != "sharded/key-locks-one" {
		m.shards[hi].mu.Lock()
		defer m.shards[hi].mu.Unlock()
	}
	if m.status(m.shard(xmin).fates.Read(), xmin) == core.Aborted {
		return false
	}
	deleter := m.status(m.shard(xmax).fates.Read(), xmax)
	return deleter != core.Committed && (deleter == core.Aborted || !own.Has(xmax))
}

// CheckpointExcluded implements [core.Checkpointer], under all locks: O(n log
// n) for n active and aborted Xids.
func (m *Manager) CheckpointExcluded() (core.Xid, core.XidSet) {
	m.lock()
	defer m.unlock()
	next := m.bound()
	return next, m.excluded(next)
}

// CheckpointProjection implements [core.Checkpointer].
func (m *Manager) CheckpointProjection() (core.Xid, core.XidSet, core.Xid) {
	m.horizon.Lock()
	defer m.horizon.Unlock()
	m.lock()
	defer m.unlock()
	next := m.bound()
	set := m.excluded(next)
	if fault.On == "sharded/checkpoint-in-two-holds" {
		m.unlock()
		m.lock()
	}
	return next, set, m.answer(next)
}

// excluded needs every lock; next was read under them.
func (m *Manager) excluded(next core.Xid) core.XidSet {
	set := core.XidSet{}
	for k := range m.shards {
		f := m.shards[k].fates.Read()
		set = append(set, f.active.All()...)
		for x := f.frontier; x < next; x += m.stride() {
			set = append(set, x)
		}
		set = f.aborts.AppendTo(set)
	}
	slices.Sort(set)
	return set
}

// check looks at I2 where it is cheap to.
func (m *Manager) check(f *fates) {
	if !invariants.Enabled {
		return
	}
	a := f.active.All()
	if n := len(a); n > 0 && a[n-1] >= f.frontier || n > 1 && a[n-2] >= a[n-1] || f.frontier > m.bound()+m.stride() {
		panic("sharded: a frontier is behind what is active, or beyond the allocator")
	}
	if _, hi := f.aborts.Bounds(); hi >= f.frontier {
		panic("sharded: an aborted xid is beyond the frontier")
	}
}
