package record

import (
	"xidlab/core"
	"xidlab/harness/history"
)

// An origin is the operation that took a snapshot, as views of it remember it.
type origin struct {
	w     *Worker
	id    uint64
	self  core.Xid // for whom it was taken
	owner ownership
}

// An ownership says whether self owns a snapshot, as it does if it was active at
// the snapshot's instant. Take finds out.
type ownership uint8

const (
	unsure ownership = iota // it was just then finishing, or beginning
	owned
	unowned
)

// A view is a snapshot that notes what it is asked. Of one that was retained there
// are several: each guard has one of its own, of the same origin.
type view struct {
	w *Worker
	*origin
	s core.Snapshot // the manager's
	g *guard        // of a guard's snapshot
}

// A guard is a guard that notes its release.
type guard struct {
	w  *Worker
	id uint64 // that of its snapshot, if one call made both
	g  core.Guard
}

// slab is how many snapshots, or guards, are allocated at once.
const slab = 512

// idBits is the part of an id that counts those of a worker.
const idBits = 40

func split(id uint64) (worker, made uint64) { return id >> idBits, id & (1<<idBits - 1) }

func (w *Worker) newID() uint64 {
	w.made++
	return uint64(w.id)<<idBits | w.made
}

// wrap returns the snapshot to hand out for s. Its low bound is 1, so that it is
// the manager's snapshot that answers, even where that needs no more than a
// comparison.
func (w *Worker) wrap(from *origin, s core.Snapshot, g *guard) core.Snapshot {
	if len(w.views) == cap(w.views) {
		w.views = make([]view, 0, slab)
	}
	w.views = append(w.views, view{w, from, s, g})
	_, owner, _, high, _ := s.Parts()
	return core.NewSnapshot(&w.views[len(w.views)-1], owner, 1, high, 0)
}

// hold returns the guard to hand out for g.
func (w *Worker) hold(from *origin, id uint64, g core.Guard) core.Guard {
	if len(w.guards) == cap(w.guards) {
		w.guards = make([]guard, 0, slab)
	}
	w.guards = append(w.guards, guard{w, id, g})
	own := &w.guards[len(w.guards)-1]
	return core.NewGuard(w.wrap(from, g.Snapshot, own), own, 0)
}

// taken notes what s is.
func (w *Worker) taken(e *entry, s core.Snapshot) *origin {
	e.of = w.newID()
	e.y = s.Bound()
	if len(w.origins) == cap(w.origins) {
		w.origins = make([]origin, 0, slab)
	}
	w.origins = append(w.origins, origin{w: w, id: e.of, self: e.x})
	from := &w.origins[len(w.origins)-1]
	w.fresh = append(w.fresh, from)
	return from
}

// Snapshot implements [core.Manager].
func (w *Worker) Snapshot(self core.Xid) core.Snapshot {
	e := w.called(history.Snapshot, self)
	s := w.m.Snapshot(self)
	w.returned(e)
	return w.wrap(w.taken(e, s), s, nil)
}

// Retain implements [core.Retainer].
func (w *Worker) Retain(self core.Xid) core.Guard {
	e := w.called(history.Retain, self)
	g := w.retainer.Retain(self)
	w.returned(e)
	return w.hold(w.taken(e, g.Snapshot), e.of, g)
}

// RetainSnapshot implements [core.Retainer]. A snapshot that no worker of the
// recorder has taken is passed on as it is.
func (w *Worker) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	v, inner := inside(s)
	e := w.called(history.RetainSnapshot, core.None)
	from := &origin{}
	if v != nil {
		from = v.origin
	}
	e.of = from.id
	g, err := w.retainer.RetainSnapshot(inner)
	w.returned(e)
	w.refused(e, err)
	if err != nil {
		return core.Guard{}, err
	}
	id := w.newID()
	w.fresh = append(w.fresh, nil) // a guard
	e.y = core.Xid(id)
	return w.hold(from, id, g), nil
}

// inside returns the manager's snapshot in s, as s has it, and what notes its
// answers; nil if no worker of the recorder took it.
func inside(s core.Snapshot) (*view, core.Snapshot) {
	inner, owner, _, _, _ := s.Parts()
	if v, ok := inner.(*view); ok {
		return v, v.s.WithOwner(owner)
	}
	return nil, s
}

// Release implements [core.Holder].
func (g *guard) Release(uint64) bool { return g.w.release(g) }

// Release releases a guard that any worker has taken.
func (w *Worker) Release(g core.Guard) bool {
	v, _, _, _, _ := g.Parts()
	if v, ok := v.(*view); ok && v.g != nil {
		return w.release(v.g)
	}
	return g.Release() // not recorded, as it was taken
}

