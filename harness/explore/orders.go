package explore

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// orders searches the real-time orders of one execution for one in which no
// sequence of instants gives the answers of j.
//
// It goes through the sequences in which the operations can return. Before each
// return those operations have been called that must have been, and no others:
// that leaves the least to choose. Of the operations that could return next, one
// that needs no call that another does not need as well may go first: also that
// leaves the least to choose. At each point the search holds all nodes of the
// automaton that are possible there; it has found what it looks for when there
// is none. (Wing and Gong 1993 do this for one order.)
type orders struct {
	j    *judge
	ops  []uint64 // for each, those that are called before it returns: sched.Op.CallsBefore
	all  uint64
	seen map[string]struct{} // returned sets, with nodes, that are right

	returns []int // the sequence that was found, if there is one
	key     []byte
}

// linearizable reports whether every order is. If not, returns is the sequence
// of returns up to the one that could not be, or all of them if only the end is
// wrong.
func (j *judge) linearizable(ops []uint64) (ok bool, returns []int) {
	o := &orders{j: j, ops: ops, all: 1<<len(ops) - 1, seen: map[string]struct{}{}}
	ok = o.search([]*node{j.nodes[0]}, 0, 0)
	return ok, o.returns
}

// search reports whether all is well from here on: the operations in returned
// have returned, those in called have been called, and nodes are possible.
func (o *orders) search(nodes []*node, returned, called uint64) bool {
	if returned == o.all {
		return slices.ContainsFunc(nodes, o.j.accepts)
	}
	if o.visited(nodes, returned) {
		return true
	}
	for p := range o.ops {
		if returned>>p&1 != 0 || !o.goesFirst(p, returned, called) {
			continue
		}
		before := len(o.returns)
		o.returns = append(o.returns, p)
		next := o.after(nodes, p, returned, called)
		if len(next) == 0 || !o.search(next, returned|1<<p, called|o.ops[p]) {
			return false
		}
		o.returns = o.returns[:before]
	}
	return true
}

// goesFirst reports whether p need not wait for another operation that could
// return without a call that p does not need.
func (o *orders) goesFirst(p int, returned, called uint64) bool {
	mine := called | o.ops[p]
	for left := o.all &^ returned &^ (1 << p); left != 0; left &= left - 1 {
		q := bits.TrailingZeros64(left)
		if its := called | o.ops[q]; its&^mine == 0 && (its != mine || q < p) {
			return false
		}
	}
	return true
}

// alone reports whether p, if it returns next, runs while nothing else does.
func (o *orders) alone(p int, returned, called uint64) bool {
	return called == returned && o.ops[p]&^returned == 1<<p
}

// after returns the nodes that are possible when p has returned.
func (o *orders) after(nodes []*node, p int, returned, called uint64) (after []*node) {
	if o.alone(p, returned, called) {
		return o.j.closure(nodes, 1<<p, true, p)
	}
	return o.j.closure(nodes, called|o.ops[p], false, p)
}

// closure returns all nodes that moves with the operations of ops lead to, nodes
// included, in which p has taken effect.
func (j *judge) closure(nodes []*node, ops uint64, alone bool, p int) (reached []*node) {
	todo := slices.Clone(nodes)
	in := make(map[*node]struct{}, 2*len(nodes))
	for _, n := range nodes {
		in[n] = struct{}{}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n.done>>p&1 != 0 {
			reached = append(reached, n)
		}
		for left := ops &^ n.done; left != 0; left &= left - 1 {
			to := j.move(n, move{bits.TrailingZeros64(left), alone})
			if to == nil {
				continue
			}
			if _, old := in[to]; !old {
				in[to] = struct{}{}
				todo = append(todo, to)
			}
		}
	}
	return reached
}

// visited reports whether the search has been here, and notes that it has.
func (o *orders) visited(nodes []*node, returned uint64) bool {
	slices.SortFunc(nodes, func(a, b *node) int { return a.id - b.id })
	o.key = binary.AppendUvarint(o.key[:0], returned)
	for _, n := range nodes {
		o.key = binary.AppendUvarint(o.key, uint64(n.id))
	}
	if _, ok := o.seen[string(o.key)]; ok {
		return true
	}
	o.seen[string(o.key)] = struct{}{}
	return false
}
