package check

import (
	"fmt"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// gates are the instants at which the allocator's bound reached the values that
// matter to somebody, in their order. What saw a bound h lies between the gate of
// h and the next. The gate of x+1 is the Begin that returned x, if xids are
// ordered: the bound reached x+1 by handing out x, and whoever came before saw
// at most x. Otherwise x may have been set aside before it was handed out.
type gates struct {
	values ranking
	nodes  []int32
}

// allocator adds the gates, and that a transaction begins before it finishes.
func (c *checker) allocator() {
	nodes := map[core.Xid]int32{} // of gates that are not Begins
	var values []core.Xid
	isGate := func(t *txn) int32 {
		switch {
		case t.x < c.past.bound:
		case t.begin == none && t.named && !t.vague: // its gap was jumped over then
			return t.commit
		case c.h.Ordered && t.begun():
			return t.begin
		}
		return none
	}
	want := func(v core.Xid) {
		if v <= max(1, c.past.bound) {
			return // the bound is never below 1, and was there before
		}
		if k := c.find(v - 1); k != none && isGate(&c.txns[k]) != none {
			return
		}
		if _, ok := nodes[v]; !ok {
			nodes[v] = none
			values = append(values, v)
		}
	}
	for i := range c.ops {
		o := &c.ops[i]
		if o.IsPending() || c.isPast(int32(i)) {
			continue
		}
		switch o.Kind {
		case history.Snapshot, history.Retain, history.PeekNext, history.CheckpointExcluded:
			want(o.Next)
		case history.CheckpointProjection:
			want(o.Next)
			want(o.Xid + 1)
		case history.OldestRequired:
			want(o.Xid)
			want(o.Xid + 1)
		case history.Status, history.ObserveCommitted:
			want(min(o.Xid, core.MaxXid) + 1)
		case history.Commit, history.Rollback:
			if o.Result != history.OK {
				want(min(o.Xid, core.MaxXid) + 1)
			}
		case history.CommitGroup:
			if o.Result != history.OK {
				want(min(o.Other, core.MaxXid) + 1)
			}
		}
	}
	for k := range c.txns {
		want(c.txns[k].x + 1)
	}
	for k := range c.txns {
		if isGate(&c.txns[k]) != none {
			values = append(values, c.txns[k].x+1)
		}
	}
	slices.Sort(values)
	c.gates = gates{newRanking(values), make([]int32, len(values))}
	for i, v := range values {
		if _, ok := nodes[v]; ok {
			c.gates.nodes[i] = c.join()
		} else {
			c.gates.nodes[i] = isGate(&c.txns[c.find(v-1)])
		}
		if i > 0 {
			c.edge(c.gates.nodes[i-1], c.gates.nodes[i], becauseBound, none)
		}
	}
	for k := range c.txns {
		t := &c.txns[k]
		if c.h.Ordered && t.begun() && t.x < c.past.bound && !t.old && !c.isPast(t.op) {
			c.bad(fmt.Sprintf("%s, but the bound had been %d before, and xids are ordered", c.say(t.op), c.past.bound), int(t.op))
		}
		if t.begin != none && !t.born && t.finish != none {
			c.edge(t.begin, t.finish, becauseBegun, int32(k))
		}
		if isGate(t) == none && t.begin != none {
			c.atLeast(t.begin, t.x+1)
		} else if isGate(t) == none && t.commit != none {
			c.atLeast(t.commit, t.x+1)
		}
	}
}

// bound: next was the first xid not allocated, at q. 0 says nothing.
func (c *checker) bound(q int32, next core.Xid) {
	if next != core.None {
		c.atLeast(q, next)
		c.atMost(q, next)
	}
}

// atLeast: the bound was v or more, at q.
func (c *checker) atLeast(q int32, v core.Xid) {
	if i := c.gates.values.rank(v + 1); i > 0 {
		c.edge(c.gates.nodes[i-1], q, becauseBound, none)
	}
}

// atMost: the bound was v or less, at q.
func (c *checker) atMost(q int32, v core.Xid) {
	if v < c.past.bound {
		c.bad(fmt.Sprintf("%s, but the bound had been %d before", c.say(q), c.past.bound), int(q))
	}
	if i := c.gates.values.rank(v + 1); int(i) < len(c.gates.nodes) {
		c.edge(q, c.gates.nodes[i], becauseBound, none)
	}
}
