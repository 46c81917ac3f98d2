package result

import (
	"fmt"
	"time"

	"xidlab/harness/pin"
)

// A Contamination is what disturbed a slice. Unknown (-1) stands for what the
// system does not tell.
type Contamination struct {
	RunDelay    time.Duration `json:"run_delay_ns"` // workers runnable but waiting for a CPU, summed over them
	Voluntary   int64         `json:"voluntary"`    // context switches of workers that blocked
	Involuntary int64         `json:"involuntary"`  // context switches of workers that lost their CPU
	Steal       time.Duration `json:"steal_ns"`     // taken by the hypervisor, summed over the machine's CPUs
	Pressure    time.Duration `json:"pressure_ns"`  // some task of the machine waited for a CPU
	CoRun       float64       `json:"co_run"`       // smallest share, 0 to 1, of a CPU that a worker got
	Moved       bool          `json:"moved"`        // a pinned worker was found on another CPU
}

// NewContamination sums up what disturbed a slice of that wall time and number
// of threads. For pinned workers, usages are the differences, over the slice, of
// [pin.ThreadUsage] of each. For unpinned ones, which have no threads of their
// own, usages is the one difference of [pin.ProcessUsage].
func NewContamination(wall time.Duration, threads int, usages []pin.Usage, machine pin.Disturbance) Contamination {
	c := Contamination{Steal: machine.Steal, Pressure: machine.Pressure, CoRun: pin.Unknown}
	if len(usages) == 0 {
		c.RunDelay, c.Voluntary, c.Involuntary = pin.Unknown, pin.Unknown, pin.Unknown
		return c
	}
	each := wall * time.Duration(threads) / time.Duration(len(usages))
	for _, u := range usages {
		c.RunDelay = plus(c.RunDelay, u.RunDelay)
		c.Voluntary = plus(c.Voluntary, u.Voluntary)
		c.Involuntary = plus(c.Involuntary, u.Involuntary)
		if share := u.Share(each); share != pin.Unknown && (c.CoRun == pin.Unknown || share < c.CoRun) {
			c.CoRun = share
		}
	}
	return c
}

func plus[T ~int64](a, b T) T {
	if a == pin.Unknown || b == pin.Unknown {
		return pin.Unknown
	}
	return a + b
}

const (
	// tolerated is the share of a worker's CPU time that others may take before
	// a slice counts as contaminated.
	tolerated = 0.05
	// stealTick is the resolution of steal: one tick of it may have been stolen
	// before the slice began.
	stealTick = 10 * time.Millisecond
)

// Contaminated says in a few words what disturbed the slice so much that its
// figures are in doubt, or "" if nothing is known to have. It does not look at
// how many ops there were, so leaving such slices out biases nothing.
func (s Slice) Contaminated() string {
	c := s.Contamination
	switch {
	case c.Moved:
		return "a worker left its CPU"
	case c.RunDelay != pin.Unknown && c.CoRun != pin.Unknown && c.CoRun < 1-tolerated:
		// Without the run delay, a low share may be due to blocking on locks.
		return fmt.Sprintf("a worker waited %.0f %% of its time for a CPU", 100*(1-c.CoRun))
	case c.Steal != pin.Unknown && (c.Steal-stealTick).Seconds() > tolerated*s.Seconds*float64(len(s.WorkerOps)):
		return fmt.Sprintf("the hypervisor took %v", c.Steal)
	}
	return ""
}

// Apart reports whether the workers of the slice may never have run at the same
// time: with a half of a CPU each, two threads may have taken turns. The figures
// of such a slice say nothing about contention.
func (s Slice) Apart() bool {
	return len(s.WorkerOps) > 1 && s.Contamination.CoRun != pin.Unknown && s.Contamination.CoRun <= 0.5
}
