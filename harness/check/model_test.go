package check

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"xidlab/core"
	"xidlab/harness/history"
)

// A state is that of a small manager, for porcupine: an executable reading of
// the contract that shares nothing with the checker. Xids are 1 to 15, numbers of
// snapshots 1 to 7. Bits of the masks are xids, or numbers of snapshots.
type state struct {
	next      uint8 // the bound is at least this; it grows when an answer needs it
	begun     uint16
	committed uint16
	aborted   uint16
	forgotten uint16
	borns     uint16    // by an AllocateCommitted
	void      uint16    // set aside, and never to be handed out
	unnamed   uint16    // set aside, and not to be handed out by a Begin
	snaps     [8]uint16 // what each captured snapshot includes
	captured  uint8
	guards    uint8 // live
	floor     uint8 // the last horizon, or what was pinned below since
	answered  uint8 // the largest horizon
	pins      [16]uint8
	stale     uint8    // snapshots captured before something was forgotten
	slots     [4]uint8 // what AllocateCommitted calls that never returned have begun
	deferred  [2]deferral
}

// A deferral is a prune that waits for guards.
type deferral struct {
	what   uint16
	guards uint8
}

// A call is what porcupine orders: an operation, or one of the two instants of an
// AllocateCommitted.
type call struct {
	*history.Op
	m    *model
	last bool // the second instant
	slot int
}

// A model is the contract, for one history.
type model struct {
	ordered    bool
	owner      [8]core.Xid
	base       [8]uint8
	rolledBack uint16     // by some call, ever
	unknown    []core.Xid // what pending calls may have handed out
}

func bit(x core.Xid) uint16 {
	if x > 15 {
		return 0
	}
	return 1 << x
}

func (s *state) active() uint16 { return s.begun &^ s.committed &^ s.aborted &^ 1 }

func lowest(mask uint16) core.Xid {
	for x := core.Xid(0); x < 16; x++ {
		if mask&(1<<x) != 0 {
			return x
		}
	}
	return 16
}

func (s *state) status(x core.Xid) core.Status {
	switch {
	case x == core.None || (s.committed|s.forgotten)&bit(x) != 0:
		return core.Committed
	case s.aborted&bit(x) != 0:
		return core.Aborted
	case s.begun&bit(x) != 0:
		return core.Active
	case x < core.Xid(s.next):
		return core.Reserved
	}
	return core.Unallocated
}

// required returns the horizon, next if nothing is required.
func (s *state) required() core.Xid {
	h := min(core.Xid(s.next), lowest(s.active()))
	for g := range s.snaps {
		if s.guards&(1<<g) != 0 {
			h = min(h, lowest(s.committed&^s.snaps[g]&^1))
		}
	}
	for x, n := range s.pins {
		if n > 0 {
			h = min(h, core.Xid(x))
		}
	}
	return h
}

// reach makes the bound at least v.
func (s *state) reach(v core.Xid) { s.next = max(s.next, uint8(min(v, 17))) }

// exactly makes the bound v, if it can be.
func (s *state) exactly(v core.Xid) bool {
	if v == core.None {
		return true
	}
	if core.Xid(s.next) > v {
		return false
	}
	s.reach(v)
	return true
}

func (s *state) horizon(h core.Xid, ok bool) bool {
	if s.required() == core.Xid(s.next) { // nothing is required, so h may be a larger bound
		if ok && h >= core.Xid(s.next) {
			s.reach(h + 1)
		} else if !ok && h > core.Xid(s.next) {
			s.reach(h)
		}
	}
	if h < core.Xid(s.floor) || h > s.required() || ok != (h < core.Xid(s.next)) {
		return false
	}
	s.floor = uint8(h)
	s.answered = max(s.answered, uint8(h))
	return true
}

func (s *state) begin(m *model, x core.Xid) bool {
	if x == core.None || x > 15 || (s.begun|s.committed|s.void|s.unnamed)&bit(x) != 0 {
		return false
	}
	if m.ordered && x < core.Xid(s.next) {
		return false
	}
	s.begun |= bit(x)
	s.reach(x + 1)
	return true
}

// born is begin for an AllocateCommitted, which may hand out what was set aside.
func (s *state) born(x core.Xid) bool {
	if x == core.None || x > 15 || (s.begun|s.committed|s.void)&bit(x) != 0 {
		return false
	}
	s.begun |= bit(x)
	s.borns |= bit(x)
	s.reach(x + 1)
	return true
}

func (s *state) capture(snap uint64, m *model) {
	s.snaps[snap] = s.committed | s.forgotten | 1
	s.captured |= 1 << snap
}

