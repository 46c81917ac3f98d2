package epoch

import (
	"xidlab/core"
	"xidlab/internal/fault"
)

const noPin = uint64(1<<64 - 1)

// Pin is O(number of pinned xids), as is Unpin: pins are few.
func (m *Manager) Pin(x core.Xid) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	if err := m.upkeep.Write().pins.Add(x); err != nil {
		return err
	}
	m.publishPins()
	return nil
}

func (m *Manager) Unpin(x core.Xid) {
	m.turn.Lock()
	defer m.turn.Unlock()
	m.upkeep.Write().pins.Remove(x)
	m.publishPins()
}

// publishPins needs the turn.
func (m *Manager) publishPins() {
	if x, ok := m.upkeep.Read().pins.Oldest(); ok {
		m.minPin.Store(uint64(x))
	} else {
		m.minPin.Store(noPin)
	}
}

func (m *Manager) PinCount(x core.Xid) int {
	if fault.On == "epoch/pin-count-unlocked" {
		return m.upkeep.Read().pins.Count(x)
	}
	m.turn.Lock()
	defer m.turn.Unlock()
	return m.upkeep.Read().pins.Count(x)
}

// OldestPinned is one load.
func (m *Manager) OldestPinned() (core.Xid, bool) {
	x := m.minPin.Load()
	if x == noPin {
		return core.None, false
	}
	return core.Xid(x), true
}
