package pglog

import (
	"math"
	"time"

	"xidlab/harness/trace"
)

// A session turns the records of one session, in order, into operations.
type session struct {
	im  *importer
	ops []sessionOp
	now time.Duration
	seq int // of the record that is being read
	pos Position

	block    bool // in a transaction block: the client has to end it
	failed   bool // … which has failed: the client has to roll back
	open     bool // a transaction is open
	snapshot bool // it has a snapshot that lasts
	iso      trace.Isolation
	levels   []savepoint // of the open transaction; the first is the transaction
	standard trace.Isolation

	dealtWith *record // the error of the latest statement
}

type savepoint struct {
	name  string
	drawn bool
}

// A sessionOp is an operation before transactions are numbered.
type sessionOp struct {
	op  trace.Op
	seq int
}

func (s *session) emit(op trace.Op) {
	op.At = s.now
	s.ops = append(s.ops, sessionOp{op, s.seq})
}

func (s *session) note(k Kind) { s.im.notes.add(k, 1, s.pos) }

func (s *session) run(recs []record) {
	last := time.Duration(0)
	for i := range recs {
		r := &recs[i]
		if r.kind == rOther || r.kind == rDuration {
			continue
		}
		s.seq, s.pos = r.seq, r.pos
		if r.at < last {
			s.note(ClockBack)
		}
		last = max(last, r.at)
		s.now = max(s.now, r.at)
		switch r.kind {
		case rStatement:
			s.reconcile(r)
			s.statement(r, consequence(recs[i:]))
		case rError:
			if r != s.dealtWith {
				s.strayError()
			}
		case rEnd:
			if s.open {
				s.note(OpenAtDisconnect)
				s.end(trace.Rollback)
			}
			s.block, s.failed = false, false
		}
	}
}

// What the lines after a statement say about it.
type outcome struct {
	next     *record       // the next statement, error or end of the session; nil if there is none
	same     bool          // next belongs to the transaction that the statement was in
	ended    time.Duration // when the statement ended, if finished
	finished bool          // the log says so, by a duration
}

// consequence returns the outcome of the statement recs[0].
func consequence(recs []record) (o outcome) {
	for i := 1; i < len(recs); i++ {
		switch r := &recs[i]; r.kind {
		case rDuration:
			o.ended, o.finished = r.at, true
		case rStatement, rError, rEnd:
			o.next, o.same = r, r.vxid != "" && r.vxid == recs[0].vxid
			return o
		}
	}
	return o
}

// is reports whether the next event is k, in the same transaction.
func (o outcome) is(k recordKind) bool { return o.same && o.next.kind == k }

// reconcile believes what the server says of the session (its command tag, its
// xid) where that differs from what the log has shown so far.
func (s *session) reconcile(r *record) {
	switch {
	case r.state == idle && s.block:
		s.note(EndUnseen)
		s.closeBlock(trace.Rollback)
	case r.state == inTransaction && !s.block:
		s.note(AlreadyOpen)
		if !s.open {
			s.begin(s.standard)
		}
		s.block = true
	case r.state == inFailed && !s.block:
		s.note(AlreadyOpen)
		s.block, s.failed = true, true
	case r.state == inFailed && !s.failed:
		s.note(MissingError)
		s.fail()
	}
	s.believeXid(r)
}

func (s *session) believeXid(r *record) {
	if r.xid != 0 && r.vxid != "" && s.open && !s.levels[0].drawn {
		s.note(UnseenWrite)
		s.draw(0)
	}
}

// statement executes the statements of a line.
func (s *session) statement(r *record, o outcome) {
	failing := -1
	if o.is(rError) {
		failing = s.whichFailed(r, o.next)
		s.dealtWith = o.next
	}
	limit := time.Duration(math.MaxInt64) // how far sleeping may move the clock
	if o.finished {
		limit = max(s.now, o.ended)
	} else if o.next != nil {
		limit = max(s.now, o.next.at)
	}
	for k := range r.stmts {
		st := &r.stmts[k]
		s.im.report.Statements++
		s.note(st.note)
		if s.failed && st.verb != vCommit && st.verb != vRollback && st.verb != vRollbackTo {
			s.note(Refused)
			continue
		}
		if k != failing {
			s.execute(st, r, o)
			s.now += min(st.sleep, limit-s.now)
			continue
		}
		if st.verb == vQuery {
			s.query(st, r, o)
		}
		s.now = max(s.now, o.next.at)
		s.believeXid(o.next)
		if st.verb == vCommit || st.verb == vRollback {
			s.closeBlock(trace.Rollback) // nothing is left to roll back later
		} else {
			s.fail()
		}
		break // the server skips the rest of the line
	}
	if !s.open || s.block || o.is(rStatement) { // an implicit transaction goes on under the extended protocol
		return
	}
	if o.is(rEnd) {
		return // killed in the middle
	}
	if o.finished {
		s.now = max(s.now, o.ended)
	}
	s.end(trace.Commit)
}

// whichFailed returns the index of the statement of r that failed.
func (s *session) whichFailed(r, failure *record) int {
	found, n := len(r.stmts)-1, 0
	for k := len(r.stmts) - 1; k >= 0; k-- {
		if r.stmts[k].tag == failure.tag {
			found = k
			n++
		}
	}
	if n != 1 && len(r.stmts) > 1 {
		s.note(AmbiguousError)
	}
	return found
}

