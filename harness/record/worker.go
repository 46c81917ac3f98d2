package record

import (
	"fmt"
	"sync/atomic"

	"xidlab/core"
	"xidlab/harness/history"
)

// A Worker calls a manager, and notes what it calls and what comes back. It
// implements [core.Manager] and every capability; where the manager lacks one,
// its methods panic (see [Recorder.Worker]).
//
// It belongs to one goroutine, and so do the snapshots and guards that it
// returns: whatever they are asked is noted by the worker that took them. To ask
// a snapshot or to release a guard of another worker, use Lookup, InProgress and
// Release of one's own.
type Worker struct {
	_     [128]byte
	id    int
	clock *Clock
	offers

	// noted is written after all that was noted of a call, before it is made: if
	// it does not return, somebody else can read the log.
	noted  atomic.Int64
	log    []entry
	arena  []uint64 // the xids of sets and groups, and the answers of snapshots
	limit  int      // of the log
	room   int      // of the arena
	asking bool     // the last entry is questions to a snapshot, and may go on

	views   []view // where snapshots are put; a new one when it is full
	guards  []guard
	origins []origin
	fresh   []*origin // of the snapshots since the last Take; nil for guards that RetainSnapshot made
	made    uint64    // snapshots and guards
	before  uint64    // of these, at the last Take
	err     error     // the first answer that no history can hold
	_       [128]byte
}

var _ interface {
	core.Manager
	core.CommittedAllocator
	core.Retainer
	core.Pinner
	core.Pruner
	core.Recoverer
	core.Checkpointer
	core.KeyReserver
	core.GroupCommitter
} = (*Worker)(nil)

// called notes that an operation is about to be called. Whatever takes time
// comes before its stamp.
func (w *Worker) called(k history.Kind, x core.Xid) *entry {
	w.log = append(w.log, entry{kind: k, x: x})
	e := &w.log[len(w.log)-1]
	e.call = w.clock.now()
	if w.asking {
		// The answers of a snapshot do not depend on when they are given, so
		// questions have no stamps of their own: they were over by now.
		w.asking = false
		w.log[len(w.log)-2].ret = e.call
	}
	w.noted.Store(int64(len(w.log)))
	return e
}

// returned notes that it has. Nothing comes between that and the call.
func (w *Worker) returned(e *entry) { e.ret = w.clock.now() }

// broken notes an answer that no history can hold, as the contract has none such.
func (w *Worker) broken(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("worker %d: "+format, append([]any{w.id}, args...)...)
	}
}

// keep puts xids into the arena, for e.
func (w *Worker) keep(e *entry, xs []core.Xid) {
	e.at, e.n = uint32(len(w.arena)), uint32(len(xs))
	for _, x := range xs {
		w.arena = append(w.arena, uint64(x))
	}
}

// Number is the worker's in histories, from 0.
func (w *Worker) Number() int { return w.id }

// Recorded returns the manager itself, to see what it offers. What is called there
// is not recorded.
func (w *Worker) Recorded() core.Manager { return w.m }

// Full reports whether the worker should pause soon, so that its log can be
// taken: what it has reserved is nearly used up. It may finish what it is about;
// what goes beyond is kept too.
func (w *Worker) Full() bool { return len(w.log) >= w.limit || len(w.arena) >= w.room }

// Pause is called by the worker's goroutine before its log is taken, and before
// it ends.
func (w *Worker) Pause() {
	if w.asking {
		w.asking = false
		w.log[len(w.log)-1].ret = w.clock.now()
	}
}

// Begin implements [core.Manager].
func (w *Worker) Begin() core.Xid {
	e := w.called(history.Begin, core.None)
	x := w.m.Begin()
	w.returned(e)
	e.y = x
	return x
}

// AllocateCommitted implements [core.CommittedAllocator].
func (w *Worker) AllocateCommitted() core.Xid {
	e := w.called(history.AllocateCommitted, core.None)
	x := w.allocator.AllocateCommitted()
	w.returned(e)
	e.y = x
	return x
}

// Commit implements [core.Manager].
func (w *Worker) Commit(x core.Xid) error {
	e := w.called(history.Commit, x)
	err := w.m.Commit(x)
	w.returned(e)
	w.refused(e, err)
	return err
}

// Rollback implements [core.Manager].
func (w *Worker) Rollback(x core.Xid) error {
	e := w.called(history.Rollback, x)
	err := w.m.Rollback(x)
	w.returned(e)
	w.refused(e, err)
	return err
}

