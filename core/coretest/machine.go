package coretest

import (
	"errors"
	"fmt"
	"slices"

	"xidlab/core"
	"xidlab/core/spec"
)

// A machine runs programs on a manager and on the specification in lockstep
// and compares every answer. The manager chooses the xids, the specification
// follows; where the contract lets a manager choose (xids set aside, refusals
// of RetainSnapshot, answers of ErrTooOld) the machine checks that the choice
// was one of those allowed, and the specification follows again.
type machine struct {
	open func() core.Manager
	m    core.Manager
	have capabilities
	want *spec.Manager

	steps  int
	active []core.Xid       // begun and not finished, in the order of Begin
	known  []core.Xid       // handed out, in order
	born   map[core.Xid]int // the step that handed it out
	snaps  []*kept
	guards []*held

	lastBegin core.Xid
	next      core.Xid   // the largest PeekNext so far
	seen      core.Xid   // the bound up to which aside is known
	aside     []core.Xid // Reserved
	floor     core.Xid   // the horizon must not be answered below, see OldestRequired
	foreign   core.Snapshot

	log []string
}

// A kept is a snapshot of the manager and its counterpart.
type kept struct {
	got, want core.Snapshot
	name      string
	step      int // when it was captured
}

// A held is a guard of the manager and its counterpart.
type held struct {
	got, want core.Guard
	name      string
	released  bool
}

// A mismatch is an answer that the specification does not allow.
type mismatch struct {
	step int      // how many ops of the program were run, that one included
	log  []string // every operation, in words
	text string
}

func (m *mismatch) String() string {
	text := m.text
	for i, line := range m.log {
		text += fmt.Sprintf("\n  %3d  %s", i+1, line)
	}
	return text
}

// runProgram returns the first mismatch of a program, or nil. It ends every
// program with a look at everything.
func runProgram(open func() core.Manager, prog []op) (found *mismatch) {
	k := &machine{open: open, m: open(), want: spec.New(), born: map[core.Xid]int{}}
	if core.Collapses(k.m) {
		k.want.LetCollapse()
	}
	k.have = capabilitiesOf(k.m)
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *mismatch:
			found = p
		default:
			found = &mismatch{k.steps, k.log, fmt.Sprintf("panic: %v", p)}
		}
	}()
	k.sync()
	for _, o := range prog {
		k.steps++
		if i := instructions[o.code]; k.have.all(i.needs) {
			i.do(k, o)
		}
		k.sync()
	}
	k.steps++
	k.audit()
	return nil
}

// instructions says what each code does. A manager that lacks a capability
// skips the codes that need it.
var instructions = [opCodes]struct {
	needs capabilities
	do    func(*machine, op)
}{
	opBegin:          {0, (*machine).begin},
	opCommit:         {0, (*machine).commit},
	opRollback:       {0, (*machine).rollback},
	opStatus:         {0, func(k *machine, o op) { k.status(k.xid(o.a)) }},
	opOldestActive:   {0, func(k *machine, _ op) { k.oldestActive() }},
	opSnapshot:       {0, (*machine).snapshot},
	opLookup:         {0, (*machine).lookupOne},
	opLookupAll:      {0, (*machine).lookupAll},
	opInProgress:     {0, (*machine).inProgress},
	opWithOwner:      {0, (*machine).withOwner},
	opAllocate:       {0, (*machine).allocate},
	opRetain:         {retains, (*machine).retain},
	opRetainSnapshot: {retains, (*machine).retainSnapshot},
	opRelease:        {retains, (*machine).release},
	opRequired:       {retains, (*machine).required},
	opPin:            {pins, (*machine).pin},
	opUnpin:          {pins, (*machine).unpin},
	opPrune:          {prunes, (*machine).prune},
	opObserve:        {recovers, (*machine).observe},
	opExcluded:       {checkpoints, (*machine).excluded},
	opProjection:     {checkpoints, (*machine).projection},
	opReserves:       {reserves, (*machine).reserves},
	opGroup:          {groupCommits, (*machine).group},
	opForeign:        {retains, (*machine).strangers},
	opAudit:          {0, func(k *machine, _ op) { k.audit() }},
}

