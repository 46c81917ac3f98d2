package sharded

import (
	"xidlab/core"
	"xidlab/internal/fault"
)

// Pin implements [core.Pinner] in O(log n) and a memmove of the pins above x.
func (m *Manager) Pin(x core.Xid) error {
	m.horizon.Lock()
	defer m.horizon.Unlock()
	return m.claims.Write().pins.Add(x)
}

// Unpin implements [core.Pinner].
func (m *Manager) Unpin(x core.Xid) {
	m.horizon.Lock()
	defer m.horizon.Unlock()
	m.claims.Write().pins.Remove(x)
}

// PinCount implements [core.Pinner].
func (m *Manager) PinCount(x core.Xid) int {
	if fault.On == "sharded/pin-count-unlocked" {
		return m.claims.Read().pins.Count(x)
	}
	m.horizon.Lock()
	defer m.horizon.Unlock()
	return m.claims.Read().pins.Count(x)
}

// OldestPinned implements [core.Pinner] in O(1).
func (m *Manager) OldestPinned() (core.Xid, bool) {
	m.horizon.Lock()
	defer m.horizon.Unlock()
	return m.claims.Read().pins.Oldest()
}
