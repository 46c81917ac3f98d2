package epoch

import (
	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// Snapshot loads the directory, the bound and the clock; if no snapshot has
// been taken since the last commit it marks the clock. It allocates nothing.
// Lock-free: a retry means that a block of xids was allocated meanwhile.
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
	_, _, w := m.load(x)
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
		m.count(snapshotRetries)
	}
}

// Lookup is a few loads for a decided x. For an x in progress the first asker
// at a number pays one compare-and-swap; from then on the bound tells.
func (d *directory) Lookup(x core.Xid, at uint64) (bool, error) {
	s := d.from(uint64(x)>>d.shift - d.base)
	if c := s.cell(x, d.stride); c != nil {
		if w := word(c.Load()); w.tag() == committed && w.number() <= at {
			return true, nil // what is usual, in one piece
		}
	}
	return d.lookup(x, at)
}

func (d *directory) lookup(x core.Xid, at uint64) (bool, error) {
	for {
		s, c, w := d.load(x)
		switch w.tag() {
		case committed, forgotten, sealed:
			if w.number() <= at {
				return true, nil // of x: see segment
			}
		case aborted:
		case condemned:
			if fault.On == "epoch/includes-awaits-prune" {
				sync.Yield()
				continue
			}
			number, ok := d.m.sentence(x, s, c, w, at)
			if !ok {
				continue
			}
			if number <= at {
				return true, nil
			}
		default:
			// Without a cell: Begin had not returned when d was current, so
			// it draws above at, whatever it draws (I4, I5).
			if c != nil && fault.On != "epoch/includes-unpushed" && !d.m.raise(c, w, at) {
				continue
			}
		}
		if s.reused() && fault.On != "epoch/includes-trusts-reused" {
			return d.m.outlived(x, at)
		}
		return false, nil
	}
}

// RolledBack looks in the snapshot's own directory; in the current one for an
// owner that began later (see core.Snapshot.WithOwner), or whose word is reused.
func (d *directory) RolledBack(x core.Xid, at uint64) (bool, error) {
	own := x < d.end()
	for {
		on := d
		if !own {
			on = d.m.dir.Load()
		}
		s, c, w := on.load(x)
		if s.reused() && fault.On != "epoch/owner-trusts-reused" {
			own = false
			continue
		}
		if !own && c == nil && w == newWord(committed, 0) && fault.On != "epoch/dropped-owner-guessed" {
			// Nothing is left of its word: it has committed, or been forgotten,
			// and if so, then perhaps after the snapshot; but not if all that is
			// lost had happened by then, as it had if a guard protects the
			// snapshot (I14).
			if d.m.forgot.Load() > at && (d.m.collapsed.Load() > at || fault.On == "epoch/guarded-owner-forgotten") {
				d.m.count(refusals)
				return false, core.ErrTooOld
			}
			return false, nil
		}
		switch w.tag() {
		case committed, sealed:
			return false, nil
		case forgotten:
			return w.number() > at, nil
		case aborted:
			return true, nil
		case condemned:
			if number, ok := d.m.sentence(x, s, c, w, at); ok {
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
	tooOld := false
	d.spans(low, high, true, nil, func(s *segment, x, end core.Xid) bool {
		known := len(set)
		for ; x < end; x++ {
			if c := s.cell(x, d.stride); c == nil || d.m.unfinishedAt(c, at) {
				set = append(set, x)
			}
		}
		if s.reused() && fault.On != "epoch/in-progress-trusts-reused" {
			// All had finished, by the number that the snapshot has reached if
			// it is guarded.
			set = set[:known]
			tooOld = tooOld || d.m.collapsed.Load() > at
		}
		return true
	})
	// Of a forgotten xid all that is known is that it had aborted at lost or
	// before. Asked after the walk, so that no prune can have slipped in.
	if tooOld || fault.On != "epoch/in-progress-guesses" && d.m.lost.Load() > at {
		d.m.count(refusals)
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
// include is excluded. Lock-free: it has to start over if words that it has not
// come to are reused.
func (m *Manager) CheckpointExcluded() (core.Xid, core.XidSet) {
	for {
		d, high, at := m.capture()
		if excluded, err := d.excluded(high, at); err == nil {
			return high, excluded
		}
	}
}

// excluded returns what the snapshot with this bound and number does not include.
func (d *directory) excluded(high core.Xid, at uint64) (set core.XidSet, err error) {
	d.spans(d.settled, high, false, nil, func(s *segment, x, end core.Xid) bool {
		for ; x < end && err == nil; x++ {
			if s != nil && s.collapsed() {
				place := d.place(x)
				if x += core.Xid(s.outcome.aborted.next(place, place+uint64(end-x)) - place); x == end {
					break
				}
			}
			var ok bool
			ok, err = d.Lookup(x, at)
			if fault.On == "epoch/checkpoint-guesses" {
				err = nil
			}
			if !ok {
				set = append(set, x)
			}
		}
		return err == nil
	})
	return set, err
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
