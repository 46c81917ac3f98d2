package sched

import "math/rand/v2"

// walk picks uniformly among the threads that can go on.
type walk struct {
	seed, n uint64
	rng     *rand.PCG
}

func (w *walk) begin(*Execution) {
	w.n++
	w.rng = rand.NewPCG(w.seed, w.n)
}

func (w *walk) intN(n int) int { return int(w.rng.Uint64() % uint64(n)) } // n is tiny: no bias worth a word

func (w *walk) pick(_ *Execution, enabled mask) int {
	n := 0
	for m := enabled; m != 0; m &= m - 1 {
		n++
	}
	m := enabled
	for skip := w.intN(n); skip > 0; skip-- {
		m &= m - 1
	}
	return int(lowest(m))
}

func (w *walk) choose(_ *Execution, n int) int    { return w.intN(n) }
func (w *walk) before(*Execution, *event, *clock) {}
func (w *walk) end(*Execution)                    {}
func (w *walk) again(*Execution) bool             { return true }

// pct gives threads random priorities and lets the first that can go on run, but
// for depth-1 random moments at which the running thread falls behind all others
// (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010). It finds a bug that
// needs depth orderings among n threads and k accesses with probability at least
// 1/(n k^(depth-1)).
type pct struct {
	walk
	depth    int
	longest  int // execution so far: the estimate of k
	priority [MaxThreads]int
	changes  []int
}

func (p *pct) begin(x *Execution) {
	p.walk.begin(x)
	n := len(x.threads)
	for i := range n {
		j := p.intN(i + 1)
		p.priority[i] = p.priority[j]
		p.priority[j] = p.depth + i
	}
	p.changes = p.changes[:0]
	for range p.depth - 1 {
		p.changes = append(p.changes, p.intN(max(p.longest, 1)))
	}
}

func (p *pct) pick(x *Execution, enabled mask) int {
	for i, at := range p.changes {
		if at == len(x.events) && at > 0 {
			p.priority[x.events[at-1].thread] = i
		}
	}
	best := -1
	for t := range x.threads {
		if enabled&bit(t) != 0 && (best < 0 || p.priority[t] > p.priority[best]) {
			best = t
		}
	}
	return best
}

func (p *pct) end(x *Execution) { p.longest = max(p.longest, len(x.events)) }

// replay follows a schedule. Where that names a thread that cannot go on, or has
// come to its end, it goes on with the thread that was last, or the first.
type replay struct {
	schedule Schedule
	at       int
	deviated bool
}

func (r *replay) begin(*Execution) { r.at, r.deviated = 0, false }

func (r *replay) pick(x *Execution, enabled mask) int {
	for ; r.at < len(r.schedule); r.at++ {
		if d := r.schedule[r.at]; !d.Choice && d.N < len(x.threads) && enabled&bit(d.N) != 0 {
			r.at++
			return d.N
		}
		r.deviated = true
	}
	if i := len(x.events) - 1; i >= 0 && enabled&bit(int(x.events[i].thread)) != 0 {
		return int(x.events[i].thread)
	}
	return int(lowest(enabled))
}

func (r *replay) choose(_ *Execution, n int) int {
	if r.at < len(r.schedule) && r.schedule[r.at].Choice && r.schedule[r.at].N < n {
		r.at++
		return r.schedule[r.at-1].N
	}
	r.deviated = true
	return 0
}

func (r *replay) before(*Execution, *event, *clock) {}
func (r *replay) end(*Execution)                    {}
func (r *replay) again(*Execution) bool             { return false }
