package check

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// none is no node.
const none int32 = -1

// A txn is what the history knows of one transaction: the instants of what
// happened to it, as nodes of the graph.
type txn struct {
	x      core.Xid
	begin  int32 // when it was handed out; none if it never was by a Begin or AllocateCommitted
	finish int32 // when it stopped being active; none if never
	commit int32 // from when on it counts as committed; none if never
	abort  int32 // when it rolled back; none if never

	op    int32 // the operation that handed it out, or none
	born  bool  // by AllocateCommitted; begin and finish are one node unless somebody saw it active
	old   bool  // it finished before the window, see past
	named bool  // no returned call handed it out, but somebody saw it
	vague bool  // it is not clear what handed it out, or committed it
	given bool  // nobody was handed it out: it was observed, or set aside and given up
	seen  sight
}

// sight is what the history's answers claim about a transaction.
type sight uint8

const (
	sightActive = iota
	sightCommitted
	sightAborted
	sightAsked // somebody finished it, successfully
	numSights

	sawActive    sight = 1 << sightActive
	sawCommitted sight = 1 << sightCommitted
	sawAborted   sight = 1 << sightAborted
	asked        sight = 1 << sightAsked
)

// begun reports whether t came from a Begin, for sure.
func (t *txn) begun() bool { return t.begin != none && !t.born && !t.vague }

// index finds the transactions of the history, and gives them their nodes.
func (c *checker) index() {
	c.handedOut()
	c.sightings()
	c.unknown()
	c.finishes()
}

// handedOut makes a txn of every Begin and AllocateCommitted that returned.
func (c *checker) handedOut() {
	for i := range c.ops {
		o := &c.ops[i]
		if k := o.Kind; k != history.Begin && k != history.AllocateCommitted || !o.Granted() {
			continue
		}
		if o.Xid == core.None || o.Xid > core.MaxXid {
			c.bad(fmt.Sprintf("%s, which is not an xid that can be handed out", c.say(int32(i))), i)
		}
		t := txn{x: o.Xid, begin: int32(i), finish: none, commit: none, abort: none, op: int32(i)}
		if o.Kind == history.AllocateCommitted {
			t.born = true
			t.finish, t.commit = t.begin, t.begin
		}
		c.txns = append(c.txns, t)
	}
	c.recall()
	c.sortTxns()
	for k := 1; k < len(c.txns); k++ {
		if a, b := &c.txns[k-1], &c.txns[k]; a.x == b.x {
			if a.old {
				c.bad(fmt.Sprintf("%s, but the xid was handed out before", c.say(b.op)), int(b.op))
			}
			c.bad(fmt.Sprintf("%s, and %s: the xid was handed out twice", c.say(a.op), c.say(b.op)), int(a.op), int(b.op))
		}
	}
	c.rankTxns()
}

func (c *checker) sortTxns() {
	slices.SortFunc(c.txns, func(a, b txn) int {
		return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.op, b.op))
	})
}

func (c *checker) rankTxns() {
	xs := make([]core.Xid, len(c.txns))
	for k := range c.txns {
		xs[k] = c.txns[k].x
	}
	c.xids = newRanking(xs)
}

// rank returns how many transactions have smaller xids.
func (c *checker) rank(x core.Xid) int32 { return c.xids.rank(x) }

// find returns the rank of x, or none if the history does not know it.
func (c *checker) find(x core.Xid) int32 {
	if k := c.rank(x); int(k) < len(c.txns) && c.txns[k].x == x {
		return k
	}
	return none
}

// sightings notes what is claimed of each transaction. Of those that nobody was
// handed out it keeps a list.
func (c *checker) sightings() {
	c.claims = map[core.Xid]*claim{}
	for i := range c.ops {
		o := &c.ops[i]
		if o.IsPending() || c.isPast(int32(i)) {
			continue
		}
		switch o.Kind {
		case history.Commit, history.Rollback, history.ObserveCommitted:
			switch {
			case o.Result == history.OK && o.Kind != history.ObserveCommitted:
				c.claim(i, o.Xid, asked)
			case o.Result == history.NotActive || o.Result == history.NotCommitted:
				c.claim(i, o.Xid, statusSight(o.Status))
			}
		case history.CommitGroup:
			switch o.Result {
			case history.OK:
				for _, x := range o.Set {
					c.claim(i, x, asked)
				}
			case history.NotActive:
				c.claim(i, o.Other, statusSight(o.Status))
			}
		case history.Snapshot, history.Retain:
			if o.Other != core.None {
				c.claim(i, o.Other, sawActive)
			}
			for _, p := range o.Probes {
				if p.Yes && p.Xid != o.Other {
					c.claim(i, p.Xid, sawCommitted)
				}
			}
		case history.Lookup:
			if b := c.base(o.Of); o.Granted() && o.Yes && b >= 0 && c.ops[b].Other != o.Xid {
				c.claim(i, o.Xid, sawCommitted)
			}
		case history.Status:
			c.claim(i, o.Xid, statusSight(o.Status))
		case history.IsActive, history.OldestActive:
			if o.Yes {
				c.claim(i, o.Xid, sawActive)
			}
		}
	}
}

