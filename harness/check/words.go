package check

import (
	"fmt"
	"strings"
	"time"

	"xidlab/core"
	"xidlab/harness/history"
)

// say is an operation in words: "OldestActive() = 3 true on worker 2". Long sets
// are cut short.
func (c *checker) say(i int32) string {
	o := &c.ops[i]
	s := brief(o)
	if o.IsPending() {
		s += ", which never returned,"
	}
	return fmt.Sprintf("%s on worker %d", s, o.Worker)
}

func brief(o *history.Op) string {
	const most = 8
	if len(o.Set) <= most && len(o.Probes) == 0 {
		return o.String()
	}
	short := *o
	short.Set = short.Set[:min(len(o.Set), most)]
	short.Probes = nil
	s := short.String()
	if len(o.Set) > most {
		last := fmt.Sprintf("%d}", short.Set[most-1])
		s = strings.Replace(s, last, strings.TrimSuffix(last, "}")+" …}", 1)
	}
	return s
}

// name is an operation in few words: "snapshot s1 on worker 3".
func (c *checker) name(i int32) string {
	o := &c.ops[i]
	var s string
	switch o.Kind {
	case history.Snapshot:
		s = fmt.Sprintf("snapshot s%d", o.Snap)
	case history.Retain:
		s = fmt.Sprintf("guard s%d", o.Snap)
	case history.Commit, history.Rollback:
		s = fmt.Sprintf("%v(%d)", o.Kind, o.Xid)
	case history.CheckpointExcluded, history.CheckpointProjection:
		s = fmt.Sprintf("%v() = %d …", o.Kind, o.Next)
	default:
		s = brief(o)
	}
	return fmt.Sprintf("%s on worker %d", s, o.Worker)
}

// forgets reports whether a node is when a prune forgot something.
func (c *checker) forgets(n int32) bool {
	o := c.opOf(n)
	return o != n && o != none && c.ops[o].Kind == history.PruneAborted
}

// nameNode is name, for any node.
func (c *checker) nameNode(n int32) string {
	o := c.opOf(n)
	switch {
	case n == c.pastNode && n != none:
		return fmt.Sprintf("one of the %d operations before", c.past.ops)
	case o == none:
		return "some moment"
	}
	if c.forgets(n) {
		return "what was forgotten after " + c.name(o)
	}
	return c.name(o)
}

// witness puts a circle into words: what the answers say, and last what real
// time says against it. Support is what else it needs, and nodes what that is about.
func (c *checker) witness(circle []step, support []string, nodes []int32) *Violation {
	for i := range circle {
		if circle[i].why == becauseRealTime {
			circle = append(append([]step{}, circle[i+1:]...), circle[:i+1]...)
			break
		}
	}
	var because []string
	var ops []int
	add := func(n int32) {
		o := c.opOf(n)
		if o == none {
			return
		}
		for _, have := range ops {
			if have == int(o) {
				return
			}
		}
		ops = append(ops, int(o))
	}
	var facts []string
	for _, st := range circle {
		clause := c.clause(st)
		because = append(because, clause)
		fact, _, _ := strings.Cut(clause, thus)
		facts = append(facts, fact)
		add(st.from)
		add(st.to)
		for _, h := range c.heldBy[st.to] {
			add(h)
		}
	}
	n := len(facts) - 1
	last := "; and " + facts[n] + ": no order of these allows all of it"
	if circle[n].why == becauseRealTime {
		last = "; but " + facts[n]
	}
	for _, n := range nodes {
		add(n)
	}
	text := strings.Join(append([]string{strings.Join(facts[:n], "; ") + last}, support...), ". ")
	return c.violation(text, append(because, support...), ops)
}

// thus stands in a clause before what follows from the fact.
const thus = ", so that it came "

