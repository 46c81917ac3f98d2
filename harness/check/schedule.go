package check

import (
	"container/heap"
	"slices"

	"xidlab/harness/history"
)

// A schedule builds an order of all instants that explains every answer, step
// by step: what has nothing left to wait for comes next. Real time is kept by
// letting an instant wait until all operations have come that returned before
// its call; the operations are sorted once by call and once by return, so that
// this costs no edges.
//
// Most answers are edges. Three kinds depend on the state, and are decided
// here: that a transaction had not begun or had finished (unless), that nothing
// was active, and which active transaction was the oldest. For these it matters
// what comes first of several things that can: observations come before
// finishes, finishes before begins. Then, when x begins and an observation that
// x is not active has not come, it cannot have come: all that can happen without
// another begin has happened. Where begins are a chain, x is the next in every
// order, so the observation comes after it in every order, and x has finished by
// then: another edge, and a forced one.
type schedule struct {
	c         *checker
	start, to []int32
	wait      []int32 // how many things each node waits for; done is -1
	calls     []int32 // nodes with a call, by it
	byCall    []int32 // what is left of them
	byReturn  []int32
	anyOf     map[int32]bool    // see graph.any
	looks     map[[2]int32]bool // what comesBefore has found
	ready     [roleBegin][]int32
	begins    beginHeap
	done      int

	beginOf  []int32 // by node: the transaction that begins, or none
	finishOf []int32 // by node: a transaction that finishes, or none
	nextOf   []int32 // by transaction: another that finishes with it, or none

	active     int
	youngest   xidHeap // active transactions, smallest first
	state      []phase // by transaction
	unless     map[int32][]int32
	after      map[int32][]int32 // observations that wait for a finish, by transaction
	asksOldest []bool            // by node, up to the operations
	idle       []int32           // ready answers of OldestActive that nothing was active
	oldest     map[int32][]int32 // and that this transaction was the oldest
	given      []bool            // answers given the benefit of the doubt; nil if none
}

type phase uint8

const (
	unborn phase = iota
	living
	dead
)

const over int32 = -1 // in wait

func newSchedule(c *checker) *schedule {
	n := len(c.call)
	s := &schedule{
		c: c, wait: make([]int32, n), beginOf: make([]int32, n), finishOf: make([]int32, n),
		nextOf: make([]int32, len(c.txns)), state: make([]phase, len(c.txns)),
		unless: map[int32][]int32{}, after: map[int32][]int32{}, oldest: map[int32][]int32{},
		anyOf: map[int32]bool{}, looks: map[[2]int32]bool{},
	}
	s.start, s.to = c.successors()
	for _, w := range s.to {
		s.wait[w]++
	}
	for _, v := range c.any {
		s.wait[v] = 1
		s.anyOf[v] = true
	}
	s.sortNodes()
	for _, v := range s.byCall {
		s.wait[v]++
	}
	for v := range n {
		s.beginOf[v], s.finishOf[v] = none, none
	}
	for k := range c.txns {
		t := &c.txns[k]
		s.nextOf[k] = none
		if t.begin == none || t.begin == t.finish {
			continue // never active
		}
		s.beginOf[t.begin] = int32(k)
		if t.finish != none {
			s.nextOf[k] = s.finishOf[t.finish]
			s.finishOf[t.finish] = int32(k)
		}
	}
	for _, a := range c.unless {
		s.unless[a.txn] = append(s.unless[a.txn], a.q)
	}
	if len(c.oldest) > 0 {
		s.asksOldest = make([]bool, n)
		for _, q := range c.oldest {
			s.asksOldest[q] = true
		}
	}
	return s
}

// sortNodes sorts by stamps. Operations are in the order of their calls already,
// and those of one worker in that of their returns, more or less.
func (s *schedule) sortNodes() {
	c := s.c
	for v, call := range c.call {
		if call != first {
			s.byCall = append(s.byCall, int32(v))
		}
		if c.ret[v] != history.Pending {
			s.byReturn = append(s.byReturn, int32(v))
		}
	}
	sortBy(s.byCall, c.call)
	s.calls = s.byCall
	sortBy(s.byReturn, c.ret)
}