// execute executes a statement that does not fail.
func (s *session) execute(st *stmt, r *record, o outcome) {
	switch st.verb {
	case vBegin:
		if s.block {
			s.note(NestedBegin)
			return
		}
		if !s.open {
			s.begin(s.standard)
		}
		s.block = true // with what the line has done so far
		s.isolate(st.iso)
	case vCommit, vRollback:
		s.finish(st)
	case vSetTx:
		if s.open {
			s.isolate(st.iso)
		}
	case vSetDefault:
		s.standard = st.iso.level
	case vSavepoint:
		switch {
		case !s.block: // an error to the server
			s.note(UnknownSavepoint)
		case len(s.levels) > math.MaxUint16:
			s.note(NotUnderstood)
		default:
			s.levels = append(s.levels, savepoint{name: st.name})
			s.emit(trace.Op{Kind: trace.Savepoint, Level: uint16(len(s.levels) - 1)})
		}
	case vRelease, vRollbackTo:
		s.toSavepoint(st)
	case vQuery:
		s.query(st, r, o)
	}
}

func (s *session) isolate(iso isolation) {
	if !iso.set || s.snapshot {
		return
	}
	s.iso = iso.level
	for i := len(s.ops) - 1; i >= 0; i-- {
		if op := &s.ops[i].op; op.Kind == trace.Begin {
			op.Isolation = iso.level
			return
		}
	}
}

func (s *session) begin(iso trace.Isolation) {
	s.open, s.snapshot, s.iso = true, false, iso
	s.levels = append(s.levels[:0], savepoint{})
	s.emit(trace.Op{Kind: trace.Begin, Isolation: iso})
}

func (s *session) end(k trace.Kind) {
	s.emit(trace.Op{Kind: k})
	s.open, s.snapshot = false, false
}

func (s *session) closeBlock(k trace.Kind) {
	if s.open {
		s.end(k)
	}
	s.block, s.failed = false, false
}

// finish is COMMIT or ROLLBACK.
func (s *session) finish(st *stmt) {
	if !s.block && !s.open {
		s.note(StrayEnd)
		return
	}
	k, iso := trace.Rollback, s.iso
	if st.verb == vCommit && !s.failed {
		k = trace.Commit
	}
	s.closeBlock(k)
	if st.chain {
		s.begin(iso)
		s.block = true
	}
}

func (s *session) toSavepoint(st *stmt) {
	n := len(s.levels) - 1
	for n > 0 && s.levels[n].name != st.name {
		n--
	}
	if !s.open || n <= 0 {
		s.note(UnknownSavepoint)
		return
	}
	if st.verb == vRelease {
		s.emit(trace.Op{Kind: trace.Release, Level: uint16(n)})
		s.levels = s.levels[:n]
		return
	}
	s.emit(trace.Op{Kind: trace.RollbackTo, Level: uint16(n)})
	s.levels = s.levels[:n+1]
	s.levels[n].drawn = false
	s.failed = false
}

// fail is an error inside a transaction.
func (s *session) fail() {
	switch n := len(s.levels) - 1; {
	case !s.open:
	case !s.block:
		s.end(trace.Rollback)
	case n > 0:
		s.emit(trace.Op{Kind: trace.RollbackTo, Level: uint16(n)})
		s.levels[n].drawn = false
		s.failed = true
	default:
		s.end(trace.Rollback)
		s.failed = true
	}
}

// strayError is an error that belongs to no statement in the log: one of
// syntax, or of the parse or bind step.
func (s *session) strayError() {
	if !s.block {
		s.note(ErrorElsewhere)
		return
	}
	if !s.failed {
		s.fail()
	}
}

// query is a statement that reads or writes; it may fail.
func (s *session) query(st *stmt, r *record, o outcome) {
	if !s.open && st.singleRow && len(r.stmts) == 1 && !o.same { // alone, and nothing went wrong
		s.emit(trace.Op{Kind: trace.AllocateCommitted, Object: s.im.object(st.writes[0])})
		return
	}
	if !s.open {
		s.begin(s.standard)
	}
	if s.iso == trace.ReadCommitted || !s.snapshot {
		s.emit(trace.Op{Kind: trace.Snapshot})
		s.snapshot = true
	}
	for _, obj := range st.reads {
		s.emit(trace.Op{Kind: trace.Read, Object: s.im.object(obj)})
	}
	if len(st.writes) == 0 {
		return
	}
	kind := trace.Write
	if !s.levels[0].drawn && o.same && o.next.xid == 0 {
		s.note(EmptyWrite)
		kind = trace.Read
	} else {
		s.draw(len(s.levels) - 1)
	}
	for _, obj := range st.writes {
		s.emit(trace.Op{Kind: kind, Object: s.im.object(obj)})
	}
}

// draw draws an xid for the level and those below it.
func (s *session) draw(level int) {
	for l := range s.levels[:level+1] {
		if !s.levels[l].drawn {
			s.levels[l].drawn = true
			s.emit(trace.Op{Kind: trace.Draw, Level: uint16(l)})
		}
	}
}
