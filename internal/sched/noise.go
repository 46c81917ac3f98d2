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
// called: outside an exploration every access of a scheduled type then gives the
// processor away one time in eight, so that rare interleavings of real threads
// become common on few processors. It affects the whole process.
func Perturb(seed uint64) (stop func()) {
	noise.Store(seed | 1)
	return func() { noise.Store(0) }
}

func perturb() {
	if noise.Load() == 0 {
		return
	}
	const weyl = 0x9e3779b97f4a7c14 // even, so the state stays odd
	if z := noise.Add(weyl) * 0xbf58476d1ce4e5b9; z>>61 == 0 {
		runtime.Gosched()
	}
}