func (k *machine) fail(format string, args ...any) {
	panic(&mismatch{k.steps, k.log, fmt.Sprintf(format, args...)})
}

func (k *machine) say(format string, args ...any) {
	k.log = append(k.log, fmt.Sprintf(format, args...))
}

// sync moves the specification's bound to the manager's, which may have set
// xids aside, and makes it give up what the manager has.
func (k *machine) sync() {
	n := k.m.PeekNext()
	switch {
	case n < k.next:
		k.fail("PeekNext() = %s, before it was %s", name(n), name(k.next))
	case n > core.MaxXid+1:
		k.fail("PeekNext() = %s, above MaxXid+1", name(n))
	case n < k.want.PeekNext():
		k.fail("PeekNext() = %s, want at least %s", name(n), name(k.want.PeekNext()))
	}
	k.next = n
	k.want.Reserve(n)
	for ; k.seen < n; k.seen++ {
		k.aside = append(k.aside, k.seen)
	}
	k.aside = slices.DeleteFunc(k.aside, func(x core.Xid) bool {
		return k.want.Status(x) != core.Reserved || k.m.Status(x) == core.Committed && k.want.GiveUp(x)
	})
}

// xid picks an Xid: one half active ones, then any that were handed out, then
// corner cases.
func (k *machine) xid(b byte) core.Xid {
	switch n := int(b); {
	case n < 128 && len(k.active) > 0:
		return k.active[n%len(k.active)]
	case n < 232 && len(k.known) > 0:
		return k.known[n%len(k.known)]
	default:
		corners := [...]core.Xid{core.None, k.next, k.next - 1, k.next + 1, 1, core.MaxXid, core.MaxXid + 1, ^core.Xid(0), k.next / 2}
		return corners[n%len(corners)]
	}
}

func (k *machine) snap(b byte) *kept {
	if len(k.snaps) == 0 {
		return nil
	}
	return k.snaps[len(k.snaps)-1-int(b)%len(k.snaps)]
}

func (k *machine) begin(op) {
	x, ended := exhausted(k.m.Begin)
	if ended {
		k.say("Begin() panics: exhausted")
		k.exhausted("Begin")
		return
	}
	k.say("Begin() = %s", name(x))
	if k.m.Ordered() && x <= k.lastBegin {
		k.fail("Begin() = %s, after %s; want increasing xids of an ordered manager", name(x), name(k.lastBegin))
	}
	k.lastBegin = x
	if !k.want.BeginAs(x) {
		k.fail("Begin() = %s, which is no xid or was %v", name(x), k.want.Status(x))
	}
	k.handedOut(x)
	k.active = append(k.active, x)
}

func (k *machine) allocate(op) {
	x, ended := exhausted(func() core.Xid { return core.AllocateCommitted(k.m) })
	if ended {
		k.say("AllocateCommitted() panics: exhausted")
		k.exhausted("AllocateCommitted")
		return
	}
	k.say("AllocateCommitted() = %s", name(x))
	if !k.want.AllocateCommittedAs(x) {
		k.fail("AllocateCommitted() = %s, which is no xid or was %v", name(x), k.want.Status(x))
	}
	k.handedOut(x)
}

func (k *machine) handedOut(x core.Xid) {
	k.known = append(k.known, x)
	k.born[x] = k.steps
}

func (k *machine) exhausted(op string) {
	if n := k.m.PeekNext(); n <= core.MaxXid {
		k.fail("%s() panics with ErrExhausted although PeekNext() = %s", op, name(n))
	}
}

func (k *machine) commit(o op)   { k.finish("Commit", k.m.Commit, k.want.Commit, k.xid(o.a)) }
func (k *machine) rollback(o op) { k.finish("Rollback", k.m.Rollback, k.want.Rollback, k.xid(o.a)) }

