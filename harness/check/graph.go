package check

import (
	"math"
	"slices"

	"xidlab/harness/history"
)

// A role says what an instant changes, and so how early it should be: an
// observation as early as it can, a finish before more begins.
type role uint8

const (
	roleObserve role = iota
	roleFinish
	roleBegin
)

// A reason says why one instant comes before another.
type reason uint8

const (
	becauseBegun     reason = iota + 1 // a transaction begins before it finishes
	becauseHas                         // the later one says that the transaction has committed
	becauseLacks                       // the earlier one says that it has not
	becauseActive                      // the later one says that it was active, so it had begun
	becauseStill                       // the earlier one says that it was active, so it had not finished
	becauseGone                        // the later one says that it was not active
	becauseNotYet                      // the earlier one says that it was not handed out
	becauseBound                       // the allocator's bound only grows
	becauseAborted                     // the later one says that it has rolled back
	becauseNotGone                     // the earlier one says that it has not rolled back, or is not forgotten
	becauseFinishedC                   // cuts of finished transactions: in, of, out
	becauseCommitted                   // cuts of committed transactions
	becausePrefix                      // the later one's horizon is above it
	becauseGuard                       // the later one's horizon is above what the guard hides
	becauseMonotone                    // horizons do not move backwards
	becauseWorker                      // one worker did one after the other
	becauseMade                        // the later one is about what the earlier one made
	becauseRelease                     // a guard is released once
	becauseFinish                      // a commit or rollback that never returned is one of several
	becauseForgotten                   // an xid aborts before it is forgotten
	becauseObserved                    // the later one is the observation, or a later one
	becauseEither                      // one of several had happened
	becauseOldest                      // the later one says that nothing older was active
	becauseRealTime                    // it returned before the other was called
)

// chained reports whether steps for this reason are transitive, so that a
// sequence of them is one.
func (r reason) chained() bool {
	switch r {
	case becauseFinishedC, becauseCommitted, becausePrefix, becauseGuard, becauseMonotone, becauseBound, becauseEither:
		return true
	}
	return false
}

// An edge says that from comes before to.
type edge struct {
	from, to int32
	txn      int32 // the transaction that it is about, or none
	why      reason
}

// A graph is what must come before what. Nodes are instants: the first ones are
// those of the operations, by index; the others are added by virtual and join.
type graph struct {
	call, ret []int64 // between which stamps the instant lies
	roles     []role
	any       []int32 // nodes that wait for one of their edges only
	edges     []edge
	stands    map[int32]int32 // operations that added nodes belong to
}

// first is the call of a node that may be as early as its edges allow.
const first = math.MinInt64

// virtual adds an instant that lies anywhere after call.
func (g *graph) virtual(r role, call int64) int32 {
	g.call = append(g.call, call)
	g.ret = append(g.ret, history.Pending)
	g.roles = append(g.roles, r)
	return int32(len(g.call) - 1)
}

// join adds a node that only passes on what must come before what.
func (g *graph) join() int32 { return g.virtual(roleObserve, first) }

func (g *graph) standsFor(node, op int32) { g.stands[node] = op }

// edge says that from comes before to, which need not exist.
func (g *graph) edge(from, to int32, why reason, txn int32) {
	if from != none && to != none && from != to {
		g.edges = append(g.edges, edge{from, to, txn, why})
	}
}

// either returns a node that comes after one of the given ones, at least.
func (g *graph) either(why reason, txn int32, nodes ...int32) int32 {
	v := g.join()
	g.any = append(g.any, v)
	for _, n := range nodes {
		g.edge(n, v, why, txn)
	}
	return v
}

// successors returns the edges in rows: those from v are to[start[v]:start[v+1]].
func (g *graph) successors() (start, to []int32) {
	start = make([]int32, len(g.call)+1)
	for i := range g.edges {
		start[g.edges[i].from+1]++
	}
	for v := range g.call {
		start[v+1] += start[v]
	}
	to = make([]int32, len(g.edges))
	at := slices.Clone(start[:len(g.call)])
	for i := range g.edges {
		e := &g.edges[i]
		to[at[e.from]] = e.to
		at[e.from]++
	}
	return start, to
}
