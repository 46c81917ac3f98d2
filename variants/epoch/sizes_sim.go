//go:build sim

package epoch

// With few slots, and half of the clock's ticks clear, the explorer sees what is
// rare.
const (
	slotsPerChunk = 2
	eagerTicks    = 2
)
