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

// A shard says what has become of the Xids of its class. Nothing on its lines is
// anybody else's, wherever the allocator puts the first (it aligns a large
// object that has pointers to 8 bytes only).
type shard struct {
	mu       sync.Mutex
	frontier core.Xid         // I1, I2: of the class; grows
	version  atomic.Uint64    // I5: written under mu
	active   ledger.Ascending // below the frontier
	aborts   ledger.Aborts    // below the frontier
	_        [line]byte
}

// touch says that a snapshot taken before is not one taken now (I5).
func (s *shard) touch() { s.version.Store(s.version.Load() + 1) }

// take makes x inactive, and reports whether it was active. It needs the lock
// of s, the shard of x.
//
// If x is at or beyond the frontier, everything of the class before it is still
// active and is written down now; x itself never is. So a transaction that
// finishes before a younger one of its class costs no entry, and every other
// one entry.
func (m *Manager) take(s *shard, x core.Xid) bool {
	if x < s.frontier {
		return s.active.Remove(x)
	}
	if x >= m.bound() {
		return false
	}
	m.extend(s, x)
	s.frontier = x + m.stride()
	return true
}

// extend writes down that everything of the class between the frontier and end
// is active. It needs the lock of s; the frontier is to be moved.
func (m *Manager) extend(s *shard, end core.Xid) {
	for y := s.frontier; y < end; y += m.stride() {
		s.active.Push(y)
	}
}

// status needs the lock of s, the shard of x. Nothing is ever Reserved: nothing
// is set aside.
func (m *Manager) status(s *shard, x core.Xid) core.Status {
	if s.open(x) {
		if x < s.frontier || x < m.bound() {
			return core.Active
		}
		return core.Unallocated
	}
	if s.aborts.Aborted(x) {
		return core.Aborted
	}
	return core.Committed
}

// open reports whether x, if the allocator has passed it, is active.
func (s *shard) open(x core.Xid) bool {
	return x >= s.frontier || s.active.Has(x)
}

// oldest returns the smallest active Xid of the shard, or bound: next, read
// under the lock of s.
func (s *shard) oldest(bound core.Xid) core.Xid {
	if a := s.active.All(); len(a) > 0 {
		return a[0]
	}
	return min(s.frontier, bound)
}