func (w *Worker) release(g *guard) bool {
	e := w.called(history.Release, core.None)
	e.of = g.id
	ok := g.g.Release()
	w.returned(e)
	e.ok = ok
	return ok
}

// Lookup implements [core.View]. It is not asked about an owner, so if x was one,
// another has taken its place.
func (v *view) Lookup(x core.Xid, _ uint64) (bool, error) {
	if _, was, _, _, _ := v.s.Parts(); x == was {
		return v.w.ask(v, v.s.WithOwner(core.None), x)
	}
	return v.w.ask(v, v.s, x)
}

// RolledBack implements [core.View]: x is the owner, perhaps a new one.
func (v *view) RolledBack(x core.Xid, _ uint64) (bool, error) {
	in, err := v.w.ask(v, v.s.WithOwner(x), x)
	return !in, err
}

// InProgress implements [core.View].
func (v *view) InProgress(core.Xid, core.Xid, uint64) (core.XidSet, error) {
	return v.w.inProgress(v)
}

// Lookup asks a snapshot that any worker has taken. Of others, the answer is not
// recorded.
func (w *Worker) Lookup(s core.Snapshot, x core.Xid) (bool, error) {
	v, inner := inside(s)
	if v == nil {
		return s.Lookup(x)
	}
	return w.ask(v, inner, x)
}

// InProgress asks a snapshot that any worker has taken. Of others, the answer is
// not recorded. A guard must not have been released.
func (w *Worker) InProgress(s core.Snapshot) (core.XidSet, error) {
	v, _ := inside(s)
	if v == nil {
		return s.InProgress()
	}
	return w.inProgress(v)
}

// ask asks s, which is the snapshot of v, perhaps with another owner.
//
// What it answers about others than its owner does not depend on when it is
// asked. So as long as the operation that took it has not been given away by
// Take, to which the answers will be added, questions have no stamps of their
// own, and any number of them in a row is one entry.
//
// What a history cannot say is not noted: that a snapshot was given another
// owner, and, if it is not certain whether self owns it, what it says about self.
func (w *Worker) ask(v *view, s core.Snapshot, x core.Xid) (bool, error) {
	_, owner, _, _, _ := s.Parts()
	_, was, _, _, _ := v.s.Parts()
	_, made := split(v.id)
	fresh := made > v.origin.w.before
	switch {
	case x == owner || x == was || x == v.self:
		if owner != was || !fresh && v.owner == unsure && x == v.self {
			return s.Lookup(x)
		}
		return w.askAlone(v, s, x)
	case !fresh:
		return w.askAlone(v, s, x)
	}
	last := len(w.log) - 1
	if !w.asking || w.log[last].of != v.id {
		e := w.called(history.Lookup, x)
		e.of, e.at = v.id, uint32(len(w.arena))
		w.asking = true
		last = len(w.log) - 1
	}
	e := &w.log[last]
	e.x = x // while it is asked
	w.noted.Store(int64(len(w.log)))
	in, err := s.Lookup(x)
	if err != nil { // it ends the entry, as the only answer that has a time
		w.asking = false
		w.returned(e)
		w.declined(e, err)
		return in, err
	}
	a := uint64(x) << 1
	if in {
		a |= 1
	}
	w.arena = append(w.arena, a)
	e.n++
	return in, nil
}

func (w *Worker) askAlone(v *view, s core.Snapshot, x core.Xid) (bool, error) {
	e := w.called(history.Lookup, x)
	e.of = v.id
	in, err := s.Lookup(x)
	w.returned(e)
	e.ok, e.alone = in, true
	if err != nil {
		w.declined(e, err)
	}
	return in, err
}

// declined notes that a snapshot did not answer about e.x.
func (w *Worker) declined(e *entry, err error) {
	switch e.result = resultOf(err); e.result {
	case history.TooOld, history.Foreign:
	default:
		w.broken("Lookup(%d) answers an error that it does not have: %w", e.x, err)
		e.result = history.Foreign
	}
}

// inProgress asks what the snapshot calls in progress, which never changes.
func (w *Worker) inProgress(v *view) (core.XidSet, error) {
	e := w.called(inProgress, core.None)
	e.of = v.id
	set, err := v.s.InProgress()
	w.returned(e)
	e.y = v.self
	if err != nil {
		e.result = history.TooOld
		if v.g != nil || resultOf(err) != history.TooOld {
			w.broken("InProgress of a snapshot (guarded: %v) answers: %w", v.g != nil, err)
		}
		return set, err
	}
	w.keep(e, set)
	return set, nil
}
