package epoch

import (
	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// A slot announces the number that one guard protects. Slots lie on lines of
// their own and are never freed, only used again.
type slot struct {
	m      *Manager
	number atomic.Uint64 // free, settingIn, or the number of the guard that holds it; leaving may be set
	uses   atomic.Uint64 // guards that have ended here: the name of the next one
	_      [104]byte
}

const (
	free      = 0
	settingIn = 1 // held by a guard that has not captured yet; protects everything

	// leaving is the bit that a Release sets before it frees the slot: for a
	// prune the guard has ended, for a horizon not yet. So whoever sees the
	// horizon move on finds forgotten what the guard had kept.
	leaving = 1 << 63
)

// guards is a list of chunks of slots that only grows.
type guards struct{ first chunk }

type chunk struct {
	slots [slotsPerChunk]slot
	next  atomic.Pointer[chunk]
}

func (g *guards) init(m *Manager) { g.first.init(m) }

func (c *chunk) init(m *Manager) {
	for i := range c.slots {
		c.slots[i].m = m
	}
}

// acquire returns a slot that is setting in. It starts at a place that depends
// on the goroutine, so that goroutines tend to keep to slots, and lines, of their
// own.
func (g *guards) acquire(m *Manager) *slot {
	start := sync.Local(slotsPerChunk)
	for c := &g.first; ; {
		for i := range c.slots {
			s := &c.slots[(start+i)&(len(c.slots)-1)]
			if fault.On == "epoch/slot-unclaimed" && s.number.Load() == free {
				s.number.Store(settingIn)
				return s
			}
			if s.number.Load() == free && s.number.CompareAndSwap(free, settingIn) {
				return s
			}
		}
		next := c.next.Load()
		if next == nil {
			next = new(chunk)
			next.init(m)
			if fault.On == "epoch/chunk-overwritten" {
				c.next.Store(next)
			} else if !c.next.CompareAndSwap(nil, next) {
				next = c.next.Load()
			}
		}
		c = next
	}
}

// oldest returns the smallest announced number, or limit if none is smaller.
func (g *guards) oldest(limit uint64) uint64 {
	for c := &g.first; c != nil; c = c.next.Load() {
		for i := range c.slots {
			if n := c.slots[i].number.Load(); n != free {
				if fault.On == "epoch/setting-in-ignored" && n == settingIn {
					continue
				}
				if fault.On == "epoch/leaving-is-left" && n&leaving != 0 {
					continue
				}
				limit = min(limit, n&^leaving)
			}
		}
	}
	return limit
}

// ended returns how many guards have ended. It is no snapshot of that number, but
// if two calls return the same, none ended in between.
func (g *guards) ended() (n uint64) {
	for c := &g.first; c != nil; c = c.next.Load() {
		for i := range c.slots {
			n += c.slots[i].uses.Load()
		}
	}
	return n
}

// Retain holds a slot, captures, and announces: a compare-and-swap and a store
// beyond a Snapshot, on a line that is likely the caller's own. It allocates
// nothing, except when all slots are held. It never waits.
func (m *Manager) Retain(self core.Xid) core.Guard {
	// I7: the slot is held, at a number below every snapshot, before the
	// capture. The other way round a horizon could pass in between.
	if fault.On == "epoch/captures-then-registers" {
		snap := m.Snapshot(self)
		return m.guards.acquire(m).announce(snap)
	}
	s := m.guards.acquire(m)
	return s.announce(m.Snapshot(self))
}

// announce makes s, which is setting in, the guard of snap.
func (s *slot) announce(snap core.Snapshot) core.Guard {
	_, _, _, _, at := snap.Parts()
	token := s.uses.Load() // ours: it changes when this guard ends, and not before
	s.number.Store(at)
	return core.NewGuard(snap, s, token)
}

// RetainSnapshot announces the snapshot's number and then makes sure that no
// collector has missed it.
func (m *Manager) RetainSnapshot(snap core.Snapshot) (core.Guard, error) {
	v, _, _, _, at := snap.Parts()
	if d, ok := v.(*directory); !ok || d.m != m {
		return core.Guard{}, core.ErrForeign
	}
	m.turn.Lock() // no prune is under way
	defer m.turn.Unlock()
	s := m.guards.acquire(m)
	g := s.announce(snap)
	if m.forgot.Load() > at || m.collapsed.Load() > at && fault.On != "epoch/retains-collapsed" || !m.touchHorizon(at) {
		if fault.On != "epoch/slot-leaked" {
			s.number.Store(free)
		}
		m.count(refusals)
		return core.Guard{}, core.ErrTooOld
	}
	return g, nil
}

// Release is a compare-and-swap and two stores. It lets the prunes go on that
// wait for nobody else.
func (s *slot) Release(token uint64) bool {
	if !s.uses.CompareAndSwap(token, token+1) {
		return false // it has ended before
	}
	s.number.Store(s.number.Load() | leaving)
	// The guard leaves before waiting is read; a prune that goes waiting says so
	// before it reads the slots once more. One of the two sees the other.
	if s.m.waiting.Load() {
		s.m.turn.Lock()
		s.m.pruneDeferred()
		s.m.turn.Unlock()
	}
	s.number.Store(free)
	return true
}
