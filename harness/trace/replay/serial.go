package replay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"xidlab/core"
	"xidlab/harness/trace"
)

// Outcomes is what a manager answered in a serial replay.
type Outcomes struct {
	trace  *trace.Trace
	events []event
}

// An event is one answer, at one operation of the trace, about one transaction.
type event struct {
	op, tx uint32
	what   answer
}

type answer uint8

const (
	committed  answer = iota // a commit was accepted
	rolledBack               // a rollback was accepted
	included                 // the snapshot in use includes the transaction
	hidden                   // it does not
	isCommitted
	isAborted
)

var answerNames = [...]string{
	"committed", "rolled back", "in the snapshot", "not in the snapshot",
	"committed in the end", "aborted in the end",
}

// Len returns the number of answers.
func (o *Outcomes) Len() int { return len(o.events) }

// Count returns how many transactions were committed and rolled back, and how
// many probes of a snapshot were answered yes and no.
func (o *Outcomes) Count() (commits, rollbacks, yes, no int) {
	for _, e := range o.events {
		switch e.what {
		case committed:
			commits++
		case rolledBack:
			rollbacks++
		case included:
			yes++
		case hidden:
			no++
		}
	}
	return
}

// Diff returns the first difference between two replays of one trace, in words,
// or "" if there is none.
func Diff(a, b *Outcomes) string {
	for i := range min(len(a.events), len(b.events)) {
		if x, y := a.events[i], b.events[i]; x != y {
			return fmt.Sprintf("%s; the other says: %s", a.describe(x), b.describe(y))
		}
	}
	if len(a.events) != len(b.events) {
		return fmt.Sprintf("%d answers; the other has %d", len(a.events), len(b.events))
	}
	return ""
}

func (o *Outcomes) describe(e event) string {
	if int(e.op) >= len(o.trace.Ops) {
		return fmt.Sprintf("transaction %d is %s", e.tx, answerNames[e.what])
	}
	op := o.trace.Ops[e.op]
	return fmt.Sprintf("operation %d (%v of session %s at %v, transaction %d): transaction %d is %s",
		e.op, op.Kind, o.trace.Sessions[op.Session], op.At, op.Tx, e.tx, answerNames[e.what])
}

// Probes says how much a serial replay asks.
type Probes struct {
	// PerUse is how many transactions are asked about each time a snapshot
	// is used: half of them recent ones, the others any before.
	PerUse int
	// HorizonEvery is after how many uses of a snapshot the horizons are
	// compared with exact ones, which takes time in proportion to the trace;
	// 0 is never.
	HorizonEvery int
	// Seed draws the transactions.
	Seed uint64
}

// Serial plays t on m, a fresh manager, in the one global order, from one
// goroutine. Besides writing down the answers it checks what needs no second
// manager: nothing is refused, xids are fresh, savepoints stand and fall with
// their transaction, horizons are exact (as nothing else runs), and
// CheckpointExcluded, where there is one, names exactly the unfinished and the
// aborted. The first broken promise is the error.
func Serial(m core.Manager, t *trace.Trace, p Probes) (*Outcomes, error) {
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	s := &serial{
		m: m, probes: p,
		rng: rand.New(rand.NewPCG(p.Seed, 0)), subRNG: rand.New(rand.NewPCG(p.Seed, 1)),
		out:      &Outcomes{trace: t},
		sessions: make([]serialSession, len(t.Sessions)),
		seen:     map[core.Xid]bool{core.None: true},
		active:   map[core.Xid]bool{},
	}
	s.group, _ = m.(core.GroupCommitter)
	s.retainer, _ = m.(core.Retainer)
	for i, op := range t.Ops {
		s.at = uint32(i)
		if err := s.step(op); err != nil {
			return nil, fmt.Errorf("replay: operation %d (%v of session %s at %v, transaction %d): %w",
				i, op.Kind, t.Sessions[op.Session], op.At, op.Tx, err)
		}
	}
	s.at = uint32(len(t.Ops))
	for _, d := range s.drawn {
		switch st := m.Status(d.xid); st {
		case core.Committed:
			s.log(d.tx, isCommitted)
		case core.Aborted:
			s.log(d.tx, isAborted)
		default:
			return nil, fmt.Errorf("replay: at the end, xid %d of transaction %d is %v", d.xid, d.tx, st)
		}
	}
	return s.out, s.horizons()
}

