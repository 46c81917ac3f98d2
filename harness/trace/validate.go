package trace

import (
	"fmt"
	"math"
	"time"
)

// Validate reports the first operation that breaks the model, or nil. What
// replays a trace relies on it: sessions and objects exist; times do not
// decrease; transactions are numbered by their first operations, one at a time
// in a session, and all of them end; nothing is read before there is a
// snapshot, or written before there is an xid; levels are opened before they
// are closed. It takes time in proportion to the trace.
func (t *Trace) Validate() error {
	if uint64(len(t.Ops)) > math.MaxUint32 || uint64(len(t.Sessions)) > math.MaxUint32 || uint64(len(t.Objects)) > math.MaxUint32 {
		return fmt.Errorf("trace of %d operations: at most %d are supported", len(t.Ops), uint32(math.MaxUint32))
	}
	v := validator{sessions: make([]sessionState, len(t.Sessions)), objects: uint32(len(t.Objects))}
	for i, op := range t.Ops {
		if msg := v.step(op); msg != "" {
			return fmt.Errorf("operation %d (%v of session %d, transaction %d): %s", i, op.Kind, op.Session, op.Tx, msg)
		}
	}
	for i, s := range v.sessions {
		if s.open {
			return fmt.Errorf("transaction %d of session %d does not end", s.tx, i)
		}
	}
	return nil
}

type validator struct {
	sessions []sessionState
	objects  uint32
	next     uint32 // the number of the next transaction
	now      time.Duration
}

type sessionState struct {
	open, snapshot bool
	tx             uint32
	drawn          []bool // by level; its length is one more than the innermost
}

func (v *validator) step(op Op) string {
	switch {
	case op.Kind >= numKinds:
		return "no such kind"
	case op.Isolation >= numIsolations || op.Isolation != 0 && op.Kind != Begin:
		return "an isolation level that cannot be"
	case op.At < v.now:
		return "earlier than the operation before it"
	case uint64(op.Session) >= uint64(len(v.sessions)):
		return "no such session"
	case op.Kind.hasObject() && op.Object >= v.objects || !op.Kind.hasObject() && op.Object != 0:
		return "an object that cannot be"
	case !op.Kind.hasLevel() && op.Level != 0:
		return "a level that cannot be"
	}
	v.now = op.At
	s := &v.sessions[op.Session]
	if op.Kind.Opens() {
		if s.open {
			return "the transaction before it has not ended"
		}
		if op.Tx != v.next {
			return fmt.Sprintf("not numbered in order, want %d", v.next)
		}
		v.next++
		s.open, s.snapshot, s.tx = op.Kind == Begin, false, op.Tx
		s.drawn = append(s.drawn[:0], false)
		return ""
	}
	if !s.open || s.tx != op.Tx {
		return "not the session's open transaction"
	}
	inner := len(s.drawn) - 1
	switch level := int(op.Level); op.Kind {
	case Snapshot:
		s.snapshot = true
	case Draw:
		if level > inner || s.drawn[level] || level > 0 && !s.drawn[level-1] {
			return "not a level that may draw an xid now"
		}
		s.drawn[level] = true
	case Read:
		if !s.snapshot {
			return "no snapshot yet"
		}
	case Write:
		if !s.drawn[inner] {
			return "no xid yet"
		}
	case Savepoint:
		if level != inner+1 {
			return "not one above the innermost level"
		}
		s.drawn = append(s.drawn, false)
	case Release, RollbackTo:
		if level < 1 || level > inner {
			return "no such level"
		}
		s.drawn = s.drawn[:level]
		if op.Kind == RollbackTo {
			s.drawn = append(s.drawn, false)
		}
	case Commit, Rollback:
		s.open = false
	}
	return ""
}