func statusSight(s core.Status) sight {
	switch s {
	case core.Active:
		return sawActive
	case core.Committed:
		return sawCommitted
	case core.Aborted:
		return sawAborted
	}
	return 0
}

// A claim is what is claimed of an xid that no returned call handed out.
type claim struct {
	seen sight
	by   [numSights]int // the first operation that claims each; of those that are seen
}

// strongest returns the operation whose claim needs the most: a finish and an
// abort need a Begin, an active transaction something that begins it, a committed
// one may have been observed.
func (u *claim) strongest() int {
	for _, i := range []int{sightAsked, sightAborted, sightActive, sightCommitted} {
		if u.seen&(1<<i) != 0 {
			return u.by[i]
		}
	}
	panic("check: a claim of nothing") // claim makes none
}

func (c *checker) claim(op int, x core.Xid, s sight) {
	if x == core.None || s == 0 {
		return
	}
	if k := c.find(x); k != none {
		c.txns[k].seen |= s
		return
	}
	u := c.claims[x]
	if u == nil {
		u = &claim{}
		c.claims[x] = u
	}
	if u.seen&s == 0 {
		u.seen |= s
		u.by[bits.TrailingZeros8(uint8(s))] = op
	}
}

// unknown explains the xids that somebody saw and no returned call handed out:
// each is that of a pending Begin or AllocateCommitted, or was observed as
// committed, itself or in the gap below another; or, where xids come from blocks, was
// set aside and given up.
func (c *checker) unknown() {
	var begins, borns []int32
	named := map[core.Xid]bool{}
	var observes []int32 // by xid
	guessed := map[core.Xid]bool{}
	for i := range c.ops {
		switch o := &c.ops[i]; {
		case o.Kind == history.Begin && o.IsPending():
			begins = append(begins, int32(i))
		case o.Kind == history.AllocateCommitted && o.IsPending():
			borns = append(borns, int32(i))
		case o.Kind == history.Commit && o.IsPending() && c.find(o.Xid) == none:
			guessed[o.Xid] = true
		case o.Kind == history.CommitGroup && o.IsPending():
			for _, x := range o.Set {
				guessed[x] = c.find(x) == none
			}
		case o.Kind == history.ObserveCommitted && (o.IsPending() || o.Result == history.OK):
			observes = append(observes, int32(i))
			if !o.IsPending() && c.find(o.Xid) == none && o.Xid != core.None {
				named[o.Xid] = true
			}
		}
	}
	c.pendingBorn, c.bornFrom = len(borns) > 0, history.Pending
	if c.pendingBorn {
		c.bornFrom = c.ops[borns[0]].Call
	}
	if len(begins) > 0 {
		c.guessed = guessed
	}
	slices.SortFunc(observes, func(a, b int32) int { return cmp.Compare(c.ops[b].Xid, c.ops[a].Xid) })
	call := history.Pending
	for _, i := range observes {
		call = min(call, c.ops[i].Call)
		c.observes = append(c.observes, observed{c.ops[i].Xid, call})
	}
	xs := make([]core.Xid, 0, len(c.claims))
	for x := range c.claims {
		xs = append(xs, x)
	}
	for x := range named {
		if c.claims[x] == nil {
			xs = append(xs, x)
		}
	}
	if len(xs) == 0 {
		return
	}
	slices.Sort(xs)

	earliest := c.earliestObservation

	// Which of them must come from a Begin, which from an AllocateCommitted?
	const mustBegin, mustBorn = 1, 2
	needs := make([]uint8, len(xs))
	need := map[uint8]int{}
	for i, x := range xs {
		u := c.claims[x]
		switch {
		case u == nil:
			continue
		case u.seen&asked != 0 || u.seen&sawAborted != 0:
			needs[i] = mustBegin
		case u.seen&sawActive != 0 && u.seen&sawCommitted != 0 && !guessed[x]:
			needs[i] = mustBorn
		case u.seen&sawActive != 0:
			needs[i] = mustBegin | mustBorn // either
		case u.seen&sawCommitted != 0 && earliest(x) == history.Pending && !c.guessed[x] && c.h.Ordered:
			needs[i] = mustBorn
		}
		if needs[i] != 0 {
			need[needs[i]]++
		}
		if need[mustBegin] > len(begins) || need[mustBorn] > len(borns) ||
			need[mustBegin]+need[mustBorn]+need[mustBegin|mustBorn] > len(begins)+len(borns) {
			c.neverHandedOut(x, u.strongest())
		}
	}
	nth := 0 // of the pending begins, in the order of their calls
	for i, x := range xs {
		t := txn{x: x, begin: none, finish: none, commit: none, abort: none, op: none, named: true}
		if u := c.claims[x]; u != nil {
			t.seen = u.seen
		}
		t.vague = c.guessed[x]
		switch {
		case needs[i] == 0:
			call := earliest(x)
			if !c.h.Ordered {
				t.vague, t.given, call = true, true, first
			}
			for _, p := range [][]int32{borns, begins} {
				if len(p) > 0 && (t.vague || len(borns) > 0) {
					t.vague = true
					call = min(call, c.ops[p[0]].Call)
				}
			}
			t.finish = c.virtual(roleFinish, call)
			t.commit = t.finish
		case needs[i] == mustBorn || len(begins) == 0:
			t.born = true
			t.op = borns[0]
			t.begin = c.virtual(roleFinish, c.ops[borns[0]].Call)
			c.standsFor(t.begin, borns[0])
			t.finish, t.commit = t.begin, t.begin
		default:
			// The earlier the better; of ordered xids the smaller ones come
			// first, so that the i-th is the i-th pending Begin.
			b := begins[0]
			if c.h.Ordered && !c.pendingBorn {
				b = begins[nth]
				nth++
			}
			t.op = b
			call := c.ops[b].Call
			if c.pendingBorn && needs[i] == mustBegin|mustBorn {
				// If it is an AllocateCommitted's, it may have finished.
				call = min(call, c.ops[borns[0]].Call)
				t.vague = true
				t.finish = c.virtual(roleFinish, call)
				t.commit = t.finish
			}
			t.begin = c.virtual(roleBegin, call)
			c.standsFor(t.begin, b)
		}
		c.txns = append(c.txns, t)
	}
	c.sortTxns()
	c.rankTxns()
}

