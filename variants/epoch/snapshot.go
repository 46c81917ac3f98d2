package epoch

import (
	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// Snapshot loads the directory, the bound and the clock; if no snapshot has
// been taken since the last commit it marks the clock. It allocates nothing.
// Lock-free: a retry means that a transaction began meanwhile.
func (m *Manager) Snapshot(self core.Xid) core.Snapshot {
	if fault.On == "epoch/snapshot-takes-turn" {
		m.turn.Lock()
		defer m.turn.Unlock()
	}
	for {
		handedOut := self == core.None || m.handedOut(self)
		d, high, at := m.capture()
		if !handedOut {
			if m.handedOut(self) && fault.On != "epoch/owner-read-once" {
				continue // it may have begun before or after the capture
			}
			self = core.None // a pure reader
		}
		// Whether self is still active need not be asked: of a committed self
		// the log says the same as ownership, and of an aborted one RolledBack
		// does.
		return core.NewSnapshot(d, self, d.settled, high, at)
	}
}

// handedOut reports whether a Begin has got x by now.
func (m *Manager) handedOut(x core.Xid) bool {
	_, w := m.dir.Load().load(x)
	return w.tag() != reserved || m.first(x) && x < m.PeekNext()
}

// capture returns a directory, a bound and a number of one instant (I5): bound
// and directory never return to an old value, so if they are the same before
// and after, they were current when the number was captured.
func (m *Manager) capture() (d *directory, high core.Xid, at uint64) {
	d, high = m.dir.Load(), m.PeekNext()
	for {
		at = m.clock.capture()
		d2, high2 := m.dir.Load(), m.PeekNext()
		if (d2 == d || fault.On == "epoch/directory-read-once") && (high2 == high || fault.On == "epoch/bound-read-once") {
			if g := d.pending; g == nil || fault.On == "epoch/jump-unawaited" || high <= g.to || !g.jumped(m) || g.number.Load() != 0 && m.numberOf(g) <= at {
				return d, high, at
			}
			if fault.On != "epoch/snapshot-awaits-jump" {
				m.numberOf(d.pending) // I9: help, and capture a number that includes it
			}
		}
		d, high = d2, high2
	}
}

// Lookup is a few loads for a decided x. For an x in progress the first asker
// at a number pays one compare-and-swap; from then on the bound tells.
func (d *directory) Lookup(x core.Xid, at uint64) (bool, error) {
	for {
		c, w := d.load(x)
		switch w.tag() {
		case committed, forgotten, sealed:
			return w.number() <= at, nil
		case aborted:
			return false, nil
		case condemned:
			if fault.On == "epoch/includes-awaits-prune" {
				sync.Yield()
				continue
			}
			if number, ok := d.m.sentence(c, w, at); ok {
				return number <= at, nil
			}
		default:
			// Without a cell: Begin had not returned when d was current, so
			// it draws above at, whatever it draws (I4, I5).
			if c == nil || fault.On == "epoch/includes-unpushed" || d.m.raise(c, w, at) {
				return false, nil
			}
		}
	}
}

// RolledBack looks in the snapshot's own directory; an owner that began later
// (see core.Snapshot.WithOwner) in the current one.
func (d *directory) RolledBack(x core.Xid, at uint64) (bool, error) {
	if x >= d.end() {
		now := d.m.dir.Load()
		if c := now.cell(x); c == nil && x < now.end() && now.gapAt(x) == nil {
			// Dropped: all committed, or forgotten after the snapshot.
			if d.m.forgot.Load() > at && fault.On != "epoch/dropped-owner-guessed" {
				return false, core.ErrTooOld
			}
			return false, nil
		}
		d = now
	}
	for {
		c, w := d.load(x)
		switch w.tag() {
		case committed, sealed:
			return false, nil
		case forgotten:
			return w.number() > at, nil
		case aborted:
			return true, nil
		case condemned:
			if number, ok := d.m.sentence(c, w, at); ok {
				return number > at, nil
			}
		default:
			if c == nil || fault.On == "epoch/owner-unpushed" || d.m.raise(c, w, d.m.clock.present()) {
				return false, nil
			}
		}
	}
}

// InProgress walks the words between the settled mark and the bound.
func (d *directory) InProgress(low, high core.Xid, at uint64) (core.XidSet, error) {
	var set core.XidSet
	d.words(low, high, func(x core.Xid, c *atomic.Uint64) bool {
		if c == nil || d.m.unfinishedAt(c, at) {
			set = append(set, x)
		}
		return true
	})
	// Of a forgotten xid all that is known is that it had aborted at lost or
	// before. Asked after the walk, so that no prune can have slipped in.
	if fault.On != "epoch/in-progress-guesses" && d.m.lost.Load() > at {
		return nil, core.ErrTooOld
	}
	return set, nil
}

// unfinishedAt reports whether the transaction had not finished at number at,
// and makes sure that this stays true.
func (m *Manager) unfinishedAt(c *atomic.Uint64, at uint64) bool {
	for {
		w := word(c.Load())
		if !w.unfinished() {
			return w.number() > at && w.tag() != forgotten
		}
		if fault.On == "epoch/in-progress-unpushed" || m.raise(c, w, at) {
			return true
		}
	}
}

// CheckpointExcluded is a snapshot and a walk: what the snapshot does not
// include is excluded.
func (m *Manager) CheckpointExcluded() (core.Xid, core.XidSet) {
	d, high, at := m.capture()
	var excluded core.XidSet
	d.words(d.settled, high, func(x core.Xid, _ *atomic.Uint64) bool {
		if ok, _ := d.Lookup(x, at); !ok { // its error is always nil
			excluded = append(excluded, x)
		}
		return true
	})
	return high, excluded
}

// CheckpointProjection computes the cutoff before the instant of the rest. Until
// then it can only become too small, since pins wait for their turn; and smaller
// than what others were told, unless the published horizon has stayed the same.
// Lock-free: who publishes another one has moved on.
func (m *Manager) CheckpointProjection() (core.Xid, core.XidSet, core.Xid) {
	m.turn.Lock()
	defer m.turn.Unlock()
	for {
		h := m.horizon.Load()
		cutoff, _ := m.OldestRequired()
		next, excluded := m.CheckpointExcluded()
		if m.horizon.Load() != h && fault.On != "epoch/cutoff-unchecked" {
			continue // I8
		}
		if fault.On == "epoch/cutoff-after" {
			cutoff, _ = m.OldestRequired()
		}
		return next, excluded, cutoff
	}
}
