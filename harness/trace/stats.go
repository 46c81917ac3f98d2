package trace

import "time"

// Stats says what is in a trace.
type Stats struct {
	Sessions     int
	Transactions int // all of them, autocommit among them
	Commits      int // those that ended by Commit
	Rollbacks    int
	Allocated    int                // AllocateCommitted
	ReadOnly     int                // without an xid
	ByIsolation  [numIsolations]int // those that Begin, by Isolation
	Snapshots    int
	Draws        int // xids drawn, by transactions and savepoints
	Reads        int
	Writes       int
	Savepoints   int
	RollbacksTo  int

	SerializableSessions int           // with a serializable transaction
	Span                 time.Duration // from the first operation to the last
	Longest              time.Duration // the longest transaction
}

// Stats counts what is in t, in time proportional to it. t must be valid.
func (t *Trace) Stats() Stats {
	st := Stats{Sessions: len(t.Sessions), Span: t.Span()}
	type session struct {
		began        time.Duration
		drew, serial bool
	}
	sessions := make([]session, len(t.Sessions))
	for _, op := range t.Ops {
		s := &sessions[op.Session]
		switch op.Kind {
		case Begin:
			st.Transactions++
			st.ByIsolation[op.Isolation]++
			s.began, s.drew = op.At, false
			if op.Isolation == Serializable && !s.serial {
				s.serial = true
				st.SerializableSessions++
			}
		case AllocateCommitted:
			st.Transactions++
			st.Allocated++
			st.Writes++
		case Snapshot:
			st.Snapshots++
		case Draw:
			st.Draws++
			s.drew = true
		case Read:
			st.Reads++
		case Write:
			st.Writes++
		case Savepoint:
			st.Savepoints++
		case RollbackTo:
			st.RollbacksTo++
		case Commit, Rollback:
			if op.Kind == Commit {
				st.Commits++
			} else {
				st.Rollbacks++
			}
			if !s.drew {
				st.ReadOnly++
			}
			st.Longest = max(st.Longest, op.At-s.began)
		}
	}
	return st
}
