package coretest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"xidlab/core"
)

// A trial is one run of a check: a manager, and a diary of what was done to
// it, so that a failure reads as a sentence. Its methods are operations of the
// manager whose outcome is not in doubt, and claims about its answers; a claim
// that does not hold ends the check. One goroutine uses it.
type trial struct {
	reporter
	open  func() core.Manager // another manager of the same kind
	short bool

	m     core.Manager
	have  capabilities
	diary []string
	has   map[core.Xid]bool // what was handed out
	ops   int
	names int // of snapshots

	broken bool // a thread has objected
}

func newTrial(r reporter, open func() core.Manager, short bool) *trial {
	m := open()
	return &trial{reporter: r, open: open, short: short, m: m, have: capabilitiesOf(m), has: map[core.Xid]bool{}}
}

// times returns n, or a tenth of it in a short run.
func (t *trial) times(n int) int {
	if t.short {
		return max(1, n/10)
	}
	return n
}

// say enters an operation into the diary.
func (t *trial) say(format string, args ...any) {
	t.ops++
	t.diary = append(t.diary, fmt.Sprintf(format, args...))
}

// fail ends the check with the end of the diary and a sentence.
func (t *trial) fail(format string, args ...any) {
	t.Helper()
	const most = 40
	diary := t.diary
	if len(diary) > most {
		diary = append([]string{fmt.Sprintf("(%d operations) …", len(diary)-most)}, diary[len(diary)-most:]...)
	}
	t.Fatalf("%s: %s", strings.Join(diary, "; "), fmt.Sprintf(format, args...))
}

// forget empties the diary, after a part that worked.
func (t *trial) forget() { t.diary = nil }

// A snap is a snapshot with a name for the diary.
type snap struct {
	core.Snapshot
	name string
}

func (t *trial) named(s core.Snapshot) snap {
	t.names++
	return snap{s, fmt.Sprintf("s%d", t.names)}
}

func name(x core.Xid) string {
	switch {
	case x == core.None:
		return "None"
	case x > core.MaxXid:
		return fmt.Sprintf("MaxXid+%d", uint64(x-core.MaxXid))
	case x > core.MaxXid-1000:
		return fmt.Sprintf("MaxXid-%d", uint64(core.MaxXid-x))
	}
	return fmt.Sprint(uint64(x))
}

func nameAll(xs []core.Xid) string {
	var names []string
	for _, x := range xs {
		names = append(names, name(x))
	}
	return "{" + strings.Join(names, ", ") + "}"
}

func (t *trial) begin() core.Xid {
	x := t.m.Begin()
	t.has[x] = true
	t.say("Begin() = %s", name(x))
	return x
}

func (t *trial) commit(x core.Xid) {
	t.Helper()
	t.finish("Commit", x, t.m.Commit(x))
}

func (t *trial) rollback(x core.Xid) {
	t.Helper()
	t.finish("Rollback", x, t.m.Rollback(x))
}

func (t *trial) finish(op string, x core.Xid, err error) {
	t.Helper()
	t.say("%s(%s)", op, name(x))
	if err != nil {
		t.fail("it answers %q, want nil", err)
	}
}

// refused claims that err, the answer of an operation on x, is an XidError of
// the given kind that names x and the status.
func (t *trial) refused(call string, err error, x core.Xid, status core.Status, kind error) {
	t.Helper()
	t.say("%s", call)
	if complaint := notXidError(err, x, status, kind); complaint != "" {
		t.fail("%s", complaint)
	}
}

// notXidError says how err differs from an XidError of the given kind, or "".
func notXidError(err error, x core.Xid, status core.Status, kind error) string {
	var e *core.XidError
	switch {
	case err == nil:
		return fmt.Sprintf("it succeeds, want an error: xid %s is %v", name(x), kind)
	case !errors.Is(err, kind):
		return fmt.Sprintf("it answers %q, want %q", err, kind)
	case !errors.As(err, &e):
		return fmt.Sprintf("it answers %q, want a *core.XidError", err)
	case e.Xid != x || e.Status != status:
		return fmt.Sprintf("its error names xid %s, which is %v, want xid %s, which is %v", name(e.Xid), e.Status, name(x), status)
	case e.Op == "":
		return fmt.Sprintf("its error %q does not name the operation", err)
	}
	return ""
}

