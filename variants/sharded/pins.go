package sharded

import "xidlab/core"

// Pin implements [core.Pinner] in O(log n) and a memmove of the pins above x.
func (m *Manager) Pin(x core.Xid) error {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	return m.horizon.pins.Add(x)
}

// Unpin implements [core.Pinner].
func (m *Manager) Unpin(x core.Xid) {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	m.horizon.pins.Remove(x)
}

// PinCount implements [core.Pinner].
func (m *Manager) PinCount(x core.Xid) int {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	return m.horizon.pins.Count(x)
}

// OldestPinned implements [core.Pinner] in O(1).
func (m *Manager) OldestPinned() (core.Xid, bool) {
	m.horizon.mu.Lock()
	defer m.horizon.mu.Unlock()
	return m.horizon.pins.Oldest()
}
