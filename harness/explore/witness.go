package explore

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// A proof is a real-time order that has no sequence of instants, with as few
// facts about it as that takes.
type proof struct {
	j        *judge
	must     uint64   // operations that have returned
	precedes []uint64 // for each operation, those that returned before it was called
	alone    uint64   // operations during which nothing else ran
}

// witness says, in words, why the history with these calls is not linearizable:
// what of its real-time order contradicts the answers, and how far the
// specification can follow them. Failing is the operation whose answer it gives
// up at, or -1.
func (j *judge) witness(called []uint64) (lines []string, failing int) {
	if j.setupWrong != "" {
		return []string{"in the setup, where nothing runs at once: " + j.setupWrong}, -1
	}
	ok, returns := j.linearizable(called)
	if ok {
		return nil, -1
	}
	p := j.proof(called, returns)
	p.minimise()
	for q, before := range p.precedes {
		for ; before != 0; before &= before - 1 {
			if a := bits.TrailingZeros64(before); j.thread[a] != j.thread[q] {
				lines = append(lines, fmt.Sprintf("%s returned before %s was called.", j.quote(a), j.name(q)))
			}
		}
	}
	for left := p.alone; left != 0; left &= left - 1 {
		lines = append(lines, fmt.Sprintf("Nothing else ran during %s.", j.name(bits.TrailingZeros64(left))))
	}
	if len(lines) == 0 {
		lines = append(lines, "These answers are wrong in every order.")
	}
	closest, failing := p.closest()
	return append(lines, closest...), failing
}

// name returns an operation with its thread, quote also with its answer.
func (j *judge) name(p int) string { return threadName(j.thread[p]) + ": " + j.text(j.steps[p]) }

func (j *judge) quote(p int) string { return j.name(p) + " -> " + j.ops[p].text(j.steps[p].op) }

// proof returns the order in which operations return as in returns, each called
// as late as possible.
func (j *judge) proof(called []uint64, returns []int) *proof {
	p := &proof{j: j, precedes: make([]uint64, len(called))}
	var before uint64 // called
	for _, r := range returns {
		if before == p.must && called[r]&^p.must == 1<<r {
			p.alone |= 1 << r
		}
		for left := called[r] &^ before; left != 0; left &= left - 1 {
			p.precedes[bits.TrailingZeros64(left)] = p.must
		}
		before |= called[r]
		p.must |= 1 << r
	}
	for q := range called {
		if before>>q&1 == 0 {
			p.precedes[q] = p.must
		}
	}
	return p
}

// minimise drops what the contradiction does not need: facts between threads
// first, which are the ones that a reader has to look for.
func (p *proof) minimise() {
	for left := p.alone; left != 0; left &= left - 1 {
		bit := left & -left
		if p.alone &^= bit; p.possible() {
			p.alone |= bit
		}
	}
	for _, within := range []bool{false, true} {
		for q := range p.precedes {
			for left := p.precedes[q]; left != 0; left &= left - 1 {
				if (p.j.thread[bits.TrailingZeros64(left)] == p.j.thread[q]) != within {
					continue
				}
				bit := left & -left
				if p.precedes[q] &^= bit; p.possible() {
					p.precedes[q] |= bit
				}
			}
		}
	}
}

// visit calls f with every node that can be reached in the order of p, until f
// returns false.
func (p *proof) visit(f func(*node) bool) {
	start := p.j.nodes[0]
	seen := map[*node]bool{start: true}
	for todo := []*node{start}; len(todo) > 0; {
		n := todo[0]
		todo = todo[1:]
		if !f(n) {
			return
		}
		for q := range p.precedes {
			if !p.ready(n, q) {
				continue
			}
			if to := p.j.move(n, move{q, p.alone>>q&1 != 0}); to != nil && !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
}

// ready reports whether q may take effect after n.
func (p *proof) ready(n *node, q int) bool { return n.done>>q&1 == 0 && p.precedes[q]&^n.done == 0 }

// possible reports whether some sequence of instants explains what has returned.
func (p *proof) possible() (found bool) {
	p.visit(func(n *node) bool {
		found = p.must&^n.done == 0 && (n.done != 1<<len(p.precedes)-1 || p.j.accepts(n))
		return !found
	})
	return found
}

// closest says how far the specification can follow.
func (p *proof) closest() (lines []string, failing int) {
	var best *node
	p.visit(func(n *node) bool {
		if best == nil || bits.OnesCount64(n.done) > bits.OnesCount64(best.done) {
			best = n
		}
		return true
	})
	var path []string
	for n := best; n.parent != nil; n = n.parent {
		if n.done != n.parent.done { // the last phase
			path = append(path, p.j.quote(n.op))
		}
	}
	slices.Reverse(path)
	after := "At the start"
	if len(path) > 0 {
		after = "After " + strings.Join(path, ", then ")
	}
	if best.done == 1<<len(p.precedes)-1 {
		f := p.j.replay(best, true)
		p.j.ending(f)
		return []string{after + ": " + f.reason + "."}, -1
	}
	failing = -1
	for q := range p.precedes {
		if !p.ready(best, q) {
			continue
		}
		f := p.j.replay(best, true)
		if p.j.apply(f, best, move{q, p.alone>>q&1 != 0}) {
			continue
		}
		if failing < 0 || p.must>>q&1 != 0 {
			failing = q
		}
		lines = append(lines, fmt.Sprintf("%s: %s, want %s.", after, p.j.quote(q), f.reason))
	}
	return lines, failing
}
