//go:build sim

package epoch

// slotsPerChunk is small, so that a second chunk is common.
const slotsPerChunk = 2