// run makes all steps, or panics with a violation.
func (s *schedule) run() {
	for v := range s.wait {
		if s.wait[v] == 0 {
			s.push(int32(v))
		}
	}
	s.release()
	for s.done < len(s.wait) {
		v := s.pop()
		if v == none {
			if s.doubt() {
				continue
			}
			s.stuck()
		}
		s.step(v)
	}
}

// release lets those come whose call is not after the first return of what has
// not come yet.
func (s *schedule) release() {
	for len(s.byReturn) > 0 && s.wait[s.byReturn[0]] == over {
		s.byReturn = s.byReturn[1:]
	}
	limit := history.Pending
	if len(s.byReturn) > 0 {
		limit = s.c.ret[s.byReturn[0]]
	}
	for len(s.byCall) > 0 && s.c.call[s.byCall[0]] <= limit {
		s.less(s.byCall[0])
		s.byCall = s.byCall[1:]
	}
}

// less tells v that one thing it waited for has come.
func (s *schedule) less(v int32) {
	if s.wait[v] <= 0 {
		return // an either that has had enough
	}
	if s.wait[v]--; s.wait[v] == 0 {
		s.push(v)
	}
}

// push: v has nothing to wait for any more, unless the state is not right.
func (s *schedule) push(v int32) {
	if s.asksOldest != nil && s.asksOldest[v] && !s.settled(v) {
		return
	}
	if r := s.c.roles[v]; r == roleBegin {
		k := s.beginOf[v]
		heap.Push(&s.begins, beginning{v, k})
	} else {
		s.ready[r] = append(s.ready[r], v)
	}
}

func (s *schedule) pop() int32 {
	for r := range s.ready {
		if n := len(s.ready[r]); n > 0 {
			v := s.ready[r][n-1]
			s.ready[r] = s.ready[r][:n-1]
			return v
		}
	}
	if len(s.begins) > 0 {
		return heap.Pop(&s.begins).(beginning).node
	}
	return none
}

func (s *schedule) step(v int32) {
	s.wait[v] = over
	s.done++
	if k := s.beginOf[v]; k != none {
		s.begin(k)
	}
	for k := s.finishOf[v]; k != none; k = s.nextOf[k] {
		s.finish(k)
	}
	for _, w := range s.to[s.start[v]:s.start[v+1]] {
		s.less(w)
	}
	if len(s.byReturn) > 0 && s.byReturn[0] == v {
		s.release()
	}
}

func (s *schedule) begin(k int32) {
	s.state[k] = living
	s.active++
	if s.asksOldest != nil {
		heap.Push(&s.youngest, k)
	}
	for _, q := range s.unless[k] {
		if s.wait[q] != over {
			s.wait[q]++ // and so it is not ready: observations that are have come
			s.after[k] = append(s.after[k], q)
		}
	}
	delete(s.unless, k)
}

func (s *schedule) finish(k int32) {
	s.state[k] = dead
	s.active--
	for _, q := range s.after[k] {
		s.less(q)
	}
	delete(s.after, k)
	if s.asksOldest == nil {
		return
	}
	if s.active == 0 {
		s.wake(s.idle)
		s.idle = nil
	}
	for len(s.youngest) > 0 && s.state[s.youngest[0]] == dead {
		heap.Pop(&s.youngest)
	}
	if len(s.youngest) > 0 {
		k := s.youngest[0]
		s.wake(s.oldest[k])
		delete(s.oldest, k)
	}
}

func (s *schedule) wake(qs []int32) {
	for _, q := range qs {
		if s.wait[q] == 0 {
			s.push(q)
		}
	}
}

