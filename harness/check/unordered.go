package check

import (
	"cmp"
	"fmt"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// passedUnordered adds what must have happened before a horizon passes, where an
// xid below it may begin later. What was surely active all the while ends the check
// at once; what is left to order are begins, finishes and releases that the horizon
// overlaps.
func (c *checker) passedUnordered(hs []horizon) {
	c.surelyActive(hs)
	c.grantedTooLate(hs)
	for _, h := range hs {
		for i := range c.overlapping(h.q) {
			switch o := &c.ops[i]; o.Kind {
			case history.Begin:
				if k := c.find(o.Xid); o.Granted() && k != none && c.txns[k].x < h.x {
					if f := c.txns[k].finish; f == none || c.call[f] > c.ops[h.q].Return {
						c.edge(h.q, c.txns[k].begin, becauseNotYet, k)
					}
				}
			case history.Commit, history.Rollback:
				c.finishedBelow(h, i, o.Xid)
			case history.CommitGroup:
				for _, x := range o.Set {
					c.finishedBelow(h, i, x)
				}
			case history.Release:
				g := c.guardOf[o.Of]
				if g == nil || g.hides == none || c.opOf(g.release) != i {
					continue
				}
				if t := &c.txns[g.hides]; t.x < h.x && c.surelyBegun(t, h.q) {
					c.edge(g.release, h.q, becauseGuard, g.hides)
				}
			}
		}
	}
}

// grantedTooLate objects to a snapshot that was retained although a horizon had
// passed it: one that had been answered, above what the snapshot hides and had
// committed, both before the request.
func (c *checker) grantedTooLate(hs []horizon) {
	byReturn := slices.Clone(hs)
	slices.SortStableFunc(byReturn, func(a, b horizon) int { return cmp.Compare(c.ops[a.q].Return, c.ops[b.q].Return) })
	top := horizon{q: none}
	for _, g := range c.guarded { // by call
		o := &c.ops[g.op]
		for len(byReturn) > 0 && c.ops[byReturn[0].q].Return < o.Call {
			if byReturn[0].x > top.x {
				top = byReturn[0]
			}
			byReturn = byReturn[1:]
		}
		if o.Kind != history.RetainSnapshot || g.hides == none {
			continue
		}
		if t := &c.txns[g.hides]; t.x < top.x && c.ret[t.commit] < o.Call {
			c.bad(fmt.Sprintf("%s, but a horizon had passed the snapshot, which hides %d: %s", c.say(g.op), t.x, c.say(top.q)),
				append(c.with(g.op, g.hides), int(g.base), int(top.q))...)
		}
	}
}

// finishedBelow: operation i finished x, if it did, before a horizon passed x,
// unless x began later.
func (c *checker) finishedBelow(h horizon, i int32, x core.Xid) {
	k := c.find(x)
	if k == none || x >= h.x || !c.txns[k].begun() || c.opOf(c.txns[k].finish) != i {
		return
	}
	if t := &c.txns[k]; c.surelyBegun(t, h.q) {
		c.edge(t.finish, h.q, becausePrefix, k)
	} else {
		c.unless = append(c.unless, alternative{h.q, k})
	}
}

// surelyActive objects to horizons above a transaction that was active all the
// while: what can be said where xids are not ordered.
func (c *checker) surelyActive(hs []horizon) {
	var list []span
	for k := range c.txns {
		t := &c.txns[k]
		if !t.begun() || t.named || t.old {
			continue
		}
		end := history.Pending
		if t.finish != none {
			end = c.call[t.finish]
		}
		list = append(list, span{t.x, c.ops[t.op].Return, end, int32(k)})
	}
	active := newSpans(list)
	for _, h := range hs {
		if i := active.covers(h.x, c.ops[h.q].Call, c.ops[h.q].Return); i != none {
			s := &active.list[i]
			c.bad(fmt.Sprintf("%s, which is above %d, but that was active all the while", c.say(h.q), s.x), c.with(h.q, s.op)...)
		}
	}
}

// overlapping yields the operations of other workers that q overlaps.
func (c *checker) overlapping(q int32) func(func(int32) bool) {
	if c.byWorker == nil {
		at := map[int32]int{}
		for i := range c.ops {
			n, ok := at[c.ops[i].Worker]
			if !ok {
				n = len(c.byWorker)
				at[c.ops[i].Worker] = n
				c.byWorker = append(c.byWorker, nil)
			}
			c.byWorker[n] = append(c.byWorker[n], int32(i))
		}
	}
	return func(yield func(int32) bool) {
		o := &c.ops[q]
		for _, is := range c.byWorker {
			if c.ops[is[0]].Worker == o.Worker {
				continue
			}
			n, _ := slices.BinarySearchFunc(is, o.Call, func(i int32, t int64) int { return cmp.Compare(c.ops[i].Return, t) })
			for ; n < len(is) && c.ops[is[n]].Call <= o.Return; n++ {
				if !yield(is[n]) {
					return
				}
			}
		}
	}
}
