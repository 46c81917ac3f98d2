package check

import (
	"cmp"
	"fmt"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// A guard holds the horizon back, from the operation that made it to a release.
type guard struct {
	op       int32 // Retain or RetainSnapshot
	base     int32 // the operation that captured its snapshot
	release  int32 // the node of its end; none if it never ended
	ended    int64 // the earliest call of a release; history.Pending if there is none
	releases []int32
	hides    int32 // the smallest from a Begin that it hides and that committed; none if there is none
	hidesAny int32 // the smallest, also of AllocateCommitted
}

// base returns the operation that captured the snapshot of that number, or none.
func (c *checker) base(snap uint64) int32 {
	if b, ok := c.snaps[snap]; ok {
		return b
	}
	return none
}

// snapshots notes which operation captured which snapshot, and finds the guards
// with their releases.
func (c *checker) snapshots() {
	c.snaps = map[uint64]int32{}
	c.guardOf = map[uint64]*guard{}
	c.guardsOf = map[int32][]*guard{}
	c.firstPrune = history.Pending
	for i := range c.ops {
		o, q := &c.ops[i], int32(i)
		switch o.Kind {
		case history.Snapshot, history.Retain, history.RetainSnapshot:
			if !o.Granted() {
				continue
			}
			if b, ok := c.snaps[o.Snap]; ok {
				c.bad(fmt.Sprintf("two snapshots have the number s%d", o.Snap), int(b), i)
			}
			b := q
			if o.Kind == history.RetainSnapshot {
				if b = c.base(o.Of); b == none {
					if o.Of == 0 {
						c.bad(fmt.Sprintf("%s: it was granted, though the manager did not make that snapshot", c.say(q)), i)
					}
					continue
				}
			}
			c.snaps[o.Snap] = b
			if b != q {
				c.made(b, q)
			}
			if c.isPast(q) && !c.past.live[o.Snap] {
				break // released before the window
			}
			if o.Kind != history.Snapshot {
				g := &guard{op: q, base: b, release: none, ended: history.Pending}
				c.guardOf[o.Snap] = g
				c.guarded = append(c.guarded, g)
				c.guardsOf[b] = append(c.guardsOf[b], g)
			}
		case history.PruneAborted:
			if o.Xid > 1 { // else there is nothing below
				c.firstPrune = min(c.firstPrune, o.Call)
			}
		}
	}
	for i := range c.ops {
		o, q := &c.ops[i], int32(i)
		if o.Kind != history.Release {
			continue
		}
		if g := c.guardOf[o.Of]; g != nil {
			g.releases = append(g.releases, q)
			g.ended = min(g.ended, o.Call)
		} else if _, ok := c.snaps[o.Of]; o.Yes && (ok || o.Of == 0) {
			c.bad(fmt.Sprintf("%s: that is no guard", c.say(q)), i)
		}
	}
}

// made: q is about the snapshot or guard that operation s made. Real time shows
// the order, as s had returned, unless stamps are wide.
func (c *checker) made(s, q int32) {
	if s != none && c.ops[s].Return >= c.ops[q].Call {
		c.edge(s, q, becauseMade, none)
	}
}

// releases: a guard is released once; whoever comes later is told so.
func (c *checker) releases(g *guard) {
	var granted, pending, refused, early []int32
	for _, r := range g.releases {
		switch o := &c.ops[r]; {
		case o.IsPending():
			pending = append(pending, r)
		case o.Yes:
			granted = append(granted, r)
			c.made(g.op, r)
		case c.ops[g.op].Return >= o.Call: // there may have been nothing to release yet
			early = append(early, r)
		default:

			refused = append(refused, r)
		}
	}
	switch {
	case len(granted) > 1:
		c.bad(fmt.Sprintf("%s, and %s: the guard was released twice", c.say(granted[0]), c.say(granted[1])), int(granted[0]), int(granted[1]))
	case len(granted) == 1:
		g.release = granted[0]
		g.ended = c.ops[g.release].Call
	case len(pending) == 0 && len(refused) > 0:
		c.bad(fmt.Sprintf("%s, but nobody else released the guard: %s", c.say(refused[0]), c.say(g.op)), int(g.op), int(refused[0]))
	case len(pending) > 0:
		g.release = pending[0]
		if len(pending) > 1 {
			g.release = c.virtual(roleFinish, c.ops[pending[0]].Call)
			c.standsFor(g.release, pending[0])
		}
	}
	for _, r := range refused {
		c.edge(g.release, r, becauseRelease, none)
	}
	if len(granted)+len(pending) == 0 {
		for _, r := range early {
			c.edge(r, g.op, becauseRelease, none)
		}
	}
}

// guards adds what guards and their releases say, apart from horizons.
func (c *checker) guards() {
	c.prepareHides(func(*txn) bool { return true })
	for _, g := range c.guarded {
		c.releases(g)
		g.hides, g.hidesAny = c.hides(g.base)
	}
	for i := range c.ops {
		o, q := &c.ops[i], int32(i)
		if o.Kind != history.RetainSnapshot || c.isPast(q) || o.IsPending() || o.Result == history.OK {
			continue
		}
		switch s := c.base(o.Of); {
		case o.Result == history.TooOld:
			c.tooOld(q, s)
		case s != none:
			c.bad(fmt.Sprintf("%s, but the manager made that snapshot: %s", c.say(q), c.say(s)), int(q), int(s))
		}
	}
}

// committed reports whether transaction k has committed, as far as the history
// knows: not by being forgotten.
func (c *checker) committed(k int32) bool {
	t := &c.txns[k]
	return t.commit != none && t.abort == none
}

// prepareHides prepares what hides needs, of the transactions that count.
func (c *checker) prepareHides(count func(*txn) bool) {
	c.commitsLater(count)
	c.nextAny = c.nextCommitted(func(t *txn) bool { return !t.given && count(t) })
	c.nextBegun = c.nextCommitted(func(t *txn) bool { return t.begun() && count(t) })
}

// nextCommitted returns, by rank, the smallest transaction at or above that has
// committed, of those that may be counted.
func (c *checker) nextCommitted(count func(*txn) bool) []int32 {
	next := make([]int32, len(c.txns)+1)
	next[len(c.txns)] = none
	for k := len(c.txns) - 1; k >= 0; k-- {
		if next[k] = next[k+1]; c.committed(int32(k)) && count(&c.txns[k]) {
			next[k] = int32(k)
		}
	}
	return next
}

// hides returns the smallest transaction that snapshot s hides and that has
// committed, of those from a Begin and of all; or none.
func (c *checker) hides(s int32) (begun, any int32) {
	begun, any = c.hidden(s, c.nextBegun), c.hidden(s, c.nextAny)
	if h, ok := c.past.hides[c.ops[s].Snap]; ok {
		begun, any = c.smaller(begun, h.begun), c.smaller(any, h.any)
	}
	return begun, any
}

func (c *checker) smaller(k int32, x core.Xid) int32 {
	if other := c.find(x); other != none && c.committed(other) && (k == none || other < k) {
		return other
	}
	return k
}

// hidden returns the smallest transaction that snapshot s hides and that has
// committed, its owner included; or none. Which ones count is as in next.
func (c *checker) hidden(s int32, next []int32) int32 {
	o := &c.ops[s]
	least := none
	see := func(k int32) {
		if k != none && next[k] == k && (least == none || k < least) {
			least = k
		}
	}
	if o.Next != core.None {
		see(next[c.rank(o.Next)])
	}
	for _, x := range o.Set {
		see(c.find(x))
	}
	for _, p := range o.Probes {
		if !p.Yes {
			see(c.find(p.Xid))
		}
	}
	if o.Other != core.None {
		see(c.find(o.Other))
	}
	if !o.Full {
		n, _ := slices.BinarySearchFunc(c.later, o.Return+1, func(l later, t int64) int { return cmp.Compare(l.call, t) })
		if n < len(c.later) {
			see(c.later[n].least)
		}
	}
	return least
}

// A later is the call of a commit, and the smallest transaction that commits by
// it or by one called after it.
type later struct {
	call  int64
	least int32
}

// commitsLater prepares what snapshots that do not record all they hide hide
// nevertheless: what was committed by a call after their return.
func (c *checker) commitsLater(count func(*txn) bool) {
	c.later = nil
	for k := range c.txns {
		if t := &c.txns[k]; c.committed(int32(k)) && t.begun() && !t.old && count(t) {
			c.later = append(c.later, later{c.call[t.commit], int32(k)})
		}
	}
	slices.SortFunc(c.later, func(a, b later) int { return cmp.Compare(a.call, b.call) })
	for i := len(c.later) - 2; i >= 0; i-- {
		c.later[i].least = min(c.later[i].least, c.later[i+1].least)
	}
}

// mayHaveFinished reports whether a transaction can have finished in that time.
func (c *checker) mayHaveFinished(from, to int64) bool {
	if c.commits == nil { // calls, and the latest return of those so far
		for i := range c.ops {
			o := &c.ops[i]
			switch o.Kind {
			case history.Commit, history.Rollback, history.CommitGroup, history.AllocateCommitted, history.ObserveCommitted:
				if o.Granted() || o.IsPending() {
					ret := o.Return
					if n := len(c.commits); n > 0 {
						ret = max(ret, c.commits[n-1][1])
					}
					c.commits = append(c.commits, [2]int64{o.Call, ret})
				}
			}
		}
	}
	n, _ := slices.BinarySearchFunc(c.commits, to+1, func(a [2]int64, t int64) int { return cmp.Compare(a[0], t) })
	return n > 0 && c.commits[n-1][1] >= from
}

// tooOld: q, about snapshot s, was refused as too old. That needs a reason:
// something may have finished since (a manager that does not collapse needs a commit),
// or may have been forgotten; and no guard of the same snapshot may live.
func (c *checker) tooOld(q, s int32) {
	if s == none {
		return
	}
	o := &c.ops[q]
	for _, g := range c.guardsOf[s] {
		if o.Kind == history.RetainSnapshot && g.op != s {
			continue // before it was granted, a horizon may have passed the snapshot that nobody asked for
		}
		if c.ops[g.op].Return < o.Call && (g.ended == history.Pending || g.ended > o.Return) {
			c.bad(fmt.Sprintf("%s, but a guard protected the snapshot all the while: %s", c.say(q), c.say(g.op)), int(s), int(g.op), int(q))
		}
	}
	if c.isPast(s) || c.past.pruned > 1 {
		return // the reason may be older than the window
	}
	if c.mayHaveFinished(c.ops[s].Call, o.Return) {
		return
	}
	if c.firstPrune <= o.Return {
		return
	}
	c.bad(fmt.Sprintf("%s, but nothing has finished since, and nothing was pruned", c.say(q)), c.pair(s, q)...)
}

// A horizon is an answer of OldestRequired, or the cutoff of a checkpoint.
type horizon struct {
	q     int32
	x     core.Xid
	bound bool // nothing was required, so x is the allocator's bound
}

// horizons adds what must have happened before a horizon passes.
func (c *checker) horizons() {
	var hs []horizon
	for i := range c.ops {
		switch o := &c.ops[i]; {
		case o.IsPending() || c.isPast(int32(i)):
		case o.Kind == history.OldestRequired:
			hs = append(hs, horizon{int32(i), o.Xid, !o.Yes})
		case o.Kind == history.CheckpointProjection:
			if o.Xid > o.Next {
				c.bad(fmt.Sprintf("%s: the cutoff is above the bound", c.say(int32(i))), i)
			}
			hs = append(hs, horizon{int32(i), o.Xid, o.Xid == o.Next})
		}
	}
	for _, h := range hs {
		if h.bound {
			if h.x == core.None {
				c.bad(fmt.Sprintf("%s: the bound is never below 1", c.say(h.q)), int(h.q))
			}
			c.bound(h.q, h.x)
		} else {
			c.atLeast(h.q, h.x+1)
		}
		c.pinnedBelow(h.q, h.x)
		if h.x < c.past.horizon && !c.past.pinned && len(c.pinEvents) == 0 {
			c.bad(fmt.Sprintf("%s, but the horizon had been %d before, and nothing is pinned", c.say(h.q), c.past.horizon), int(h.q))
		}
	}
	slices.SortStableFunc(hs, func(a, b horizon) int { return cmp.Compare(a.x, b.x) })
	if c.h.Ordered {
		c.prefixes(hs)
		c.passed(hs)
	} else {
		c.passedUnordered(hs)
	}
	c.surelyGuarded(hs)
	if len(c.pinEvents) == 0 { // those of the past too
		c.monotone(hs)
	} else {
		c.backwards(hs)
	}
}

// prefixes: a horizon is above no transaction that is active, and of ordered xids
// all below it have begun, so they have finished. hs ascend.
func (c *checker) prefixes(hs []horizon) {
	joint, k := none, 0
	for _, h := range hs {
		for ; k < len(c.txns) && c.txns[k].x < h.x; k++ {
			t := &c.txns[k]
			if !t.begun() {
				continue
			}
			if t.finish == none {
				c.bad(fmt.Sprintf("%s, which is above %d, but nobody finished that", c.say(h.q), t.x), c.with(h.q, int32(k))...)
			}
			j := c.join()
			c.edge(joint, j, becausePrefix, none)
			c.edge(t.finish, j, becausePrefix, int32(k))
			joint = j
		}
		c.edge(joint, h.q, becausePrefix, none)
	}
}

// passed: a horizon above what a guard hides came after the guard's end. (What
// it hides had committed by then, see prefixes, so it had been captured.)
func (c *checker) passed(hs []horizon) {
	for _, g := range c.guarded {
		if g.hides != none && !c.isPast(g.op) && c.txns[g.hides].x < c.past.horizon {
			c.bad(fmt.Sprintf("%s, but the horizon had been %d before, above %d, which the snapshot hides", c.say(g.op), c.past.horizon, c.txns[g.hides].x),
				int(g.base), int(g.op))
		}
	}
	gs := slices.DeleteFunc(slices.Clone(c.guarded), func(g *guard) bool { return g.hides == none })
	slices.SortStableFunc(gs, func(a, b *guard) int { return cmp.Compare(a.hides, b.hides) })
	joint := none
	for _, h := range hs {
		for ; len(gs) > 0 && c.txns[gs[0].hides].x < h.x; gs = gs[1:] {
			g := gs[0]
			if g.release == none {
				c.bad(fmt.Sprintf("%s, which is above %d, but a guard that was never released hides that: %s",
					c.say(h.q), c.txns[g.hides].x, c.say(g.op)), append(c.with(h.q, g.hides), int(g.op))...)
			}
			j := c.join()
			c.edge(joint, j, becauseGuard, none)
			c.edge(g.release, j, becauseGuard, g.hides)
			joint = j
		}
		c.edge(joint, h.q, becauseGuard, none)
	}
}

// surelyGuarded objects to horizons above what had surely committed and a guard,
// surely live, hides; or had surely begun, which then was active or is hidden. It
// is for what passed does not cover: xids that are not from a Begin, or not ordered.
func (c *checker) surelyGuarded(hs []horizon) {
	var list []span
	for i, g := range c.guarded {
		if g.hidesAny != none && (g.hidesAny != g.hides || !c.h.Ordered) {
			t := &c.txns[g.hidesAny]
			list = append(list, span{t.x, c.ret[t.commit], g.ended, int32(i)})
		}
		if g.hides != none && !c.h.Ordered && !c.txns[g.hides].named && !c.txns[g.hides].old {
			t := &c.txns[g.hides]
			list = append(list, span{t.x, c.ops[t.op].Return, g.ended, int32(i)})
		}
	}
	guarded := newSpans(list)
	for _, h := range hs {
		if i := guarded.covers(h.x, c.ops[h.q].Call, c.ops[h.q].Return); i != none {
			g, x := c.guarded[guarded.list[i].op], guarded.list[i].x
			c.bad(fmt.Sprintf("%s, which is above %d, but a live guard hides that: %s", c.say(h.q), x, c.say(g.op)),
				append(c.with(h.q, c.find(x)), int(g.op))...)
		}
	}
}

// monotone: without pins horizons do not move backwards. hs ascend.
func (c *checker) monotone(hs []horizon) {
	joint := none
	for i, h := range hs {
		if i > 0 && hs[i-1].x < h.x {
			j := c.join()
			c.edge(joint, j, becauseMonotone, none)
			for k := i - 1; k >= 0 && hs[k].x == hs[i-1].x; k-- {
				c.edge(hs[k].q, j, becauseMonotone, none)
			}
			joint = j
		}
		c.edge(joint, h.q, becauseMonotone, none)
	}
}