func (s *state) forget(mask uint16) uint16 {
	mask &= s.aborted &^ s.forgotten
	for x, n := range s.pins {
		if n > 0 {
			mask &^= 1 << x
		}
	}
	s.forgotten |= mask
	if mask != 0 {
		s.stale |= s.captured
	}
	return mask
}

func (s *state) release(g uint64) {
	s.guards &^= 1 << g
	for i := range s.deferred {
		d := &s.deferred[i]
		if d.guards &^= 1 << g; d.guards == 0 {
			s.forget(d.what)
			d.what = 0
		}
	}
}

// passed reports whether a horizon has passed the snapshot.
func (s *state) passed(snap uint64, horizon core.Xid) bool {
	return lowest(s.committed&^s.snaps[snap]&^1) < horizon || s.stale&(1<<snap) != 0
}

func below(x core.Xid) uint16 {
	if x >= 16 {
		return 0xffff
	}
	return 1<<x - 1
}

func mask(set core.XidSet) (m uint16) {
	for _, x := range set {
		m |= bit(x)
	}
	return m
}

// step returns the states after o, none if its answer is not allowed.
func (s state) step(o call) []state {
	m := o.m
	if o.IsPending() {
		return s.pendingStep(o)
	}
	if s.answer(m, o) {
		return []state{s}
	}
	return nil
}

// finishes reports whether a finish of x ends as o says.
func (s *state) refused(o *history.Op, x core.Xid) bool {
	got := s.status(x)
	switch o.Result {
	case history.NotActive:
		if o.Status == core.Reserved && got == core.Unallocated {
			s.reach(x + 1)
			got = core.Reserved
		}
		return got == o.Status && got != core.Active && got != core.Unallocated
	case history.Unallocated:
		return got == core.Unallocated
	}
	return false
}

func (s *state) answer(m *model, o call) bool {
	x := o.Xid
	switch o.Kind {
	case history.Begin:
		return s.begin(m, x)
	case history.AllocateCommitted:
		if !o.last {
			return s.born(x)
		}
		ok := s.active()&bit(x) != 0
		s.committed |= bit(x)
		return ok
	case history.Commit, history.Rollback:
		if o.Result != history.OK {
			return s.refused(o.Op, x)
		}
		if s.status(x) != core.Active || s.borns&bit(x) != 0 { // nobody else knows it yet
			return false
		}
		if o.Kind == history.Commit {
			s.committed |= bit(x)
		} else {
			s.aborted |= bit(x)
		}
	case history.CommitGroup:
		switch o.Result {
		case history.OK:
			for i, y := range o.Set {
				if s.status(y) != core.Active || s.borns&bit(y) != 0 || slices.Contains(o.Set[:i], y) {
					return false
				}
			}
			s.committed |= mask(o.Set)
		case history.Duplicate:
			i := slices.Index(o.Set, o.Other)
			return i >= 0 && slices.Contains(o.Set[i+1:], o.Other)
		default:
			return slices.Contains(o.Set, o.Other) && s.refused(o.Op, o.Other)
		}
	case history.Snapshot, history.Retain:
		return s.snapshot(m, o.Op)
	case history.RetainSnapshot:
		if o.Of == 0 {
			return o.Result == history.Foreign
		}
		b := uint64(m.base[o.Of])
		if o.Result == history.TooOld { // it may be refused if a horizon would have passed it
			return s.guards&(1<<b) == 0 && (s.passed(b, core.Xid(s.answered)) || s.hidesCommitted(b))
		}
		if o.Result != history.OK || s.captured&(1<<b) == 0 || s.passed(b, core.Xid(s.answered)) {
			return false
		}
		s.snaps[o.Snap] = s.snaps[b]
		s.captured |= 1 << o.Snap
		s.guards |= 1 << o.Snap
	case history.Release:
		live := s.guards&(1<<o.Of) != 0
		if live {
			s.release(o.Of)
		}
		return live == o.Yes
	case history.Lookup:
		return s.lookup(m, o.Op)
	case history.Status:
		if o.Status == core.Reserved {
			s.reach(x + 1)
		}
		return s.status(x) == o.Status
	case history.IsActive:
		return (s.status(x) == core.Active) == o.Yes
	case history.OldestActive:
		if got := lowest(s.active()); o.Yes {
			return got == x
		} else {
			return got == 16
		}
	case history.OldestRequired:
		return s.horizon(x, o.Yes)
	case history.PeekNext:
		return s.exactly(o.Next)
	case history.Pin:
		if x != core.None {
			s.pins[x]++
			s.floor = min(s.floor, uint8(x))
		}
	case history.Unpin:
		if s.pins[x] > 0 {
			s.pins[x]--
		}
	case history.PinCount:
		return int(s.pins[x]) == o.Count
	case history.OldestPinned:
		got := core.Xid(16)
		for y := 15; y > 0; y-- {
			if s.pins[y] > 0 {
				got = core.Xid(y)
			}
		}
		return o.Yes == (got < 16) && (!o.Yes || got == x)
	case history.ObserveCommitted:
		got := s.status(x)
		if o.Result == history.NotCommitted {
			if o.Status == core.Reserved && got == core.Unallocated {
				s.reach(x + 1)
				got = core.Reserved
			}
			return got == o.Status && got != core.Committed && got != core.Unallocated
		}
		if got == core.Unallocated {
			gap := below(x+1) &^ below(core.Xid(s.next))
			s.committed |= gap
			s.begun |= gap
			s.reach(x + 1)
			return true
		}
		return got == core.Committed
	case history.PruneAborted:
		return s.prune(x) == o.Count
	case history.CheckpointExcluded, history.CheckpointProjection:
		if !s.exactly(o.Next) {
			return false
		}
		in := (s.committed | s.forgotten) & below(o.Next) &^ 1
		// What was set aside is excluded; the rest was given up.
		if mask(o.Set)&in != 0 || below(o.Next)&s.begun&^in&^mask(o.Set)&^1 != 0 {
			return false
		}
		s.void |= below(o.Next) &^ mask(o.Set) &^ s.begun
		return o.Kind == history.CheckpointExcluded || s.horizon(x, x < o.Next)
	case history.ReservesUniqueKey:
		deleter := s.status(o.Other)
		want := true
		switch {
		case s.status(x) == core.Aborted:
			want = false
		case o.Other == core.None:
		case deleter == core.Committed:
			want = false
		default:
			want = !o.Set.Has(o.Other) || deleter == core.Aborted
		}
		return want == o.Yes
	}
	return true
}