// clause says why one step's from came before its to.
func (c *checker) clause(st step) string {
	a, b := c.nameNode(st.from), c.nameNode(st.to)
	var x core.Xid
	if st.txn != none {
		x = c.txns[st.txn].x
	}
	switch st.why {
	case becauseRealTime:
		if c.forgets(st.to) {
			if held := c.heldBy[st.to]; held != nil {
				var names []string
				for _, h := range held {
					names = append(names, c.name(h))
				}
				return fmt.Sprintf("it cannot have been forgotten before %s returned: %s held it back", a, strings.Join(names, " and "))
			}
			return fmt.Sprintf("it cannot have been forgotten before %s returned: %s was called later", a, c.name(c.opOf(st.to)))
		}
		gap := c.call[st.to] - c.ret[st.from]
		if st.from == c.pastNode {
			return fmt.Sprintf("%s was called after all of them had returned", b)
		}
		if c.h.Clock == history.Nanoseconds {
			return fmt.Sprintf("%s was called %v after %s returned", b, time.Duration(gap), a)
		}
		return fmt.Sprintf("%s was called after %s had returned", b, a)
	case becauseBegun:
		return fmt.Sprintf("%d began, %s, before it was finished, %s", x, a, b)
	case becauseHas:
		if o := c.opOf(st.to); o != none && !c.isSnapshot(o) {
			return fmt.Sprintf("%s counts %d as committed, so that it came after %s", b, x, a)
		}
		return fmt.Sprintf("%s includes %d, so that it came after %s", b, x, a)
	case becauseLacks:
		if o := c.opOf(st.from); o != none && !c.isSnapshot(o) {
			return fmt.Sprintf("%s does not count %d as committed, so that it came before %s", a, x, b)
		}
		return fmt.Sprintf("%s does not include %d, so that it came before %s", a, x, b)
	case becauseActive:
		return fmt.Sprintf("%s saw %d active, so that it came after %s", b, x, a)
	case becauseStill:
		return fmt.Sprintf("%s saw %d active, so that it came before %s", a, x, b)
	case becauseGone:
		return fmt.Sprintf("%s found %d not active, so that it came after %s", b, x, a)
	case becauseNotYet:
		return fmt.Sprintf("%s found %d not handed out, so that it came before %s", a, x, b)
	case becauseBound:
		return c.boundClause(st, a, b)
	case becauseAborted:
		return fmt.Sprintf("%s found %d rolled back, so that it came after %s", b, x, a)
	case becauseNotGone:
		return fmt.Sprintf("%s did not find %d rolled back, so that it came before %s", a, x, b)
	case becauseFinishedC, becauseCommitted:
		return c.cutClause(st, a, b, x)
	case becausePrefix:
		return fmt.Sprintf("%s is above %d, so that it came after %s", b, x, a)
	case becauseGuard:
		return fmt.Sprintf("%s is above %d, which a guard hides, so that it came after %s", b, x, a)
	case becauseMonotone:
		return fmt.Sprintf("the horizon of %s is below that of %s, so that it came before, as horizons do not move backwards", a, b)
	case becauseWorker:
		return fmt.Sprintf("worker %d made %s before %s", c.ops[c.opOf(st.to)].Worker, a, b)
	case becauseMade:
		return fmt.Sprintf("%s is about what %s made", b, a)
	case becauseRelease:
		return fmt.Sprintf("%s was told that the guard had been released, so that it came after %s", b, a)
	case becauseFinish:
		return fmt.Sprintf("what finished %d was %s or another call", x, a)
	case becauseForgotten:
		return fmt.Sprintf("%d was rolled back, %s, before it was forgotten", x, a)
	case becauseObserved:
		return fmt.Sprintf("%s found %d committed, so that it came after %s", b, x, a)
	case becauseEither:
		return fmt.Sprintf("%s needs that the creator has rolled back or the deleter has committed, and so %s or another", b, a)
	case becauseOldest:
		return fmt.Sprintf("%s saw nothing older active, and %d had begun, so that it came after %s", b, x, a)
	}
	return a + " came before " + b
}

// cutClause is about snapshots and checkpoints with their whole sets.
func (c *checker) cutClause(st step, a, b string, x core.Xid) string {
	state := "finished"
	if st.why == becauseCommitted {
		state = "committed"
	}
	switch fromCut, toCut := c.isCut(c.opOf(st.from)), c.isCut(c.opOf(st.to)); {
	case fromCut && toCut && st.txn != none:
		return fmt.Sprintf("%s has %d as %s and %s has not, so that it came later", b, x, state, a)
	case fromCut && toCut:
		return fmt.Sprintf("%s has more as %s than %s, so that it came later", b, state, a)
	case toCut && c.includes(c.opOf(st.to), st.txn):
		return fmt.Sprintf("%s includes %d, so that it came after %s", b, x, a)
	case toCut:
		return fmt.Sprintf("%s has %d as %s, so that it came after %s", b, x, state, a)
	case c.isSnapshot(c.opOf(st.from)):
		return fmt.Sprintf("%s hides %d, so that it came before %s", a, x, b)
	default:
		return fmt.Sprintf("%s does not have %d as %s, so that it came before %s", a, x, state, b)
	}
}

// includes reports whether the cut, a snapshot, includes a transaction that it
// has as finished.
func (c *checker) includes(cut, txn int32) bool {
	return c.isSnapshot(cut) && txn != none && c.committed(txn)
}

func (c *checker) isSnapshot(i int32) bool {
	return c.ops[i].Kind == history.Snapshot || c.ops[i].Kind == history.Retain
}

// boundClause is about the allocator's bound, which only grows.
func (c *checker) boundClause(st step, a, b string) string {
	x, handedFrom := c.handsOut(st.from)
	y, handedTo := c.handsOut(st.to)
	switch {
	case handedFrom && handedTo:
		return fmt.Sprintf("xids are ordered and %d is below %d, so that it came first: %s before %s", x, y, a, b)
	case handedTo:
		return fmt.Sprintf("%s found %d not allocated yet, so that it came before %s", a, y, b)
	case handedFrom:
		return fmt.Sprintf("%s found %d allocated already, so that it came after %s", b, x, a)
	}
	return fmt.Sprintf("the bound of %s is below that of %s, so that it came before", a, b)
}

// handsOut returns the Xid that is handed out at a node, if one is.
func (c *checker) handsOut(n int32) (core.Xid, bool) {
	for k := range c.txns {
		if t := &c.txns[k]; n != none && (t.begin == n || t.begin == none && t.commit == n) {
			return t.x, true
		}
	}
	return 0, false
}
