package explore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"xidlab/core"
	"xidlab/core/spec"
)

// A follower is the specification as it follows a manager's answers: step by
// step it takes the manager's answer, says whether the specification allows it,
// and is then in the state after it. Where the contract lets a manager choose,
// the specification chooses the same. Names and meaning of variables are the
// script's.
type follower struct {
	*script
	traits
	m      *spec.Manager
	snaps  []core.Snapshot
	guards []core.Guard
	keys   [][]version
	xids   []core.Xid // by variable: the manager's answers
	known  []core.Xid // handed out by the manager, at whatever time
	told   []told     // about what is not known

	explain bool
	reason  string // why the last answer was not allowed, if explain is on
}

func newFollower(s *script, of traits, xids, known []core.Xid) *follower {
	f := &follower{
		script: s, traits: of, m: spec.New(), xids: xids, known: known,
		snaps:  make([]core.Snapshot, len(s.vars)),
		guards: make([]core.Guard, len(s.vars)),
		keys:   make([][]version, len(s.keys)),
	}
	if of.collapses {
		f.m.LetCollapse()
	}
	return f
}

// A told is what a snapshot of a manager that is not ordered has said of an xid
// that nobody ever gets: it may be set aside, or given up before the snapshot.
// But the answer stays.
type told struct {
	snap int
	x    core.Xid
	yes  bool
}

// no is the verdict on an answer; want is what the specification says.
func (f *follower) no(format string, args ...any) bool {
	if f.explain {
		f.reason = fmt.Sprintf(format, args...)
	}
	return false
}

// A phase is a part of an operation that takes effect at an instant of its own.
// All operations have one but AllocateCommitted, which begins and commits.
type phase byte

const (
	whole phase = iota
	first       // an AllocateCommitted begins
	last        // it commits
)

// phases returns those of op.
func phases(op opcode) []phase {
	if op == opAllocateCommitted {
		return []phase{first, last}
	}
	return []phase{whole}
}

// step follows one operation. Alone: nothing else runs, so that horizons are
// exact. It reports whether the answer is allowed; if not, the follower is of no
// further use.
func (f *follower) step(st *step, a *answer, p phase, alone bool) bool {
	switch st.op {
	case opBegin:
		if f.ordered && a.x < f.m.PeekNext() {
			return f.no("at least %s, since everything below was allocated before", nameXid(f.m.PeekNext()))
		}
		if s := f.m.Status(a.x); !f.m.BeginAs(a.x) {
			return f.no("an xid that was never handed out: %s is %v", nameXid(a.x), s)
		}
	case opAllocateCommitted:
		if p == first {
			if s := f.m.Status(a.x); !f.m.BeginAs(a.x) {
				return f.no("an xid that was never handed out: %s is %v", nameXid(a.x), s)
			}
		} else if err := f.m.Commit(a.x); err != nil {
			return f.no("an xid that nobody else finishes: %v", err)
		}
	case opCommit:
		return f.finish(st, a, f.m.Commit)
	case opRollback:
		return f.finish(st, a, f.m.Rollback)
	case opCommitGroup:
		return f.group(a, f.xidsFrom(st, f.xids, 0))
	case opPin:
		return f.same(a, f.m.Pin(f.xid(st, f.xids, 0)))
	case opObserveCommitted:
		if !f.ordered {
			// What is handed out from below x afterwards had been set aside.
			for _, k := range f.known {
				if k <= f.xid(st, f.xids, 0) && f.m.Status(k) == core.Unallocated {
					f.m.Reserve(k + 1)
				}
			}
		}
		return f.finish(st, a, f.m.ObserveCommitted)
	case opUnpin:
		f.m.Unpin(f.xid(st, f.xids, 0))
	case opSnapshot, opRetain:
		if !f.bound(a.x) {
			return false
		}
		if st.op == opSnapshot {
			f.snaps[st.dst] = f.m.Snapshot(f.xid(st, f.xids, 0))
		} else {
			f.guards[st.dst] = f.m.Retain(f.xid(st, f.xids, 0))
			f.snaps[st.dst] = f.guards[st.dst].Snapshot
		}
		return f.includes(st, a)
	case opWithOwner:
		f.snaps[st.dst] = f.snaps[st.args[0].v].WithOwner(f.xid(st, f.xids, 1))
		return f.includes(st, a)
	case opRetainSnapshot:
		return f.retainSnapshot(st, a)
	case opRelease:
		if want := f.guards[st.args[0].v].Release(); a.yes != want {
			return f.no("%v", want)
		}
	case opIncludes:
		return f.lookup(st.args[0].v, f.xid(st, f.xids, 1), a)
	case opInProgress:
		return f.inProgress(f.snaps[st.args[0].v], a)
	case opStatus:
		x := f.xid(st, f.xids, 0)
		f.shown(x, a.status)
		if want := f.m.Status(x); a.status != want {
			return f.no("%v", want)
		}
	case opOldestActive:
		return f.oldest(a, f.m.OldestActive)
	case opOldestPinned:
		return f.oldest(a, f.m.OldestPinned)
	case opPinCount:
		if want := f.m.PinCount(f.xid(st, f.xids, 0)); a.x != core.Xid(want) {
			return f.no("%d", want)
		}
	case opPeekNext:
		return f.bound(a.x)
	case opOldestRequired:
		return f.required(a.x, a.yes, alone)
	case opPruneAborted:
		if want := f.m.PruneAborted(f.below(st, f.xids)); a.x != core.Xid(want) {
			return f.no("%d", want)
		}
	case opCheckpointExcluded, opCheckpointProjection:
		return f.checkpoint(st.op, a, alone)
	case opReservesUniqueKey:
		want := f.m.ReservesUniqueKey(f.xid(st, f.xids, 0), f.xid(st, f.xids, 1), core.NewXidSet(f.xidsFrom(st, f.xids, 2)...))
		if a.yes != want {
			return f.no("%v: the creator is %v, the deleter %v", want, f.m.Status(f.xid(st, f.xids, 0)), f.m.Status(f.xid(st, f.xids, 1)))
		}
	case opInsert, opDelete:
		k := uniqueKey{versions: f.keys[st.args[0].v]}
		want := k.admit(st.op, f.m, f.xid(st, f.xids, 1))
		f.keys[st.args[0].v] = k.versions
		if a.yes != want {
			return f.no("%v", want)
		}
	}
	return true
}