func (k *machine) finish(op string, finish, want func(core.Xid) error, x core.Xid) {
	err := finish(x)
	k.say("%s(%s) = %v", op, name(x), err)
	k.sameError(err, want(x))
	k.settle()
}

// sameError compares an XidError (or nil) with the specification's.
func (k *machine) sameError(got, want error) {
	var e *core.XidError
	if errors.As(want, &e) {
		if complaint := notXidError(got, e.Xid, e.Status, e.Err); complaint != "" {
			k.fail("%s", complaint)
		}
	} else if got != nil {
		k.fail("it answers %q, want nil", got)
	}
}

// settle drops what has finished from active.
func (k *machine) settle() {
	k.active = slices.DeleteFunc(k.active, func(x core.Xid) bool { return k.want.Status(x) != core.Active })
}

func (k *machine) status(x core.Xid) {
	if got, want := k.m.Status(x), k.want.Status(x); got != want {
		k.fail("Status(%s) is %v, want %v", name(x), got, want)
	}
}

func (k *machine) oldestActive() {
	x, ok := k.m.OldestActive()
	want, wantOK := k.want.OldestActive()
	if ok != wantOK || ok && x != want {
		k.fail("OldestActive() = %s, %v, want %s, %v", name(x), ok, name(want), wantOK)
	}
}

func (k *machine) snapshot(o op) {
	self := core.None
	if o.a >= 96 {
		self = k.xid(o.b)
	}
	s := k.m.Snapshot(self)
	k.sync()
	k.keep(s, k.want.Snapshot(self), "Snapshot(%s)", name(self))
}

// keep remembers a snapshot, one of few: the oldest makes room, so that a
// program holds old ones and new ones.
func (k *machine) keep(got, want core.Snapshot, format string, args ...any) *kept {
	const most = 24
	s := &kept{got, want, fmt.Sprintf("s%d", len(k.log)+1), k.steps}
	k.say("%s = %s", s.name, fmt.Sprintf(format, args...))
	if got.Bound() != want.Bound() {
		k.fail("%s.Bound() = %s, want %s", s.name, name(got.Bound()), name(want.Bound()))
	}
	if len(k.snaps) == most {
		k.snaps = slices.Delete(k.snaps, most/4, most/4+1)
	}
	k.snaps = append(k.snaps, s)
	return s
}

// mayBeTooOld reports whether s may answer ErrTooOld: it is not guarded, and a
// horizon or a prune has passed it, or could have.
func (k *machine) mayBeTooOld(s *kept) bool {
	guarded := slices.ContainsFunc(k.guards, func(h *held) bool {
		return !h.released && instant(h.want.Snapshot) == instant(s.want)
	})
	return !guarded && k.want.MayRefuse(s.want)
}

func instant(s core.Snapshot) uint64 { _, _, _, _, at := s.Parts(); return at }

func (k *machine) lookup(s *kept, x core.Xid) {
	got, err := s.got.Lookup(x)
	want, _ := s.want.Lookup(x)
	switch {
	case err == nil && got != want:
		k.fail("%s includes %s: %v, want %v", s.name, name(x), got, want)
	case errors.Is(err, core.ErrTooOld) && k.mayBeTooOld(s):
	case err != nil:
		k.fail("%s.Lookup(%s) answers %q, want %v", s.name, name(x), err, want)
	}
	if includes, p := s.includes(x); includes != got || (p == nil) != (err == nil) {
		k.fail("%s.Lookup(%s) = %v, %v, but Includes is %v, or panics with %v", s.name, name(x), got, err, includes, p)
	}
}

// includes calls Includes and returns what it panicked with, if it did.
func (s *kept) includes(x core.Xid) (yes bool, p any) {
	defer func() { p = recover() }()
	return s.got.Includes(x), nil
}

