// Package variants lists the snapshot managers of the laboratory.
package variants

import "xidlab/core"

// A Variant is one design of a snapshot manager.
type Variant struct {
	Name    string // as in results and on the command line
	Summary string // one line, for xbench list
	New     func() core.Manager
}

// All lists every variant. A new row is all that a new variant needs: tests,
// benchmarks and plots pick it up from here.
var All = []Variant{}
