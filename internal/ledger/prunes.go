package ledger

import "xidlab/core"

// A Prune is one call of PruneAborted: its bound and its instant.
type Prune struct {
	Below core.Xid
	At    uint64
}

// Prunes are those that wait for guards older than they, by instant: 16 bytes
// each.
type Prunes []Prune

// Take takes out, and returns, those that wait for no guard any more, if the
// oldest guard's instant is since (see [Guards.Since]). A later prune covers an
// abort of any instant that an earlier one covers, so what counts is the largest
// bound from some prune on: the bounds of what it returns descend.
func (w *Prunes) Take(since uint64) []Prune {
	n := 0
	for n < len(*w) && (*w)[n].At <= since {
		n++
	}
	if n == 0 {
		return nil
	}
	ready := (*w)[:n]
	*w = append(Prunes(nil), (*w)[n:]...)
	for i := len(ready) - 1; i > 0; i-- {
		ready[i-1].Below = max(ready[i-1].Below, ready[i].Below)
	}
	return ready
}
