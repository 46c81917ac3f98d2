package ledger

import (
	"cmp"
	"slices"

	"xidlab/core"
)

// Aborts is the set of Xids that have rolled back, in two slices ordered by
// Xid. Rollbacks come almost in order, so an insertion moves little; the
// smallest and the largest, which bound what a snapshot must look up, are at
// the ends; a prune is one pass. The zero value is empty.
//
// A forgotten Xid counts as committed from then on. It leaves at once, unless a
// younger guard lives that knew it as aborted: then it stays, marked, until
// that guard is released. Of what has left, only the last instant and the
// largest Xid are kept: from these a snapshot knows that it cannot know.
type Aborts struct {
	xids  []core.Xid
	fates []fate
	stale int // how many are marked as forgotten

	lostAt  uint64   // the last forgetting of an Xid that has left
	lostXid core.Xid // the largest Xid that has left
}

// A fate is the instant of an abort, and that of its forgetting (0: not yet).
type fate struct{ ended, forgotten uint64 }

// Add enters x, which is not there, as aborted at the instant at. It costs a
// memmove of what is above x.
func (a *Aborts) Add(x core.Xid, at uint64) {
	i, _ := Find(a.xids, x)
	a.xids = slices.Insert(a.xids, i, x)
	a.fates = slices.Insert(a.fates, i, fate{ended: at})
}

// Has reports whether x is there, forgotten or not. It only reads, as do
// Aborted, Bounds, Len, Stale, AppendTo, Committed and RolledBack.
func (a *Aborts) Has(x core.Xid) bool {
	_, ok := Find(a.xids, x)
	return ok
}

// Aborted reports whether x counts as aborted by now.
func (a *Aborts) Aborted(x core.Xid) bool {
	i, ok := Find(a.xids, x)
	return ok && a.fates[i].forgotten == 0
}

// Bounds returns the smallest and the largest element, or an empty range.
func (a *Aborts) Bounds() (lo, hi core.Xid) {
	if len(a.xids) == 0 {
		return core.MaxXid + 1, 0
	}
	return a.xids[0], a.xids[len(a.xids)-1]
}

// Len returns how many there are, those included that were forgotten.
func (a *Aborts) Len() int { return len(a.xids) }

// Stale reports whether a forgotten one is still there.
func (a *Aborts) Stale() bool { return a.stale > 0 }

// AppendTo appends what counts as aborted by now to set, in ascending order.
func (a *Aborts) AppendTo(set core.XidSet) core.XidSet {
	for i, x := range a.xids {
		if a.fates[i].forgotten == 0 {
			set = append(set, x)
		}
	}
	return set
}

// Committed reports whether x, which had finished by the instant at, counted as
// committed then; or [core.ErrTooOld].
func (a *Aborts) Committed(x core.Xid, at uint64) (bool, error) {
	i, ok := Find(a.xids, x)
	switch {
	case ok:
		f := a.fates[i].forgotten
		return f != 0 && f <= at, nil
	case a.lost(x, at):
		return false, core.ErrTooOld
	}
	return true, nil
}

// RolledBack reports whether x, which was active at the instant at, has rolled
// back by now; or [core.ErrTooOld], which may be said of an x that is active
// still, for the caller to know better.
func (a *Aborts) RolledBack(x core.Xid, at uint64) (bool, error) {
	switch {
	case a.Has(x):
		return true, nil // even if it was forgotten since
	case a.lost(x, at):
		return false, core.ErrTooOld
	}
	return false, nil
}

// lost reports whether x may have been forgotten after the instant at and have
// left, so that a snapshot of that instant cannot know whether it had aborted.
func (a *Aborts) lost(x core.Xid, at uint64) bool { return at < a.lostAt && x <= a.lostXid }

// Forget marks, at the instant at, what one of the prunes covers: what had
// aborted before it, below its bound, unpinned. The prunes are one or more, as
// [Prunes.Take] returns them. It returns how many it marked. O(n log
// len(prunes)).
func (a *Aborts) Forget(prunes []Prune, at uint64, pins *Pins) (n int) {
	for i, x := range a.xids {
		if x >= prunes[0].Below {
			break
		}
		f := &a.fates[i]
		if f.forgotten != 0 || pins.Count(x) != 0 {
			continue
		}
		p, _ := slices.BinarySearchFunc(prunes, f.ended+1, func(p Prune, at uint64) int { return cmp.Compare(p.At, at) })
		if p < len(prunes) && x < prunes[p].Below {
			f.forgotten = at
			n++
		}
	}
	a.stale += n
	return n
}

// Drop takes out what was forgotten by the instant until: that of the oldest
// guard, which knows it as committed. O(n), or O(1) if nothing is marked.
func (a *Aborts) Drop(until uint64) {
	if a.stale == 0 {
		return
	}
	n := 0
	for i, x := range a.xids {
		if f := a.fates[i]; f.forgotten != 0 && f.forgotten <= until {
			a.stale--
			a.lostAt, a.lostXid = max(a.lostAt, f.forgotten), max(a.lostXid, x)
			continue
		}
		a.xids[n], a.fates[n] = x, a.fates[i]
		n++
	}
	a.xids, a.fates = a.xids[:n], a.fates[:n]
}