// settled reports whether the answer of OldestActive is right now. If not, it is
// put aside until it may be.
func (s *schedule) settled(q int32) bool {
	if s.given != nil && s.given[q] {
		return true
	}
	o := &s.c.ops[q]
	if !o.Yes {
		if s.active > 0 {
			s.idle = append(s.idle, q)
		}
		return s.active == 0
	}
	k := s.c.find(o.Xid)
	if len(s.youngest) == 0 || s.youngest[0] != k {
		s.oldest[k] = append(s.oldest[k], q)
		return false
	}
	return true
}

// doubt looks, when nothing can come next, for an observation that waits only
// because of a choice that the schedule made, and lets it come. Without splits,
// begins of an ordered manager leave no choice.
func (s *schedule) doubt() bool {
	c := s.c
	if c.h.Ordered && len(c.splits) == 0 {
		return false
	}
	give := func(q int32) bool {
		if s.given == nil {
			s.given = make([]bool, len(c.ops))
		}
		c.undecided++
		s.given[q] = true
		return true
	}
	// Is a transaction, active now, surely begun for q?
	forced := func(q, k int32) bool {
		return c.surelyBegun(&c.txns[k], q) || s.comesBefore(c.txns[k].begin, q)
	}
	older := func(q int32, below int32) bool {
		for _, k := range s.youngest {
			if s.state[k] == living && k < below && forced(q, k) {
				return true
			}
		}
		return false
	}
	for i, q := range s.idle {
		if s.wait[q] == 0 && !older(q, int32(len(c.txns))) {
			s.idle = slices.Delete(s.idle, i, i+1)
			give(q)
			s.push(q)
			return true
		}
	}
	for k, qs := range s.oldest {
		for i, q := range qs {
			if s.wait[q] == 0 && !older(q, k) {
				s.oldest[k] = slices.Delete(qs, i, i+1)
				give(q)
				s.push(q)
				return true
			}
		}
	}
	for k, qs := range s.after {
		for i, q := range qs {
			if !forced(q, k) {
				s.after[k] = slices.Delete(qs, i, i+1)
				give(q)
				s.less(q)
				return true
			}
		}
	}
	return false
}

// mostLooks is how often comesBefore looks, in one history: each look takes a walk
// over all that comes later.
const mostLooks = 64

// comesBefore reports whether a comes before b in every order, as far as the edges
// and real time tell.
func (s *schedule) comesBefore(a, b int32) bool {
	if known, ok := s.looks[[2]int32{a, b}]; ok {
		return known
	}
	if len(s.looks) == mostLooks {
		return false
	}
	c := s.c
	seen := make([]bool, len(c.call))
	seen[a] = true
	later := s.calls // whose calls no return is known to precede, so far
	for todo := []int32{a}; len(todo) > 0 && !seen[b]; {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		visit := func(w int32) {
			if !seen[w] && !s.anyOf[w] { // what waits for one of several need not wait for this one
				seen[w] = true
				todo = append(todo, w)
			}
		}
		for _, w := range s.to[s.start[v]:s.start[v+1]] {
			visit(w)
		}
		for n := len(later); n > 0 && c.call[later[n-1]] > c.ret[v]; n-- {
			visit(later[n-1])
			later = later[:n-1]
		}
	}
	s.looks[[2]int32{a, b}] = seen[b]
	return seen[b]
}

// A beginHeap holds begins that may come. Where there is a choice, larger xids
// go first: they leave what is the oldest alone.
type beginHeap []beginning

type beginning struct{ node, txn int32 }

func (h beginHeap) Len() int           { return len(h) }
func (h beginHeap) Less(i, j int) bool { return h[i].txn > h[j].txn }
func (h beginHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *beginHeap) Push(x any)        { *h = append(*h, x.(beginning)) }
func (h *beginHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// An xidHeap holds transactions, by rank, the smallest first.
type xidHeap []int32

func (h xidHeap) Len() int           { return len(h) }
func (h xidHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h xidHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *xidHeap) Push(x any)        { *h = append(*h, x.(int32)) }
func (h *xidHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
