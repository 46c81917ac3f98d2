package sync

import "sync/atomic"

// A Tally counts events of up to [Kinds] kinds, for diagnosis. Each goroutine
// adds to a place that it most likely has to itself (see Local), on two cache
// lines of its own, so that counting contends with nobody: an addition costs an
// uncontended fetch-add. It belongs on paths that cost more than that already.
//
// Nothing may depend on what was counted. So the explorer need not see it: also
// under the sim tag these are the standard library's atomics, no operation is a
// scheduling point, and no place is chosen.
type Tally struct {
	places [places][Kinds]atomic.Uint64
}

const (
	// Kinds is how many kinds of events a Tally tells apart: as many as words fit
	// into two cache lines, which some processors fetch together.
	Kinds = 16

	places = 16 // a power of two, so that the size of a Tally is one, which aligns it
)

// Add counts n events of a kind below Kinds.
func (t *Tally) Add(kind int, n uint64) { t.places[place()][kind].Add(n) }

// Sum returns how many events of a kind were counted: all that happened before,
// and perhaps some that happen meanwhile.
func (t *Tally) Sum(kind int) (n uint64) {
	for i := range t.places {
		n += t.places[i][kind].Load()
	}
	return n
}
