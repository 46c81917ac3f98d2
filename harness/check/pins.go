package check

import (
	"cmp"
	"fmt"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// A span is a time, open at both ends, during which something surely was so:
// an Xid was pinned, or a transaction was active.
type span struct {
	x        core.Xid
	from, to int64
	op       int32 // what shows it
}

// pins finds out when which Xids were surely pinned: at a moment, if more Pins
// had returned than Unpins had been called. It checks the answers about pins.
func (c *checker) pins() {
	for i := range c.ops {
		switch o := &c.ops[i]; o.Kind {
		case history.Pin:
			if !o.IsPending() && (o.Result == history.XidRange) != (o.Xid > core.MaxXid) {
				c.bad(fmt.Sprintf("%s: core.MaxXid is %d", c.say(int32(i)), core.MaxXid), i)
			}
			if o.Xid != core.None && (o.Result == history.OK) {
				c.pinEvents = append(c.pinEvents, int32(i))
			}
		case history.Unpin:
			c.unpinEvents = append(c.unpinEvents, int32(i))
		}
	}
	c.pinSpans()
	for i := range c.ops {
		o, q := &c.ops[i], int32(i)
		switch {
		case o.IsPending() || c.isPast(q):
		case c.past.pinned && o.Kind == history.PinCount:
			// how many references are left from the past is known as a lower bound only
		case o.Kind == history.OldestPinned && !o.Yes:
			c.pinnedBelow(q, core.MaxXid+1)
		case o.Kind == history.OldestPinned:
			c.pinnedBelow(q, o.Xid)
			if most := c.pinCount(q, true); most < 1 && !c.past.pinned {
				c.bad(fmt.Sprintf("%s, but %d was not pinned then", c.say(q), o.Xid), i)
			}
		case o.Kind == history.PinCount && o.Xid != core.None:
			least, most := c.pinCount(q, false), c.pinCount(q, true)
			if o.Count < least || o.Count > most {
				c.bad(fmt.Sprintf("%s, but between %d and %d references can have been held then", c.say(q), max(least, 0), max(most, 0)), i)
			}
		case o.Kind == history.PinCount && o.Count != 0:
			c.bad(fmt.Sprintf("%s: nobody can pin 0", c.say(q)), i)
		}
	}
}

// pinCount returns the least or the largest number of references to an Xid that
// can have been held while q ran.
func (c *checker) pinCount(q int32, most bool) (n int) {
	o := &c.ops[q]
	if c.pinsOf == nil {
		c.pinsOf = map[core.Xid][]int32{}
		for _, p := range slices.Concat(c.pinEvents, c.unpinEvents) {
			c.pinsOf[c.ops[p].Xid] = append(c.pinsOf[c.ops[p].Xid], p)
		}
	}
	for _, p := range c.pinsOf[o.Xid] {
		switch e := &c.ops[p]; {
		case e.Kind == history.Unpin && (!most && e.Call <= o.Return || most && e.Return < o.Call && c.effective[p]):
			n--
		case e.Kind == history.Pin && (most && e.Call <= o.Return || e.Return < o.Call):
			n++
		}
	}
	return n
}

// pinSpans computes when each Xid was surely pinned.
func (c *checker) pinSpans() {
	type event struct {
		x  core.Xid
		at int64
		n  int
		op int32
	}
	var events []event
	for _, p := range c.pinEvents {
		if o := &c.ops[p]; !o.IsPending() {
			events = append(events, event{o.Xid, o.Return, 1, p})
		}
	}
	for _, u := range c.unpinEvents {
		events = append(events, event{c.ops[u].Xid, c.ops[u].Call, -1, u})
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n))
	})
	c.effective = map[int32]bool{}
	n := 0
	for i, e := range events {
		if i == 0 || events[i-1].x != e.x {
			n = 0
		}
		if e.n < 0 && n > 0 {
			c.effective[e.op] = true
		}
		n += e.n
		switch open := len(c.pinned) > 0 && c.pinned[len(c.pinned)-1].to == history.Pending && c.pinned[len(c.pinned)-1].x == e.x; {
		case n == 1 && e.n == 1 && !open:
			c.pinned = append(c.pinned, span{e.x, e.at, history.Pending, e.op})
		case n == 0 && e.n == -1 && open:
			c.pinned[len(c.pinned)-1].to = e.at
		}
	}
	c.pinsBelow = newSpans(c.pinned)
}

