package record

import (
	"xidlab/core"
	"xidlab/harness/workload"
)

// offers are a manager and its capabilities, looked up once.
type offers struct {
	m           core.Manager
	allocator   core.CommittedAllocator // these may be nil
	retainer    core.Retainer
	pinner      core.Pinner
	pruner      core.Pruner
	recoverer   core.Recoverer
	checkpoints core.Checkpointer
	keys        core.KeyReserver
	groups      core.GroupCommitter
}

func offersOf(m core.Manager) offers {
	o := offers{m: m}
	o.allocator, _ = m.(core.CommittedAllocator)
	o.retainer, _ = m.(core.Retainer)
	o.pinner, _ = m.(core.Pinner)
	o.pruner, _ = m.(core.Pruner)
	o.recoverer, _ = m.(core.Recoverer)
	o.checkpoints, _ = m.(core.Checkpointer)
	o.keys, _ = m.(core.KeyReserver)
	o.groups, _ = m.(core.GroupCommitter)
	return o
}

// all reports whether the manager has every capability, groups aside.
func (o *offers) all() bool {
	return o.allocator != nil && o.retainer != nil && o.pinner != nil && o.pruner != nil &&
		o.recoverer != nil && o.checkpoints != nil && o.keys != nil
}

// Limits bound what a recorder holds between two Takes.
type Limits struct {
	Ops  int // operations of a worker
	Xids int // of a worker: xids in sets and groups, and questions to snapshots
}

// Bytes is the memory that the logs of so many workers reserve.
func (l Limits) Bytes(workers int) int {
	return (workers + 1) * (l.Ops*entryBytes + l.Xids*arenaBytes)
}

// BytesPerOp is what one operation takes in a log; every xid of a set or a
// group, and every question to a snapshot, takes [BytesPerXid] more. (A snapshot
// and a guard also take some 200 bytes of the heap for as long as they are held:
// what notes whatever they are asked.)
const (
	BytesPerOp  = entryBytes
	BytesPerXid = arenaBytes
)

// A Recorder records what workers do to a manager.
type Recorder struct {
	m       core.Manager
	clock   *Clock
	workers []*Worker // the last one is for whoever prepares and finishes

	open map[core.Xid]struct{} // what was begun and not finished before the last Take
}

// New returns a recorder of that many workers on m, and reserves what limits
// says. Each worker should pause when it is Full; then Take empties the logs.
func New(m core.Manager, clock *Clock, workers int, limits Limits) *Recorder {
	r := &Recorder{m: m, clock: clock, open: map[core.Xid]struct{}{}}
	for i := range workers + 1 {
		r.workers = append(r.workers, &Worker{
			id: i, clock: clock, offers: offersOf(m), limit: limits.Ops, room: limits.Xids,
			log: make([]entry, 0, limits.Ops), arena: make([]uint64, 0, limits.Xids),
		})
	}
	return r
}

// Worker returns the i'th worker, 0 <= i < workers.
func (r *Recorder) Worker(i int) *Worker { return r.workers[i] }

// Manager returns what a [workload.Load] is started on: calls of the load itself
// are those of a worker beside the others, and its workers get theirs. It offers
// what the manager offers if that is everything, or everything but groups;
// otherwise it offers nothing beyond [core.Manager], as loads would take it for
// one that has all.
func (r *Recorder) Manager() workload.PerWorker {
	own := r.workers[len(r.workers)-1]
	switch {
	case own.all() && own.groups != nil:
		return complete{own, r}
	case own.all():
		return groupless{own, r}
	}
	return bare{own, r}
}

// WorkerOf returns the worker behind what a [workload.Load] gets for its worker.
func WorkerOf(m core.Manager) (*Worker, bool) {
	if b, ok := m.(interface{ recording() *Worker }); ok {
		return b.recording(), true
	}
	return nil, false
}

func (w *Worker) recording() *Worker { return w }

type (
	complete struct {
		*preparing
		r *Recorder
	}
	groupless struct {
		allButGroups
		r *Recorder
	}
	bare struct {
		plain
		r *Recorder
	}

	preparing = Worker // lest the field be named as a method

	plain interface {
		core.Manager
		recording() *Worker
	}
	allButGroups interface {
		plain
		core.CommittedAllocator
		core.Retainer
		core.Pinner
		core.Pruner
		core.Recoverer
		core.Checkpointer
		core.KeyReserver
	}
)

func (c complete) Worker(i int) core.Manager  { return c.r.workers[i] }
func (g groupless) Worker(i int) core.Manager { return struct{ allButGroups }{g.r.workers[i]} }
func (b bare) Worker(i int) core.Manager      { return struct{ plain }{b.r.workers[i]} }
