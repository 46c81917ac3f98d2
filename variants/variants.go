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

	small, roomy func() core.Manager // or nil
}

// Small returns a manager of such sizes that what is rare becomes common: for
// tests, and for exploration, where a program has only a few operations. It is
// what New returns if the design has no sizes.
func (v Variant) Small() core.Manager {
	if v.small == nil {
		return v.New()
	}
	return v.small()
}

// Roomy returns a manager that is quickly made, and yet has room for a dozen
// transactions before it comes to anything rare: for what is usual.
func (v Variant) Roomy() core.Manager {
	if v.roomy == nil {
		return v.Small()
	}
	return v.roomy()
}

// All lists every variant. A new row is all that a new variant needs: tests,
// benchmarks and plots pick it up from here.
var All = []Variant{
	{
		Name:    "rwmutex",
		Summary: "one lock around everything; a snapshot copies the active set",
		New:     func() core.Manager { return rwmutex.New() },
	},
	{
		Name:    "sharded",
		Summary: "many locks; a snapshot takes them all for one consistent cut",
		New:     func() core.Manager { return sharded.New() },
		small:   func() core.Manager { return sharded.NewShards(2) },
	},
	{
		Name:    "epoch",
		Summary: "lock-free; a commit clock and an outcome log, a snapshot is one number",
		New:     func() core.Manager { return epoch.New() },
		small:   func() core.Manager { return epoch.With(epoch.Options{Segment: 4, Block: 2, Cursors: 2}) },
		roomy:   func() core.Manager { return epoch.With(epoch.Options{Segment: 64, Block: 8, Cursors: 2}) },
	},
	{
		Name:    "epoch-recycle",
		Summary: "epoch that uses the memory of its log again",
		New:     func() core.Manager { return epoch.With(epoch.Options{Reclaim: epoch.Recycle}) },
		small: func() core.Manager {
			return epoch.With(epoch.Options{Segment: 4, Block: 2, Cursors: 1, Fan: 2, Reclaim: epoch.Recycle})
		},
		roomy: func() core.Manager {
			return epoch.With(epoch.Options{Segment: 64, Block: 8, Cursors: 2, Fan: 2, Reclaim: epoch.Recycle})
		},
	},
	{
		Name:    "epoch-ordered",
		Summary: "epoch with xids from one counter, ordered in real time",
		New:     func() core.Manager { return epoch.With(epoch.Options{Block: 1}) },
		small:   func() core.Manager { return epoch.With(epoch.Options{Segment: 4, Block: 1}) },
		roomy:   func() core.Manager { return epoch.With(epoch.Options{Segment: 64, Block: 1}) },
	},
}
