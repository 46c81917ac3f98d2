// Package harness measures snapshot managers.
//
// [Measure] runs every [Variant] with every workload at every number of threads,
// a slice of some ten milliseconds at a time, and hands what it saw to a
// recorder of package result. Three things make the figures worth printing:
//
//   - The clock is around the right interval. Workers gather at a barrier before
//     the start is read, ramp up outside the window, note their own first and
//     last tick of it, and go on until the last of them has left it, unless
//     there are more of them than CPUs.
//   - Variants are interleaved. A machine's speed drifts over seconds, so all
//     variants of one row have their slice before any has its next, in an order
//     that the seed draws anew each time. What the machine itself can do, the
//     reference rows, is measured among them.
//   - Nothing else is on the clock. Random choices are on tapes before it
//     starts, every slice has a fresh manager, garbage is collected between
//     slices, and latencies are sampled in slices of their own.
//
// What disturbed a slice is recorded with it.
package harness

import "xidlab/core"

// A Variant is a design of a snapshot manager, as package variants lists them.
type Variant struct {
	Name    string              // as in results and on the command line
	Summary string              // one line
	New     func() core.Manager // returns a fresh one; called once a slice
}