// pinnedBelow objects to q if an Xid below x was pinned all the while.
func (c *checker) pinnedBelow(q int32, x core.Xid) {
	if i := c.pinsBelow.covers(x, c.ops[q].Call, c.ops[q].Return); i != none {
		s := &c.pinned[i]
		c.bad(fmt.Sprintf("%s, but %d was pinned all the while: %s", c.say(q), s.x, c.say(s.op)), int(s.op), int(q))
	}
}

// spans answers whether an Xid below a bound was surely so during a time.
// Questions may come in any order; each costs O(log² n).
type spans struct {
	list []span // by from
	// A tree over list: node i covers a range, sorted by Xid, with the latest
	// end so far.
	size int
	xs   [][]core.Xid
	best [][]int32
}

func newSpans(list []span) *spans {
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	s := &spans{list: list, size: 1}
	for s.size < len(list) {
		s.size *= 2
	}
	s.xs, s.best = make([][]core.Xid, 2*s.size), make([][]int32, 2*s.size)
	var build func(node, from, to int) []int32
	build = func(node, from, to int) []int32 {
		var ids []int32
		if from >= len(list) {
			return nil
		}
		if to-from == 1 {
			ids = []int32{int32(from)}
		} else {
			mid := (from + to) / 2
			ids = append(ids, build(2*node, from, mid)...)
			ids = append(ids, build(2*node+1, mid, to)...)
			slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(list[a].x, list[b].x) })
		}
		for n, id := range ids {
			s.xs[node] = append(s.xs[node], list[id].x)
			best := id
			if n > 0 && list[s.best[node][n-1]].to >= list[id].to {
				best = s.best[node][n-1]
			}
			s.best[node] = append(s.best[node], best)
		}
		return ids
	}
	if len(list) > 0 {
		build(1, 0, s.size)
	}
	return s
}

// covers returns a span of an Xid below x that began before call and ended
// after ret, or none.
func (s *spans) covers(x core.Xid, call, ret int64) int32 {
	n, _ := slices.BinarySearchFunc(s.list, call, func(a span, t int64) int { return cmp.Compare(a.from, t) })
	// The ranges that make up the first n.
	for lo, hi := s.size, s.size+n; lo < hi; lo, hi = lo/2, hi/2 {
		if lo&1 == 1 {
			if i := s.in(lo, x, ret); i != none {
				return i
			}
			lo++
		}
		if hi&1 == 1 {
			hi--
			if i := s.in(hi, x, ret); i != none {
				return i
			}
		}
	}
	return none
}

func (s *spans) in(node int, x core.Xid, ret int64) int32 {
	n, _ := slices.BinarySearch(s.xs[node], x)
	if n == 0 {
		return none
	}
	if i := s.best[node][n-1]; s.list[i].to > ret {
		return i
	}
	return none
}

// backwards objects to a horizon below one that was answered before, if nothing
// that old was pinned in between. Only the largest answer before is looked at.
func (c *checker) backwards(hs []horizon) {
	byCall := slices.Clone(hs)
	slices.SortStableFunc(byCall, func(a, b horizon) int { return cmp.Compare(c.ops[a.q].Call, c.ops[b.q].Call) })
	byReturn := slices.Clone(hs)
	slices.SortStableFunc(byReturn, func(a, b horizon) int { return cmp.Compare(c.ops[a.q].Return, c.ops[b.q].Return) })
	var pins []span
	for _, p := range c.pinEvents {
		pins = append(pins, span{c.ops[p].Xid, c.ops[p].Call, c.ops[p].Return, p})
	}
	excuses := newSpans(pins)
	var top *horizon
	for i := range byCall {
		h := &byCall[i]
		for len(byReturn) > 0 && c.ops[byReturn[0].q].Return < c.ops[h.q].Call {
			if top == nil || byReturn[0].x > top.x {
				top = &byReturn[0]
			}
			byReturn = byReturn[1:]
		}
		if top == nil || h.x >= top.x {
			continue
		}
		// A pin that is an excuse also begins a new era. h is part of it once it has
		// returned: until then others may be asked before it.
		if excuses.covers(h.x+1, c.ops[h.q].Return+1, c.ops[top.q].Call-1) == none {
			c.bad(fmt.Sprintf("%s, below what %s, and nothing that old was pinned in between", c.say(h.q), c.say(top.q)), int(top.q), int(h.q))
		}
		top = nil
	}
}