func (s *state) hidesCommitted(snap uint64) bool {
	return s.committed&^s.snaps[snap]&^1 != 0
}

func (s *state) prune(x core.Xid) int {
	what := s.aborted & below(x) &^ s.forgotten
	if s.guards != 0 {
		for i := range s.deferred {
			if d := &s.deferred[i]; d.what == 0 {
				d.what, d.guards = what, s.guards
				return 0
			}
		}
	}
	n := 0
	for m := s.forget(what); m != 0; m &= m - 1 {
		n++
	}
	return n
}

func (s *state) snapshot(m *model, o *history.Op) bool {
	if !s.exactly(o.Next) {
		return false
	}
	owner := core.None
	if s.status(o.Xid) == core.Active {
		owner = o.Xid
	}
	if o.Other != owner {
		return false
	}
	in := s.committed | s.forgotten | 1
	if o.Full {
		// Everything below the bound and not hidden has finished, or was set aside
		// for AllocateCommitted.
		hidden := mask(o.Set)
		if s.active()&^hidden != 0 || hidden&s.begun&^s.active() != 0 {
			return false
		}
		s.unnamed |= below(o.Next) &^ hidden &^ s.begun
	}
	for _, p := range o.Probes {
		if p.Xid == o.Other && p.Xid != core.None {
			// It may have rolled back before the question.
			if !p.Yes && m.rolledBack&bit(p.Xid) == 0 {
				return false
			}
		} else if p.Yes != (p.Xid == core.None || in&bit(p.Xid) != 0) {
			return false
		}
	}
	s.capture(o.Snap, m)
	if o.Kind == history.Retain {
		s.guards |= 1 << o.Snap
	}
	return true
}

func (s *state) lookup(m *model, o *history.Op) bool {
	if o.Of == 0 {
		return o.Result == history.Foreign && o.Xid != core.None || o.Result == history.OK && o.Yes && o.Xid == core.None
	}
	b := uint64(m.base[o.Of])
	if s.captured&(1<<b) == 0 {
		return false
	}
	if o.Result == history.TooOld {
		for g := range s.snaps {
			if s.guards&(1<<g) != 0 && uint64(m.base[g]) == b {
				return false
			}
		}
		return s.stale&(1<<b) != 0 || s.hidesCommitted(b)
	}
	want := s.snaps[b]&bit(o.Xid) != 0
	if o.Xid != core.None && o.Xid == m.owner[b] {
		want = s.aborted&bit(o.Xid) == 0
	}
	return o.Result == history.OK && want == o.Yes
}

