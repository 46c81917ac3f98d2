package record

import (
	"cmp"
	"math"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// Take returns what has been recorded since the last Take, and empties the logs.
// All workers must have paused, and what they do next must come after. (The one
// for whoever prepares and finishes is the caller's.)
//
// A worker that does not come back cannot pause. The operation that it is in is
// then the last of its own, and has not returned: such a recording is at its end.
func (r *Recorder) Take() *history.History {
	r.workers[len(r.workers)-1].Pause()
	h := &history.History{Header: r.header()}
	n, xids := 0, 0
	for _, w := range r.workers {
		w.noted.Load()
		n, xids = n+len(w.log), xids+len(w.arena)
	}
	t := taking{Recorder: r, ops: make([]history.Op, 0, n), xids: make([]core.Xid, 0, xids), makers: make([][]int, len(r.workers))}
	t.findOwners()
	for asked := range 2 { // of a snapshot that another worker took
		for _, w := range r.workers {
			for i := range w.log {
				if e := &w.log[i]; (e.kind == history.Lookup || e.kind == inProgress) == (asked == 1) {
					t.entry(w, e)
				}
			}
		}
	}
	for _, w := range r.workers {
		w.log, w.arena, w.fresh, w.before = w.log[:0], w.arena[:0], w.fresh[:0], w.made
	}
	h.Ops = t.sorted()
	return h
}

// Err returns the first answer of the manager that no history can hold, because
// the contract knows no such answer: an error of a kind that an operation does
// not have. It is to be asked as Take is.
func (r *Recorder) Err() error {
	for _, w := range r.workers {
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

// sorted returns the operations by their calls. A worker calls one after the
// other, so that its own keep their order.
func (t *taking) sorted() []history.Op {
	for i := range t.ops {
		if p := t.ops[i].Probes; len(p) > 1 {
			slices.SortFunc(p, func(a, b history.Probe) int {
				return cmp.Or(cmp.Compare(a.Xid, b.Xid), cmp.Compare(yes(a), yes(b)))
			})
			t.ops[i].Probes = slices.Compact(p)
		}
	}
	order := make([]int32, len(t.ops))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.ops[a].Call, t.ops[b].Call), cmp.Compare(a, b))
	})
	ops := make([]history.Op, len(t.ops))
	for i, at := range order {
		ops[i] = t.ops[at]
	}
	return ops
}

func yes(p history.Probe) int {
	if p.Yes {
		return 1
	}
	return 0
}

func (r *Recorder) header() history.Header {
	h := history.Header{Ordered: r.m.Ordered()}
	if r.clock.ticks != nil {
		h.Clock = history.Nanoseconds
		h.Skew = int64(math.Ceil(r.clock.Widening())) + 1 // stamps are rounded
	}
	return h
}

// A taking turns entries into operations.
type taking struct {
	*Recorder
	ops  []history.Op
	xids []core.Xid // of sets, all together
	// makers are where in ops snapshots and guards are taken, by worker, in
	// the order of their ids from the first of this history on.
	makers [][]int
}

func (t *taking) entry(w *Worker, e *entry) {
	o := history.Op{Worker: int32(w.id), Kind: e.kind, Result: e.result}
	o.Call, o.Return = t.clock.stamps(e.call, e.ret)
	args := w.arena[e.at : e.at+e.n]
	if e.result != history.OK {
		o.Status = core.Status(e.y)
	}
	switch e.kind {
	case history.Begin, history.AllocateCommitted:
		o.Xid = e.y
	case history.Commit, history.Rollback, history.ObserveCommitted, history.Pin, history.Unpin:
		o.Xid = e.x
	case history.CommitGroup:
		o.Set = t.set(args)
		if e.result != history.OK {
			o.Other = e.z
		}
	case history.Snapshot, history.Retain:
		o.Xid, o.Next, o.Snap = e.x, e.y, t.number(e.of)
		if !o.IsPending() {
			switch t.origin(e.of).owner {
			case owned:
				o.Other = e.x
			case unsure:
				o.Xid = core.None // as if for nobody; see ask
			}
		}
		t.makers[w.id] = append(t.makers[w.id], len(t.ops))
	case history.RetainSnapshot:
		o.Of = t.number(e.of)
		if o.Granted() {
			o.Snap = t.number(uint64(e.y))
			t.makers[w.id] = append(t.makers[w.id], len(t.ops))
		}
	case history.Release:
		o.Of, o.Yes = t.number(e.of), e.ok
	case history.Status:
		o.Xid, o.Status = e.x, core.Status(e.y)
	case history.OldestActive, history.OldestRequired, history.OldestPinned:
		o.Xid, o.Yes = e.y, e.ok
	case history.PeekNext:
		o.Next = e.y
	case history.PinCount, history.PruneAborted:
		o.Xid, o.Count = e.x, int(e.y)
	case history.CheckpointExcluded:
		o.Next, o.Set = e.y, t.set(args)
	case history.CheckpointProjection:
		o.Next, o.Set, o.Xid = e.y, t.set(args), e.z
	case history.ReservesUniqueKey:
		o.Xid, o.Other, o.Set, o.Yes = e.x, e.z, t.set(args), e.ok
	case history.Lookup:
		t.questions(o, e, args)
		return
	case inProgress:
		t.inProgress(o, e, args)
		return
	}
	t.ops = append(t.ops, o)
}

