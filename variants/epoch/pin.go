package epoch

import (
	"cmp"
	"slices"

	"xidlab/core"
)

// A pin counts the references to one xid.
type pin struct {
	xid   core.Xid
	count int
}

const noPin = uint64(1<<64 - 1)

// Pin is O(number of pinned xids), as is Unpin: pins are few.
func (m *Manager) Pin(x core.Xid) error {
	if x > core.MaxXid {
		return &core.XidError{Op: "pin", Xid: x, Status: core.Unallocated, Err: core.ErrXidRange}
	}
	if x == core.None {
		return nil
	}
	m.turn.Lock()
	defer m.turn.Unlock()
	i, ok := m.findPin(x)
	if !ok {
		m.pins = slices.Insert(m.pins, i, pin{xid: x})
	}
	m.pins[i].count++
	m.minPin.Store(uint64(m.pins[0].xid))
	return nil
}

func (m *Manager) Unpin(x core.Xid) {
	m.turn.Lock()
	defer m.turn.Unlock()
	i, ok := m.findPin(x)
	if !ok {
		return
	}
	if m.pins[i].count--; m.pins[i].count == 0 {
		m.pins = slices.Delete(m.pins, i, i+1)
	}
	if len(m.pins) > 0 {
		m.minPin.Store(uint64(m.pins[0].xid))
	} else {
		m.minPin.Store(noPin)
	}
}

func (m *Manager) PinCount(x core.Xid) int {
	m.turn.Lock()
	defer m.turn.Unlock()
	return m.pinCount(x)
}

// OldestPinned is one load.
func (m *Manager) OldestPinned() (core.Xid, bool) {
	x := m.minPin.Load()
	if x == noPin {
		return core.None, false
	}
	return core.Xid(x), true
}

// pinCount needs the turn.
func (m *Manager) pinCount(x core.Xid) int {
	if i, ok := m.findPin(x); ok {
		return m.pins[i].count
	}
	return 0
}

func (m *Manager) findPin(x core.Xid) (int, bool) {
	return slices.BinarySearchFunc(m.pins, x, func(p pin, x core.Xid) int { return cmp.Compare(p.xid, x) })
}
