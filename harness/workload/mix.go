package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"xidlab/core"
)

// A Mix is a named [Load]. Its zero value is of no use; see [All] and [Find].
type Mix struct {
	name, summary string
	unit          string
	active        int // transactions that stay open while the workers run

	prepare func(r *mixRun, rng *rand.Rand) error         // may be nil
	equip   func(r *mixRun, w *mixWorker, rng *rand.Rand) // may be nil
	step    func(w *mixWorker, c *calls, s *Sampler) int
	finish  func(r *mixRun) ([]Metric, error) // may be nil
}

// Name is as in results and on the command line.
func (l *Mix) Name() string { return l.name }

// Summary is one line for xbench list.
func (l *Mix) Summary() string { return l.summary }

// Unit says what one unit of work is.
func (l *Mix) Unit() string { return l.unit }

// Start implements [Load]. The error of a manager that lacks what the mix is
// about wraps [ErrUnsupported].
func (l *Mix) Start(m core.Manager, workers int, seed uint64) (Run, error) {
	r := &mixRun{mix: l, calls: newCalls(m), workers: make([]*mixWorker, workers)}
	rng := rand.New(rand.NewPCG(seed, 0))
	for range l.active {
		r.idle = append(r.idle, m.Begin())
	}
	if l.prepare != nil {
		if err := l.prepare(r, rng); err != nil {
			return nil, fmt.Errorf("workload %s: %w", l.name, err)
		}
	}
	for i := range r.workers {
		w := &mixWorker{run: r, index: i, plain: newCalls(For(m, i))}
		if l.equip != nil {
			l.equip(r, w, rand.New(rand.NewPCG(seed, uint64(i)+1)))
		}
		r.workers[i] = w
	}
	return r, nil
}

// mixRun is read-only while the workers run.
type mixRun struct {
	calls
	mix     *Mix
	workers []*mixWorker
	idle    []core.Xid // stay active until Finish
	old     []core.Xid // committed before the workers start, below everything active
	young   []decided  // above something active
}

// decided is an Xid whose state does not change while the workers run.
type decided struct {
	xid       core.Xid
	committed bool
}

// ringSize is how many of its latest xids a worker remembers, a power of two.
const ringSize = 64

// mixWorker belongs to one goroutine. It is padded so that no two workers share
// a cache line, nor a pair of lines that the processor fetches together.
type mixWorker struct {
	_     [128]byte
	run   *mixRun
	index int // as of [Run.Worker]
	plain calls
	timed calls    // plain, timed by sampler
	by    *Sampler // of timed
	err   error    // the first broken promise

	ring [ringSize]core.Xid // the latest xids that it committed
	n    uint               // how many it ever committed

	probes []probe // a tape of xids to ask about; see nextProbes
	kinds  []mixed // a tape of what to do next
	blocks []block // a tape of xids to ask one snapshot about
	at     uint    // where the tapes stand
	snap   core.Snapshot
	guard  longRead // of mixes that hold one
	tick   uint     // counts units, where something happens once in many

	rolled  uint64 // how many it rolled back
	pruned  uint64 // how many its prunes forgot
	lag     float64
	lagged  uint64 // how many horizons lag adds up
	horizon core.Xid
	_       [128]byte
}

// Step implements [Worker].
func (w *mixWorker) Step(s *Sampler) int {
	if s == nil {
		return w.run.mix.step(w, &w.plain, nil)
	}
	if w.by != s {
		w.timed, w.by = w.plain.timed(s), s
	}
	return w.run.mix.step(w, &w.timed, s)
}

// broken notes a broken promise; Finish reports the first of each worker.
func (w *mixWorker) broken(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// committed notes that x has committed, or that it was refused.
func (w *mixWorker) committed(x core.Xid, err error) {
	if err != nil {
		w.broken("own transaction refused: %w", err)
	}
	w.ring[w.n%ringSize] = x
	w.n++
}

// latest returns the Xid committed i commits ago (0: the last one), None
// before there was one.
func (w *mixWorker) latest(i uint) core.Xid { return w.ring[(w.n-1-i)%ringSize] }

// Worker implements [Run].
func (r *mixRun) Worker(i int) Worker { return r.workers[i] }

// Finish implements [Run]. Besides what workers noticed it checks, with
// nothing else running, that every transaction ended as it was told.
func (r *mixRun) Finish() ([]Metric, error) {
	var errs []error
	s := r.m.Snapshot(core.None)
	seen := map[core.Xid]bool{}
	for i, w := range r.workers {
		if w.err != nil {
			errs = append(errs, fmt.Errorf("worker %d: %w", i, w.err))
		}
		for k := range min(w.n, ringSize) {
			x := w.latest(k)
			if seen[x] {
				errs = append(errs, fmt.Errorf("worker %d: xid %d was handed out twice", i, x))
			}
			seen[x] = true
			if !s.Includes(x) {
				errs = append(errs, fmt.Errorf("worker %d: a snapshot taken after the run does not include xid %d, which committed", i, x))
			}
		}
	}
	for _, d := range r.young {
		if s.Includes(d.xid) != d.committed {
			errs = append(errs, fmt.Errorf("a snapshot answers %v for xid %d, which is %v", !d.committed, d.xid, r.m.Status(d.xid)))
		}
	}
	for _, x := range r.idle {
		if s.Includes(x) {
			errs = append(errs, fmt.Errorf("a snapshot includes xid %d, which never finished", x))
		}
		if err := r.m.Commit(x); err != nil {
			errs = append(errs, fmt.Errorf("a transaction that was idle all along: %w", err))
		}
	}
	var metrics []Metric
	if r.mix.finish != nil {
		var err error
		metrics, err = r.mix.finish(r)
		errs = append(errs, err)
	}
	if err := errors.Join(few(errs)...); err != nil {
		return metrics, fmt.Errorf("workload %s: %w", r.mix.name, err)
	}
	return metrics, nil
}

// few returns the first of the errors, and how many more there are: one mistake
// may show at each of thousands of transactions.
func few(errs []error) []error {
	const most = 3
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - most; more > 0 {
		errs = append(errs[:most], fmt.Errorf("and %d more", more))
	}
	return errs
}
