package replay_test

import (
	"sync"

	"xidlab/core"
	"xidlab/core/spec"
)

// A locked is the specification behind one lock, so that workers may share it.
// Its fields break one promise each.
type locked struct {
	mu sync.Mutex
	m  *spec.Manager

	offByOne     bool // snapshots include one xid more than they should
	changesMind  bool // snapshots are those of the moment when they are asked
	forgetsOwner bool // snapshots have no owner
	splitsGroup  bool // of a group, only the first commits in the same instant
	byActive     bool // OldestRequired knows no guards
	keepsAborted bool // a rolled back xid counts as committed
	losesCommits bool // one commit in a hundred does nothing
	backwards    bool // OldestRequired goes back
	n            int
	high         core.Xid
}

var (
	_ core.Retainer           = (*locked)(nil)
	_ core.Pruner             = (*locked)(nil)
	_ core.GroupCommitter     = (*locked)(nil)
	_ core.CommittedAllocator = (*locked)(nil)
)

func newLocked() *locked { return &locked{m: spec.New()} }

func (l *locked) lock() func() { l.mu.Lock(); return l.mu.Unlock }

// A lockedView asks the specification under the lock.
type lockedView struct {
	l *locked
	s core.Snapshot
}

func (v *lockedView) Lookup(x core.Xid, _ uint64) (bool, error) {
	defer v.l.lock()()
	_, _, _, high, _ := v.s.Parts()
	if v.l.offByOne && x+1 == high {
		return true, nil
	}
	if v.l.changesMind {
		return v.l.m.Status(x) == core.Committed, nil
	}
	return v.s.Lookup(x)
}

func (v *lockedView) RolledBack(x core.Xid, _ uint64) (bool, error) {
	defer v.l.lock()()
	return v.l.m.Status(x) == core.Aborted, nil
}

func (v *lockedView) InProgress(low, high core.Xid, at uint64) (core.XidSet, error) {
	defer v.l.lock()()
	return v.s.InProgress()
}

func (l *locked) wrap(s core.Snapshot) core.Snapshot {
	_, owner, _, high, at := s.Parts()
	if l.forgetsOwner {
		s, owner = s.WithOwner(core.None), core.None
	}
	if l.changesMind {
		high = core.MaxXid
	}
	return core.NewSnapshot(&lockedView{l, s}, owner, 1, high, at)
}

func (l *locked) Snapshot(self core.Xid) core.Snapshot {
	defer l.lock()()
	return l.wrap(l.m.Snapshot(self))
}

func (l *locked) Retain(self core.Xid) core.Guard {
	defer l.lock()()
	g := l.m.Retain(self)
	return core.NewGuard(l.wrap(g.Snapshot), &lockedHolder{l, g}, 0)
}

type lockedHolder struct {
	l *locked
	g core.Guard
}

func (h *lockedHolder) Release(uint64) bool {
	defer h.l.lock()()
	return h.g.Release()
}

func (l *locked) RetainSnapshot(core.Snapshot) (core.Guard, error) {
	return core.Guard{}, core.ErrForeign // a replay does not
}

func (l *locked) OldestRequired() (core.Xid, bool) {
	defer l.lock()()
	if l.backwards {
		if l.n++; l.n%2 == 0 {
			return 1, true
		}
	}
	if l.byActive {
		x, ok := l.m.OldestActive()
		if !ok {
			x = l.m.PeekNext()
		}
		l.high = max(l.high, x)
		return l.high, ok
	}
	return l.m.OldestRequired()
}

func (l *locked) Commit(x core.Xid) error {
	defer l.lock()()
	if l.n++; l.losesCommits && l.n%100 == 0 {
		return l.m.Rollback(x)
	}
	return l.m.Commit(x)
}

func (l *locked) CommitGroup(xs ...core.Xid) error {
	defer l.lock()()
	if l.splitsGroup {
		for _, x := range xs[1:] {
			if err := l.m.Rollback(x); err != nil {
				return err
			}
		}
		return l.m.Commit(xs[0])
	}
	return l.m.CommitGroup(xs...)
}

func (l *locked) Rollback(x core.Xid) error {
	defer l.lock()()
	if l.keepsAborted {
		return l.m.Commit(x)
	}
	return l.m.Rollback(x)
}

func (l *locked) Begin() core.Xid               { defer l.lock()(); return l.m.Begin() }
func (l *locked) AllocateCommitted() core.Xid   { defer l.lock()(); return l.m.AllocateCommitted() }
func (l *locked) Status(x core.Xid) core.Status { defer l.lock()(); return l.m.Status(x) }
func (l *locked) OldestActive() (core.Xid, bool) {
	defer l.lock()()
	return l.m.OldestActive()
}
func (l *locked) PeekNext() core.Xid              { defer l.lock()(); return l.m.PeekNext() }
func (l *locked) Ordered() bool                   { return true }
func (l *locked) PruneAborted(below core.Xid) int { defer l.lock()(); return l.m.PruneAborted(below) }

// A bare is a manager without any capability.
type bare struct{ core.Manager }

// A quick keeps its outcomes in an array and allocates nothing. It is not safe
// for concurrent use, and its xids end.
type quick struct {
	next      core.Xid
	now       uint64
	committed []uint64 // by xid: when; 0: not
	status    []core.Status
}

func newQuick(n int) *quick {
	return &quick{next: 1, committed: make([]uint64, n), status: make([]core.Status, n)}
}

func (q *quick) Begin() core.Xid {
	q.status[q.next] = core.Active
	q.next++
	return q.next - 1
}

func (q *quick) Snapshot(self core.Xid) core.Snapshot {
	q.now++
	return core.NewSnapshot((*quickView)(q), self, 1, q.next, q.now)
}

func (q *quick) Commit(x core.Xid) error {
	q.now++
	q.status[x], q.committed[x] = core.Committed, q.now
	return nil
}

func (q *quick) Rollback(x core.Xid) error     { q.status[x] = core.Aborted; return nil }
func (q *quick) Status(x core.Xid) core.Status { return q.status[x] }
func (q *quick) PeekNext() core.Xid            { return q.next }
func (q *quick) Ordered() bool                 { return true }

func (q *quick) OldestActive() (core.Xid, bool) {
	for x := max(q.next, 200) - 200; x < q.next; x++ { // far enough back for the tests
		if q.status[x] == core.Active {
			return x, true
		}
	}
	return 0, false
}

type quickView quick

func (v *quickView) Lookup(x core.Xid, at uint64) (bool, error) {
	return v.committed[x] != 0 && v.committed[x] < at, nil
}
func (v *quickView) RolledBack(x core.Xid, _ uint64) (bool, error) {
	return v.status[x] == core.Aborted, nil
}
func (v *quickView) InProgress(_, _ core.Xid, _ uint64) (core.XidSet, error) { return nil, nil }
