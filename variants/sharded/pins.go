package sharded

import (
	"slices"

	"xidlab/core"
)

// pins counts references to Xids, ordered by Xid: the smallest is first. There
// are few; an insertion moves those above it.
type pins struct {
	xids   []core.Xid
	counts []int
}

func (p *pins) add(x core.Xid) {
	i, ok := slices.BinarySearch(p.xids, x)
	if !ok {
		p.xids = slices.Insert(p.xids, i, x)
		p.counts = slices.Insert(p.counts, i, 0)
	}
	p.counts[i]++
}

func (p *pins) remove(x core.Xid) {
	i, ok := slices.BinarySearch(p.xids, x)
	if !ok {
		return
	}
	if p.counts[i]--; p.counts[i] == 0 {
		p.xids = slices.Delete(p.xids, i, i+1)
		p.counts = slices.Delete(p.counts, i, i+1)
	}
}

func (p *pins) count(x core.Xid) int {
	if i, ok := slices.BinarySearch(p.xids, x); ok {
		return p.counts[i]
	}
	return 0
}

func (p *pins) oldest() (core.Xid, bool) {
	if len(p.xids) == 0 {
		return core.None, false
	}
	return p.xids[0], true
}

// Pin implements [core.Pinner] in O(log n) and a memmove of the pins above x.
func (m *Manager) Pin(x core.Xid) error {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	switch {
	case x > core.MaxXid:
		return &core.XidError{Op: "pin", Xid: x, Status: core.Unallocated, Err: core.ErrXidRange}
	case x != core.None:
		m.horizon.pins.add(x)
	}
	return nil
}

// Unpin implements [core.Pinner].
func (m *Manager) Unpin(x core.Xid) {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	m.horizon.pins.remove(x)
}

// PinCount implements [core.Pinner].
func (m *Manager) PinCount(x core.Xid) int {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	return m.horizon.pins.count(x)
}

// OldestPinned implements [core.Pinner] in O(1).
func (m *Manager) OldestPinned() (core.Xid, bool) {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	return m.horizon.pins.oldest()
}