func (t *trial) snapshot(self core.Xid) snap {
	s := t.named(t.m.Snapshot(self))
	t.say("%s = Snapshot(%s)", s.name, name(self))
	return s
}

func (t *trial) withOwner(s snap, x core.Xid) snap {
	o := t.named(s.WithOwner(x))
	t.say("%s = %s.WithOwner(%s)", o.name, s.name, name(x))
	return o
}

// includes claims that s includes x.
func (t *trial) includes(s snap, x core.Xid) { t.Helper(); t.lookup(s, x, true) }

// hides claims that s does not include x.
func (t *trial) hides(s snap, x core.Xid) { t.Helper(); t.lookup(s, x, false) }

func (t *trial) lookup(s snap, x core.Xid, want bool) {
	t.Helper()
	t.ops++
	got, err := s.Lookup(x)
	if err != nil {
		t.fail("%s.Lookup(%s) answers %q, want %v", s.name, name(x), err, want)
	}
	if got != want {
		t.fail("%s includes %s: %v, want %v", s.name, name(x), got, want)
	}
	if now := s.Includes(x); now != got {
		t.fail("%s.Lookup(%s) is %v, but Includes is %v", s.name, name(x), got, now)
	}
}

// inProgress claims that s names exactly want, and, if the manager is not
// ordered, perhaps what it had set aside.
func (t *trial) inProgress(s snap, want ...core.Xid) {
	t.Helper()
	t.ops++
	got, err := s.InProgress()
	if err != nil {
		t.fail("%s.InProgress() answers %q", s.name, err)
	}
	if !slices.Equal(t.known(got), core.NewXidSet(want...)) {
		t.fail("%s.InProgress() = %s, want %s", s.name, nameAll(got), nameAll(want))
	}
}

// known returns set without what a manager that is not ordered has set aside.
func (t *trial) known(set core.XidSet) core.XidSet {
	if t.m.Ordered() {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), func(x core.Xid) bool { return !t.has[x] })
}

func (t *trial) is(x core.Xid, want core.Status) {
	t.Helper()
	t.ops++
	if got := t.m.Status(x); got != want {
		t.fail("Status(%s) is %v, want %v", name(x), got, want)
	}
	if core.IsActive(t.m, x) != (want == core.Active) || core.IsAborted(t.m, x) != (want == core.Aborted) {
		t.fail("IsActive(%s) or IsAborted(%[1]s) contradicts its status, %v", name(x), want)
	}
}

// oldestActive claims that x is the oldest active xid; None: there is none.
func (t *trial) oldestActive(x core.Xid) {
	t.Helper()
	t.ops++
	if got, ok := t.m.OldestActive(); ok != (x != core.None) || ok && got != x {
		t.fail("OldestActive() = %s, %v, want %s", name(got), ok, name(x))
	}
}

// allocate returns a born-committed xid, and claims that it is committed.
func (t *trial) allocate() core.Xid {
	t.Helper()
	x := core.AllocateCommitted(t.m)
	t.has[x] = true
	t.say("AllocateCommitted() = %s", name(x))
	t.is(x, core.Committed)
	return x
}

func (t *trial) observe(x core.Xid) {
	t.Helper()
	t.finish("ObserveCommitted", x, t.m.(core.Recoverer).ObserveCommitted(x))
}

func (t *trial) group(xs ...core.Xid) {
	t.Helper()
	err := t.m.(core.GroupCommitter).CommitGroup(xs...)
	t.say("CommitGroup%s", nameAll(xs))
	if err != nil {
		t.fail("it answers %q, want nil", err)
	}
}

// A guard is a guard with a name for the diary.
type guard struct {
	core.Guard
	name string
}

func (g guard) snap() snap { return snap{g.Snapshot, g.name} }

func (t *trial) retain(self core.Xid) guard {
	g := guard{t.m.(core.Retainer).Retain(self), ""}
	g.name = t.named(g.Snapshot).name
	t.say("%s = Retain(%s)", g.name, name(self))
	return g
}

func (t *trial) retainSnapshot(s snap) guard {
	t.Helper()
	g, err := t.m.(core.Retainer).RetainSnapshot(s.Snapshot)
	n := t.named(g.Snapshot).name
	t.say("%s = RetainSnapshot(%s)", n, s.name)
	if err != nil {
		t.fail("it answers %q, want nil", err)
	}
	return guard{g, n}
}

