package sharded

import (
	"slices"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/ledger"
)

// Snapshot implements [core.Manager]. If nothing has finished since the last
// but one, it takes no lock and costs O(shards); otherwise it locks all shards
// and copies what they list as active. See [Manager] for why both are cuts.
func (m *Manager) Snapshot(self core.Xid) core.Snapshot {
	if v := m.recent.Load(); v != nil {
		high := m.bound() // before the versions: this is the instant
		if m.versions() == v.sum || fault.On == "sharded/stale-cut" {
			if fault.On == "sharded/bound-after-versions" {
				high = m.bound()
			}
			if self >= high || !v.open(self) {
				self = core.None
			}
			return core.NewSnapshot(v, self, v.low, high, v.at)
		}
	}
	m.lock()
	defer m.unlock()
	return m.cut(self)
}

// versions returns the sum of the shards' versions, which may be those of
// different instants.
func (m *Manager) versions() (sum uint64) {
	for k := range m.shards {
		sum += m.shards[k].version.Load()
	}
	return sum
}

// cut takes a snapshot, and needs every lock. It copies nothing, and allocates
// nothing, if nothing is active or everything from the oldest unfinished Xid on
// is, unless nothing has finished since the last cut: then there is reason to
// expect another snapshot, and a copy is published for it.
func (m *Manager) cut(self core.Xid) core.Snapshot {
	high := m.bound() // after the locks, see [Manager]
	if fault.On == "sharded/bound-before-locks" {
		m.unlock()
		m.lock()
	}
	low, listed, implied := high, 0, core.Xid(0)
	for k := range m.shards {
		f := m.shards[k].fates.Read()
		aborted, _ := f.aborts.Bounds()
		low = min(low, f.oldest(high), aborted)
		listed += len(f.active.All())
		if f.frontier < high {
			implied += (high-1-f.frontier)>>m.shift + 1
		}
	}
	if self >= high || !m.shard(self).fates.Read().open(self) { // not below next as it is now: self may have begun since
		self = core.None
	}
	at, sum := m.tick(), m.versions()
	c := m.cuts.Write()
	quiet := sum == c.quiet
	c.quiet = sum
	c.taken++
	if !quiet && m.recent.Load() != nil {
		m.recent.Store(nil) // spares the next one a look at the versions
	}
	var v core.View
	switch active := core.Xid(listed) + implied; {
	case quiet:
		copied := m.view(low, high, at, sum, listed)
		m.recent.Store(copied)
		v = copied
	case active == high-low:
		v = (*solid)(m)
	case active == 0:
		v = (*idle)(m)
	default:
		v = m.view(low, high, at, sum, listed)
	}
	if _, ok := v.(*view); ok {
		c.copied++
		c.listed += uint64(listed)
	}
	return core.NewSnapshot(v, self, low, high, at)
}

// A view is a copy of what the shards list as active, immutable.
type view struct {
	m         *Manager
	at        uint64
	sum       uint64 // of the versions, see [Manager]
	low, high core.Xid
	listed    []core.Xid // part after part, each ascending
	parts     []part     // by class
}

// A part is what a view knows of one shard.
type part struct {
	frontier core.Xid                     // what is not below it was active
	end      int                          // in listed
	aborted  struct{ low, high core.Xid } // nothing outside had aborted
}

// small is how many Xids, and parts, are copied into the object of the view.
const small = 8

// view needs every lock.
func (m *Manager) view(low, high core.Xid, at, sum uint64, listed int) *view {
	var v *view
	if listed <= small && len(m.shards) <= small/2 {
		one := new(struct {
			view
			listed [small]core.Xid
			parts  [small / 2]part
		})
		v = &one.view
		v.listed, v.parts = one.listed[:0], one.parts[:len(m.shards)]
	} else {
		v = &view{listed: make([]core.Xid, 0, listed), parts: make([]part, len(m.shards))}
	}
	v.m, v.at, v.sum, v.low, v.high = m, at, sum, low, high
	for k := range m.shards {
		if fault.On == "sharded/copied-shard-by-shard" {
			m.unlock()
			m.lock()
		}
		f := m.shards[k].fates.Read()
		v.listed = append(v.listed, f.active.All()...)
		p := &v.parts[k]
		p.frontier, p.end = f.frontier, len(v.listed)
		p.aborted.low, p.aborted.high = f.aborts.Bounds()
	}
	return v
}

// list returns what the shard of class k listed.
func (v *view) list(k int) []core.Xid {
	start := 0
	if k > 0 {
		start = v.parts[k-1].end
	}
	return v.listed[start:v.parts[k].end]
}

// open reports whether x, which the allocator had passed, was active. An x that
// began after the cut, when the allocator was at v.high, is beyond the frontier
// too: the view is only used as long as nothing has finished.
func (v *view) open(x core.Xid) bool {
	k := v.m.class(x)
	if x >= v.parts[k].frontier {
		return true
	}
	_, ok := ledger.Find(v.list(k), x)
	return ok
}

// Lookup implements [core.View] in O(log n); it takes the lock of x's shard for
// an x between the bounds of what had aborted there.
func (v *view) Lookup(x core.Xid, at uint64) (bool, error) {
	if v.open(x) {
		return false, nil
	}
	if a := v.parts[v.m.class(x)].aborted; x < a.low || x > a.high {
		return true, nil
	}
	return v.m.committed(x, at)
}

// RolledBack implements [core.View].
func (v *view) RolledBack(x core.Xid, at uint64) (bool, error) { return v.m.rolledBack(x, at) }

// InProgress implements [core.View].
func (v *view) InProgress(_, high core.Xid, _ uint64) (core.XidSet, error) {
	set := append(core.XidSet(nil), v.listed...)
	for k := range v.parts {
		for x := v.parts[k].frontier; x < high; x += v.m.stride() {
			set = append(set, x)
		}
	}
	slices.Sort(set)
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
// committed then.
func (m *Manager) committed(x core.Xid, at uint64) (bool, error) {
	s := m.shard(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fates.Read().aborts.Committed(x, at)
}

// rolledBack reports whether x, the owner of a snapshot of the instant at, has
// rolled back by now.
func (m *Manager) rolledBack(x core.Xid, at uint64) (bool, error) {
	s := m.shard(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fates.Read()
	gone, err := f.aborts.RolledBack(x, at)
	if err != nil && f.open(x) {
		return false, nil
	}
	return gone, err
}
