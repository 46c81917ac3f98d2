package record

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"xidlab/core"
	"xidlab/core/spec"
	"xidlab/harness/history"
	"xidlab/harness/workload"
	"xidlab/variants/rwmutex"
)

var few = Limits{Ops: 1000, Xids: 1000}

// text is the history without its header.
func text(t *testing.T, h *history.History) string {
	t.Helper()
	if err := h.Validate(); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := h.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	_, ops, _ := strings.Cut(b.String(), "\n\n")
	return ops
}

func compare(t *testing.T, got, want string) {
	t.Helper()
	want = strings.TrimLeft(strings.ReplaceAll(want, "\t", ""), "\n")
	if got != want {
		t.Errorf("recorded\n%swant\n%s", got, want)
	}
}

// TestEveryOperation: what one worker does to the specification, stamped by a
// counter, is one text.
func TestEveryOperation(t *testing.T) {
	r := New(spec.New(), NewCounter(), 1, few)
	w := r.Worker(0)
	answers := func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	a, b := w.Begin(), w.Begin()
	s := w.Snapshot(a)
	c := w.AllocateCommitted()
	answers(w.Commit(a), nil)
	answers(w.Commit(a), core.ErrNotActive)
	answers(w.Rollback(99), core.ErrUnallocated)
	g := w.Retain(b)
	answers(w.Rollback(b), nil)
	w.Status(b)
	w.OldestActive()
	w.PeekNext()
	w.OldestRequired()
	answers(w.Pin(b), nil)
	answers(w.Pin(core.MaxXid+1), core.ErrXidRange)
	w.PinCount(b)
	w.OldestPinned()
	w.Unpin(b)
	w.PruneAborted(c)
	w.Release(g)
	w.Release(g)
	_, err := w.RetainSnapshot(s)
	answers(err, core.ErrTooOld)
	_, err = w.RetainSnapshot(core.Snapshot{})
	answers(err, core.ErrForeign)
	d, e := w.Begin(), w.Begin()
	older := w.Snapshot(core.None)
	g, err = w.RetainSnapshot(older)
	answers(err, nil)
	answers(w.CommitGroup(e, e), core.ErrDuplicate)
	answers(w.CommitGroup(e, a), core.ErrNotActive)
	w.CheckpointExcluded()
	w.CheckpointProjection()
	answers(w.CommitGroup(e, d), nil)
	w.ReservesUniqueKey(a, d, core.XidSet{d, e})
	answers(w.ObserveCommitted(e), nil)
	answers(w.ObserveCommitted(9), nil)
	answers(w.ObserveCommitted(core.MaxXid+1), core.ErrXidRange)
	f := w.Begin()
	answers(w.ObserveCommitted(f), core.ErrNotCommitted)
	w.Release(g)
	if !w.Ordered() {
		t.Error("the specification is ordered")
	}
	compare(t, text(t, r.Take()), `
	0 1 2 Begin() = 1
	0 3 4 Begin() = 2
	0 5 6 Snapshot(1) = s1 owner 1 bound 3
	0 7 8 AllocateCommitted() = 3
	0 9 10 Commit(1) = ok
	0 11 12 Commit(1) = not-active committed
	0 13 14 Rollback(99) = unallocated
	0 15 16 Retain(2) = s3 owner 2 bound 4
	0 17 18 Rollback(2) = ok
	0 19 20 Status(2) = aborted
	0 21 22 OldestActive() = 0 false
	0 23 24 PeekNext() = 4
	0 25 26 OldestRequired() = 4 false
	0 27 28 Pin(2) = ok
	0 29 30 Pin(1152921504606846976) = xid-range
	0 31 32 PinCount(2) = 1
	0 33 34 OldestPinned() = 2 true
	0 35 36 Unpin(2) = ok
	0 37 38 PruneAborted(3) = 0
	0 39 40 Release(s3) = true
	0 41 42 Release(s3) = false
	0 43 44 RetainSnapshot(s1) = too-old
	0 45 46 RetainSnapshot(foreign) = foreign
	0 47 48 Begin() = 4
	0 49 50 Begin() = 5
	0 51 52 Snapshot(0) = s5 bound 6
	0 53 54 RetainSnapshot(s5) = s7
	0 55 56 CommitGroup(5, 5) = duplicate 5
	0 57 58 CommitGroup(5, 1) = not-active 1 committed
	0 59 60 CheckpointExcluded() = 6 {4 5}
	0 61 62 CheckpointProjection() = 6 {4 5} 4
	0 63 64 CommitGroup(5, 4) = ok
	0 65 66 ReservesUniqueKey(1, 4, {4 5}) = false
	0 67 68 ObserveCommitted(5) = ok
	0 69 70 ObserveCommitted(9) = ok
	0 71 72 ObserveCommitted(1152921504606846976) = xid-range
	0 73 74 Begin() = 10
	0 75 76 ObserveCommitted(10) = not-committed active
	0 77 78 Release(s7) = true
	`)
}