// tooOld claims that s can no longer be retained.
func (t *trial) tooOld(s snap) {
	t.Helper()
	g, err := t.m.(core.Retainer).RetainSnapshot(s.Snapshot)
	t.say("RetainSnapshot(%s)", s.name)
	if !errors.Is(err, core.ErrTooOld) {
		t.fail("it answers %v, want %q", err, core.ErrTooOld)
	}
	if g.Release() {
		t.fail("it refuses, but the guard that it returned is released with true")
	}
}

// release claims that g ends now (want) or had ended before.
func (t *trial) release(g guard, want bool) {
	t.Helper()
	got := g.Release()
	t.say("%s.Release() = %v", g.name, got)
	if got != want {
		t.fail("want %v", want)
	}
}

// required claims that x is the oldest xid required; None: nothing is.
func (t *trial) required(x core.Xid) {
	t.Helper()
	got, ok := t.m.(core.Retainer).OldestRequired()
	t.say("OldestRequired() = %s, %v", name(got), ok)
	switch next := t.m.PeekNext(); {
	case x == core.None && (ok || got != next):
		t.fail("want PeekNext, %s, and false", name(next))
	case x != core.None && (!ok || got != x):
		t.fail("want %s, true", name(x))
	}
}

func (t *trial) pin(x core.Xid) {
	t.Helper()
	t.finish("Pin", x, t.m.(core.Pinner).Pin(x))
}

func (t *trial) unpin(x core.Xid) {
	t.say("Unpin(%s)", name(x))
	t.m.(core.Pinner).Unpin(x)
}

// pinned claims that x has count references.
func (t *trial) pinned(x core.Xid, count int) {
	t.Helper()
	p := t.m.(core.Pinner)
	if got := p.PinCount(x); got != count || core.IsPinned(p, x) != (count > 0) {
		t.fail("PinCount(%s) = %d, want %d", name(x), got, count)
	}
}

func (t *trial) prune(below core.Xid, want int) {
	t.Helper()
	got := t.m.(core.Pruner).PruneAborted(below)
	t.say("PruneAborted(%s) = %d", name(below), got)
	if got != want {
		t.fail("want %d", want)
	}
}

// excluded claims that both checkpoint methods leave out exactly want, and
// what the manager has set aside.
func (t *trial) excluded(want ...core.Xid) {
	t.Helper()
	c := t.m.(core.Checkpointer)
	next, got := c.CheckpointExcluded()
	t.say("CheckpointExcluded() = %s, %s", name(next), nameAll(got))
	next2, got2, cutoff := c.CheckpointProjection()
	t.say("CheckpointProjection() = %s, %s, %s", name(next2), nameAll(got2), name(cutoff))
	if next != t.m.PeekNext() || next2 != next {
		t.fail("want the bound %s", name(t.m.PeekNext()))
	}
	// The second may have given up what the first names as reserved.
	for _, set := range []core.XidSet{got, got2} {
		set = slices.DeleteFunc(slices.Clone(set), func(x core.Xid) bool {
			return t.m.Status(x) == core.Reserved || !t.has[x] && t.m.Status(x) == core.Committed
		})
		if !slices.Equal(set, core.NewXidSet(want...)) {
			t.fail("want %s and what is reserved", nameAll(want))
		}
	}
	if r, ok := t.m.(core.Retainer); ok {
		if h, _ := r.OldestRequired(); h != cutoff {
			t.fail("the cutoff is not OldestRequired, %s", name(h))
		}
	}
}

// reserves claims what ReservesUniqueKey answers.
func (t *trial) reserves(xmin, xmax core.Xid, own []core.Xid, want bool) {
	t.Helper()
	got := t.m.(core.KeyReserver).ReservesUniqueKey(xmin, xmax, core.NewXidSet(own...))
	t.say("ReservesUniqueKey(%s, %s, %s) = %v", name(xmin), name(xmax), nameAll(own), got)
	if got != want {
		t.fail("want %v", want)
	}
}

// exhausted calls allocate and reports whether it panicked with ErrExhausted;
// any other panic passes through.
func exhausted(allocate func() core.Xid) (x core.Xid, yes bool) {
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); !ok || !errors.Is(err, core.ErrExhausted) {
				panic(p)
			}
			yes = true
		}
	}()
	return allocate(), false
}
