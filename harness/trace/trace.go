package trace

import (
	"fmt"
	"time"
)

// A Trace is a recorded workload. It is immutable once built, and then safe for
// concurrent use.
type Trace struct {
	Source   string    // where it comes from, in words
	Start    time.Time // what the times of Ops count from, in UTC, in the years 1678 to 2262
	Sessions []string  // names, by number
	Objects  []Object  // what is read and written, by number
	Ops      []Op      // in global order; At never decreases
}

// An Object is what a Read or a Write touches: the rows of Table that Key
// describes ("aid=5": one column equal to one value), or all of them if Key is
// empty. Two objects of one table whose keys name different columns may overlap.
type Object struct{ Table, Key string }

func (o Object) String() string {
	if o.Key == "" {
		return o.Table
	}
	return o.Table + "[" + o.Key + "]"
}

// An Op is one operation of one session.
type Op struct {
	At        time.Duration // since the trace's Start
	Session   uint32        // which of the trace's Sessions
	Tx        uint32        // the transaction, numbered by first operations
	Object    uint32        // of Read, Write and AllocateCommitted
	Level     uint16        // of Draw, Savepoint, Release and RollbackTo
	Kind      Kind
	Isolation Isolation // of Begin
}

// A Kind says what an Op does.
type Kind uint8

const (
	// Begin starts a transaction. It draws no xid.
	Begin Kind = iota
	// Snapshot takes the snapshot that the following reads and writes use.
	Snapshot
	// Draw takes an xid for Level and adds it to the snapshot if Level is 0.
	Draw
	// Read looks at Object through the snapshot.
	Read
	// Write makes versions of Object with the xid of the innermost level.
	Write
	// Savepoint opens Level, one above the innermost.
	Savepoint
	// Release closes Level and those above; their xids commit with the
	// transaction.
	Release
	// RollbackTo rolls back the xids of Level and of those above, and closes
	// the ones above. Level itself stays open, without an xid.
	RollbackTo
	// Commit ends the transaction, with every level that is open.
	Commit
	// Rollback ends the transaction.
	Rollback
	// AllocateCommitted is a whole transaction: an autocommit write of one
	// row of Object.
	AllocateCommitted

	numKinds
)

var kindNames = [numKinds]string{
	"begin", "snapshot", "draw", "read", "write", "savepoint", "release",
	"rollback-to", "commit", "rollback", "allocate-committed",
}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

func (k Kind) hasLevel() bool {
	return k == Draw || k == Savepoint || k == Release || k == RollbackTo
}

func (k Kind) hasObject() bool { return k == Read || k == Write || k == AllocateCommitted }

// Opens reports whether k is the first operation of a transaction.
func (k Kind) Opens() bool { return k == Begin || k == AllocateCommitted }

// Ends reports whether k is the last operation of a transaction.
func (k Kind) Ends() bool { return k == Commit || k == Rollback || k == AllocateCommitted }

// An Isolation is the isolation level of a transaction.
type Isolation uint8

const (
	// ReadCommitted takes a snapshot for every statement.
	ReadCommitted Isolation = iota
	// RepeatableRead takes one for the transaction: snapshot isolation.
	RepeatableRead
	// Serializable takes one for the transaction, and was recorded on a
	// server that looked for dangerous structures.
	Serializable

	numIsolations
)

var isolationNames = [numIsolations]string{"read committed", "repeatable read", "serializable"}

func (i Isolation) String() string {
	if i < numIsolations {
		return isolationNames[i]
	}
	return fmt.Sprintf("Isolation(%d)", uint8(i))
}

// Span returns the time of the last operation.
func (t *Trace) Span() time.Duration {
	if len(t.Ops) == 0 {
		return 0
	}
	return t.Ops[len(t.Ops)-1].At
}
