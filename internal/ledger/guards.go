package ledger

import "math"

// Guards is the list of the live guards of a manager, in order of their
// instants. The zero value is empty.
//
// Of all guards, only the oldest matters for the horizon: what a guard holds
// back is the smallest Xid that its snapshot hides and that has committed since,
// and a later snapshot hides no more than an earlier one.
type Guards[S any] struct{ oldest, youngest *Guard[S] }

// A Guard is one of the list, of which the manager knows a State beside. (The
// manager defines a type of its own by it, for the methods.)
type Guard[S any] struct {
	At    uint64 // the instant of the guard's snapshot
	State S

	retired        bool
	older, younger *Guard[S]
}

// Insert enters g, once. It costs O(1) for a new snapshot, otherwise the number
// of younger guards.
func (l *Guards[S]) Insert(g *Guard[S]) {
	g.older = l.youngest
	for g.older != nil && g.older.At > g.At {
		g.older, g.younger = g.older.older, g.older
	}
	if g.older != nil {
		g.older.younger = g
	} else {
		l.oldest = g
	}
	if g.younger != nil {
		g.younger.older = g
	} else {
		l.youngest = g
	}
}

// Remove takes out g, which was entered, in O(1). It reports false if that was
// done before.
func (l *Guards[S]) Remove(g *Guard[S]) bool {
	if g.retired {
		return false
	}
	g.retired = true
	if g.older != nil {
		g.older.younger = g.younger
	} else {
		l.oldest = g.younger
	}
	if g.younger != nil {
		g.younger.older = g.older
	} else {
		l.youngest = g.older
	}
	g.older, g.younger = nil, nil
	return true
}

// Oldest returns the guard of the smallest instant, or nil.
func (l *Guards[S]) Oldest() *Guard[S] { return l.oldest }

// Since returns the instant of the oldest guard, or one after everything.
func (l *Guards[S]) Since() uint64 {
	if l.oldest == nil {
		return math.MaxUint64
	}
	return l.oldest.At
}
