package record

import (
	"xidlab/core"
	"xidlab/harness/history"
)

// A life is when a transaction began and finished, as far as this history goes.
type life struct{ began, ended occasion }

// An occasion is an operation of a worker; the zero one never was.
type occasion struct {
	by        *Worker
	call, ret int64 // ticks; ret is 0 if it did not return
}

func (w *Worker) occasion(e *entry) occasion { return occasion{w, e.call, e.ret} }

// before reports whether a certainly was over before b was called.
func (t *taking) before(a, b occasion) bool {
	switch {
	case a.by == nil || b.by == nil || a.ret == 0:
		return false
	case a.by == b.by:
		return a.ret <= b.call
	}
	return a.ret+t.clock.widen < b.call-t.clock.widen
}

// findOwners finds out which of the new snapshots are owned by whom they were
// taken for: those for a transaction that was active all the while. A manager
// need not find out: to a snapshot that self does not own because it has finished,
// it is all the same.
func (t *taking) findOwners() {
	lives := t.lives()
	for _, w := range t.workers {
		for i := range w.log {
			e := &w.log[i]
			if e.kind != history.Snapshot && e.kind != history.Retain || e.ret == 0 {
				continue
			}
			from, at := t.origin(e.of), w.occasion(e)
			l := lives[e.x]
			if _, open := t.open[e.x]; open {
				l.began = occasion{w, at.call, at.call} // before
			}
			switch {
			case e.x == core.None || l.began.by == nil || t.before(l.ended, at) || t.before(at, l.began):
				from.owner = unowned
			case t.before(l.began, at) && (l.ended.by == nil || t.before(at, l.ended)):
				from.owner = owned
			}
		}
	}
	t.remember()
}

// lives returns when those transactions began and finished for which snapshots
// were taken. (None is not among them.)
func (t *taking) lives() map[core.Xid]life {
	lives := map[core.Xid]life{}
	each := func(do func(w *Worker, e *entry)) {
		for _, w := range t.workers {
			for i := range w.log {
				do(w, &w.log[i])
			}
		}
	}
	each(func(_ *Worker, e *entry) {
		if (e.kind == history.Snapshot || e.kind == history.Retain) && e.x != core.None {
			lives[e.x] = life{}
		}
	})
	note := func(x core.Xid, do func(*life)) {
		if l, ok := lives[x]; ok {
			do(&l)
			lives[x] = l
		}
	}
	each(func(w *Worker, e *entry) {
		if e.result != history.OK {
			return
		}
		end := func(l *life) {
			// Of several that did not return, or one that did, the earliest call
			// counts: it may have been active no longer.
			if o := w.occasion(e); l.ended.by == nil || o.call < l.ended.call {
				if l.ended.by != nil {
					o.ret = 0
				}
				l.ended = o
			}
		}
		switch e.kind {
		case history.Begin:
			note(e.y, func(l *life) { l.began = w.occasion(e) })
		case history.Commit, history.Rollback:
			note(e.x, end)
		case history.CommitGroup:
			for _, x := range w.arena[e.at : e.at+e.n] {
				note(core.Xid(x), end)
			}
		}
	})
	return lives
}

// remember keeps what is open for the next history.
func (t *taking) remember() {
	var ended []core.Xid
	for _, w := range t.workers {
		for i := range w.log {
			e := &w.log[i]
			switch {
			case e.ret == 0 || e.result != history.OK:
			case e.kind == history.Begin:
				t.open[e.y] = struct{}{}
			case e.kind == history.Commit || e.kind == history.Rollback:
				ended = append(ended, e.x)
			case e.kind == history.CommitGroup:
				for _, x := range w.arena[e.at : e.at+e.n] {
					ended = append(ended, core.Xid(x))
				}
			}
		}
	}
	for _, x := range ended {
		delete(t.open, x)
	}
}
