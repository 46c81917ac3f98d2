package harness

import (
	"sync/atomic"

	"xidlab/core"
	"xidlab/harness/result"
	"xidlab/harness/workload"
)

// A reference is a Load that measures the machine; it uses no manager.
type reference struct {
	name, unit string
	start      func(workers int) []workload.Worker
}

// references returns the loads of the reference rows at a number of threads.
func references(threads int) []*reference {
	refs := []*reference{
		{result.EmptyLoop, "iteration", emptyLoops},
		{result.FetchAdd, "increment", sharedCounter},
		{result.FetchAddPadded, "increment", paddedCounters},
	}
	if threads == 2 {
		refs = append(refs, &reference{result.PingPong, "transfer", pingPong})
	}
	return refs
}

func (l *reference) Name() string { return l.name }
func (l *reference) Unit() string { return l.unit }

func (l *reference) Start(_ core.Manager, workers int, _ uint64) (workload.Run, error) {
	return referenceRun(l.start(workers)), nil
}

type referenceRun []workload.Worker

func (r referenceRun) Worker(i int) workload.Worker       { return r[i] }
func (r referenceRun) Finish() ([]workload.Metric, error) { return nil, nil }

// referenceBatch is the length of a step of a reference.
const referenceBatch = 512

// padded is a word with no other in its line, nor in the line beside it, which
// some processors fetch along.
type padded struct {
	_ [128]byte
	atomic.Uint64
	_ [128 - 8]byte
}

type loop struct {
	_   [128]byte
	sum uint64
	_   [128]byte
}

func emptyLoops(workers int) (all []workload.Worker) {
	for range workers {
		all = append(all, new(loop))
	}
	return all
}

func (w *loop) Step(*workload.Sampler) int {
	sum := w.sum
	for i := range uint64(referenceBatch) {
		sum ^= i // one operation, or there is no loop at all
	}
	w.sum = sum
	return referenceBatch
}

type increment struct{ word *padded }

func sharedCounter(workers int) (all []workload.Worker) {
	word := new(padded)
	for range workers {
		all = append(all, increment{word})
	}
	return all
}

func paddedCounters(workers int) (all []workload.Worker) {
	words := make([]padded, workers)
	for i := range words {
		all = append(all, increment{&words[i]})
	}
	return all
}

func (w increment) Step(*workload.Sampler) int {
	for range referenceBatch {
		w.word.Add(1)
	}
	return referenceBatch
}

// bounce is one side of a ping-pong. The word counts transfers; the sides move
// it on by turns, so its line travels to and fro.
type bounce struct {
	word *padded
	side uint64 // the parity at which it is this side's turn
}

func pingPong(workers int) (all []workload.Worker) {
	word := new(padded)
	for i := range workers {
		all = append(all, bounce{word, uint64(i)})
	}
	return all
}

// Step is over after a number of looks at the word, whether or not the other
// side ever moved: it may have stopped. Each round trip is two transfers, and
// both sides take part in both.
func (w bounce) Step(*workload.Sampler) (units int) {
	for range referenceBatch {
		if n := w.word.Load(); n%2 == w.side {
			w.word.Store(n + 1)
			units += 2
		}
	}
	return units
}
