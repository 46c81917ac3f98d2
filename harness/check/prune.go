package check

import (
	"cmp"
	"fmt"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// forgetting gives each rolled back transaction that a prune may have forgotten
// the instant of that: from then on it counts as committed. It lies after the
// abort, and after the call of a prune whose bound is above the Xid, the end of
// every guard that was live then, and the time that the Xid was pinned.
func (c *checker) forgetting() {
	c.heldBy = map[int32][]int32{}
	for k := range c.txns { // a rollback that never returned, and a prune before the window
		if t := &c.txns[k]; t.abort != none && t.commit == none && !t.old && t.x < c.past.pruned {
			t.commit = c.virtual(roleFinish, c.call[t.abort])
			c.edge(t.abort, t.commit, becauseForgotten, int32(k))
		}
	}
	var prunes []int32
	for i := range c.ops {
		if c.ops[i].Kind == history.PruneAborted {
			prunes = append(prunes, int32(i))
		}
	}
	if len(prunes) == 0 {
		return
	}
	// When each prune can have forgotten something, at the earliest. The
	// guards that were surely captured before it have all ended by then.
	earliest := make(map[int32]int64, len(prunes))
	gs := slices.Clone(c.guarded)
	slices.SortFunc(gs, func(a, b *guard) int { return cmp.Compare(c.ops[a.op].Return, c.ops[b.op].Return) })
	latest := int64(first)
	holder := none // the guard that ends the latest
	holders := map[int32]int32{}
	for _, p := range prunes { // by call
		for len(gs) > 0 && c.ops[gs[0].op].Return < c.ops[p].Call {
			if end := c.endOf(gs[0]); end > latest {
				latest, holder = end, gs[0].op
			}
			gs = gs[1:]
		}
		earliest[p] = c.ops[p].Call
		if latest > earliest[p] {
			earliest[p], holders[p] = latest, holder
		}
	}
	// An Xid is forgotten by a prune that returned after its abort was called.
	slices.SortFunc(prunes, func(a, b int32) int { return cmp.Compare(c.ops[b].Return, c.ops[a].Return) })
	var aborted []int32
	for k := range c.txns {
		if c.txns[k].abort != none && c.txns[k].commit == none {
			aborted = append(aborted, int32(k))
		}
	}
	slices.SortFunc(aborted, func(a, b int32) int {
		return cmp.Compare(c.call[c.txns[b].abort], c.call[c.txns[a].abort])
	})
	n := int32(len(c.txns))
	soonest := newFenwick(len(c.txns) + 1) // places from the largest bound down; values negated
	for _, k := range aborted {
		t := &c.txns[k]
		for len(prunes) > 0 && c.ops[prunes[0]].Return >= c.call[t.abort] {
			soonest.add(n-c.rank(c.ops[prunes[0]].Xid), -earliest[prunes[0]], prunes[0])
			prunes = prunes[1:]
		}
		at, p := soonest.below(n - k)
		if p == none || -at == history.Pending {
			continue
		}
		call, held := -at, []int32(nil)
		if h, ok := holders[p]; ok {
			held = []int32{h}
		}
		call = max(call, c.call[t.abort])
		for _, s := range c.pinned { // few: whoever aborts is seldom pinned
			if s.x == t.x && s.from < call && call < s.to {
				call, held = s.to, append(held, s.op)
			}
		}
		if call == history.Pending {
			continue
		}
		t.commit = c.virtual(roleFinish, call)
		c.standsFor(t.commit, p)
		if held != nil {
			c.heldBy[t.commit] = held
		}
		c.edge(t.abort, t.commit, becauseForgotten, k)
	}
}

// endOf returns when a guard can have ended, at the earliest.
func (c *checker) endOf(g *guard) int64 {
	end := history.Pending
	for _, r := range g.releases {
		switch o := &c.ops[r]; {
		case o.IsPending():
			end = min(end, o.Call)
		case o.Yes:
			return o.Call
		}
	}
	return end
}

// prunes: a prune forgets at most what was rolled back, by a call before its
// return, below its bound.
func (c *checker) prunes() {
	var prunes, aborted []int32
	for i := range c.ops {
		if o := &c.ops[i]; o.Kind == history.PruneAborted && !o.IsPending() {
			prunes = append(prunes, int32(i))
		}
	}
	if len(prunes) == 0 {
		return
	}
	for k := range c.txns {
		if t := &c.txns[k]; t.abort != none && !t.old {
			aborted = append(aborted, int32(k))
		}
	}
	byCall := func(a, b int32) int { return cmp.Compare(c.call[c.txns[a].abort], c.call[c.txns[b].abort]) }
	slices.SortFunc(aborted, byCall)
	slices.SortFunc(prunes, func(a, b int32) int { return cmp.Compare(c.ops[a].Return, c.ops[b].Return) })
	counts := make([]int32, len(c.txns)+1) // a Fenwick tree of counts, by rank
	for _, p := range prunes {
		o := &c.ops[p]
		for len(aborted) > 0 && c.call[c.txns[aborted[0]].abort] <= o.Return {
			for i := aborted[0] + 1; int(i) < len(counts); i += i & -i {
				counts[i]++
			}
			aborted = aborted[1:]
		}
		most := int32(c.past.aborts)
		for i := c.rank(min(o.Xid, core.MaxXid+1)); i > 0; i -= i & -i {
			most += counts[i]
		}
		if o.Count > int(most) {
			c.bad(fmt.Sprintf("%s, but at most %d below its bound had been rolled back", c.say(p), most), int(p))
		}
	}
}