// finishes finds the one operation that finished each transaction.
func (c *checker) finishes() {
	pending := map[int32][]int32{} // by transaction: finishes that never returned
	for i := range c.ops {
		o := &c.ops[i]
		var xs core.XidSet
		switch o.Kind {
		case history.Commit, history.Rollback:
			xs = core.XidSet{o.Xid}
		case history.CommitGroup:
			xs = o.Set
		default:
			continue
		}
		if !o.IsPending() && o.Result != history.OK {
			continue
		}
		for n, x := range xs {
			k := c.find(x)
			if o.IsPending() {
				if k != none {
					pending[k] = append(pending[k], int32(i))
				}
				continue
			}
			if slices.Contains(xs[:n], x) {
				c.bad(fmt.Sprintf("%s, though it was given %d twice", c.say(int32(i)), x), i)
			}
			c.finished(int32(i), k, x)
		}
	}
	c.pendingFinishes(pending)
	c.splitBorns()
}

// splitBorns gives those two instants that were seen active inside an
// AllocateCommitted.
func (c *checker) splitBorns() {
	for k := range c.txns {
		t := &c.txns[k]
		if !t.born || t.old || t.seen&sawActive == 0 {
			continue
		}
		t.begin = c.virtual(roleBegin, c.ops[t.op].Call)
		c.standsFor(t.begin, t.op)
		c.edge(t.begin, t.finish, becauseBegun, int32(k))
		c.splits = append(c.splits, split{k: int32(k), call: c.ops[t.op].Call})
	}
	slices.SortFunc(c.splits, func(a, b split) int { return cmp.Compare(a.call, b.call) })
	latest := int64(first)
	for i := range c.splits {
		s := &c.splits[i]
		latest = max(latest, c.ops[c.txns[s.k].op].Return)
		s.latest = latest
	}
}

// A split is a transaction that was seen active inside an AllocateCommitted.
type split struct {
	k      int32
	call   int64
	latest int64 // the return of it or of an earlier one
}

// unnamed: q is a snapshot whose hidden set does not name some of the splits: they
// had not begun, or had finished. Those that it does not overlap are no question.
func (c *checker) unnamed(q int32) {
	o := &c.ops[q]
	n, _ := slices.BinarySearchFunc(c.splits, o.Return+1, func(s split, t int64) int { return cmp.Compare(s.call, t) })
	for i := n - 1; i >= 0 && c.splits[i].latest >= o.Call; i-- {
		if x := c.txns[c.splits[i].k].x; x < o.Next && !o.Set.Has(x) {
			c.notActive(q, x)
		}
	}
}

