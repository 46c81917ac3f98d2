package check

import (
	"cmp"
	"fmt"
	"slices"

	"xidlab/core"
)

// A cut is a set of transactions that had finished (or committed) at one
// instant: those below the bound and not in set.
type cut struct {
	node  int32
	bound int32 // a rank
	set   core.XidSet
	size  int32 // how many are in the cut, of those that the history knows
}

// placed reports whether every cut either has transaction k or has it not. Only the
// hidden sets of snapshots leave it open, of what may come from an
// AllocateCommitted, or was given up: one that they do not name had finished, or was
// set aside.
func (c *checker) placed(k int32, why reason) bool {
	t := &c.txns[k]
	return why != becauseFinishedC || !t.born && !(t.vague && c.pendingBorn) && !t.given
}

func (u *cut) has(c *checker, k int32, why reason) bool {
	return k < u.bound && c.placed(k, why) && !u.set.Has(c.txns[k].x)
}

// cuts puts cuts in the one order that they can have: of any two of them one
// contains the other. Equal ones are a class. The event of a transaction lies
// between the last class without it and the first with it. What is compared are
// neighbours, which costs as much as their sets are large.
func (c *checker) cuts(list []cut, why reason, event func(*txn) int32) {
	if len(list) == 0 {
		return
	}
	below := make([]int32, len(c.txns)+1) // how many are placed, by rank
	for k := range c.txns {
		if below[k+1] = below[k]; c.placed(int32(k), why) {
			below[k+1]++
		}
	}
	for i := range list {
		u := &list[i]
		u.size = below[u.bound]
		for _, x := range u.set {
			switch k := c.find(x); {
			case k == none || k >= u.bound:
			case c.placed(k, why):
				u.size--
			default:
				c.edge(u.node, event(&c.txns[k]), why, k)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b cut) int { return cmp.Compare(a.size, b.size) })
	classOf := make([]int32, len(c.txns)) // the first class with it
	for k := range classOf {
		classOf[k] = none
	}
	var classes [][2]int32 // where each begins and ends, in list
	for i := range list {
		if i == 0 || c.grows(&list[i-1], &list[i], int32(len(classes)), classOf, why, event) {
			if i == 0 {
				c.grows(&cut{}, &list[i], 0, classOf, why, event)
			}
			classes = append(classes, [2]int32{int32(i), int32(i)})
		}
		classes[len(classes)-1][1]++
	}
	// A class of one cut is its own node; others have one before and one after.
	in, out := make([]int32, len(classes)), make([]int32, len(classes))
	for j, class := range classes {
		members := list[class[0]:class[1]]
		if len(members) == 1 {
			in[j], out[j] = members[0].node, members[0].node
		} else {
			in[j], out[j] = c.join(), c.join()
			for _, u := range members {
				c.edge(in[j], u.node, why, none)
				c.edge(u.node, out[j], why, none)
			}
			c.standsFor(in[j], members[0].node)
			c.standsFor(out[j], members[0].node)
		}
		if j > 0 {
			c.edge(out[j-1], in[j], why, none)
		}
	}
	for k := range c.txns {
		n, j := event(&c.txns[k]), classOf[k]
		if n == none || !c.placed(int32(k), why) {
			continue
		}
		if j != none {
			c.edge(n, in[j], why, int32(k))
		} else {
			j = int32(len(classes))
		}
		if j > 0 {
			c.edge(out[j-1], n, why, int32(k))
		}
	}
	if why == becauseFinishedC {
		c.finishedCuts = list
	} else {
		c.committedCuts = list
	}
}

// grows reports whether u has more than the cut before it, s, and notes the
// class of what is new. It objects if s has something that u has not, and to
// something new whose event never was.
func (c *checker) grows(s, u *cut, class int32, classOf []int32, why reason, event func(*txn) int32) bool {
	lost, gained, never := none, none, none
	gain := func(k int32) {
		if !c.placed(k, why) {
			return
		}
		gained = k
		classOf[k] = class
		if event(&c.txns[k]) == none {
			never = k
		}
	}
	// What only one of the sets names. (What only the bound of s covers is for
	// the gates: a bound does not fall.)
	a, b := s.set, u.set
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			if k := c.find(a[0]); k != none && k < s.bound && k < u.bound {
				gain(k)
			}
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			if k := c.find(b[0]); k != none && k < s.bound && k < u.bound && c.placed(k, why) {
				lost = k
			}
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	n, _ := slices.BinarySearch(u.set, c.xidAt(s.bound))
	named := u.set[n:]
	for k := s.bound; k < u.bound; k++ {
		for len(named) > 0 && named[0] < c.txns[k].x {
			named = named[1:]
		}
		if len(named) == 0 || named[0] != c.txns[k].x {
			gain(k)
		}
	}
	switch {
	case lost != none:
		c.fork(s, u, lost, gained, why, event)
	case never != none:
		c.neverHappened(u, never)
	}
	return gained != none
}

func (c *checker) xidAt(k int32) core.Xid {
	if int(k) < len(c.txns) {
		return c.txns[k].x
	}
	return core.MaxXid + 1
}

// fork reports two cuts of which neither contains the other, or what of it real
// time alone makes wrong.
func (c *checker) fork(s, u *cut, lost, gained int32, why reason, event func(*txn) int32) {
	a, b := event(&c.txns[lost]), event(&c.txns[gained])
	if a == none {
		c.neverHappened(s, lost)
	}
	if b == none {
		c.neverHappened(u, gained)
	}
	panic(stop{c.witness(c.shorten([]step{
		{a, s.node, why, lost}, {s.node, b, why, gained}, {b, u.node, why, gained}, {u.node, a, why, lost},
	}), nil, nil)})
}

// neverHappened objects to a cut that has k though its event never was.
func (c *checker) neverHappened(u *cut, k int32) {
	x := c.txns[k].x
	if c.txns[k].finish == none {
		c.bad(fmt.Sprintf("%s: it has %d as finished, but nobody finished it", c.say(u.node), x), c.with(u.node, k)...)
	}
	c.neverCommitted(fmt.Sprintf("%s: it has %d as committed", c.say(u.node), x), u.node, k, x)
}