// CommitGroup implements [core.GroupCommitter].
func (w *Worker) CommitGroup(xs ...core.Xid) error {
	at := len(w.arena)
	for _, x := range xs {
		w.arena = append(w.arena, uint64(x))
	}
	e := w.called(history.CommitGroup, core.None)
	e.at, e.n = uint32(at), uint32(len(xs))
	err := w.groups.CommitGroup(xs...)
	w.returned(e)
	w.refused(e, err)
	return err
}

// Status implements [core.Manager].
func (w *Worker) Status(x core.Xid) core.Status {
	e := w.called(history.Status, x)
	s := w.m.Status(x)
	w.returned(e)
	e.y = core.Xid(s)
	return s
}

// OldestActive implements [core.Manager].
func (w *Worker) OldestActive() (core.Xid, bool) {
	e := w.called(history.OldestActive, core.None)
	x, ok := w.m.OldestActive()
	w.returned(e)
	e.y, e.ok = x, ok
	return x, ok
}

// PeekNext implements [core.Manager].
func (w *Worker) PeekNext() core.Xid {
	e := w.called(history.PeekNext, core.None)
	x := w.m.PeekNext()
	w.returned(e)
	e.y = x
	return x
}

// Ordered implements [core.Manager]. It is a constant, and not noted.
func (w *Worker) Ordered() bool { return w.m.Ordered() }

// OldestRequired implements [core.Retainer].
func (w *Worker) OldestRequired() (core.Xid, bool) {
	e := w.called(history.OldestRequired, core.None)
	x, ok := w.retainer.OldestRequired()
	w.returned(e)
	e.y, e.ok = x, ok
	return x, ok
}

// Pin implements [core.Pinner].
func (w *Worker) Pin(x core.Xid) error {
	e := w.called(history.Pin, x)
	err := w.pinner.Pin(x)
	w.returned(e)
	w.refused(e, err)
	return err
}

// Unpin implements [core.Pinner].
func (w *Worker) Unpin(x core.Xid) {
	e := w.called(history.Unpin, x)
	w.pinner.Unpin(x)
	w.returned(e)
}

// PinCount implements [core.Pinner].
func (w *Worker) PinCount(x core.Xid) int {
	e := w.called(history.PinCount, x)
	n := w.pinner.PinCount(x)
	w.returned(e)
	e.y = core.Xid(n)
	return n
}

// OldestPinned implements [core.Pinner].
func (w *Worker) OldestPinned() (core.Xid, bool) {
	e := w.called(history.OldestPinned, core.None)
	x, ok := w.pinner.OldestPinned()
	w.returned(e)
	e.y, e.ok = x, ok
	return x, ok
}

// PruneAborted implements [core.Pruner].
func (w *Worker) PruneAborted(below core.Xid) int {
	e := w.called(history.PruneAborted, below)
	n := w.pruner.PruneAborted(below)
	w.returned(e)
	e.y = core.Xid(n)
	return n
}

// ObserveCommitted implements [core.Recoverer].
func (w *Worker) ObserveCommitted(x core.Xid) error {
	e := w.called(history.ObserveCommitted, x)
	err := w.recoverer.ObserveCommitted(x)
	w.returned(e)
	w.refused(e, err)
	return err
}

// CheckpointExcluded implements [core.Checkpointer].
func (w *Worker) CheckpointExcluded() (next core.Xid, excluded core.XidSet) {
	e := w.called(history.CheckpointExcluded, core.None)
	next, excluded = w.checkpoints.CheckpointExcluded()
	w.returned(e)
	e.y = next
	w.keep(e, excluded)
	return next, excluded
}

// CheckpointProjection implements [core.Checkpointer].
func (w *Worker) CheckpointProjection() (next core.Xid, excluded core.XidSet, cutoff core.Xid) {
	e := w.called(history.CheckpointProjection, core.None)
	next, excluded, cutoff = w.checkpoints.CheckpointProjection()
	w.returned(e)
	e.y, e.z = next, cutoff
	w.keep(e, excluded)
	return next, excluded, cutoff
}

// ReservesUniqueKey implements [core.KeyReserver].
func (w *Worker) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	at := len(w.arena)
	for _, x := range own {
		w.arena = append(w.arena, uint64(x))
	}
	e := w.called(history.ReservesUniqueKey, xmin)
	e.z, e.at, e.n = xmax, uint32(at), uint32(len(own))
	ok := w.keys.ReservesUniqueKey(xmin, xmax, own)
	w.returned(e)
	e.ok = ok
	return ok
}
