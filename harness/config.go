package harness

import (
	"errors"
	"fmt"
	"time"

	"xidlab/harness/pin"
	"xidlab/harness/workload"
)

// A Config says what to measure. It is not changed.
type Config struct {
	Variants []Variant       // rows are in this order
	Loads    []workload.Load // those that a variant does not support are left out
	Threads  []int           // numbers of workers, each at least 1
	CPUs     []int           // for pinned workers, best first; worker i is on CPUs[i % len(CPUs)]
	Modes    []Mode          // reference rows and latencies are measured in the first only
	Seed     uint64          // of everything random: loads, and the order of slices

	// Budget is about how long it all may take. It decides on the number of
	// slices of a row and on their length, within limits: a few rows take less,
	// too many take more.
	Budget time.Duration
	// Wanted, if it is not nil, says whether there is to be a row of that variant
	// and load at that number of threads. (Reference rows there always are.)
	Wanted func(variant, load string, threads int) bool
	// Untimed: no latencies are sampled.
	Untimed bool
	// Explained: managers that can are asked for their counters, before each slice
	// and after it.
	Explained bool
	// Slices, if it is not 0, is the number of slices of a row.
	Slices int
	// Paced: the loads do what is due, not what they can. Slices are few and as
	// long as the budget permits, to get far into a trace, and no call goes
	// untimed when latencies are sampled.
	Paced bool

	Clock    pin.Clock      // of windows and latencies
	Progress func(Progress) // may be nil; called before each slice

	patience time.Duration // see sliceRun; tests have less
}

// A Mode is how workers run.
type Mode struct {
	Pinned bool // each worker on a thread and a CPU of its own
	GC     GC
}

// Progress is how far the measuring has come.
type Progress struct {
	Done, Total int           // slices
	Left        time.Duration // estimate, from what slices took so far
	Row         string        // that is measured now
}

func (c *Config) check() error {
	switch {
	case len(c.Variants) == 0:
		return errors.New("no variants to measure")
	case len(c.Loads) == 0:
		return errors.New("no workloads to measure")
	case len(c.Threads) == 0:
		return errors.New("no numbers of threads to measure with")
	case len(c.Modes) == 0:
		return errors.New("no modes to measure in")
	case c.Budget <= 0:
		return fmt.Errorf("a duration of %v measures nothing: give a positive one", c.Budget)
	case c.Slices < 0:
		return fmt.Errorf("%d slices of each row: give a positive number", c.Slices)
	case c.Clock == nil:
		return errors.New("no clock")
	}
	for _, n := range c.Threads {
		if n < 1 {
			return fmt.Errorf("%d threads: there must be at least 1", n)
		}
	}
	for _, m := range c.Modes {
		if m.Pinned && len(c.CPUs) == 0 {
			return errors.New("no CPUs to pin to")
		}
	}
	return nil
}
