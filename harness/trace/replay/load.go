package replay

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/HdrHistogram/hdrhistogram-go"

	"xidlab/core"
	"xidlab/harness/trace"
	"xidlab/harness/workload"
)

// A Load is a trace as a [workload.Load]: sessions spread over the workers, each
// replaying its own over and over with fresh xids. A unit of work is a finished
// transaction.
//
// While it runs, each worker checks what it can know: snapshots include what it
// committed before them and its own writes, hide what it committed, drew or
// rolled back otherwise, and do not change their minds about anybody's xid;
// horizons stay at or below its unfinished xids and what its guards hide, and do
// not move backwards. A broken promise is the error of the run's Finish.
type Load struct {
	name    string
	trace   *trace.Trace
	pace    float64
	busiest []uint32 // sessions that do something, by falling number of operations
	weight  []int    // operations, by session
	stats   trace.Stats
}

var _ workload.Load = (*Load)(nil)

// NewLoad returns a load that replays t, which must be valid and have
// operations. A pace of 0 is as fast as possible; 1 is as recorded, 2 twice as
// fast. At a pace, the latency of an operation counts from when it was intended
// to start.
func NewLoad(name string, t *trace.Trace, pace float64) (*Load, error) {
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if len(t.Ops) == 0 {
		return nil, errors.New("replay: the trace has no operations")
	}
	if !(pace >= 0 && pace <= 1e6) {
		return nil, fmt.Errorf("replay: a pace of %v: want 0 (as fast as possible) or a factor up to 1e6", pace)
	}
	l := &Load{name: name, trace: t, pace: pace, weight: make([]int, len(t.Sessions)), stats: t.Stats()}
	for _, op := range t.Ops {
		l.weight[op.Session]++
	}
	for s, n := range l.weight {
		if n > 0 {
			l.busiest = append(l.busiest, uint32(s))
		}
	}
	slices.SortStableFunc(l.busiest, func(a, b uint32) int { return cmp.Compare(l.weight[b], l.weight[a]) })
	return l, nil
}

// Name returns the name that NewLoad was given.
func (l *Load) Name() string { return l.name }

// Start spreads the sessions over the workers, so that all have about the same
// number of operations; among equals the seed decides. If there are more workers
// than sessions, further copies of all sessions are replayed.
func (l *Load) Start(m core.Manager, workers int, seed uint64) (workload.Run, error) {
	if workers < 1 {
		return nil, fmt.Errorf("replay: %d workers: want at least 1", workers)
	}
	r := &run{load: l, m: m}
	for i, sessions := range l.spread(workers, seed) {
		r.workers = append(r.workers, newWorker(r, workload.For(m, i), sessions))
	}
	r.heap = liveHeap()
	return r, nil
}

// spread returns the sessions of each worker: the longest first, each to the
// worker that has the least so far.
func (l *Load) spread(workers int, seed uint64) [][]uint32 {
	out, load := make([][]uint32, workers), make([]int, workers)
	rng := rand.New(rand.NewPCG(seed, 0))
	copies := (workers + len(l.busiest) - 1) / len(l.busiest)
	for range copies {
		for _, s := range l.busiest {
			w := rng.IntN(workers)
			for i := range load {
				if load[i] < load[w] {
					w = i
				}
			}
			out[w] = append(out[w], s)
			load[w] += l.weight[s]
		}
	}
	return out
}

// A run is what the workers share: the manager, and how far they have pruned.
type run struct {
	load    *Load
	m       core.Manager
	workers []*worker
	heap    uint64 // live bytes before the first operation

	// pruned is the largest bound that PruneAborted was called with, raised
	// before the call: what aborted below it may count as committed. It is
	// written once in many transactions and read only when an aborted xid
	// turns up in a snapshot.
	_      [64]byte
	pruned atomic.Uint64
	_      [64]byte
}

func (r *run) Worker(i int) workload.Worker { return r.workers[i] }

// Finish reports the metrics; counts are sums over the workers.
//
//   - horizon-lag-*: how far OldestRequired trailed PeekNext, in xids, sampled
//     every 128 transactions of a worker (OldestActive, if that is all there is)
//   - serializable-as-snapshot-isolation-*: sessions of the trace, and
//     transactions replayed
//   - savepoints-with-parent-xid, allocate-committed-by-begin-and-commit,
//     transaction-snapshots-unguarded: substitutes for capabilities that the
//     manager lacks
//   - answers-too-old: what unguarded snapshots declined to answer
//   - visibility-checks: what snapshots were asked
//   - pruned-xids: what PruneAborted forgot at once
//   - heap-growth-B: live heap after the run less before it, of the process
//   - behind-max-ns: at a pace, the largest delay of an operation's start
func (r *run) Finish() ([]workload.Metric, error) {
	heap := liveHeap()
	lag := hdrhistogram.New(1, int64(core.MaxXid), 3)
	var sum counts
	var behind int64
	var errs []error
	for i, w := range r.workers {
		lag.Merge(w.lag)
		sum.add(w.counts)
		behind = max(behind, w.behind)
		if w.err != nil {
			errs = append(errs, fmt.Errorf("replay: worker %d: %w", i, w.err))
		}
	}
	// Lags are recorded one higher: the histogram knows no 0.
	metrics := []workload.Metric{
		{Name: "horizon-lag-median-xids", Value: float64(max(lag.ValueAtQuantile(50)-1, 0))},
		{Name: "horizon-lag-max-xids", Value: float64(max(lag.Max()-1, 0))},
		{Name: "horizon-samples", Value: float64(lag.TotalCount())},
		{Name: "serializable-as-snapshot-isolation-sessions", Value: float64(r.load.stats.SerializableSessions)},
		{Name: "serializable-as-snapshot-isolation-txns", Value: float64(sum.serializable)},
		{Name: "savepoints-with-parent-xid", Value: float64(sum.sharedSavepoints)},
		{Name: "allocate-committed-by-begin-and-commit", Value: float64(sum.allocatedByBegin)},
		{Name: "transaction-snapshots-unguarded", Value: float64(sum.unguarded)},
		{Name: "answers-too-old", Value: float64(sum.tooOld)},
		{Name: "visibility-checks", Value: float64(sum.checks)},
		{Name: "pruned-xids", Value: float64(sum.forgotten)},
		{Name: "heap-growth-B", Value: max(float64(heap)-float64(r.heap), 0)},
	}
	if r.load.pace > 0 {
		metrics = append(metrics, workload.Metric{Name: "behind-max-ns", Value: float64(behind)})
	}
	runtime.KeepAlive(r.m) // it counts
	return metrics, errors.Join(errs...)
}

// liveHeap returns the bytes of the heap that are in use, after a collection.
func liveHeap() uint64 {
	var st runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&st)
	return st.HeapAlloc
}

// counts are what a worker has done, beside finishing transactions.
type counts struct {
	serializable     int // transactions begun
	sharedSavepoints int // savepoints that wrote with their parent's xid
	allocatedByBegin int
	unguarded        int // transaction snapshots, as the manager retains none
	tooOld           int // refused answers of unguarded snapshots
	checks           int
	forgotten        int
}

func (c *counts) add(o counts) {
	c.serializable += o.serializable
	c.sharedSavepoints += o.sharedSavepoints
	c.allocatedByBegin += o.allocatedByBegin
	c.unguarded += o.unguarded
	c.tooOld += o.tooOld
	c.checks += o.checks
	c.forgotten += o.forgotten
}
