package check

import (
	"fmt"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// facts adds what every operation's answer says to the graph.
func (c *checker) facts() {
	c.pins()
	c.forgetting()
	c.allocator()
	c.programOrder()
	var finished, committed []cut
	for i := range c.ops {
		o, q := &c.ops[i], int32(i)
		if o.IsPending() || c.isPast(q) {
			continue
		}
		switch o.Kind {
		case history.Commit, history.Rollback:
			c.refusal(q, o.Xid)
		case history.CommitGroup:
			c.refusal(q, o.Other)
		case history.Snapshot, history.Retain:
			c.owner(q)
			c.bound(q, o.Next)
			if o.Full {
				if n := len(o.Set); n > 0 && o.Set[n-1] >= o.Next {
					c.bad(fmt.Sprintf("%s: it hides %d, which is not below its bound", c.say(q), o.Set[n-1]), i)
				}
				finished = append(finished, cut{node: q, bound: c.rank(o.Next), set: o.Set})
				c.unnamed(q)
			}
			for _, p := range o.Probes {
				c.probe(q, q, p.Xid, p.Yes)
			}
		case history.Lookup:
			c.lookup(q)
		case history.Status:
			c.status(q, o.Xid, o.Status)
		case history.IsActive:
			if o.Yes {
				c.active(q, o.Xid)
			} else {
				c.notActive(q, o.Xid)
			}
		case history.OldestActive:
			if o.Yes {
				c.active(q, o.Xid)
			}
			c.oldest = append(c.oldest, q)
		case history.PeekNext:
			c.bound(q, o.Next)
		case history.ObserveCommitted:
			c.observation(q)
		case history.CheckpointExcluded, history.CheckpointProjection:
			if n := len(o.Set); n > 0 && o.Set[n-1] >= o.Next {
				c.bad(fmt.Sprintf("%s: it excludes %d, which is not below its bound", c.say(q), o.Set[n-1]), i)
			}
			c.bound(q, o.Next)
			committed = append(committed, cut{node: q, bound: c.rank(o.Next), set: o.Set})
		case history.ReservesUniqueKey:
			c.uniqueKey(q)
		}
	}
	c.cuts(finished, becauseFinishedC, func(t *txn) int32 { return t.finish })
	c.cuts(committed, becauseCommitted, func(t *txn) int32 { return t.commit })
	c.guards()
	c.horizons()
	c.prunes()
}

// programOrder adds the order of one worker's operations where the stamps do not
// show it.
func (c *checker) programOrder() {
	last := map[int32]int32{}
	for i := range c.ops {
		o := &c.ops[i]
		if l, ok := last[o.Worker]; ok && c.ops[l].Return >= o.Call {
			c.edge(l, c.start(int32(i)), becauseWorker, none)
			c.edge(l, int32(i), becauseWorker, none)
		}
		last[o.Worker] = int32(i)
	}
}

// start returns the first instant of an operation.
func (c *checker) start(i int32) int32 {
	if o := &c.ops[i]; o.Kind == history.AllocateCommitted && o.Granted() {
		return c.txns[c.find(o.Xid)].begin
	}
	return i
}

// status: x had the given status at q.
func (c *checker) status(q int32, x core.Xid, s core.Status) {
	if x == core.None || x > core.MaxXid {
		if want := map[bool]core.Status{true: core.Committed, false: core.Unallocated}[x == core.None]; s != want {
			c.bad(fmt.Sprintf("%s: want %v", c.say(q), want), int(q))
		}
		return
	}
	k := c.find(x)
	if s != core.Unallocated {
		c.atLeast(q, x+1)
	}
	switch s {
	case core.Unallocated:
		c.atMost(q, x)
	case core.Reserved:
		if k != none {
			t := &c.txns[k]
			c.edge(q, t.begin, becauseNotYet, k)
			c.edge(q, t.commit, becauseNotYet, k)
		}
	case core.Active:
		c.active(q, x)
	case core.Committed:
		c.has(q, k, x)
	case core.Aborted:
		if k == none || c.txns[k].abort == none {
			c.bad(fmt.Sprintf("%s, but nobody rolled %d back", c.say(q), x), c.with(q, k)...)
		}
		c.edge(c.txns[k].abort, q, becauseAborted, k)
		c.edge(q, c.txns[k].commit, becauseLacks, k) // not forgotten yet
	}
}

// with returns the operations q and what the history knows of transaction k.
func (c *checker) with(q, k int32) []int {
	ops := []int{int(q)}
	if k != none {
		t := &c.txns[k]
		for _, n := range []int32{t.begin, t.finish} {
			if o := c.opOf(n); o != none && !slices.Contains(ops, int(o)) {
				ops = append(ops, int(o))
			}
		}
	}
	return ops
}

// active: x had begun and not finished, at q.
func (c *checker) active(q int32, x core.Xid) {
	k := c.find(x)
	if k == none || c.txns[k].begin == none {
		c.bad(fmt.Sprintf("%s, but %d was never handed out", c.say(q), x), c.with(q, k)...)
	}
	t := &c.txns[k]
	c.edge(t.begin, q, becauseActive, k)
	c.edge(q, t.finish, becauseStill, k)
}

// notActive: x had not begun, or it had finished, at q.
func (c *checker) notActive(q int32, x core.Xid) {
	k := c.find(x)
	if k == none {
		return // reserved, void, or not allocated
	}
	t := &c.txns[k]
	switch {
	case t.begin == none || t.begin == t.finish:
		// Nobody saw it active, so it need not have been, at any time.
	case t.finish == none:
		c.edge(q, t.begin, becauseNotYet, k)
	case c.surelyBegun(t, q):
		c.edge(t.finish, q, becauseGone, k)
	default:
		c.unless = append(c.unless, alternative{q, k})
	}
}

// surelyBegun reports whether t had been handed out when q was called.
func (c *checker) surelyBegun(t *txn, q int32) bool {
	return t.op != none && !t.named && c.ops[t.op].Return < c.ops[q].Call
}

// has: x counted as committed at q.
func (c *checker) has(q, k int32, x core.Xid) {
	if x == core.None {
		return
	}
	if k == none || c.txns[k].commit == none {
		c.neverCommitted(c.say(q), q, k, x)
	}
	c.edge(c.txns[k].commit, q, becauseHas, k)
}

// neverCommitted objects to an operation q that has x, of rank k, as committed.
func (c *checker) neverCommitted(says string, q, k int32, x core.Xid) {
	ops := c.with(q, k)
	switch {
	case k == none:
		c.bad(fmt.Sprintf("%s, but %d was never handed out", says, x), ops...)
	case c.txns[k].abort != none:
		c.bad(fmt.Sprintf("%s, but %d was rolled back, and not forgotten by then", says, x), ops...)
	}
	text := fmt.Sprintf("%s, but nobody committed %d", says, x)
	for i := range c.ops {
		if o := &c.ops[i]; o.Kind == history.CommitGroup && o.Result != history.OK && slices.Contains(o.Set, x) {
			c.bad(fmt.Sprintf("%s: %s was refused", text, c.say(int32(i))), append(ops, i)...)
		}
	}
	c.bad(text, ops...)
}

// probe: snapshot s, asked by q, includes x, or not. The owner is not asked
// about here.
func (c *checker) probe(q, s int32, x core.Xid, yes bool) {
	o := &c.ops[s]
	switch k := c.find(x); {
	case c.isPast(s) && k != none && c.txns[k].old && x != o.Other:
		if c.contradicts(o, &c.txns[k], yes) {
			c.bad(fmt.Sprintf("%s, but %s", c.say(q), c.say(s)), int(s), int(q))
		}
	case x == core.None && !yes:
		c.bad(fmt.Sprintf("%s: it does not include the xid 0, which every snapshot does", c.say(q)), int(q))
	case x == core.None:
	case x == o.Other:
		// It is included until it rolls back.
		if !yes && (k == none || c.txns[k].abort == none && (!c.more || c.committed(k) && !c.isPendingNode(c.txns[k].finish))) {
			c.bad(fmt.Sprintf("%s: it does not include its owner, which was not rolled back", c.say(q)), c.with(q, k)...)
		}
		if q != s && k != none && yes {
			c.edge(q, c.txns[k].abort, becauseNotGone, k)
		} else if q != s && k != none {
			c.edge(c.txns[k].abort, q, becauseAborted, k)
		}
	case yes && o.Next != core.None && x >= o.Next:
		c.bad(fmt.Sprintf("%s: it includes %d, which is not below its bound", c.say(s), x), c.pair(s, q)...)
	case yes:
		c.has(s, k, x)
	case k != none:
		c.edge(s, c.txns[k].commit, becauseLacks, k)
	}
}

// contradicts reports whether what snapshot o recorded says otherwise about a
// transaction that is over, like o itself, since before the window.
func (c *checker) contradicts(o *history.Op, t *txn, yes bool) bool {
	for _, p := range o.Probes {
		if p.Xid == t.x && p.Yes != yes {
			return true
		}
	}
	if !o.Full {
		return false
	}
	if t.x >= o.Next || o.Set.Has(t.x) {
		return yes
	}
	return !yes && t.abort == none && !t.born // see placed
}

func (c *checker) pair(a, b int32) []int {
	if a == b {
		return []int{int(a)}
	}
	return []int{int(a), int(b)}
}

func (c *checker) lookup(q int32) {
	o := &c.ops[q]
	s := c.base(o.Of)
	c.made(s, q)
	switch {
	case o.Result == history.Foreign:
		if s >= 0 {
			c.bad(fmt.Sprintf("%s, but the manager made that snapshot: %s", c.say(q), c.say(s)), int(q), int(s))
		}
	case o.Result == history.TooOld:
		c.tooOld(q, s)
	case s >= 0:
		c.probe(q, s, o.Xid, o.Yes)
	case o.Yes && o.Xid != core.None && o.Of == 0:
		c.bad(fmt.Sprintf("%s: a snapshot that the manager did not make includes nothing", c.say(q)), int(q))
	}
}

// owner: a snapshot has an owner if that was active.
func (c *checker) owner(q int32) {
	switch o := &c.ops[q]; {
	case o.Other != core.None && o.Other != o.Xid:
		c.bad(fmt.Sprintf("%s: its owner is not the transaction that asked for it", c.say(q)), int(q))
	case o.Other != core.None:
		c.active(q, o.Xid)
	case o.Xid != core.None:
		c.notActive(q, o.Xid)
	}
}

// refusal: a finish was refused because of x.
func (c *checker) refusal(q int32, x core.Xid) {
	o := &c.ops[q]
	switch o.Result {
	case history.NotActive:
		if o.Kind == history.CommitGroup && !slices.Contains(o.Set, x) {
			c.bad(fmt.Sprintf("%s: %d is not in the group", c.say(q), x), int(q))
		}
		if o.Status == core.Active || o.Status == core.Unallocated {
			c.bad(fmt.Sprintf("%s: the state is no reason to refuse it so", c.say(q)), int(q))
		}
		c.status(q, x, o.Status)
	case history.Unallocated:
		c.status(q, x, core.Unallocated)
	case history.Duplicate:
		if n := slices.Index(o.Set, x); n < 0 || !slices.Contains(o.Set[n+1:], x) {
			c.bad(fmt.Sprintf("%s: it was given once", c.say(q)), int(q))
		}
	}
}

func (c *checker) observation(q int32) {
	o := &c.ops[q]
	switch k := c.find(o.Xid); {
	case o.Result == history.XidRange:
		if o.Xid <= core.MaxXid {
			c.bad(fmt.Sprintf("%s: it is in range", c.say(q)), int(q))
		}
	case o.Xid > core.MaxXid:
		c.bad(fmt.Sprintf("%s: it is out of range", c.say(q)), int(q))
	case o.Result == history.NotCommitted:
		if o.Status == core.Committed || o.Status == core.Unallocated {
			c.bad(fmt.Sprintf("%s: the state is no reason to refuse it", c.say(q)), int(q))
		}
		c.status(q, o.Xid, o.Status)
	case o.Xid == core.None:
	case k != none && c.txns[k].commit == none:
		c.neverCommitted(c.say(q), q, k, o.Xid)
	case k != none:
		c.edge(c.txns[k].commit, q, becauseObserved, k)
		c.atLeast(q, o.Xid+1)
	}
}

// uniqueKey: see core.KeyReserver. Whether an xid that may have been forgotten
// was, is not asked.
func (c *checker) uniqueKey(q int32) {
	o := &c.ops[q]
	creator, deleter := c.find(o.Xid), c.find(o.Other)
	node := func(k int32, of func(*txn) int32) int32 {
		if k == none {
			return none
		}
		return of(&c.txns[k])
	}
	aborted := func(t *txn) int32 { return t.abort }
	committed := func(t *txn) int32 { return t.commit }
	forgettable := func(k int32) bool { // by then
		return k != none && c.txns[k].abort != none && c.txns[k].commit != none && c.call[c.txns[k].commit] <= o.Return
	}
	rolledBack := node(creator, aborted)
	own := o.Set.Has(o.Other)
	if o.Yes {
		if rolledBack != none && !forgettable(creator) {
			c.edge(q, rolledBack, becauseNotGone, creator)
		}
		switch gone := node(deleter, aborted); {
		case o.Other == core.None:
		case !own:
			c.edge(q, node(deleter, committed), becauseLacks, deleter)
		case gone == none:
			c.bad(fmt.Sprintf("%s, but the deleter %d is one's own and was not rolled back", c.say(q), o.Other), c.with(q, deleter)...)
		default:
			c.edge(gone, q, becauseAborted, deleter)
			c.edge(q, node(deleter, committed), becauseLacks, deleter)
		}
		return
	}
	if deleter == none && o.Other != core.None && !own && (c.bornFrom <= o.Return || c.mayBeObserved(o.Other, o.Return) || c.guessed[o.Other] || !c.h.Ordered) {
		return // nobody else mentions it; it may have been in a gap, given up, or handed out by a call that never returned
	}
	var either []int32
	if rolledBack != none {
		either = append(either, rolledBack)
	}
	switch gone := node(deleter, aborted); {
	case o.Other == core.None:
	case !own:
		if n := node(deleter, committed); n != none {
			either = append(either, n)
		}
	case gone == none:
		return // one's own, and never rolled back: free at all times
	case rolledBack == none && !forgettable(deleter):
		c.edge(q, gone, becauseNotGone, deleter)
		return
	default:
		return
	}
	switch len(either) {
	case 0:
		c.bad(fmt.Sprintf("%s, but neither did the creator roll back nor the deleter commit", c.say(q)),
			append(c.with(q, creator), c.with(q, deleter)[1:]...)...)
	case 1:
		k, why := creator, becauseAborted
		if rolledBack == none {
			k, why = deleter, becauseHas
		}
		c.edge(either[0], q, why, k)
	default:
		c.edge(c.either(becauseEither, creator, either...), q, becauseEither, deleter)
	}
}
