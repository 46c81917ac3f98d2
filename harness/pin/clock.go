package pin

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/loov/hrtime"
)

// A Clock counts ticks. Reading it is cheap and unfenced: the processor may move
// work of a few nanoseconds across a read, so time batches, not single
// operations. It is safe for concurrent use; ticks read on different CPUs are
// comparable.
type Clock interface {
	// Name is "tsc" or "monotonic".
	Name() string
	// Now reads the clock, in ticks from an arbitrary origin.
	Now() int64
	// Nanoseconds converts a number of ticks.
	Nanoseconds(ticks int64) float64
	// Overhead is what one read costs, in ticks; subtract it from an interval
	// between two reads.
	Overhead() int64
}

// calibration is how long the counter is watched against the system's clock:
// with reads good to some 100 ns, the rate is good to a few parts per million.
const calibration = 100 * time.Millisecond

// NewClock returns the processor's time stamp counter where that is invariant
// and the kernel trusts it, otherwise the monotonic clock of the system. It
// calibrates, which takes a little more than 100 ms: make one and share it.
func NewClock() Clock {
	if tscTrusted(os.DirFS("/sys")) {
		return newTSC(calibration)
	}
	return newMonotonic()
}

// tscTrusted reports whether the counter is invariant, and the kernel, where it
// says, still lists it: it strikes out a counter that drifts between CPUs.
func tscTrusted(sys fs.FS) bool {
	listed := readLine(sys, "devices/system/clocksource/clocksource0/available_clocksource")
	return hrtime.TSCSupported() && (listed == "" || slices.Contains(strings.Fields(listed), "tsc"))
}

type tsc struct {
	nanosPerTick float64
	overhead     int64
}

func newTSC(watch time.Duration) *tsc {
	wall0, ticks0 := readBoth()
	time.Sleep(watch)
	wall1, ticks1 := readBoth()
	c := &tsc{nanosPerTick: float64(wall1.Sub(wall0)) / float64(ticks1-ticks0)}
	c.overhead = readOverhead(c.Now)
	return c
}

// readBoth reads the two clocks at one instant: the closest of several tries, as
// a preemption may fall between the reads.
func readBoth() (wall time.Time, ticks int64) {
	closest := int64(1<<63 - 1)
	for range 32 {
		before := int64(hrtime.TSC())
		now := time.Now()
		after := int64(hrtime.TSC())
		if after-before < closest {
			closest, wall, ticks = after-before, now, before+(after-before)/2
		}
	}
	return wall, ticks
}

func (c *tsc) Name() string                    { return "tsc" }
func (c *tsc) Now() int64                      { return int64(hrtime.TSC()) }
func (c *tsc) Nanoseconds(ticks int64) float64 { return float64(ticks) * c.nanosPerTick }
func (c *tsc) Overhead() int64                 { return c.overhead }

// monotonic counts nanoseconds by the standard library. (hrtime.Now reads the
// wall clock on most systems, which can be set back.)
type monotonic struct {
	origin   time.Time
	overhead int64
}

func newMonotonic() *monotonic {
	c := &monotonic{origin: time.Now()}
	c.overhead = readOverhead(c.Now)
	return c
}

func (c *monotonic) Name() string                    { return "monotonic" }
func (c *monotonic) Now() int64                      { return int64(time.Since(c.origin)) }
func (c *monotonic) Nanoseconds(ticks int64) float64 { return float64(ticks) }
func (c *monotonic) Overhead() int64                 { return c.overhead }

// readOverhead returns the cost of one read: the least mean over several
// batches, as whatever disturbs a batch only adds.
func readOverhead(now func() int64) int64 {
	const batches, reads = 16, 256
	least := int64(1<<63 - 1)
	for range batches {
		start := now()
		for range reads - 1 {
			now()
		}
		least = min(least, now()-start)
	}
	return (least + reads/2) / reads
}
