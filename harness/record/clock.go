package record

import (
	"errors"
	"fmt"
	"sync/atomic"

	"xidlab/harness/pin"
)

// A Clock stamps calls and returns. There are two kinds:
//
//   - a counter, which every stamp increments ([NewCounter]). The order of the
//     stamps is exact, so that it misses nothing; but all workers write one
//     cache line at every call and return, which slows them down, keeps them in
//     step and orders their memory. What it hides is for the other kind to meet.
//   - the processor's time stamp counter ([NewTSC]). Workers share nothing. The
//     counters of two CPUs may disagree, by at most what is measured before the
//     recording; every operation is widened by that, so that one is said to be
//     over before another began only if that is certain. Widening loses some
//     order; it never makes a wrong one.
//
// It is safe for concurrent use.
type Clock struct {
	ticks  pin.Clock // of the time stamp counter; nil for the other kind
	cpus   []int
	apart  []interval // by index in cpus
	widen  int64      // in ticks, at either end
	origin int64      // ticks at the origin of stamps in nanoseconds

	_     [128]byte
	count atomic.Int64
	_     [128]byte
}

// NewCounter returns the clock that counts.
func NewCounter() *Clock { return &Clock{} }

// NewTSC returns the clock that reads the time stamp counters of the CPUs: all
// those on which a recorded worker may run. It measures how far these counters
// may be apart, which takes some milliseconds a CPU, beside the 100 ms of
// calibrating their rate.
//
// The error says why this machine has no such clock: the counter is missing or
// not trusted, or threads cannot be pinned, without which it cannot be measured.
func NewTSC(cpus []int) (*Clock, error) {
	ticks := pin.NewClock()
	if ticks.Name() != "tsc" {
		return nil, errors.New("no stamps by the time stamp counter: it is missing or not trusted on this machine")
	}
	apart, err := measureSkew(cpus, fencedTSC)
	if err != nil {
		return nil, fmt.Errorf("no stamps by the time stamp counter: its skew between CPUs cannot be measured: %w", err)
	}
	return &Clock{ticks: ticks, cpus: cpus, apart: apart, widen: widening(apart), origin: fencedTSC()}, nil
}

// Name is "counter" or "tsc".
func (c *Clock) Name() string {
	if c.ticks == nil {
		return "counter"
	}
	return c.ticks.Name()
}

// Widening is by how many nanoseconds the call of each operation is moved back,
// and its return forward. It is 0 for the counter.
func (c *Clock) Widening() float64 {
	if c.ticks == nil {
		return 0
	}
	return c.ticks.Nanoseconds(c.widen)
}

// Verify measures the skew once more. The error says that it has changed, as it
// does if the machine was suspended or moved to another host: the order of what
// was recorded since is then not to be trusted.
func (c *Clock) Verify() error {
	if c.ticks == nil {
		return nil
	}
	now, err := measureSkew(c.cpus, fencedTSC)
	if err != nil {
		return fmt.Errorf("verify the time stamp counters: %w", err)
	}
	for i, was := range c.apart {
		if now[i].lo > was.hi || now[i].hi < was.lo {
			return fmt.Errorf("the time stamp counters of CPU %d and %d have moved: they were between %d and %d ticks apart, and are between %d and %d; what was recorded in between is not to be trusted",
				c.cpus[0], c.cpus[i], was.lo, was.hi, now[i].lo, now[i].hi)
		}
	}
	return nil
}

func (c *Clock) now() int64 {
	if c.ticks == nil {
		return c.count.Add(1)
	}
	return fencedTSC()
}