func (k *machine) lookupOne(o op) {
	if s := k.snap(o.a); s != nil {
		k.lookup(s, k.xid(o.b))
	}
}

func (k *machine) lookupAll(o op) {
	if s := k.snap(o.a); s != nil {
		k.everyLookup(s)
	}
}

func (k *machine) everyLookup(s *kept) {
	for _, x := range k.known {
		k.lookup(s, x)
	}
	for _, x := range []core.Xid{core.None, k.next - 1, k.next, k.next + 1, core.MaxXid, ^core.Xid(0)} {
		k.lookup(s, x)
	}
}

func (k *machine) inProgress(o op) {
	s := k.snap(o.a)
	if s == nil {
		return
	}
	got, err := s.got.InProgress()
	if errors.Is(err, core.ErrTooOld) && k.mayBeTooOld(s) {
		return
	}
	if err != nil {
		k.fail("%s.InProgress() answers %q", s.name, err)
	}
	want, _ := s.want.InProgress()
	ordered := core.NewXidSet(got...)
	if !slices.Equal(ordered, got) {
		k.fail("%s.InProgress() = %s, which is not ascending, each once", s.name, nameAll(got))
	}
	if !k.m.Ordered() {
		// It may also name xids that were handed out later, or not yet.
		got = slices.DeleteFunc(ordered, func(x core.Xid) bool { return k.born[x] == 0 || k.born[x] > s.step })
	}
	if !slices.Equal(got, want) {
		k.fail("%s.InProgress() = %s, want %s", s.name, nameAll(got), nameAll(want))
	}
}

// withOwner gives a snapshot one of the active xids.
func (k *machine) withOwner(o op) {
	s := k.snap(o.a)
	if s == nil || len(k.active) == 0 {
		return
	}
	x := k.active[int(o.b)%len(k.active)]
	c := k.keep(s.got.WithOwner(x), s.want.WithOwner(x), "%s.WithOwner(%s)", s.name, name(x))
	c.step = s.step
}

func (k *machine) retain(o op) {
	self := core.None
	if o.a >= 128 {
		self = k.xid(o.b)
	}
	g := k.m.(core.Retainer).Retain(self)
	k.sync()
	k.hold(g, k.want.Retain(self), fmt.Sprintf("Retain(%s)", name(self)))
}

func (k *machine) hold(got, want core.Guard, how string) *kept {
	s := k.keep(got.Snapshot, want.Snapshot, "%s", how)
	k.guards = append(k.guards, &held{got, want, s.name, false})
	return s
}

func (k *machine) retainSnapshot(o op) {
	s := k.snap(o.a)
	if s == nil {
		return
	}
	may := k.want.MayRefuse(s.want)
	got, err := k.m.(core.Retainer).RetainSnapshot(s.got)
	want, refused := k.want.RetainSnapshot(s.want)
	switch {
	case err == nil && refused != nil:
		k.say("RetainSnapshot(%s)", s.name)
		k.fail("it is granted, want %q", refused)
	case err == nil:
		k.hold(got, want, fmt.Sprintf("RetainSnapshot(%s)", s.name)).step = s.step
	case !errors.Is(err, core.ErrTooOld) || !may:
		k.say("RetainSnapshot(%s)", s.name)
		k.fail("it answers %q, want %v", err, refused)
	default:
		k.say("RetainSnapshot(%s) = %v", s.name, err)
		want.Release()
	}
}

func (k *machine) release(o op) {
	if len(k.guards) == 0 {
		return
	}
	h := k.guards[int(o.a)%len(k.guards)]
	got, want := h.got.Release(), h.want.Release()
	k.say("%s.Release() = %v", h.name, got)
	if got != want {
		k.fail("want %v", want)
	}
	h.released = true
}

func (k *machine) required(op) {
	h, ok := k.m.(core.Retainer).OldestRequired()
	k.say("OldestRequired() = %s, %v", name(h), ok)
	k.sync()
	want, wantOK := k.want.OldestRequired()
	if h != want || ok != wantOK {
		k.fail("want %s, %v", name(want), wantOK)
	}
	k.horizon(h)
}

