package core

// A Snapshot is a set of transactions: all that had committed at one instant,
// and its owner, the transaction that took it (if any) until it rolls back.
//
// A Snapshot never changes its mind: Includes(x) has the same answer for as
// long as the snapshot may be asked, the owner's own Xid aside. One that is
// held by a [Guard] may be asked until the guard is released. One that is not
// may be asked until a prune or a collapse has passed it; from then on it
// answers [ErrTooOld] where it can no longer know. Nothing ever guesses.
//
// A Snapshot is a small value: it is copied, not shared, and safe for
// concurrent use. The zero Snapshot belongs to no manager and includes only
// [None]; asked about anything else it answers [ErrForeign].
type Snapshot struct {
	view  View
	owner Xid
	low   Xid    // every Xid below is included; most rows need nothing more
	high  Xid    // no Xid at or above is included, the owner aside
	at    uint64 // the instant, in the view's own terms
}

// A View decides what a [Snapshot] cannot decide from its bounds alone. It is
// the manager's side of a snapshot; callers of snapshots never see it.
// Implementations should be pointer-shaped, so that a Snapshot needs no
// allocation of its own, and must be safe for concurrent use.
type View interface {
	// Lookup reports whether x had committed at the instant at. The snapshot
	// asks only about low <= x < high, never about None or its owner.
	Lookup(x Xid, at uint64) (bool, error)

	// RolledBack reports whether x, the owner of a snapshot taken at the
	// instant at, has rolled back by now.
	RolledBack(x Xid, at uint64) (bool, error)

	// InProgress returns the Xids in [low, high) that were neither committed
	// nor aborted at the instant at.
	InProgress(low, high Xid, at uint64) (XidSet, error)
}

// NewSnapshot returns the snapshot that view decides, for use by managers:
// every Xid below low is included, none at or above high, owner aside; in
// between, and for the owner, view is asked, with the instant at.
func NewSnapshot(view View, owner, low, high Xid, at uint64) Snapshot {
	return Snapshot{view, owner, low, high, at}
}

// Includes reports whether x is in the set: None always; the owner unless it
// has rolled back; any other x if it committed before the snapshot's instant.
// It is Lookup for callers whose snapshots are guarded or fresh: where Lookup
// would return an error, Includes panics with it.
//
// Cost: one comparison for an x below everything unfinished, aborted or hidden
// at the snapshot's instant; otherwise what the manager's lookup costs.
func (s Snapshot) Includes(x Xid) bool { return x < s.low || s.includes(x) }

// includes is Lookup, without a call between it and the view for most xids. It is
// not inlined, so that Includes is, whose comparison decides for most rows; and inlined, it would be given a copy of s in memory, at twice the cost
// of all the rest.
//
//go:noinline
func (s Snapshot) includes(x Xid) bool {
	var ok bool
	var err error
	if x != s.owner && x < s.high && s.view != nil && x != None {
		ok, err = s.view.Lookup(x, s.at)
	} else {
		ok, err = s.Lookup(x)
	}
	if err != nil {
		panic(err)
	}
	return ok
}

// Lookup reports whether x is in the set, or [ErrTooOld] if that can no longer
// be known, or [ErrForeign] for the zero Snapshot.
func (s Snapshot) Lookup(x Xid) (bool, error) {
	switch {
	case x < s.low || x == None:
		return true, nil
	case s.view == nil:
		return false, ErrForeign
	case x == s.owner:
		gone, err := s.view.RolledBack(x, s.at)
		return err == nil && !gone, err
	case x >= s.high:
		return false, nil
	}
	return s.view.Lookup(x, s.at)
}

// WithOwner returns s with owner x, for a transaction that draws its Xid late,
// at its first write: x must be an Xid that the caller has begun. The previous
// owner, if any, is no longer treated specially.
func (s Snapshot) WithOwner(x Xid) Snapshot {
	s.owner = x
	return s
}

// Bound returns the first Xid that had not been allocated at the snapshot's
// instant. A manager that is not [Manager.Ordered] may hand out smaller Xids
// later; they are not included.
func (s Snapshot) Bound() Xid { return s.high }

// InProgress returns the Xids below Bound that were neither committed nor
// aborted at the snapshot's instant (the owner, if it was active, among them).
// Together with Bound and the aborted outcomes it gives the same answers as
// Includes. A manager that is not [Manager.Ordered] may also name Xids that
// were handed out later. The error is [ErrTooOld] or [ErrForeign]. It costs at
// least the distance between the oldest unfinished Xid and the bound in some
// managers, so it is for diagnosis and checking, not for every read.
func (s Snapshot) InProgress() (XidSet, error) {
	if s.view == nil {
		return nil, ErrForeign
	}
	return s.view.InProgress(s.low, s.high, s.at)
}

// Parts returns what the manager put into s with [NewSnapshot], for use by
// that manager. The view is nil for the zero Snapshot.
func (s Snapshot) Parts() (view View, owner, low, high Xid, at uint64) {
	return s.view, s.owner, s.low, s.high, s.at
}

// Visible reports whether s sees a version created by xmin and deleted by xmax
// (None if it is not deleted). That covers the usual rules: rows older than
// MVCC are visible; future, in-progress and aborted creators hide a row; only
// a deleter in the snapshot hides it, an in-progress or aborted one does not.
func Visible(s Snapshot, xmin, xmax Xid) bool {
	return s.Includes(xmin) && (xmax == None || !s.Includes(xmax))
}

// A Guard is a snapshot that holds the horizon back until it is released:
// nothing that the snapshot can tell apart is forgotten, and OldestRequired
// stays at or below every transaction that it hides and that has committed
// since. Copies of a Guard are the same guard. The zero Guard guards nothing.
type Guard struct {
	Snapshot
	holder Holder
	token  uint64
}

// A Holder is the manager's side of a [Guard]. Implementations should be
// pointer-shaped.
type Holder interface {
	// Release ends the guard that token names. It reports false, and does
	// nothing, if that guard has ended before.
	Release(token uint64) bool
}

// NewGuard returns a guard of s that holder ends, for use by managers. A token
// names one guard of the holder, for ever: it is not used again.
func NewGuard(s Snapshot, holder Holder, token uint64) Guard { return Guard{s, holder, token} }

// Release ends the guard. A second call, on this or any copy, changes nothing
// and reports false; of racing ones exactly one reports true.
func (g Guard) Release() bool { return g.holder != nil && g.holder.Release(g.token) }
