package stress

import (
	"xidlab/harness/history"
)

// Coverage is what a recording has seen happen at once. What did not happen has
// not been tested.
type Coverage struct {
	Ops        int // operations
	Answers    int // of snapshots, about one xid each, and xids that they called in progress
	Overlapped int // operations during which another worker was in one
	MetFinish  int // snapshots that were taken while another worker's transaction finished
	MetGuard   int // horizons that were asked for while a guard came or went
	Raced      int // finishes of one transaction by two workers at once
	Refused    int // operations that were refused
	TooOld     int // snapshots that were too old to answer, or to be retained
	Outlasted  int // guards that lived while the horizon moved
}

// Add adds what another recording has seen.
func (c *Coverage) Add(o Coverage) {
	c.Ops += o.Ops
	c.Answers += o.Answers
	c.Overlapped += o.Overlapped
	c.MetFinish += o.MetFinish
	c.MetGuard += o.MetGuard
	c.Raced += o.Raced
	c.Refused += o.Refused
	c.TooOld += o.TooOld
	c.Outlasted += o.Outlasted
}

// LeastOverlap is the share of operations that have to overlap if a stress is to
// prove anything.
const LeastOverlap = 1e-3

// Idle reports whether so little overlapped that nothing is proved.
func (c *Coverage) Idle() bool {
	return float64(c.Overlapped) < LeastOverlap*float64(c.Ops) || c.Ops == 0
}

// A coverer adds up the coverage of the windows of one recording.
type coverer struct {
	Coverage
	horizon uint64         // the largest so far
	moves   int            // how often it has moved
	since   map[uint64]int // by guard, the moves before it
}

func newCoverer() *coverer {
	return &coverer{since: map[uint64]int{}}
}

// add takes a window into account, in O(workers) for each operation. Nothing of
// one window overlaps anything of another.
func (c *coverer) add(h *history.History) {
	ops := h.Ops
	last := map[int32]int{}
	var busy []int // by worker, its last operation
	overlapped, met := make([]bool, len(ops)), make([]bool, len(ops))
	for i := range ops {
		o := &ops[i]
		c.one(o)
		for _, k := range busy {
			p := &ops[k]
			// Without the widening, which is no time that the operation took.
			if p.Worker == o.Worker || !p.IsPending() && p.Return-h.Skew < o.Call+h.Skew {
				continue
			}
			overlapped[i], overlapped[k] = true, true
			c.pair(o, p, &met[i])
			c.pair(p, o, &met[k])
			if finishesOne(o.Kind) && finishesOne(p.Kind) && o.Xid == p.Xid {
				c.Raced++
			}
		}
		if at, ok := last[o.Worker]; ok {
			busy[at] = i
		} else {
			last[o.Worker] = len(busy)
			busy = append(busy, i)
		}
	}
	for _, yes := range overlapped {
		if yes {
			c.Overlapped++
		}
	}
}

func (c *coverer) one(o *history.Op) {
	c.Ops++
	c.Answers += len(o.Probes)
	if o.Full {
		c.Answers += len(o.Set)
	}
	switch {
	case o.Result == history.TooOld:
		c.TooOld++
		c.Refused++
	case o.Result != history.OK:
		c.Refused++
	}
	switch o.Kind {
	case history.Lookup:
		c.Answers++
	case history.OldestRequired:
		if h := uint64(o.Xid); h > c.horizon {
			c.horizon = h
			c.moves++
		}
	case history.Retain, history.RetainSnapshot:
		if o.Granted() {
			c.since[o.Snap] = c.moves
		}
	case history.Release:
		if since, ok := c.since[o.Of]; ok {
			delete(c.since, o.Of)
			if since < c.moves {
				c.Outlasted++
			}
		}
	}
}

// pair counts what o is to p, which overlaps it, once for each o.
func (c *coverer) pair(o, p *history.Op, met *bool) {
	switch {
	case *met:
	case takes(o.Kind) && finishes(p.Kind):
		*met = true
		c.MetFinish++
	case horizon(o.Kind) && guards(p.Kind):
		*met = true
		c.MetGuard++
	}
}

func takes(k history.Kind) bool {
	return k == history.Snapshot || k == history.Retain || k == history.CheckpointExcluded || k == history.CheckpointProjection
}

func horizon(k history.Kind) bool {
	return k == history.OldestRequired || k == history.CheckpointProjection
}

func finishesOne(k history.Kind) bool { return k == history.Commit || k == history.Rollback }

func finishes(k history.Kind) bool {
	return finishesOne(k) || k == history.CommitGroup || k == history.AllocateCommitted || k == history.ObserveCommitted
}

func guards(k history.Kind) bool {
	return k == history.Retain || k == history.RetainSnapshot || k == history.Release
}
