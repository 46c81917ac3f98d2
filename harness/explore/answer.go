package explore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"xidlab/core"
)

// An answer is what an operation returned. What its fields mean depends on the
// operation; see record and text.
type answer struct {
	x, y    core.Xid // a transaction, a bound, a count; a cutoff
	yes     bool
	status  core.Status
	set     core.XidSet // in progress, excluded; of a snapshot: included
	refused refusal
}

// A refusal is an error of the contract, or the zero value.
type refusal struct {
	kind   errorKind
	xid    core.Xid
	status core.Status
}

type errorKind uint8

const (
	noError errorKind = iota
	notActive
	unallocated
	notCommitted
	duplicate
	xidRange
	tooOld
	foreign
	strange // none of the contract's; no specification answers so
)

var contractErrors = [...]error{
	notActive: core.ErrNotActive, unallocated: core.ErrUnallocated, notCommitted: core.ErrNotCommitted,
	duplicate: core.ErrDuplicate, xidRange: core.ErrXidRange, tooOld: core.ErrTooOld, foreign: core.ErrForeign,
	strange: errors.New("an error that is not of the contract"),
}

func refusalOf(err error) (r refusal) {
	if err == nil {
		return r
	}
	var e *core.XidError
	if errors.As(err, &e) {
		r.xid, r.status = e.Xid, e.Status
	}
	for kind, known := range contractErrors[:strange] {
		if known != nil && errors.Is(err, known) {
			r.kind = errorKind(kind)
			return r
		}
	}
	r.kind = strange
	return r
}

func (r refusal) String() string {
	switch r.kind {
	case noError:
		return "ok"
	case tooOld, foreign, strange:
		return contractErrors[r.kind].Error()
	}
	return fmt.Sprintf("refused: %s is %v (%v)", nameXid(r.xid), r.status, contractErrors[r.kind])
}

// record appends to buf what tells a from other answers of the same operation.
func (a *answer) record(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(a.x))
	buf = binary.AppendUvarint(buf, uint64(a.y))
	flags := byte(a.status) << 1
	if a.yes {
		flags |= 1
	}
	buf = append(buf, flags, byte(a.refused.kind), byte(a.refused.status), byte(len(a.set)))
	if a.refused.kind != noError {
		buf = binary.AppendUvarint(buf, uint64(a.refused.xid))
	}
	for _, x := range a.set {
		buf = binary.AppendUvarint(buf, uint64(x))
	}
	return buf
}

// text returns a as the answer of op, in words.
func (a *answer) text(op opcode) string {
	switch op {
	case opBegin, opAllocateCommitted, opPeekNext:
		return nameXid(a.x)
	case opPinCount, opPruneAborted:
		return fmt.Sprint(uint64(a.x))
	case opSnapshot, opWithOwner, opRetain, opRetainSnapshot:
		switch {
		case a.refused.kind != noError:
			return a.refused.String()
		case a.yes:
			return fmt.Sprintf("a snapshot below %s (too old to be asked in the end)", nameXid(a.x))
		}
		return fmt.Sprintf("%s below %s", nameXids(a.set), nameXid(a.x))
	case opIncludes:
		if a.refused.kind != noError {
			return a.refused.String()
		}
		return fmt.Sprint(a.yes)
	case opInProgress:
		if a.refused.kind != noError {
			return a.refused.String()
		}
		return nameXids(a.set)
	case opStatus:
		return a.status.String()
	case opOldestActive, opOldestPinned:
		if !a.yes {
			return "none"
		}
		return nameXid(a.x)
	case opOldestRequired:
		if !a.yes {
			return nameXid(a.x) + ", nothing is required"
		}
		return nameXid(a.x)
	case opCheckpointExcluded:
		return fmt.Sprintf("%s below %s", nameXids(a.set), nameXid(a.x))
	case opCheckpointProjection:
		return fmt.Sprintf("%s below %s, cutoff %s", nameXids(a.set), nameXid(a.x), nameXid(a.y))
	case opReservesUniqueKey, opRelease, opInsert, opDelete:
		return fmt.Sprint(a.yes)
	case opUnpin:
		return "done"
	}
	return a.refused.String()
}
