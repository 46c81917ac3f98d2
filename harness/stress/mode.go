package stress

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
)

// A Mode is how the workers of a stress run.
type Mode struct {
	Workers  int
	CPUs     []int // worker i is pinned to the i'th, and so on around; nil: not pinned
	Pressure bool  // the garbage collector runs all the time, not between windows
}

// String describes m: "2 workers, pinned, collector under pressure".
func (m Mode) String() string {
	parts := []string{fmt.Sprintf("%d workers", m.Workers)}
	if m.CPUs != nil {
		parts = append(parts, "pinned")
	}
	if m.Pressure {
		parts = append(parts, "collector under pressure")
	}
	return strings.Join(parts, ", ")
}

// enter makes the process what m wants, for the time of a window. GOMAXPROCS is
// as many as there are workers: if these are more than there are CPUs it is the
// kernel that makes them take turns, at any instruction, not the Go scheduler at
// its own places.
func (m Mode) enter() (leave func()) {
	procs := m.Workers
	if m.Pressure {
		procs++
	}
	wasProcs := runtime.GOMAXPROCS(max(procs, runtime.GOMAXPROCS(0)))
	percent := -1
	stop := func() {}
	if m.Pressure {
		percent = 10
		stop = litter()
	}
	wasPercent := debug.SetGCPercent(percent)
	return func() {
		stop()
		debug.SetGCPercent(wasPercent)
		runtime.GOMAXPROCS(wasProcs)
	}
}

// litter allocates until it is stopped.
func litter() (stop func()) {
	var stopped atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		var kept [64][]*int
		for i := 0; !stopped.Load(); i++ {
			list := make([]*int, 64)
			for k := range list {
				list[k] = new(int)
			}
			kept[i%len(kept)] = list
			if i%1024 == 0 {
				runtime.GC()
			}
		}
	})
	return func() {
		stopped.Store(true)
		wg.Wait()
	}
}
