package core

import (
	"errors"
	"fmt"
)

// What an operation may answer to misuse. Managers return these wrapped (see
// [XidError]); test with [errors.Is]. Misuse changes nothing.
var (
	// ErrNotActive: Commit, Rollback or CommitGroup of an Xid that has
	// finished, was never handed out though it is below the bound, or is None.
	ErrNotActive = errors.New("not active")

	// ErrUnallocated: the Xid is at or above the allocator's bound.
	ErrUnallocated = errors.New("not allocated yet")

	// ErrNotCommitted: ObserveCommitted of an Xid below the bound whose
	// state is something else than committed.
	ErrNotCommitted = errors.New("not committed")

	// ErrDuplicate: CommitGroup was given one Xid twice.
	ErrDuplicate = errors.New("given twice")

	// ErrXidRange: the Xid is above [MaxXid].
	ErrXidRange = errors.New("above core.MaxXid")

	// ErrTooOld: the snapshot has outlived what it needs. A horizon, a prune
	// or a collapse has passed it, and nothing was guessed.
	ErrTooOld = errors.New("snapshot too old")

	// ErrForeign: the snapshot was taken from another manager, or from none
	// (the zero Snapshot).
	ErrForeign = errors.New("snapshot of another manager, or of none")

	// ErrExhausted is the value that Begin and AllocateCommitted panic with
	// once MaxXid has been handed out. Every later call panics again: an Xid
	// is never repeated and never wraps to None.
	ErrExhausted = errors.New("core: xids exhausted: core.MaxXid has been handed out")
)

// An XidError says which operation refused which Xid, and in what state it
// found it.
type XidError struct {
	Op     string // "commit", "rollback", …
	Xid    Xid
	Status Status // at the instant of the refusal
	Err    error  // one of the errors above
}

func (e *XidError) Error() string {
	return fmt.Sprintf("%s of xid %d: %v (it is %v)", e.Op, uint64(e.Xid), e.Err, e.Status)
}

// Unwrap returns the kind of mistake.
func (e *XidError) Unwrap() error { return e.Err }

// FinishError returns the error of finishing (committing, rolling back) an x
// that was found in the given state, which is not Active.
func FinishError(op string, x Xid, found Status) error {
	if found == Unallocated {
		return &XidError{op, x, found, ErrUnallocated}
	}
	return &XidError{op, x, found, ErrNotActive}
}