// TestQuestions: what a snapshot answers while the operation that took it is at
// hand stands there; later answers, and those about its owner, stand alone.
func TestQuestions(t *testing.T) {
	r := New(spec.New(), NewCounter(), 2, few)
	w, other := r.Worker(0), r.Worker(1)
	a, b := w.Begin(), w.Begin()
	answers := func(s core.Snapshot, x core.Xid, want bool) {
		t.Helper()
		if in, err := s.Lookup(x); err != nil || in != want {
			t.Errorf("Lookup(%d) = %v, %v, want %v", x, in, err, want)
		}
	}
	if err := w.Commit(a); err != nil {
		t.Fatal(err)
	}
	s := w.Snapshot(b)
	answers(s, b, true) // its owner, until it rolls back
	answers(s, a, true)
	c := w.Begin()
	late := s.WithOwner(c)
	answers(late, c, true) // no history can say so
	answers(late, b, false)
	answers(late, a, true)
	if set, err := s.InProgress(); err != nil || len(set) != 1 {
		t.Errorf("in progress %v, %v", set, err)
	}
	if _, err := s.InProgress(); err != nil { // it says so once more
		t.Error(err)
	}
	if in, err := other.Lookup(s, a); !in || err != nil {
		t.Error(in, err)
	}
	w.Pause()
	other.Pause()
	compare(t, text(t, r.Take()), `
	0 1 2 Begin() = 1
	0 3 4 Begin() = 2
	0 5 6 Commit(1) = ok
	0 7 8 Snapshot(2) = s1 owner 2 bound 3 hides {2} has {1}
	0 9 10 Lookup(s1, 2) = true
	0 12 13 Begin() = 3
	`)
	if err := w.Rollback(b); err != nil {
		t.Fatal(err)
	}
	answers(s, a, true)
	answers(s, b, false)
	if _, err := other.InProgress(s); err != nil {
		t.Error(err)
	}
	compare(t, text(t, r.Take()), `
	0 21 22 Rollback(2) = ok
	0 23 24 Lookup(s1, 1) = true
	0 25 26 Lookup(s1, 2) = false
	`)
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

// TestGuardOfAnother: a guard is released, and its snapshot asked, by a worker
// that did not take it.
func TestGuardOfAnother(t *testing.T) {
	r := New(spec.New(), NewCounter(), 2, few)
	w, other := r.Worker(0), r.Worker(1)
	a := w.Begin()
	g := w.Retain(core.None)
	if other.Release(core.Guard{}) || !other.Release(g) || g.Release() {
		t.Error("a guard is not released exactly once")
	}
	if in, err := other.Lookup(g.Snapshot, a); in || err != nil {
		t.Error(in, err)
	}
	if _, err := other.Lookup(core.Snapshot{}, a); !errors.Is(err, core.ErrForeign) {
		t.Errorf("a snapshot of nobody: %v", err)
	}
	if _, err := other.InProgress(core.Snapshot{}); !errors.Is(err, core.ErrForeign) {
		t.Errorf("a snapshot of nobody: %v", err)
	}
	other.Pause()
	compare(t, text(t, r.Take()), `
	0 1 2 Begin() = 1
	0 3 4 Retain(0) = s1 bound 2 lacks {1}
	1 5 6 Release(s1) = true
	0 7 8 Release(s1) = false
	`)
}

// A strange manager answers what no contract knows, or not at all.
type strange struct {
	*spec.Manager
	enter, leave chan struct{}
}

func (s strange) Commit(x core.Xid) error {
	if s.enter != nil {
		close(s.enter)
		<-s.leave
	}
	return errors.New("it is Sunday")
}

// TestNeverReturned: a call that does not return is there, as the last of its
// worker, and so is one that panicked.
func TestNeverReturned(t *testing.T) {
	m := strange{spec.New(), make(chan struct{}), make(chan struct{})}
	r := New(m, NewCounter(), 2, few)
	x := r.Worker(0).Begin()
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.Worker(0).Commit(x) })
	<-m.enter
	func() {
		defer func() { _ = recover() }()
		r.Worker(1).AllocateCommitted()
		exhaust(r.Worker(1))
	}()
	compare(t, text(t, r.Take()), `
	0 1 2 Begin() = 1
	0 3 - Commit(1)
	1 4 5 AllocateCommitted() = 2
	1 6 7 ObserveCommitted(1152921504606846975) = ok
	1 8 - Begin()
	`)
	close(m.leave)
	wg.Wait()
}

func exhaust(w *Worker) {
	_ = w.ObserveCommitted(core.MaxXid)
	w.Begin()
}

// TestUnknownAnswers: what no history can hold is an error.
func TestUnknownAnswers(t *testing.T) {
	r := New(strange{Manager: spec.New()}, NewCounter(), 1, few)
	_ = r.Worker(0).Commit(r.Worker(0).Begin())
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "worker 0: Commit answers an error that it does not have: it is Sunday") {
		t.Errorf("got %v", err)
	}
}