// finished notes that operation i finished x, of rank k, successfully.
func (c *checker) finished(i, k int32, x core.Xid) {
	if k == none || c.txns[k].begin == none {
		c.bad(fmt.Sprintf("%s, but %d was never handed out", c.say(i), x), int(i))
	}
	t := &c.txns[k]
	if t.old {
		c.bad(fmt.Sprintf("%s, but %d was finished before", c.say(i), x), int(i))
	}
	if t.finish != none {
		c.bad(fmt.Sprintf("%s, and %s: %d was finished twice", c.say(c.opOf(t.finish)), c.say(i), x), int(c.opOf(t.finish)), int(i))
	}
	t.finish = i
	if c.ops[i].Kind == history.Rollback {
		t.abort = i
	} else {
		t.commit = i
	}
}

// pendingFinishes gives transactions that no returned call finished the pending
// one that did, if it is clear which; otherwise an instant of its own, after the
// first of the calls that it may be.
func (c *checker) pendingFinishes(pending map[int32][]int32) {
	ks := make([]int32, 0, len(pending))
	for k := range pending {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	for _, k := range ks {
		t := &c.txns[k]
		if t.finish != none || t.begin == none {
			continue
		}
		var commits, rollbacks []int32
		for _, i := range pending[k] {
			switch {
			case c.ops[i].Kind == history.Rollback:
				rollbacks = append(rollbacks, i)
			case c.ops[i].Kind == history.Commit || c.groupCan(i):
				commits = append(commits, i)
			}
		}
		forgettable := c.firstPrune < history.Pending || t.x < c.past.pruned
		candidates := slices.Concat(commits, rollbacks)
		ambiguous := len(commits) > 0 && len(rollbacks) > 0
		switch {
		case t.seen&sawAborted != 0, t.seen&sawCommitted != 0 && len(commits) == 0 && forgettable:
			candidates, ambiguous = rollbacks, false
		case t.seen&sawCommitted != 0 && !forgettable:
			candidates, ambiguous = commits, false
		}
		if len(candidates) == 0 {
			continue
		}
		node := candidates[0]
		if len(candidates) > 1 {
			call := history.Pending
			for _, i := range candidates {
				call = min(call, c.ops[i].Call)
			}
			node = c.virtual(roleFinish, call)
			c.standsFor(node, candidates[0])
		}
		t.finish = node
		switch {
		case !ambiguous && c.ops[candidates[0]].Kind == history.Rollback:
			t.abort = node
		case !ambiguous:
			t.commit = node
		default: // one of them is never; both are after the finish, if they are
			for _, n := range []*int32{&t.commit, &t.abort} {
				*n = c.virtual(roleFinish, c.call[node])
				c.standsFor(*n, candidates[0])
				c.edge(node, *n, becauseFinish, k)
			}
		}
	}
}

// groupCan reports whether the pending group i can have been granted: none of
// its members is finished by another call that returned, or given twice.
func (c *checker) groupCan(i int32) bool {
	set := c.ops[i].Set
	for n, x := range set {
		k := c.find(x)
		if k == none || c.txns[k].born || c.txns[k].old || slices.Contains(set[:n], x) {
			return false
		}
		if f := c.txns[k].finish; f != none && int(f) < len(c.ops) && !c.ops[f].IsPending() {
			return false
		}
	}
	return true
}

// neverHandedOut objects to what operation i claims of x, and names the observation
// that jumped over x, if one did.
func (c *checker) neverHandedOut(x core.Xid, i int) {
	text := fmt.Sprintf("%s, but no call handed out %d, and no call that never returned can have", c.say(int32(i)), x)
	for j := range c.ops { // by call
		o := &c.ops[j]
		if o.Kind == history.ObserveCommitted && o.Granted() && o.Xid >= x && c.find(o.Xid) == none && j != i {
			c.bad(fmt.Sprintf("%s: it was observed as committed by %s", text, c.say(int32(j))), i, j)
		}
	}
	if x <= c.past.observed {
		text += ": it was observed as committed before"
	}
	c.bad(text, i)
}

// observed is an Xid that an ObserveCommitted named, and the earliest call of one
// that named it or a larger one.
type observed struct {
	x    core.Xid
	call int64
}

// earliestObservation returns the earliest call of an observation of x or of
// something above it: before that, x was in no gap.
func (c *checker) earliestObservation(x core.Xid) int64 {
	n, _ := slices.BinarySearchFunc(c.observes, x, func(o observed, x core.Xid) int {
		if o.x >= x {
			return -1
		}
		return 1
	})
	switch {
	case x <= c.past.observed:
		return first
	case n == 0:
		return history.Pending
	}
	return c.observes[n-1].call
}

// mayBeObserved reports whether x can have been in an observed gap by then.
func (c *checker) mayBeObserved(x core.Xid, by int64) bool { return c.earliestObservation(x) <= by }