// stamps widens an operation, and says it in nanoseconds where ticks are of the
// time stamp counter.
func (c *Clock) stamps(call, ret int64) (int64, int64) {
	pending := ret == 0
	if c.ticks != nil {
		call = int64(math.Floor(c.ticks.Nanoseconds(call - c.widen - c.origin)))
		ret = int64(math.Ceil(c.ticks.Nanoseconds(ret + c.widen - c.origin)))
	}
	if pending {
		ret = history.Pending
	}
	return call, ret
}

// number returns the number in histories of a snapshot or guard: the first ones
// of all workers, then the second ones. 0 is one of another manager.
func (t *taking) number(id uint64) uint64 {
	if id == 0 {
		return 0
	}
	worker, made := split(id)
	return (made-1)*uint64(len(t.workers)) + worker + 1
}

func (t *taking) set(xs []uint64) []core.Xid {
	from := len(t.xids)
	for _, x := range xs {
		t.xids = append(t.xids, core.Xid(x))
	}
	return t.xids[from:len(t.xids):len(t.xids)]
}

// questions adds what a snapshot was asked: to the operation that took it, all
// that it answered before it did not come back, or was refused (see ask).
func (t *taking) questions(o history.Op, e *entry, asked []uint64) {
	for _, a := range asked {
		maker := t.maker(e.of)
		maker.Probes = append(maker.Probes, history.Probe{Xid: core.Xid(a >> 1), Yes: a&1 == 1})
	}
	if from := t.origin(e.of); from != nil && from.owner == unsure && from.self == e.x {
		return // see ask
	}
	if e.alone || o.IsPending() || o.Result != history.OK {
		o.Xid, o.Of, o.Yes = e.x, t.number(e.of), e.ok
		t.ops = append(t.ops, o)
	}
}

// inProgress adds what a snapshot called in progress: everything that it hid. If
// the operation that took it is at hand and does not have that yet, it is put
// there. Otherwise one of these xids has to do, as one that is not included.
// (Refusals are left out; Lookup has them too.)
func (t *taking) inProgress(o history.Op, e *entry, named []uint64) {
	if e.result != history.OK || e.ret == 0 {
		return
	}
	if maker := t.maker(e.of); maker != nil && !maker.Full {
		maker.Full, maker.Set = true, t.set(named)
		return
	}
	for _, x := range named {
		if core.Xid(x) != e.y {
			o.Kind, o.Of, o.Xid = history.Lookup, t.number(e.of), core.Xid(x)
			t.ops = append(t.ops, o)
			return
		}
	}
}

// origin returns the origin of a snapshot if that is in this history.
func (t *taking) origin(id uint64) *origin {
	worker, made := split(id)
	if at := int(made - t.workers[worker].before - 1); id != 0 && at >= 0 {
		return t.workers[worker].fresh[at]
	}
	return nil
}

// maker returns the operation that took the snapshot, if it is in this history.
func (t *taking) maker(id uint64) *history.Op {
	if id == 0 {
		return nil
	}
	worker, made := split(id)
	at := int(made - t.workers[worker].before - 1)
	if at < 0 || at >= len(t.makers[worker]) {
		return nil
	}
	return &t.ops[t.makers[worker][at]]
}
