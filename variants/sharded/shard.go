package sharded

import (
	"xidlab/core"
	"xidlab/internal/ledger"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// line is what keeps two processors from fighting over neighbours: two cache
// lines, since some processors fetch them in pairs.
const line = 128

// A shard knows the Xids of its class. Nothing on its lines is anybody else's,
// wherever the allocator puts the first (it aligns a large object that has
// pointers to 8 bytes only).
type shard struct {
	mu      sync.Mutex
	version atomic.Uint64    // I5: written under mu
	fates   sync.Cell[fates] // guarded by mu
	_       [line]byte
}

// The fates of the Xids of one class: what has become of them.
type fates struct {
	frontier core.Xid         // I1, I2: of the class; grows
	active   ledger.Ascending // below the frontier
	aborts   ledger.Aborts    // below the frontier
}

// touch says that a snapshot taken before is not one taken now (I5).
func (s *shard) touch() { s.version.Store(s.version.Load() + 1) }

// take makes x inactive, and reports whether it was active. f is what the lock of
// x's shard guards.
//
// If x is at or beyond the frontier, everything of the class before it is still
// active and is written down now; x itself never is. So a transaction that
// finishes before a younger one of its class costs no entry, and every other
// one entry.
func (m *Manager) take(f *fates, x core.Xid) bool {
	if x < f.frontier {
		return f.active.Remove(x)
	}
	if x >= m.bound() {
		return false
	}
	m.extend(f, x)
	f.frontier = x + m.stride()
	return true
}

// extend writes down that everything of the class between the frontier and end
// is active. The frontier is to be moved.
func (m *Manager) extend(f *fates, end core.Xid) {
	for y := f.frontier; y < end; y += m.stride() {
		f.active.Push(y)
	}
}

// status says what has become of x, whose fate is in f. Nothing is ever Reserved:
// nothing is set aside.
func (m *Manager) status(f *fates, x core.Xid) core.Status {
	if f.open(x) {
		if x < f.frontier || x < m.bound() {
			return core.Active
		}
		return core.Unallocated
	}
	if f.aborts.Aborted(x) {
		return core.Aborted
	}
	return core.Committed
}

// open reports whether x, if the allocator has passed it, is active.
func (f *fates) open(x core.Xid) bool {
	return x >= f.frontier || f.active.Has(x)
}

// oldest returns the smallest active Xid of the class, or bound: next, read under
// the lock.
func (f *fates) oldest(bound core.Xid) core.Xid {
	if a := f.active.All(); len(a) > 0 {
		return a[0]
	}
	return min(f.frontier, bound)
}
