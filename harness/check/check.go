package check

import (
	"xidlab/core"
	"xidlab/harness/history"
)

// A Verdict is what came out of a check.
type Verdict struct {
	Ops     int // how many operations were judged
	Windows int // in how many pieces; 1, except by a Stream

	// Violation is nil if the history is one that the contract allows, as far
	// as the package comment says.
	Violation *Violation

	// Undecided counts answers that allow several orders and that the order
	// found does not explain, though another one might. They are given the
	// benefit of the doubt. It is 0 for histories of ordered managers in which
	// nobody saw an xid of AllocateCommitted active.
	Undecided int
}

// Check judges a history, which must be valid (see history.Validate). It does
// not change it. Cost: O(n log n), and the sizes of the recorded sets. Checks of
// several histories may run at once.
func Check(h *history.History) *Verdict {
	c := newChecker(h, newPast())
	v := &Verdict{Ops: len(h.Ops), Windows: 1}
	v.Violation = c.run()
	v.Undecided = c.undecided
	return v
}

func newChecker(h *history.History, p *past) *checker {
	return &checker{h: h, ops: h.Ops, graph: graph{stands: map[int32]int32{}}, past: p, pastNode: none}
}

// An alternative is an observation that a transaction was not active, where it
// may be that it had not begun, or that it had finished.
type alternative struct{ q, txn int32 }

// A checker judges one history.
type checker struct {
	h   *history.History
	ops []history.Op
	graph

	txns        []txn   // by xid
	xids        ranking // of txns
	claims      map[core.Xid]*claim
	pendingBorn bool              // some AllocateCommitted never returned
	bornFrom    int64             // the first call of these
	guessed     map[core.Xid]bool // somebody tried to commit what only a pending Begin can have handed out
	observes    []observed        // granted, or without a return; the largest Xids first
	splits      []split           // by call
	gates       gates
	unless      []alternative
	oldest      []int32 // answers of OldestActive

	finishedCuts, committedCuts []cut

	snaps      map[uint64]int32
	guardOf    map[uint64]*guard
	guardsOf   map[int32][]*guard // by the operation that captured the snapshot
	guarded    []*guard
	firstPrune int64
	nextAny    []int32 // see nextCommitted
	later      []later // commits, by call
	nextBegun  []int32
	commits    [][2]int64 // see mayHaveFinished

	heldBy map[int32][]int32 // what holds back what is forgotten at a node: a guard, Pins

	byWorker [][]int32 // see overlapping

	pinEvents, unpinEvents []int32
	effective              map[int32]bool // Unpins that surely dropped a reference
	pinsOf                 map[core.Xid][]int32
	pinned                 []span
	pinsBelow              *spans

	past     *past
	more     bool  // other operations follow
	pastNode int32 // before everything, if the past matters
	places   []int // of the operations in the whole history; nil if they are their indices

	undecided int
}

// stop ends a check: a violation was found.
type stop struct{ v *Violation }

func (c *checker) run() (v *Violation) {
	defer func() {
		switch s := recover().(type) {
		case nil:
		case stop:
			v = s.v
		default:
			panic(s)
		}
	}()
	c.nodes()
	c.snapshots()
	c.index()
	c.facts()
	newSchedule(c).run()
	return nil
}

// nodes makes the nodes of the operations.
func (c *checker) nodes() {
	n := len(c.ops)
	c.call, c.ret, c.roles = make([]int64, n, 2*n), make([]int64, n, 2*n), make([]role, n, 2*n)
	c.edges = make([]edge, 0, 4*n)
	for i := range c.ops {
		o := &c.ops[i]
		c.call[i], c.ret[i] = o.Call, o.Return
		switch o.Kind {
		case history.Begin:
			c.roles[i] = roleBegin
		case history.Commit, history.Rollback, history.CommitGroup, history.AllocateCommitted, history.ObserveCommitted:
			if o.Result == history.OK {
				c.roles[i] = roleFinish
			}
		case history.PruneAborted, history.Release:
			c.roles[i] = roleFinish
		}
		if o.IsPending() && o.Kind == history.Begin {
			c.roles[i] = roleObserve // it stands for nothing; see unknown
		}
	}
}

// opOf returns the operation that a node belongs to, or none.
func (c *checker) opOf(node int32) int32 {
	if node == none || int(node) < len(c.ops) {
		return node
	}
	if o, ok := c.stands[node]; ok {
		return o
	}
	return none
}

// bad ends the check with a violation that needs no order to be one.
func (c *checker) bad(text string, ops ...int) {
	panic(stop{c.violation(text, nil, ops)})
}