// horizon checks that h has not moved backwards.
func (k *machine) horizon(h core.Xid) {
	if h < k.floor {
		k.fail("the horizon moved back from %s, and nothing older was pinned anew", name(k.floor))
	}
	k.floor = h
}

func (k *machine) pin(o op) {
	x := k.xid(o.a)
	want := k.want.Pin(x)
	err := k.m.(core.Pinner).Pin(x)
	k.say("Pin(%s) = %v", name(x), err)
	k.sameError(err, want)
	if err == nil && x != core.None {
		k.floor = min(k.floor, x)
	}
	k.pinned(x)
}

func (k *machine) unpin(o op) {
	x := k.xid(o.a)
	if p, ok := k.want.OldestPinned(); ok && o.b >= 64 {
		x = p // most random xids have no pin
	}
	k.m.(core.Pinner).Unpin(x)
	k.want.Unpin(x)
	k.say("Unpin(%s)", name(x))
	k.pinned(x)
}

func (k *machine) pinned(x core.Xid) {
	p := k.m.(core.Pinner)
	if got, want := p.PinCount(x), k.want.PinCount(x); got != want {
		k.fail("PinCount(%s) = %d, want %d", name(x), got, want)
	}
	got, ok := p.OldestPinned()
	want, wantOK := k.want.OldestPinned()
	if ok != wantOK || ok && got != want {
		k.fail("OldestPinned() = %s, %v, want %s, %v", name(got), ok, name(want), wantOK)
	}
}

func (k *machine) prune(o op) {
	below := k.next
	if o.a >= 128 {
		below = k.xid(o.b)
	}
	got := k.m.(core.Pruner).PruneAborted(below)
	k.say("PruneAborted(%s) = %d", name(below), got)
	if want := k.want.PruneAborted(below); got != want {
		k.fail("want %d", want)
	}
}

func (k *machine) observe(o op) {
	x := k.xid(o.b)
	switch {
	case o.a < 64: // what there is
	case o.a < 224:
		x = k.next + core.Xid(o.b%8)
	case o.a < 250:
		x = k.next + core.Xid(o.b)<<(o.c%30)
	default:
		x = core.MaxXid - core.Xid(o.b)
	}
	err := k.m.(core.Recoverer).ObserveCommitted(x)
	k.say("ObserveCommitted(%s) = %v", name(x), err)
	k.sameError(err, k.want.ObserveCommitted(x))
	if n := k.m.PeekNext(); n != k.want.PeekNext() && k.m.Ordered() {
		k.fail("PeekNext() = %s, want %s", name(n), name(k.want.PeekNext()))
	}
	k.seen = max(k.seen, k.want.PeekNext()) // nothing is set aside in a gap
}

func (k *machine) excluded(op) {
	next, set := k.m.(core.Checkpointer).CheckpointExcluded()
	k.say("CheckpointExcluded() = %s, %s", name(next), nameAll(set))
	k.sync()
	wantNext, want := k.want.CheckpointExcluded()
	if next != wantNext || !slices.Equal(set, want) {
		k.fail("want %s, %s", name(wantNext), nameAll(want))
	}
}

func (k *machine) projection(op) {
	next, set, cutoff := k.m.(core.Checkpointer).CheckpointProjection()
	k.say("CheckpointProjection() = %s, %s, %s", name(next), nameAll(set), name(cutoff))
	k.sync()
	wantNext, want, wantCutoff := k.want.CheckpointProjection()
	if next != wantNext || !slices.Equal(set, want) || cutoff != wantCutoff {
		k.fail("want %s, %s, %s", name(wantNext), nameAll(want), name(wantCutoff))
	}
	k.horizon(cutoff)
}

