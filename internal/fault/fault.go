// Package fault names the faults that are built into the variants to be found
// by their tests: each is one line made wrong where it stands,
//
//	if fault.On == "epoch/late-draw" {
//
// Only a build with the sim tag can switch one on. In a normal build On is a
// constant, so the condition is one that the compiler drops before it looks at
// anything else: neither code nor the decision to inline depends on it.
package fault

// A Fault is the name of one, such as "epoch/late-draw": the variant, and what it
// does wrong.
type Fault string
