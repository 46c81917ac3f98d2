package rwmutex

import "xidlab/core"

// Pin implements [core.Pinner] in O(log n) and a memmove of the pins above x.
func (m *Manager) Pin(x core.Xid) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Write().pins.Add(x)
}

// Unpin implements [core.Pinner].
func (m *Manager) Unpin(x core.Xid) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Write().pins.Remove(x)
}

// PinCount implements [core.Pinner].
func (m *Manager) PinCount(x core.Xid) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.Read().pins.Count(x)
}

// OldestPinned implements [core.Pinner] in O(1).
func (m *Manager) OldestPinned() (core.Xid, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.Read().pins.Oldest()
}
