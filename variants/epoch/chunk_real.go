//go:build !sim

package epoch

// slotsPerChunk is a power of two.
const slotsPerChunk = 16
