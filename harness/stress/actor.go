package stress

import (
	"math/rand/v2"
	"sync/atomic"

	"xidlab/core"
	"xidlab/harness/record"
	"xidlab/harness/workload"
)

// A board is what workers tell each other: xids that some of them have just
// begun, and pairs of them. It is written at every Begin and read at every
// question, so that what is asked about is just now changing.
type board struct {
	recent           [16]slot
	creator, deleter slot // of a version
}

// A slot has a cache line, and the neighbour that is fetched with it, to itself.
type slot struct {
	atomic.Uint64
	_ [120]byte
}

// An actor is a worker of a script: what it has open, and what it remembers.
type actor struct {
	_     [128]byte
	w     *record.Worker
	board *board
	rng   *rand.Rand
	role  []action // each as often as it weighs

	open   []core.Xid // its own transactions
	guards []core.Guard
	pins   []core.Xid
	pair   [2]core.Xid      // a creator and a deleter, or None
	snaps  [8]core.Snapshot // not guarded
	taken  int              // how many there were; the zero Snapshot is not asked
	_      [128]byte
}

// How much an actor leaves open.
const (
	mostOpen   = 6
	mostGuards = 4
	mostPins   = 4
)

// batch is how many actions a step has.
const batch = 16

// Step implements [workload.Worker].
func (a *actor) Step(*workload.Sampler) int {
	for range batch {
		a.role[a.rng.IntN(len(a.role))](a)
	}
	return batch
}

// finish ends whatever the actor has left open.
func (a *actor) finish() {
	for _, x := range append(a.open, a.pair[:]...) {
		_ = a.w.Commit(x) // another actor may have been faster
	}
	for _, g := range a.guards {
		a.w.Release(g)
	}
	for _, x := range a.pins {
		a.w.Unpin(x)
	}
	a.open, a.guards, a.pins, a.pair = nil, nil, nil, [2]core.Xid{}
}

// some returns an xid that some actor began lately, None before there is one.
func (a *actor) some() core.Xid {
	return core.Xid(a.board.recent[a.rng.IntN(len(a.board.recent))].Load())
}

// publish lets others ask about x.
func (a *actor) publish(x core.Xid) {
	a.board.recent[a.rng.IntN(len(a.board.recent))].Store(uint64(x))
}

// published begins a transaction, and lets others ask about it.
func (a *actor) published() core.Xid {
	x := a.w.Begin()
	a.publish(x)
	return x
}

func (a *actor) begin() { a.open = append(a.open, a.published()) }

// take removes one of its open transactions, and begins one first if it has to.
func (a *actor) take() core.Xid {
	if len(a.open) == 0 {
		a.begin()
	}
	return remove(&a.open, a.rng)
}

func remove[T any](from *[]T, rng *rand.Rand) T {
	i, last := rng.IntN(len(*from)), len(*from)-1
	t := (*from)[i]
	(*from)[i] = (*from)[last]
	*from = (*from)[:last]
	return t
}

// self returns for whom a snapshot is taken: nobody, one of its own, or, rarely,
// an xid of anybody's, which may have finished.
func (a *actor) self() core.Xid {
	switch n := a.rng.IntN(8); {
	case n == 0:
		return a.some()
	case n < 4 && len(a.open) > 0:
		return a.open[a.rng.IntN(len(a.open))]
	}
	return core.None
}

// ask asks a snapshot about what is going on. Now and then it is asked what it
// hides, which says more, and costs some managers much more.
func (a *actor) ask(s core.Snapshot) {
	const questions = 4
	if a.rng.IntN(4) == 0 {
		_, _ = a.w.InProgress(s) // its answer is recorded, whatever it is
	}
	for range questions {
		if x := a.some(); x != core.None {
			_, _ = a.w.Lookup(s, x)
		}
	}
	if n := len(a.open); n > 0 {
		_, _ = a.w.Lookup(s, a.open[n-1])
	}
}