// TestBounds: nothing is allocated while there is room, a worker says when there
// is none, and what goes beyond is kept.
func TestBounds(t *testing.T) {
	if BytesPerOp != 64 {
		t.Errorf("an operation takes %d bytes; the documentation says 64", BytesPerOp)
	}
	limits := Limits{Ops: 500, Xids: 100}
	if got := limits.Bytes(3); got != 4*(500*64+100*8) {
		t.Errorf("%d bytes", got)
	}
	r := New(calm{}, NewCounter(), 1, limits)
	w := r.Worker(0)
	if n := testing.AllocsPerRun(100, func() {
		x := w.Begin()
		_ = w.Commit(x)
		w.Status(x)
	}); n != 0 {
		t.Errorf("%v allocations for three operations", n)
	}
	if w.Full() {
		t.Error("full too early")
	}
	for range 300 {
		w.Begin()
	}
	if !w.Full() {
		t.Error("not full")
	}
	if h := r.Take(); len(h.Ops) != 3*101+300 { // AllocsPerRun warms up
		t.Errorf("%d operations", len(h.Ops))
	}
	if w.Full() || len(r.Take().Ops) != 0 {
		t.Error("not empty after Take")
	}
	for range 11 {
		w.CheckpointExcluded()
	}
	if !w.Full() {
		t.Error("not full of xids")
	}
}

// calm does nothing.
type calm struct{ *spec.Manager }

func (calm) Begin() core.Xid             { return 1 }
func (calm) Commit(core.Xid) error       { return nil }
func (calm) Status(core.Xid) core.Status { return core.Active }
func (calm) Ordered() bool               { return true }
func (calm) CheckpointExcluded() (core.Xid, core.XidSet) {
	return 11, core.XidSet{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
}

// TestCapabilities: what a load is given offers what the manager does.
func TestCapabilities(t *testing.T) {
	type groupless struct {
		core.Manager
		core.CommittedAllocator
		core.Retainer
		core.Pinner
		core.Pruner
		core.Recoverer
		core.Checkpointer
		core.KeyReserver
	}
	m := spec.New()
	for _, c := range []struct {
		m              core.Manager
		retain, groups bool
	}{
		{m, true, true},
		{groupless{m, m, m, m, m, m, m, m}, true, false},
		{struct{ core.Manager }{m}, false, false},
	} {
		r := New(c.m, NewCounter(), 2, few)
		for _, given := range []core.Manager{r.Manager(), workload.For(r.Manager(), 1)} {
			_, retain := given.(core.Retainer)
			_, groups := given.(core.GroupCommitter)
			if retain != c.retain || groups != c.groups {
				t.Errorf("%T is given as %T, with guards: %v, with groups: %v", c.m, given, retain, groups)
			}
			if _, ok := WorkerOf(given); !ok {
				t.Errorf("%T is not known as a worker's", given)
			}
		}
		workload.For(r.Manager(), 1).Begin()
		r.Manager().Begin()
		if ops := r.Take().Ops; len(ops) != 2 || ops[0].Worker != 1 || ops[1].Worker != 2 {
			t.Errorf("%T: recorded %v", c.m, ops)
		}
		if r.Worker(0).Recorded() != c.m {
			t.Error("another manager is recorded")
		}
	}
	if _, ok := WorkerOf(m); ok {
		t.Error("a manager is taken for a worker")
	}
}

// TestThreads: workers at once, stamped by either clock, windows in between. The
// race detector looks on.
func TestThreads(t *testing.T) {
	clocks := []*Clock{NewCounter()}
	if tsc, err := NewTSC(twoCPUs(t)); err == nil {
		clocks = append(clocks, tsc)
	}
	for _, clock := range clocks {
		const workers, windows, rounds = 4, 3, 200
		r := New(rwmutex.New(), clock, workers, Limits{rounds * 8, rounds * 8})
		for range windows {
			var wg sync.WaitGroup
			for i := range workers {
				wg.Go(func() {
					w := r.Worker(i)
					for range rounds {
						x := w.Begin()
						g := w.Retain(x)
						g.Includes(x)
						g.Includes(1)
						_ = w.Commit(x)
						g.Release()
					}
					w.Pause()
				})
			}
			wg.Wait()
			h := r.Take()
			if err := h.Validate(); err != nil {
				t.Fatal(err)
			}
			kinds := map[history.Kind]int{}
			for _, o := range h.Ops {
				kinds[o.Kind]++
				if o.Kind == history.Retain && len(o.Probes) == 0 && o.Other != 1 {
					t.Fatalf("no answers: %v", o.String())
				}
			}
			if n := workers * rounds; kinds[history.Begin] != n || kinds[history.Release] != n || kinds[history.Lookup] < n {
				t.Fatalf("%s: recorded %v", clock.Name(), kinds)
			}
			if (h.Clock == history.Nanoseconds) != (clock.ticks != nil) || (h.Skew > 0) != (clock.ticks != nil) {
				t.Errorf("header %+v", h.Header)
			}
		}
	}
}
