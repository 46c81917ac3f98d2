package check

import (
	"fmt"
	"slices"
	"strings"

	"xidlab/harness/history"
)

// A begun proves, for a step of a circle that says that an operation found a
// transaction not active, that the transaction had begun: a path from its begin to
// the operation, where real time does not show it. (That is how the schedule came to
// decide that it had finished.)
type begun struct {
	s       *schedule
	q       int32
	in      map[int32][]int32 // edges to each node
	returns []int32           // nodes that returned, by that
	next    map[int32]step    // by node, the step towards q
	reached map[int32]bool    // transactions whose begins come before q
}

// support returns the paths that the circle needs, in words, and the operations on
// them.
func (s *schedule) support(circle []step) (text []string, nodes []int32) {
	for _, st := range circle {
		if st.why != becauseGone && st.why != becauseOldest || s.c.surelyBegun(&s.c.txns[st.txn], st.to) {
			continue
		}
		b := newBegun(s, st.to)
		var clauses []string
		todo, seen := []int32{st.txn}, map[int32]bool{}
		for len(todo) > 0 {
			k := todo[0]
			todo = todo[1:]
			if seen[k] || !b.reached[k] {
				continue
			}
			seen[k] = true
			for _, p := range s.c.mergePath(b.path(s.c.txns[k].begin)) {
				fact, _, _ := strings.Cut(s.c.clause(p), thus)
				if !slices.Contains(clauses, fact) {
					clauses = append(clauses, fact)
				}
				nodes = append(nodes, p.from, p.to)
				if p.to == b.q && p.txn != none && p.from == s.c.txns[p.txn].finish {
					todo = append(todo, p.txn)
				}
			}
		}
		if len(clauses) > 0 {
			text = append(text, fmt.Sprintf("%d had begun: %s", s.c.txns[st.txn].x, strings.Join(clauses, "; ")))
		}
	}
	return text, nodes
}

// newBegun walks back from q, over edges and real time, to all that comes before it.
func newBegun(s *schedule, q int32) *begun {
	c := s.c
	b := &begun{s: s, q: q, in: map[int32][]int32{}, next: map[int32]step{}, reached: map[int32]bool{}}
	for i := range c.edges {
		b.in[c.edges[i].to] = append(b.in[c.edges[i].to], int32(i))
	}
	for v := range c.ret {
		if c.ret[v] != history.Pending {
			b.returns = append(b.returns, int32(v))
		}
	}
	sortBy(b.returns, c.ret)
	todo := []int32{q}
	visit := func(st step) {
		if _, ok := b.next[st.from]; !ok && st.from != q {
			b.next[st.from] = st
			todo = append(todo, st.from)
		}
	}
	returned := b.returns
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		if k := s.beginOf[v]; k != none {
			b.reached[k] = true
			if f := c.txns[k].finish; f != none && b.gone(k) {
				why := becauseGone
				if c.ops[q].Kind == history.OldestActive {
					why = becauseOldest
				}
				visit(step{f, q, why, k})
			}
		}
		if s.anyOf[v] {
			continue // it came after one of several
		}
		for _, i := range b.in[v] {
			e := &c.edges[i]
			visit(step{e.from, v, e.why, e.txn})
		}
		for ; len(returned) > 0 && c.ret[returned[0]] < c.call[v]; returned = returned[1:] {
			visit(step{returned[0], v, becauseRealTime, none})
		}
	}
	return b
}

// gone reports whether the answer of q says of transaction k that it was not active.
func (b *begun) gone(k int32) bool {
	c := b.s.c
	if slices.Contains(c.unless, alternative{b.q, k}) {
		return true
	}
	o := &c.ops[b.q]
	return o.Kind == history.OldestActive && (!o.Yes || k < c.find(o.Xid))
}

// path returns the steps from a node to q.
func (b *begun) path(v int32) (steps []step) {
	for v != b.q {
		st, ok := b.next[v]
		if !ok {
			return nil
		}
		steps = append(steps, st)
		v = st.to
	}
	return steps
}
