//go:build !sim

package epoch

const (
	slotsPerChunk = 16 // a power of two
	eagerTicks    = 16 // of the clock
)
