package coretest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"xidlab/core"
)

// A runner is a thread that shares nothing with the others but the manager, so
// that it is fast and hides no data race from the race detector. It checks
// what one thread can know.
type runner struct {
	m     core.Manager
	have  capabilities
	ops   int
	wrong string
}

// threads lets n runners repeat body, times in all for each, on one manager
// after another: on one alone, what rolls back would pile up.
func (t *trial) threads(n, times int, body func(r *runner, i int)) {
	const timesOfOne = 50
	for ; times > 0 && !t.broken; times -= timesOfOne {
		t.m = t.open()
		t.threadsOn(n, min(times, timesOfOne), body)
	}
}

func (t *trial) threadsOn(n, times int, body func(r *runner, i int)) {
	var wg sync.WaitGroup
	var stopped atomic.Bool
	runners := make([]*runner, n)
	for i := range runners {
		r := &runner{m: t.m, have: t.have}
		runners[i] = r
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					r.wrong = fmt.Sprintf("panic: %v", p)
				}
				if r.wrong != "" {
					stopped.Store(true)
				}
			}()
			for j := 0; j < times && r.wrong == "" && !stopped.Load(); j++ {
				body(r, j)
			}
		})
	}
	wg.Wait()
	for i, r := range runners {
		t.ops += r.ops
		if r.wrong != "" {
			t.broken = true
			t.Errorf("thread %d: %s", i+1, r.wrong)
		}
	}
}

func (r *runner) claim(holds bool, format string, args ...any) {
	r.ops++
	if !holds && r.wrong == "" {
		r.wrong = fmt.Sprintf(format, args...)
	}
}

// lookup claims what an unguarded snapshot answers. While this thread stood still
// the others may have made it too old; what it answers then is for the layers of
// one thread to check.
func (r *runner) lookup(s core.Snapshot, x core.Xid, want bool, what string) {
	got, err := s.Lookup(x)
	r.claim(errors.Is(err, core.ErrTooOld) || err == nil && got == want, "%s: Lookup(%s) = %v, %v, want %v", what, name(x), got, err, want)
}

// guarded claims what a guard answers.
func (r *runner) guarded(g core.Guard, x core.Xid, want bool, what string) {
	got, err := g.Lookup(x)
	r.claim(err == nil && got == want, "%s: Lookup(%s) = %v, %v, want %v", what, name(x), got, err, want)
}

// freeRunning checks, thread by thread: its own commits are in its later
// snapshots, what it begins later is not in its earlier ones, what it rolled
// back is in none, its guards hold the horizon, its finishes win.
func freeRunning(t *trial) {
	stop := perturb(99)
	defer stop()
	t.threads(4, t.times(3000), func(r *runner, i int) {
		m := r.m
		x := m.Begin()
		sx := m.Snapshot(x)
		r.claim(m.Status(x) == core.Active, "the own xid %s is %v, want active", name(x), m.Status(x))
		if oldest, ok := m.OldestActive(); !ok || oldest > x {
			r.claim(false, "OldestActive() = %s, %v, while the own xid %s is active", name(oldest), ok, name(x))
		}
		y := m.Begin()
		r.lookup(sx, x, true, "a snapshot and its owner")
		r.lookup(sx, y, false, "a snapshot and an xid begun later")
		r.claim(m.Commit(x) == nil, "Commit of the own xid %s fails", name(x))
		s := m.Snapshot(core.None)
		r.lookup(s, x, true, "a snapshot and an xid committed before")
		r.lookup(s, y, false, "a snapshot and an active xid")
		r.claim(m.Commit(x) != nil && m.Rollback(x) != nil, "a second finish of %s succeeds", name(x))
		z := core.AllocateCommitted(m)
		r.lookup(s, z, false, "a snapshot and an xid born later")
		r.lookup(sx, z, false, "a snapshot and an xid born later")
		r.lookup(m.Snapshot(y), z, true, "a snapshot and an xid born before")
		if r.have.all(retains) {
			g := m.(core.Retainer).Retain(y)
			w := m.Begin()
			r.claim(m.Commit(w) == nil, "Commit of the own xid %s fails", name(w))
			h, _ := m.(core.Retainer).OldestRequired()
			r.claim(h <= y, "OldestRequired() = %s, above the active xid %s", name(h), name(y))
			r.claim(h <= w, "OldestRequired() = %s, above %s, which a live guard hides", name(h), name(w))
			r.guarded(g, w, false, "a guard and an xid begun later")
			r.claim(g.Release() && !g.Release(), "a guard is not released exactly once")
		}
		if r.have.all(pins) {
			p := m.(core.Pinner)
			r.claim(p.Pin(y) == nil && p.PinCount(y) == 1, "Pin(%s) does not count one", name(y))
			oldest, ok := p.OldestPinned()
			r.claim(ok && oldest <= y, "OldestPinned() = %s, %v, while %s is pinned", name(oldest), ok, name(y))
			p.Unpin(y)
			r.claim(p.PinCount(y) == 0, "Unpin(%s) leaves a count", name(y))
		}
		if r.have.all(checkpoints) && i%8 == 0 {
			next, set := m.(core.Checkpointer).CheckpointExcluded()
			r.claim(next > y && set.Has(y) && !set.Has(x), "CheckpointExcluded() = %s, %s: %s is active, %s committed", name(next), nameAll(set), name(y), name(x))
		}
		r.claim(m.Rollback(y) == nil, "Rollback of the own xid %s fails", name(y))
		r.lookup(m.Snapshot(core.None), y, false, "a snapshot and an xid rolled back")
		r.lookup(s, y, false, "an old snapshot and an xid rolled back")
		r.claim(core.IsAborted(m, y), "the own xid %s rolled back and is %v", name(y), m.Status(y))
	})
}

// pruning lets threads roll back and hold guards while others prune.
func pruning(t *trial) {
	stop := perturb(98)
	defer stop()
	t.threads(4, t.times(1500), func(r *runner, i int) {
		m := r.m
		before := m.Begin()
		r.claim(m.Rollback(before) == nil, "Rollback of the own xid %s fails", name(before))
		x, y := m.Begin(), m.Begin()
		g := m.(core.Retainer).Retain(core.None)
		was, err := g.Lookup(before) // true if another thread's prune came first
		r.claim(err == nil, "a live guard's Lookup(%s) answers %v", name(before), err)
		r.claim(m.Rollback(x) == nil, "Rollback of the own xid %s fails", name(x))
		r.claim(m.Commit(y) == nil, "Commit of the own xid %s fails", name(y))
		m.(core.Pruner).PruneAborted(m.PeekNext())
		r.claim(core.IsAborted(m, x), "xid %s rolled back, a guard captured before it lives, and it is %v", name(x), m.Status(x))
		r.guarded(g, x, false, "a live guard and an xid that rolled back")
		r.guarded(g, y, false, "a live guard and an xid that committed later")
		r.guarded(g, before, was, "a live guard that was asked before")
		r.claim(g.Release(), "Release of a live guard reports false")
	})
}
