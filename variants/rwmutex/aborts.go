package rwmutex

import (
	"cmp"
	"slices"

	"xidlab/core"
)

// aborts is the set of Xids that have rolled back, in two slices ordered by
// Xid. Rollbacks come almost in order, so an insertion moves little; the
// smallest and the largest, which bound what a snapshot must look up, are at
// the ends; a prune is one pass.
//
// A forgotten Xid counts as committed from then on. It leaves at once, unless a
// younger guard lives that knew it as aborted (I6): then it stays, marked, until
// that guard is released. Of what has left, only the last instant and the
// largest Xid are kept: from these a snapshot knows that it cannot know.
type aborts struct {
	xids  []core.Xid
	fates []fate
	stale int // how many are marked as forgotten

	lostAt  uint64   // the last forgetting of an Xid that has left
	lostXid core.Xid // the largest Xid that has left
}

// A fate is the instant of an abort, and that of its forgetting (0: not yet).
type fate struct{ ended, forgotten uint64 }

func (a *aborts) add(x core.Xid, at uint64) {
	i, _ := slices.BinarySearch(a.xids, x)
	a.xids = slices.Insert(a.xids, i, x)
	a.fates = slices.Insert(a.fates, i, fate{ended: at})
}

// find returns the fate of x, if it is there.
func (a *aborts) find(x core.Xid) (fate, bool) {
	i, ok := find(a.xids, x)
	if !ok {
		return fate{}, false
	}
	return a.fates[i], true
}

// aborted reports whether x counts as aborted by now.
func (a *aborts) aborted(x core.Xid) bool {
	f, ok := a.find(x)
	return ok && f.forgotten == 0
}

// bounds returns the smallest and the largest element, or an empty range.
func (a *aborts) bounds() (lo, hi core.Xid) {
	if len(a.xids) == 0 {
		return core.MaxXid + 1, 0
	}
	return a.xids[0], a.xids[len(a.xids)-1]
}

// lost reports whether x may have been forgotten after the instant at and have
// left, so that a snapshot of that instant cannot know whether it had aborted.
func (a *aborts) lost(x core.Xid, at uint64) bool { return at < a.lostAt && x <= a.lostXid }

// A prune is one call of PruneAborted: its bound and its instant.
type prune struct {
	below core.Xid
	at    uint64
}

// forget marks, at the instant at, what one of the prunes (in order of their
// instants) covers: what had aborted before it, below its bound, unpinned. It
// returns how many it marked. O(n log len(prunes)).
func (a *aborts) forget(prunes []prune, at uint64, pins *pins) (n int) {
	// The later prunes cover an abort of any instant that an earlier one
	// covers, so what counts is the largest bound from some prune on.
	for i := len(prunes) - 1; i > 0; i-- {
		prunes[i-1].below = max(prunes[i-1].below, prunes[i].below)
	}
	for i, x := range a.xids {
		if x >= prunes[0].below {
			break
		}
		f := &a.fates[i]
		if f.forgotten != 0 || pins.count(x) != 0 {
			continue
		}
		p, _ := slices.BinarySearchFunc(prunes, f.ended+1, func(p prune, at uint64) int { return cmp.Compare(p.at, at) })
		if p < len(prunes) && x < prunes[p].below {
			f.forgotten = at
			n++
		}
	}
	a.stale += n
	return n
}

// drop takes out what was forgotten by the instant until: that of the oldest
// guard, which knows it as committed. O(n).
func (a *aborts) drop(until uint64) {
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
