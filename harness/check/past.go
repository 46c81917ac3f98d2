package check

import (
	"cmp"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// A fate is what became of a transaction before the window.
type fate uint8

const (
	unknownFate fate = iota
	committedFate
	bornFate // committed, by an AllocateCommitted
	abortedFate
)

// A past is what is known of everything before a window of a long history. At
// the cut no operation was running, except those that never return, so the past
// is one state.
type past struct {
	pages    map[core.Xid]*[pageSize]fate
	bound    core.Xid            // the allocator's bound was at least this
	horizon  core.Xid            // the largest horizon
	observed core.Xid            // the largest Xid observed
	pruned   core.Xid            // the largest bound of a prune
	pinned   bool                // there were pins: horizons may have moved back
	live     map[uint64]bool     // guards, by number
	hides    map[uint64]hidesXid // by the number of a snapshot or guard
	aborts   int                 // how many were rolled back
	carried  int                 // so many operations of the window are older than it
	ops      int                 // how many operations came before
}

// hidesXid is the smallest transaction that a snapshot hides and that had committed,
// or None: of those from a Begin, and of all.
type hidesXid struct{ begun, any core.Xid }

const pageSize = 1 << 12

func newPast() *past {
	return &past{pages: map[core.Xid]*[pageSize]fate{}, live: map[uint64]bool{}, hides: map[uint64]hidesXid{}}
}

func (p *past) fate(x core.Xid) fate {
	if page := p.pages[x/pageSize]; page != nil {
		return page[x%pageSize]
	}
	return unknownFate
}

func (p *past) setFate(x core.Xid, f fate) {
	page := p.pages[x/pageSize]
	if page == nil {
		page = new([pageSize]fate)
		p.pages[x/pageSize] = page
	}
	page[x%pageSize] = f
}

// recall makes a txn of every finished transaction of the past that the window
// mentions. Its instants are one node that comes before everything.
func (c *checker) recall() {
	if c.past.ops == 0 {
		return
	}
	node := none
	seen := map[core.Xid]bool{}
	mention := func(x core.Xid) {
		f := c.past.fate(x)
		if f == unknownFate || seen[x] {
			return
		}
		seen[x] = true
		if node == none {
			node = c.join()
			c.ret[node] = first
			c.pastNode = node
		}
		t := txn{x: x, begin: node, finish: node, commit: none, abort: none, op: none, old: true}
		if f != abortedFate {
			t.commit, t.born = node, f == bornFate
		} else if t.abort = node; x < c.past.pruned {
			t.commit = c.virtual(roleFinish, first)
		}
		c.txns = append(c.txns, t)
	}
	for i := range c.ops {
		o := &c.ops[i]
		mention(o.Xid)
		mention(o.Other)
		for _, x := range o.Set {
			mention(x)
		}
		for _, p := range o.Probes {
			mention(p.Xid)
		}
	}
	for _, h := range c.past.hides {
		mention(h.begun)
		mention(h.any)
	}
}

// isPast reports whether operation i is carried over from before the window.
func (c *checker) isPast(i int32) bool { return int(i) < c.past.carried }

// carry returns what the next window has to know: a past, and the operations
// that are still of interest, with their places in the history.
func (c *checker) carry(at []int) (p *past, ops []history.Op, places []int) {
	p = c.past
	settled := c.settled()
	keep := make([]bool, len(c.ops))
	for k := range c.txns {
		t := &c.txns[k]
		if t.old {
			continue
		}
		p.bound = max(p.bound, t.x+1)
		switch {
		case t.named && t.begin == none, t.named && t.finish == none:
		case t.finish != none && t.abort != none && t.commit != none && t.commit != t.finish && t.abort != t.finish: // nobody knows which
			if !t.named {
				keep[t.op] = true
			}
		case t.finish == none || c.isPendingNode(t.finish) && !settled[t.finish]:
			if !t.named {
				keep[t.op] = true
			}
		case t.abort != none:
			p.setFate(t.x, abortedFate)
			p.aborts++
		case t.commit != none && !c.placed(int32(k), becauseFinishedC):
			p.setFate(t.x, bornFate)
		case t.commit != none:
			p.setFate(t.x, committedFate)
		}
	}
	for i := range c.ops {
		o, q := &c.ops[i], int32(i)
		switch {
		case o.Kind == history.ObserveCommitted && o.Granted():
			p.observed = max(p.observed, o.Xid)
			p.bound = max(p.bound, o.Xid+1)
		case o.IsPending():
			keep[i] = hasEffect(o.Kind)
		}
		if o.IsPending() || c.isPast(q) {
			continue
		}
		switch o.Kind {
		case history.Snapshot, history.Retain:
			p.bound = max(p.bound, o.Next)
			keep[i] = true // one window longer
		case history.PeekNext, history.CheckpointExcluded:
			p.bound = max(p.bound, o.Next)
		case history.CheckpointProjection:
			p.bound = max(p.bound, o.Next)
			p.horizon = max(p.horizon, o.Xid)
		case history.OldestRequired:
			p.bound = max(p.bound, o.Xid)
			p.horizon = max(p.horizon, o.Xid)
		case history.PruneAborted:
			p.pruned = max(p.pruned, o.Xid)
		}
	}
	for i := range c.ops {
		if o := &c.ops[i]; o.Kind == history.PruneAborted && o.IsPending() {
			p.pruned = max(p.pruned, o.Xid)
		}
	}
	c.carryGuards(p, keep, settled)
	c.carryPins(p, keep)
	p.ops += len(c.ops) - p.carried
	for i, k := range keep {
		if k {
			o := c.ops[i]
			if g := c.guardOf[o.Snap]; o.Kind == history.RetainSnapshot && g != nil {
				o.Of = c.ops[g.base].Snap // what it named may not be kept
			}
			ops = append(ops, o)
			places = append(places, at[i])
		}
	}
	p.carried = len(ops)
	return p, ops, places
}

func hasEffect(k history.Kind) bool {
	switch k {
	case history.Begin, history.AllocateCommitted, history.Commit, history.Rollback, history.CommitGroup,
		history.Release, history.Pin, history.Unpin, history.ObserveCommitted:
		return true
	}
	return false
}

// settled returns the finishes without a return that something came after.
func (c *checker) settled() map[int32]bool {
	open := map[int32]bool{}
	for k := range c.txns {
		if f := c.txns[k].finish; f != none && !c.txns[k].old && (int(f) >= len(c.ops) || c.ops[f].IsPending()) {
			open[f] = true
		}
	}
	settled := map[int32]bool{}
	if len(open) == 0 {
		return settled
	}
	for i := range c.edges {
		if e := &c.edges[i]; open[e.from] && e.why != becauseEither && e.why != becauseForgotten && e.why != becauseFinish {
			settled[e.from] = true
		}
	}
	return settled
}

// carryGuards keeps the guards that may still live, those that were released in
// the window, and what the snapshots that are kept hide.
func (c *checker) carryGuards(p *past, keep []bool, settled map[int32]bool) {
	p.live = map[uint64]bool{}
	for number, g := range c.guardOf {
		switch {
		case g.release == none || c.isPendingNode(g.release):
			p.live[number] = true
		case c.isPast(g.release):
			continue
		}
		keep[g.op], keep[g.base] = true, true
	}
	xid := func(k int32) core.Xid {
		if k == none {
			return core.None
		}
		return c.txns[k].x
	}
	c.prepareHides(func(t *txn) bool { return t.finish == none || !c.isPendingNode(t.finish) || t.old || settled[t.finish] })
	hides := map[uint64]hidesXid{}
	for i, k := range keep {
		if o := &c.ops[i]; k && (o.Kind == history.Snapshot || o.Kind == history.Retain) {
			begun, any := c.hides(int32(i))
			hides[o.Snap] = hidesXid{xid(begun), xid(any)}
		}
	}
	p.hides = hides
}

func (c *checker) isPendingNode(n int32) bool { return int(n) >= len(c.ops) || c.ops[n].IsPending() }

// carryPins keeps as many Pins as are surely still held.
func (c *checker) carryPins(p *past, keep []bool) {
	held := map[core.Xid]int{}
	for _, i := range c.pinEvents {
		p.pinned = true
		if !c.ops[i].IsPending() {
			held[c.ops[i].Xid]++
		}
	}
	for _, i := range c.unpinEvents {
		held[c.ops[i].Xid]--
	}
	latest := slices.Clone(c.pinEvents)
	slices.SortFunc(latest, func(a, b int32) int { return cmp.Compare(b, a) })
	for _, i := range latest {
		if x := c.ops[i].Xid; held[x] > 0 && !c.ops[i].IsPending() {
			held[x]--
			keep[i] = true
		}
	}
}
