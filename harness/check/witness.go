package check

import (
	"fmt"
	"slices"

	"xidlab/harness/history"
)

// A step of a witness: from comes before to, and why.
type step struct {
	from, to int32
	why      reason
	txn      int32
}

// stuck reports why nothing can come next: some instants wait for each other in
// a circle. It finds a short one. Its cost is that of a few walks over what has
// not come.
func (s *schedule) stuck() {
	w := newWaits(s)
	var best []step
	starts := w.circle()
	for _, v := range starts[:min(len(starts), 12)] {
		if found := w.shortest(v); best == nil || found != nil && cost(found) < cost(best) {
			best = found
		}
	}
	circle := s.c.shorten(s.c.merge(best))
	text, nodes := s.support(circle)
	panic(stop{s.c.witness(circle, text, nodes)})
}

func cost(circle []step) (n int) {
	for _, st := range circle {
		n += weight(st.why)
	}
	return n
}

func weight(r reason) int {
	if r.chained() {
		return 0
	}
	return 1
}

// waits is what the nodes that have not come wait for.
type waits struct {
	s        *schedule
	start    []int32 // the edges to v are in[start[v]:start[v+1]]
	in       []int32 // indices of edges
	held     []bool  // by real time
	byReturn []int32 // not come, and returned
	finish   map[int32][]int32
}

func newWaits(s *schedule) *waits {
	c := s.c
	n := len(c.call)
	w := &waits{s: s, start: make([]int32, n+1), held: make([]bool, n), finish: map[int32][]int32{}}
	for _, v := range s.byCall {
		w.held[v] = true
	}
	for i := range c.edges {
		if e := &c.edges[i]; s.wait[e.from] != over && s.wait[e.to] != over {
			w.start[e.to+1]++
		}
	}
	for v := range n {
		w.start[v+1] += w.start[v]
	}
	w.in = make([]int32, w.start[n])
	at := slices.Clone(w.start[:n])
	for i := range c.edges {
		if e := &c.edges[i]; s.wait[e.from] != over && s.wait[e.to] != over {
			w.in[at[e.to]] = int32(i)
			at[e.to]++
		}
	}
	for _, v := range s.byReturn {
		if s.wait[v] != over {
			w.byReturn = append(w.byReturn, v)
		}
	}
	for k, qs := range s.after {
		for _, q := range qs {
			w.finish[q] = append(w.finish[q], k)
		}
	}
	return w
}

// each yields what v waits for, apart from real time.
func (w *waits) each(v int32, yield func(step) bool) {
	c := w.s.c
	for _, i := range w.in[w.start[v]:w.start[v+1]] {
		if e := &c.edges[i]; !yield(step{e.from, v, e.why, e.txn}) {
			return
		}
	}
	for _, k := range w.finish[v] {
		if !yield(step{c.txns[k].finish, v, becauseGone, k}) {
			return
		}
	}
	if w.s.wait[v] != 0 || int(v) >= len(c.ops) || c.ops[v].Kind != history.OldestActive {
		return
	}
	// It waits for the state: transactions are active that should not be.
	below := int32(len(c.txns))
	if c.ops[v].Yes {
		below = c.find(c.ops[v].Xid)
	}
	for _, k := range w.s.youngest {
		if k >= below || w.s.state[k] != living {
			continue
		}
		if c.txns[k].finish == none {
			c.bad(fmt.Sprintf("%s, but %d had begun and nobody finished it", c.say(v), c.txns[k].x), c.with(v, k)...)
		}
		if !yield(step{c.txns[k].finish, v, becauseOldest, k}) {
			return
		}
	}
}

// circle follows what waits for what until something comes up again.
func (w *waits) circle() []int32 {
	v := none
	for u := range w.s.wait {
		if w.s.wait[u] != over {
			v = int32(u)
			break
		}
	}
	seen := map[int32]int{}
	var path []int32
	for {
		if at, ok := seen[v]; ok {
			return path[at:]
		}
		seen[v] = len(path)
		path = append(path, v)
		next := none
		w.each(v, func(st step) bool { next = st.from; return false })
		if next == none && w.held[v] {
			next = w.byReturn[0]
		}
		if next == none {
			panic("check: nothing can come next, and nothing waits") // a mistake of this package
		}
		v = next
	}
}

