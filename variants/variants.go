// Package variants lists the snapshot managers of the laboratory.
package variants

import (
	"xidlab/core"
	"xidlab/variants/epoch"
	"xidlab/variants/rwmutex"
	"xidlab/variants/sharded"
)

// A Variant is one design of a snapshot manager.
type Variant struct {
	Name    string // as in results and on the command line
	Summary string // one line, for xbench list
	New     func() core.Manager
}

// All lists every variant. A new row is all that a new variant needs: tests,
// benchmarks and plots pick it up from here.
var All = []Variant{
	{"rwmutex", "one lock around everything; a snapshot copies the active set", func() core.Manager { return rwmutex.New() }},
	{"sharded", "many locks; a snapshot takes them all for one consistent cut", func() core.Manager { return sharded.New() }},
	{"epoch", "lock-free; a commit clock and an outcome log, a snapshot is one number", func() core.Manager { return epoch.New() }},
}