// pendingStep: a call that never returned has taken effect, or not.
func (s state) pendingStep(o call) []state {
	out := []state{s}
	add := func(t state, ok bool) {
		if ok {
			out = append(out, t)
		}
	}
	switch o.Kind {
	case history.Begin:
		for _, x := range o.m.unknown {
			t := s
			add(t, t.begin(o.m, x))
		}
	case history.AllocateCommitted:
		if o.last {
			t := s
			x := core.Xid(t.slots[o.slot])
			t.committed |= bit(x)
			add(t, x != core.None)
			break
		}
		for _, x := range o.m.unknown {
			t := s
			t.slots[o.slot] = uint8(x)
			add(t, t.born(x))
		}
	case history.Commit, history.Rollback, history.CommitGroup, history.ObserveCommitted:
		t := s
		granted := *o.Op
		granted.Return = granted.Call
		add(t, t.answer(o.m, call{Op: &granted, m: o.m}))
	case history.Release:
		t := s
		t.release(o.Of)
		out = append(out, t)
	case history.PruneAborted:
		t := s
		t.prune(o.Xid)
		out = append(out, t)
	case history.Pin:
		t := s
		t.pins[o.Xid]++
		t.floor = min(t.floor, uint8(o.Xid))
		out = append(out, t)
	case history.Unpin:
		t := s
		if t.pins[o.Xid] > 0 {
			t.pins[o.Xid]--
		}
		out = append(out, t)
	}
	return out
}

// linearizable is porcupine's opinion of a small history.
func linearizable(h *history.History) bool {
	ops, pending := calls(h)
	step := func(s, in any) []any {
		var out []any
		for _, t := range s.(state).step(in.(call)) {
			out = append(out, t)
		}
		return out
	}
	if !pending {
		return porcupine.CheckOperations(porcupine.Model{
			Init: func() any { return state{next: 1} },
			Step: func(s, in, _ any) (bool, any) {
				if t := s.(state).step(in.(call)); len(t) > 0 {
					return true, t[0]
				}
				return false, s
			},
		}, ops)
	}
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{next: 1}} },
		Step: func(s, in, _ any) []any { return step(s, in) },
	}
	return porcupine.CheckOperations(m.ToModel(), ops)
}

// calls prepares a history for porcupine.
func calls(h *history.History) (ops []porcupine.Operation, pending bool) {
	m := &model{ordered: h.Ordered}
	committed := uint16(0)
	seen := map[core.Xid]bool{}
	handed := map[core.Xid]bool{}
	see := func(xs ...core.Xid) {
		for _, x := range xs {
			seen[x] = true
		}
	}
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Granted() {
			switch o.Kind {
			case history.Begin, history.AllocateCommitted:
				handed[o.Xid] = true
			case history.Snapshot, history.Retain:
				m.base[o.Snap], m.owner[o.Snap] = uint8(o.Snap), o.Other
			case history.RetainSnapshot:
				if o.Of != 0 {
					m.base[o.Snap] = m.base[o.Of]
				}
			}
		}
		switch {
		case o.Kind == history.Rollback && o.Result == history.OK:
			m.rolledBack |= bit(o.Xid)
		case o.Kind == history.Commit && o.Granted():
			committed |= bit(o.Xid)
		case o.Kind == history.CommitGroup && o.Granted():
			committed |= mask(o.Set)
		}
		see(o.Xid, o.Other)
		see(o.Set...)
		for _, p := range o.Probes {
			see(p.Xid)
		}
	}
	m.rolledBack &^= committed
	for x := core.Xid(1); x < 16; x++ {
		if seen[x] && !handed[x] {
			m.unknown = append(m.unknown, x)
		}
	}
	slots := 0
	for i := range h.Ops {
		o := &h.Ops[i]
		c := call{Op: o, m: m, slot: slots % 4}
		p := porcupine.Operation{ClientId: int(o.Worker), Input: c, Call: o.Call, Return: o.Return}
		if o.IsPending() {
			switch o.Kind {
			case history.Begin, history.AllocateCommitted, history.Commit, history.Rollback, history.CommitGroup,
				history.ObserveCommitted, history.Release, history.PruneAborted, history.Pin, history.Unpin:
			default:
				continue // an observation that nobody heard of
			}
			pending = true
		}
		ops = append(ops, p)
		if o.Kind == history.AllocateCommitted {
			c.last = true
			p.Input = c
			ops = append(ops, p)
			if o.IsPending() {
				slots++
			}
		}
	}
	return ops, pending
}