// shortest returns the shortest circle through r, as steps from each node to the
// next, or nil.
func (w *waits) shortest(r int32) []step {
	c := w.s.c
	const far = int32(1 << 30)
	dist := make([]int32, len(c.call))
	for i := range dist {
		dist[i] = far
	}
	via := make(map[int32]step) // from a node towards r
	dist[r] = 0
	ring := [2][]int32{{r}, nil} // at this distance, at the next
	returned := 0                // how many of byReturn were reached
	for d := int32(0); len(ring[0])+len(ring[1]) > 0; d++ {
		var found *step
		for len(ring[0]) > 0 {
			v := ring[0][len(ring[0])-1]
			ring[0] = ring[0][:len(ring[0])-1]
			if dist[v] != d {
				continue
			}
			reach := func(st step) bool {
				if st.from == r {
					if found == nil || weight(st.why) < weight(found.why) {
						found = &st
					}
					return true
				}
				if nd := d + int32(weight(st.why)); nd < dist[st.from] {
					dist[st.from] = nd
					via[st.from] = st
					ring[nd-d] = append(ring[nd-d], st.from)
				}
				return true
			}
			w.each(v, reach)
			if !w.held[v] {
				continue
			}
			if c.ret[r] < c.call[v] {
				reach(step{r, v, becauseRealTime, none})
			}
			for ; returned < len(w.byReturn) && c.ret[w.byReturn[returned]] < c.call[v]; returned++ {
				if u := w.byReturn[returned]; u != r {
					reach(step{u, v, becauseRealTime, none})
				}
			}
		}
		if found != nil {
			circle := []step{*found}
			for v := found.to; v != r; v = via[v].to {
				circle = append(circle, via[v])
			}
			return circle
		}
		ring[0], ring[1] = ring[1], nil
	}
	return nil
}

// merge makes one step of steps that say one thing together: a run along a chain,
// through nodes that only pass on.
func (c *checker) merge(circle []step) []step {
	if len(circle) == 0 {
		return nil
	}
	// Begin where a run begins.
	for i := range circle {
		if p := circle[(i+len(circle)-1)%len(circle)]; p.why != circle[i].why || !p.why.chained() {
			circle = append(slices.Clone(circle[i:]), circle[:i]...)
			break
		}
	}
	return c.mergePath(circle)
}

// mergePath is merge for steps that are no circle.
func (c *checker) mergePath(path []step) (out []step) {
	for i := 0; i < len(path); {
		j := i + 1
		for j < len(path) && path[i].why.chained() && path[j].why == path[i].why {
			j++
		}
		out = append(out, c.mergeRun(path[i:j])...)
		i = j
	}
	return out
}

func (c *checker) mergeRun(run []step) []step {
	a, b := run[0], run[len(run)-1]
	st := step{a.from, b.to, a.why, a.txn}
	switch a.why {
	case becauseBound:
		st.txn = b.txn
	case becauseFinishedC, becauseCommitted:
		cutFrom, cutTo := c.isCut(a.from), c.isCut(b.to)
		switch {
		case !cutFrom && !cutTo && len(run) > 1: // through some cut
			for _, m := range run[1:] {
				if o := c.opOf(m.from); o != none && c.isCut(o) {
					return []step{{a.from, o, a.why, a.txn}, {o, b.to, a.why, b.txn}}
				}
			}
		case cutFrom && !cutTo:
			st.txn = b.txn
		case cutFrom:
			st.txn = c.between(a.from, b.to, a.why)
		}
	}
	return []step{st}
}

func (c *checker) isCut(n int32) bool {
	if n == none || int(n) >= len(c.ops) {
		return false
	}
	switch c.ops[n].Kind {
	case history.Snapshot, history.Retain, history.CheckpointExcluded, history.CheckpointProjection:
		return true
	}
	return false
}

// between returns a transaction that cut b has and cut a has not.
func (c *checker) between(a, b int32, why reason) int32 {
	list := c.finishedCuts
	if why == becauseCommitted {
		list = c.committedCuts
	}
	var s, u *cut
	for i := range list {
		switch list[i].node {
		case a:
			s = &list[i]
		case b:
			u = &list[i]
		}
	}
	for k := range c.txns {
		if s != nil && u != nil && u.has(c, int32(k), why) && !s.has(c, int32(k), why) {
			return int32(k)
		}
	}
	return none
}

// shorten cuts corners: of two operations on the circle one may have returned
// before the other was called.
func (c *checker) shorten(circle []step) []step {
	for {
		n := len(circle)
		bestFrom, bestLen := -1, n
		for i := range circle { // a step from circle[j].to to circle[i].from
			for d := 0; d < n-1; d++ {
				j := (i + d) % n
				if d+2 < bestLen && c.ret[circle[j].to] < c.call[circle[i].from] {
					bestFrom, bestLen = i, d+2
				}
			}
		}
		if bestFrom < 0 {
			return circle
		}
		var out []step
		for d := range bestLen - 1 {
			out = append(out, circle[(bestFrom+d)%n])
		}
		circle = append(out, step{out[len(out)-1].to, out[0].from, becauseRealTime, none})
	}
}