func (k *machine) reserves(o op) {
	xmin, xmax := k.xid(o.a), core.None
	if o.b >= 48 {
		xmax = k.xid(o.b)
	}
	var own core.XidSet
	for i := range o.c % 4 {
		own = append(own, k.xid(o.c/4+i*37))
	}
	if o.c >= 128 {
		own = append(own, xmax)
	}
	own = core.NewXidSet(own...)
	got := k.m.(core.KeyReserver).ReservesUniqueKey(xmin, xmax, own)
	k.say("ReservesUniqueKey(%s, %s, %s) = %v", name(xmin), name(xmax), nameAll(own), got)
	if want := k.want.ReservesUniqueKey(xmin, xmax, own); got != want {
		k.fail("want %v: the creator is %v, the deleter %v", want, k.want.Status(xmin), k.want.Status(xmax))
	}
}

func (k *machine) group(o op) {
	var xs []core.Xid
	for i := range o.a % 5 {
		switch { // mostly different, active ones
		case len(k.active) > 0 && o.c < 192:
			xs = append(xs, k.active[(int(o.b)+int(i))%len(k.active)])
		default:
			xs = append(xs, k.xid(o.b+i*61))
		}
	}
	wrong := k.refusals(xs)
	err := k.m.(core.GroupCommitter).CommitGroup(xs...)
	k.say("CommitGroup%s = %v", nameAll(xs), err)
	if len(wrong) == 0 && err != nil {
		k.fail("it answers %q, want nil", err)
	}
	if len(wrong) > 0 && !slices.ContainsFunc(wrong, func(w *core.XidError) bool {
		return notXidError(err, w.Xid, w.Status, w.Err) == ""
	}) {
		k.fail("it answers %v, want a refusal as %v", err, wrong[0])
	}
	if (k.want.CommitGroup(xs...) == nil) != (len(wrong) == 0) {
		k.fail("the specification disagrees with the kit about the refusal of a group: a mistake of the kit")
	}
	k.settle()
}

// refusals returns every reason to refuse a group; a manager may give any.
func (k *machine) refusals(xs []core.Xid) (wrong []*core.XidError) {
	for i, x := range xs {
		s := k.want.Status(x)
		switch {
		case s == core.Unallocated:
			wrong = append(wrong, &core.XidError{Op: "group commit", Xid: x, Status: s, Err: core.ErrUnallocated})
		case s != core.Active:
			wrong = append(wrong, &core.XidError{Op: "group commit", Xid: x, Status: s, Err: core.ErrNotActive})
		}
		if slices.Contains(xs[:i], x) {
			wrong = append(wrong, &core.XidError{Op: "group commit", Xid: x, Status: s, Err: core.ErrDuplicate})
		}
	}
	return wrong
}

// strangers are the snapshots of another manager, and of none.
func (k *machine) strangers(o op) {
	if v, _, _, _, _ := k.foreign.Parts(); v == nil {
		other := k.open()
		other.Begin()
		k.foreign = other.Snapshot(core.None)
	}
	s := k.foreign
	if o.a >= 128 {
		s = core.Snapshot{}
	}
	g, err := k.m.(core.Retainer).RetainSnapshot(s)
	k.say("RetainSnapshot of another manager's snapshot, or none's = %v", err)
	if !errors.Is(err, core.ErrForeign) {
		k.fail("want %q", core.ErrForeign)
	}
	if g.Release() {
		k.fail("it refuses, but its guard is released with true")
	}
}

// audit compares everything that can be asked without changing anything.
func (k *machine) audit() {
	for _, x := range k.known {
		k.status(x)
	}
	for _, x := range []core.Xid{core.None, 1, k.next - 1, k.next, k.next + 1, core.MaxXid, core.MaxXid + 1, ^core.Xid(0)} {
		k.status(x)
	}
	k.oldestActive()
	for _, s := range k.snaps {
		k.everyLookup(s)
	}
	if k.have.all(pins) {
		for _, x := range k.known {
			k.pinned(x)
		}
	}
}
