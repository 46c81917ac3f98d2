// Package sched perturbs the scheduling of concurrent code under test. It is
// the seat of the interleaving explorer; so far it offers seeded noise: while
// [Perturb] is on, every scheduling point of a sim build (each atomic
// operation and each lock of a variant) may give the processor away, so that
// rare interleavings become common on two CPUs.
package sched

import (
	"runtime"
	"sync/atomic"
)

// noise is 0 when off. Otherwise it is the odd state of a shared generator:
// which goroutine draws which number depends on the run, so a seed repeats the
// density of switches, not their order.
var noise atomic.Uint64

// Perturb turns the noise on, from a seed, until the returned function is
// called. It affects the whole process.
func Perturb(seed uint64) (stop func()) {
	noise.Store(seed | 1)
	return func() { noise.Store(0) }
}

// Point is a scheduling point: with noise on it yields one time in eight.
func Point() {
	if noise.Load() == 0 {
		return
	}
	const weyl = 0x9e3779b97f4a7c14 // even, so the state stays odd
	if z := noise.Add(weyl) * 0xbf58476d1ce4e5b9; z>>61 == 0 {
		runtime.Gosched()
	}
}