// bound follows a manager that shows its allocator's bound: it may have set xids
// aside, but every one that it has handed out is below.
func (f *follower) bound(next core.Xid) bool {
	if want := f.m.PeekNext(); next < want || next > core.MaxXid+1 {
		return f.no("a bound of at least %s", nameXid(want))
	}
	f.m.Reserve(next)
	return true
}

// shown follows a manager that shows what has become of an xid that nobody has.
func (f *follower) shown(x core.Xid, s core.Status) {
	switch s {
	case core.Reserved:
		f.m.Reserve(min(x, core.MaxXid) + 1)
	case core.Committed:
		f.m.GiveUp(x)
	}
}

// finish follows an operation that says what has become of its xid.
func (f *follower) finish(st *step, a *answer, do func(core.Xid) error) bool {
	x := f.xid(st, f.xids, 0)
	if a.refused.kind != noError {
		f.shown(x, a.refused.status)
	}
	return f.same(a, do(x))
}

// same compares an error.
func (f *follower) same(a *answer, want error) bool {
	if w := refusalOf(want); a.refused != w {
		return f.no("%v", w)
	}
	return true
}

// group: of several reasons to refuse, a manager may give any.
func (f *follower) group(a *answer, xs []core.Xid) bool {
	var allowed []refusal
	for i, x := range xs {
		s := f.m.Status(x)
		switch {
		case s == core.Unallocated:
			allowed = append(allowed, refusal{unallocated, x, s})
		case s != core.Active:
			allowed = append(allowed, refusal{notActive, x, s})
		case slices.Contains(xs[:i], x):
			allowed = append(allowed, refusal{duplicate, x, s})
		}
	}
	if err := f.m.CommitGroup(xs...); err == nil {
		allowed = append(allowed, refusal{})
	}
	if !slices.Contains(allowed, a.refused) {
		return f.no("%v", allowed[0])
	}
	return true
}

// includes compares the snapshot that st gave.
func (f *follower) includes(st *step, a *answer) bool {
	s := f.snaps[st.dst]
	if want := s.Bound(); a.x != want {
		return f.no("a snapshot below %s", nameXid(want))
	}
	if want, asked := f.contents(st.dst, s, f.xids, f.known); asked && !a.yes && !slices.Equal(want, a.set) {
		return f.no("%s below %s", nameXids(want), nameXid(s.Bound()))
	}
	return true
}

