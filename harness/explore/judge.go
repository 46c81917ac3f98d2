package explore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"xidlab/core"
)

// A judge decides about histories that have the same answers. It knows the
// specification as an automaton that is unfolded on demand: a node is a set of
// operations that have taken effect, and a state of the specification in which
// that is possible with these answers. Which real-time orders allow which paths
// is for the caller; so the specification is run once for many orders.
type judge struct {
	*script
	traits
	setupWrong      string // why the setup is wrong, or ""
	setup, ops, end []answer
	setupNext       []core.Xid
	endNext         []core.Xid
	xids, known     []core.Xid
	final           []uint64

	steps  []*step // of the threads, by operation number
	thread []int   // of each operation
	nodes  []*node
	index  map[string]*node
	key    []byte
}

// A node is a state of the automaton. Its path from the first one is that of the
// first way to get there that was found.
type node struct {
	id     int
	done   uint64 // operations that have taken effect
	begun  uint64 // AllocateCommitted that have begun, of these and others
	parent *node
	op     int
	alone  bool

	next   map[move]*node // nil: not possible
	accept int8           // whether the end is right: 0 not known, 1 yes, -1 no
}

// A move is an operation taking effect, or the next phase of one.
type move struct {
	op    int
	alone bool // nothing else runs; it matters to horizons
}

// newJudge returns the judge of the answers that c has now.
func newJudge(c *client) *judge {
	j := &judge{
		script: c.script, traits: c.traits,
		setup: cloneAnswers(c.setup), ops: cloneAnswers(c.threads), end: cloneAnswers(c.end),
		setupNext: slices.Clone(c.setupNext), endNext: slices.Clone(c.endNext),
		xids: slices.Clone(c.xids), known: slices.Clone(c.known), final: slices.Clone(c.final),
		steps: c.stepsOfThreads(), thread: c.threadsOfSteps(),
		index: map[string]*node{},
	}
	if f, ok := j.begin(true); ok {
		j.enter(f, &node{op: -1})
	} else {
		j.setupWrong = f.reason
	}
	return j
}

func cloneAnswers(as []answer) []answer {
	as = slices.Clone(as)
	for i := range as {
		as[i].set = slices.Clone(as[i].set)
	}
	return as
}

// begin returns a follower that has done the setup.
func (j *judge) begin(explain bool) (*follower, bool) {
	f := newFollower(j.script, j.traits, j.xids, j.known)
	f.explain = explain
	ok := f.sequence(j.script.setup, j.setup, j.setupNext)
	return f, ok
}

// sequence follows operations that ran alone.
func (f *follower) sequence(steps []step, answers []answer, nexts []core.Xid) bool {
	for i := range steps {
		for _, p := range phases(steps[i].op) {
			if !f.step(&steps[i], &answers[i], p, true) {
				if f.explain {
					f.reason = fmt.Sprintf("%s = %s, want %s", f.text(&steps[i]), answers[i].text(steps[i].op), f.reason)
				}
				return false
			}
		}
		if !f.bound(nexts[i]) {
			return false
		}
	}
	return true
}

// replay returns a follower in the state of n.
func (j *judge) replay(n *node, explain bool) *follower {
	var path []*node
	for ; n.parent != nil; n = n.parent {
		path = append(path, n)
	}
	f, _ := j.begin(false)
	for _, n := range slices.Backward(path) {
		j.apply(f, n.parent, move{n.op, n.alone})
	}
	f.explain = explain
	return f
}

// apply lets f, in the state of n, make a move.
func (j *judge) apply(f *follower, n *node, mv move) bool {
	p := whole
	if ps := phases(j.steps[mv.op].op); len(ps) > 1 {
		p = ps[n.begun>>mv.op&1]
	}
	return f.step(j.steps[mv.op], &j.ops[mv.op], p, mv.alone)
}

// move returns where a move leads from n, nil if the answer would have been
// another.
func (j *judge) move(n *node, mv move) *node {
	mv.alone = mv.alone && j.steps[mv.op].op.isHorizon()
	if to, ok := n.next[mv]; ok {
		return to
	}
	f := j.replay(n, false)
	var to *node
	if j.apply(f, n, mv) {
		to = &node{done: n.done, begun: n.begun, parent: n, op: mv.op, alone: mv.alone}
		bit := uint64(1) << mv.op
		if to.begun |= bit; n.begun&bit != 0 || len(phases(j.steps[mv.op].op)) == 1 {
			to.done |= bit
		}
		to = j.enter(f, to)
	}
	if n.next == nil {
		n.next = map[move]*node{}
	}
	n.next[mv] = to
	return to
}

// enter returns the node with the state of f and the sets of n: n, unless there
// is one already.
func (j *judge) enter(f *follower, n *node) *node {
	j.key = binary.AppendUvarint(j.key[:0], n.done)
	j.key = binary.AppendUvarint(j.key, n.begun)
	j.key = f.state(j.key)
	if old, ok := j.index[string(j.key)]; ok {
		return old
	}
	n.id = len(j.nodes)
	j.nodes = append(j.nodes, n)
	j.index[string(j.key)] = n
	return n
}

// accepts reports whether the end, and the final answers, are right when all
// ended in n.
func (j *judge) accepts(n *node) bool {
	if n.accept == 0 {
		n.accept = -1
		if j.ending(j.replay(n, false)) {
			n.accept = 1
		}
	}
	return n.accept > 0
}

func (j *judge) ending(f *follower) bool {
	return f.sequence(j.script.end, j.end, j.endNext) && f.ends(j.final)
}