type serial struct {
	m        core.Manager
	group    core.GroupCommitter // nil: savepoints share the xid of their transaction
	retainer core.Retainer       // nil: snapshots are not guarded
	probes   Probes
	rng      *rand.Rand
	subRNG   *rand.Rand // apart, as only some managers have savepoints to ask about
	out      *Outcomes
	at       uint32 // the operation
	uses     int

	sessions []serialSession
	drawn    []drawn           // the transactions with an xid, in order of drawing
	seen     map[core.Xid]bool // xids handed out
	active   map[core.Xid]bool // unfinished xids, of savepoints too
	aborted  []core.Xid
	commits  []core.Xid // in order
	subs     []family   // of savepoints, once their transaction has ended
}

type drawn struct {
	tx  uint32
	xid core.Xid
}

// A family is a savepoint's xid and how it ended, beside its transaction's.
type family struct {
	sub, top core.Xid
	undone   bool // rolled back by itself
}

type serialSession struct {
	tx      uint32
	iso     trace.Isolation
	has     bool // a snapshot
	snap    core.Snapshot
	guard   core.Guard
	guarded bool
	since   int          // len(commits) when the guard was captured
	levels  [][]core.Xid // live xids by level; the first of level 0 is the transaction's
	subs    []family     // of this transaction
}

func (ss *serialSession) top() core.Xid {
	if len(ss.levels) == 0 || len(ss.levels[0]) == 0 {
		return core.None
	}
	return ss.levels[0][0]
}

func (s *serial) log(tx uint32, what answer) {
	s.out.events = append(s.out.events, event{s.at, tx, what})
}

func (s *serial) step(op trace.Op) error {
	ss := &s.sessions[op.Session]
	switch op.Kind {
	case trace.Begin:
		*ss = serialSession{tx: op.Tx, iso: op.Isolation, levels: make([][]core.Xid, 1)}
	case trace.AllocateCommitted:
		x := core.AllocateCommitted(s.m)
		if err := s.fresh(op.Tx, x); err != nil {
			return err
		}
		s.commits = append(s.commits, x)
		s.log(op.Tx, committed)
	case trace.Snapshot:
		if err := ss.release(); err != nil { // a trace may take it anew
			return err
		}
		ss.capture(s)
		return s.use(ss)
	case trace.Draw:
		return s.draw(ss, int(op.Level))
	case trace.Read, trace.Write:
		return s.use(ss)
	case trace.Savepoint:
		ss.levels = append(ss.levels, nil)
	case trace.Release:
		for _, xs := range ss.levels[op.Level:] {
			ss.levels[op.Level-1] = append(ss.levels[op.Level-1], xs...)
		}
		ss.levels = ss.levels[:op.Level]
	case trace.RollbackTo:
		for _, xs := range ss.levels[op.Level:] {
			for _, x := range xs {
				if err := s.rollback(x); err != nil {
					return err
				}
				ss.subs = append(ss.subs, family{sub: x, top: ss.top(), undone: true})
			}
		}
		ss.levels = append(ss.levels[:op.Level], nil)
	case trace.Commit, trace.Rollback:
		return s.end(ss, op.Kind)
	}
	return nil
}

func (s *serial) fresh(tx uint32, x core.Xid) error {
	if s.seen[x] || x > core.MaxXid || x >= s.m.PeekNext() {
		return fmt.Errorf("xid %d is not fresh, or not below PeekNext", x)
	}
	s.seen[x] = true
	s.drawn = append(s.drawn, drawn{tx, x})
	return nil
}

func (s *serial) draw(ss *serialSession, level int) error {
	if level > 0 && s.group == nil {
		return nil
	}
	x := s.m.Begin()
	if level == 0 {
		if err := s.fresh(ss.tx, x); err != nil {
			return err
		}
		if ss.has {
			ss.snap = ss.snap.WithOwner(x)
		}
	} else if s.seen[x] {
		return fmt.Errorf("xid %d was handed out before", x)
	}
	s.seen[x] = true
	s.active[x] = true
	ss.levels[level] = append(ss.levels[level], x)
	return nil
}

func (ss *serialSession) capture(s *serial) {
	if ss.iso == trace.ReadCommitted || s.retainer == nil {
		ss.snap = s.m.Snapshot(ss.top())
	} else {
		ss.guard = s.retainer.Retain(ss.top())
		ss.snap, ss.guarded, ss.since = ss.guard.Snapshot, true, len(s.commits)
	}
	ss.has = true
}