func (f *follower) retainSnapshot(st *step, a *answer) bool {
	s := f.snaps[st.args[0].v]
	may := f.m.MayRefuse(s)
	g, err := f.m.RetainSnapshot(s)
	want := refusalOf(err)
	switch {
	case a.refused == want:
	case a.refused.kind == tooOld && may:
		g.Release()
		return true
	default:
		return f.no("%v", want)
	}
	if err != nil {
		return true
	}
	f.guards[st.dst], f.snaps[st.dst] = g, g.Snapshot
	return f.includes(st, a)
}

func (f *follower) lookup(snap int, x core.Xid, a *answer) bool {
	s := f.snaps[snap]
	want, err := s.Lookup(x)
	if err == nil && !want && x < s.Bound() && f.m.Status(x) != core.Active && !f.ordered && !slices.Contains(f.known, x) {
		i := slices.IndexFunc(f.told, func(t told) bool { return t.snap == snap && t.x == x })
		if i < 0 {
			f.told = append(f.told, told{snap, x, a.yes})
			i = len(f.told) - 1
		}
		want = f.told[i].yes
	}
	switch {
	case a.refused.kind == tooOld:
		if !f.m.MayForget(s) {
			return f.no("%v", want)
		}
	case a.refused.kind != refusalOf(err).kind:
		return f.no("%v", refusalOf(err))
	case a.yes != want:
		return f.no("%v", want)
	}
	return true
}

func (f *follower) inProgress(s core.Snapshot, a *answer) bool {
	want, err := s.InProgress()
	switch {
	case a.refused.kind == tooOld:
		if !f.m.MayForget(s) {
			return f.no("%s", nameXids(want))
		}
	case a.refused.kind != refusalOf(err).kind:
		return f.no("%v", refusalOf(err))
	case f.ordered && !slices.Equal(a.set, want):
		return f.no("%s", nameXids(want))
	case !f.ordered: // it may name xids that were handed out later
		for _, x := range want {
			if !a.set.Has(x) {
				return f.no("%s, and perhaps later ones", nameXids(want))
			}
		}
	}
	return true
}

func (f *follower) oldest(a *answer, ask func() (core.Xid, bool)) bool {
	if x, ok := ask(); ok != a.yes || ok && x != a.x {
		if !ok {
			return f.no("none")
		}
		return f.no("%s", nameXid(x))
	}
	return true
}

// required follows an answer about the horizon.
func (f *follower) required(h core.Xid, ok, alone bool) bool {
	want := f.m.Required()
	if want == f.m.PeekNext() && h > want { // nothing is required, so it is the bound
		f.m.Reserve(min(h, core.MaxXid+1))
		want = f.m.Required()
	}
	if alone && (h != want || ok != (want < f.m.PeekNext())) {
		return f.no("%s exactly, since nothing else ran", nameXid(want))
	}
	if !f.m.OldestRequiredAs(h, ok) {
		return f.no("at most %s, and not below an earlier answer", nameXid(want))
	}
	return true
}

func (f *follower) checkpoint(op opcode, a *answer, alone bool) bool {
	if !f.bound(a.x) {
		return false
	}
	next, want := f.m.CheckpointExcluded()
	if a.x != next || !slices.Equal(f.had(a.set, f.known), f.had(want, f.known)) {
		return f.no("%s below %s", nameXids(want), nameXid(next))
	}
	if op == opCheckpointProjection {
		return f.required(a.y, a.y < next, alone)
	}
	return true
}

// state appends to buf what decides about all answers from now on.
func (f *follower) state(buf []byte) []byte {
	buf = f.m.Fingerprint(buf, f.snaps...)
	for _, t := range f.told {
		buf = binary.AppendUvarint(buf, uint64(t.snap))
		buf = binary.AppendUvarint(buf, uint64(t.x)<<1|truth(t.yes))
	}
	buf = append(buf, 0)
	for _, versions := range f.keys {
		buf = binary.AppendUvarint(buf, uint64(len(versions)))
		for _, v := range versions {
			buf = binary.AppendUvarint(buf, uint64(v.xmin))
			buf = binary.AppendUvarint(buf, uint64(v.xmax))
		}
	}
	return buf
}

// ends compares the answers to the final questions.
func (f *follower) ends(got []uint64) bool {
	if !f.bound(core.Xid(got[0])) {
		return false
	}
	q := questions{follow: got, want: f.m, explain: f.explain}
	q.ask(f.m, f.traits, f.vars, f.snaps, f.guards, f.known)
	if slices.Equal(q.words, got) {
		return true
	}
	for i, want := range q.words {
		if i == len(got) || got[i] != want {
			return f.no("%s", q.difference(i))
		}
	}
	return f.no("in the end something is missing")
}
