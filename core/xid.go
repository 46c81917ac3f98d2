package core

import (
	"fmt"
	"slices"
)

// An Xid identifies a transaction. A manager hands out each Xid at most once.
//
// Xids name transactions; they do not date them. Whether a smaller Xid began
// earlier depends on the manager (see [Manager.Ordered]); whether it committed
// earlier is never told by the Xid.
type Xid uint64

const (
	// None is the Xid of no transaction. It counts as committed before
	// everything else: a version created by None is visible to every
	// snapshot, a version deleted by None is not deleted.
	None Xid = 0

	// MaxXid is the largest Xid that a manager can hand out or observe.
	MaxXid Xid = 1<<60 - 1
)

// A Status is what has become of an Xid by now.
type Status uint8

const (
	// Unallocated: at or above the allocator's bound; no transaction yet.
	Unallocated Status = iota
	// Reserved: below the allocator's bound, set aside and not handed out. A
	// manager may give it up: nobody ever gets it then, it counts as
	// Committed from there on, and holds no horizon back.
	Reserved
	// Active: begun and not finished.
	Active
	// Committed: finished by Commit, AllocateCommitted or CommitGroup, or
	// observed, or rolled back and since forgotten by PruneAborted.
	Committed
	// Aborted: finished by Rollback.
	Aborted
)

var statusNames = [...]string{"unallocated", "reserved", "active", "committed", "aborted"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// An XidSet is a set of Xids: ascending, each once. The zero value is empty.
type XidSet []Xid

// NewXidSet returns the set of xs, in a slice of its own.
func NewXidSet(xs ...Xid) XidSet {
	set := slices.Clone(xs)
	slices.Sort(set)
	return slices.Compact(set)
}

// Has reports whether x is in the set, in O(log n).
func (set XidSet) Has(x Xid) bool {
	_, ok := slices.BinarySearch(set, x)
	return ok
}