// use asks the snapshot about the transaction itself, some recent ones and some
// older ones.
func (s *serial) use(ss *serialSession) error {
	if !ss.has {
		return nil
	}
	top := ss.top()
	for _, xs := range ss.levels {
		for _, x := range xs {
			if in, err := ss.snap.Lookup(x); err != nil {
				return fmt.Errorf("its own xid %d: %w", x, err)
			} else if in != (x == top) {
				return fmt.Errorf("its own xid %d (that of a savepoint: %v) is in its snapshot: %v", x, x != top, in)
			}
		}
	}
	const recent = 16
	for i := range s.probes.PerUse {
		if len(s.drawn) == 0 {
			break
		}
		d := s.drawn[s.rng.IntN(len(s.drawn))]
		if i%2 == 0 {
			d = s.drawn[len(s.drawn)-1-s.rng.IntN(min(recent, len(s.drawn)))]
		}
		what := hidden
		if in, err := ss.snap.Lookup(d.xid); err != nil {
			return fmt.Errorf("xid %d: %w", d.xid, err)
		} else if in {
			what = included
		}
		s.log(d.tx, what)
	}
	if n := len(s.subs); n > 0 {
		f := s.subs[n-1-s.subRNG.IntN(min(recent, n))]
		sub, err := ss.snap.Lookup(f.sub)
		top, err2 := ss.snap.Lookup(f.top)
		if err := errors.Join(err, err2); err != nil {
			return fmt.Errorf("xids %d and %d: %w", f.sub, f.top, err)
		}
		if sub != (top && !f.undone) {
			return fmt.Errorf("savepoint's xid %d (rolled back: %v) is in the snapshot: %v; its transaction's %d: %v",
				f.sub, f.undone, sub, f.top, top)
		}
	}
	if s.uses++; s.probes.HorizonEvery > 0 && s.uses%s.probes.HorizonEvery == 0 {
		return s.horizons()
	}
	return nil
}

func (s *serial) rollback(x core.Xid) error {
	if err := s.m.Rollback(x); err != nil {
		return err
	}
	delete(s.active, x)
	s.aborted = append(s.aborted, x)
	return nil
}

func (s *serial) end(ss *serialSession, k trace.Kind) error {
	if err := s.use(ss); err != nil {
		return err
	}
	top := ss.top()
	xs := slices.Concat(ss.levels...)
	for _, x := range xs {
		if x != top {
			ss.subs = append(ss.subs, family{sub: x, top: top})
		}
	}
	switch {
	case k == trace.Rollback:
		for _, x := range xs {
			if err := s.rollback(x); err != nil {
				return err
			}
		}
		s.log(ss.tx, rolledBack)
	default:
		var err error
		switch {
		case len(xs) == 1:
			err = s.m.Commit(top)
		case len(xs) > 1:
			err = s.group.CommitGroup(xs...)
		}
		if err != nil {
			return err
		}
		for _, x := range xs {
			delete(s.active, x)
		}
		s.commits = append(s.commits, xs...)
		s.log(ss.tx, committed)
	}
	s.subs = append(s.subs, ss.subs...)
	ss.has = false
	return ss.release()
}

func (ss *serialSession) release() error {
	if ss.guarded && !ss.guard.Release() {
		return errors.New("its guard was gone before its release")
	}
	ss.guarded = false
	return nil
}

// horizons compares every bound with the exact one.
func (s *serial) horizons() error {
	next := s.m.PeekNext()
	oldest, any := next, false
	for x := range s.active {
		oldest, any = min(oldest, x), true
	}
	if x, ok := s.m.OldestActive(); ok != any || ok && x != oldest {
		return fmt.Errorf("OldestActive = %d, %v; the oldest active is %d, %v", x, ok, oldest, any)
	}
	if s.retainer != nil {
		want := oldest
		for i := range s.sessions {
			if ss := &s.sessions[i]; ss.guarded {
				for _, x := range s.commits[ss.since:] {
					want = min(want, x)
				}
			}
		}
		if got, ok := s.retainer.OldestRequired(); got != want || ok != (want < next) {
			return fmt.Errorf("OldestRequired = %d, %v; the exact one is %d, %v", got, ok, want, want < next)
		}
	}
	if c, ok := s.m.(core.Checkpointer); ok {
		_, excluded := c.CheckpointExcluded()
		for _, x := range excluded {
			if st := s.m.Status(x); st == core.Committed {
				return fmt.Errorf("CheckpointExcluded names xid %d, which is %v", x, st)
			}
		}
		for x := range s.active {
			if !excluded.Has(x) {
				return fmt.Errorf("CheckpointExcluded leaves out xid %d, which is active", x)
			}
		}
		for _, x := range s.aborted {
			if !excluded.Has(x) {
				return fmt.Errorf("CheckpointExcluded leaves out xid %d, which has aborted", x)
			}
		}
	}
	return nil
}
