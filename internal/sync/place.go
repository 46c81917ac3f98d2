//go:build !sim

package sync

import (
	"runtime"
	"unsafe"
)

// A Cell holds plain shared memory: what a lock protects, or what one thread
// hands to another. In a normal build it costs nothing; under the sim tag every
// access is checked for a data race. Its granularity is the whole T: group in
// one Cell what is protected together, and do not use what Read and Write return
// once the lock is given up: only the calls are seen.
type Cell[T any] struct{ v T }

// Read returns the contents for reading.
func (c *Cell[T]) Read() *T { return &c.v }

// Write returns the contents for reading and writing.
func (c *Cell[T]) Write() *T { return &c.v }

// Yield lets other threads run: for a loop that waits for one of them. Under
// the sim tag the thread waits until something changes that it has read since
// its last Yield, or its last write.
func Yield() { runtime.Gosched() }

// Local returns a number below n, a power of two, that tends to be the same for
// one goroutine and to differ between goroutines: the place where it looks
// first for a slot, or a shard, of its own. It hashes the address of the stack.
// Under the sim tag it is any number: a choice of the explorer's.
func Local(n int) int {
	var here byte
	return int(uintptr(unsafe.Pointer(&here))>>11*0x9e37>>4) & (n - 1)
}
