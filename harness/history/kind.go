package history

import "fmt"

// A Kind says which operation of a manager an [Op] is. The comments give its
// arguments, and its answer after the arrow; an error that is not listed is none
// that the operation has.
type Kind uint8

const (
	_                 Kind = iota
	Begin                  // → Xid | exhausted
	AllocateCommitted      // → Xid | exhausted
	Commit                 // Xid → ok | not-active Status | unallocated
	Rollback               // Xid → ok | not-active Status | unallocated
	CommitGroup            // Set → ok | not-active Other Status | unallocated Other | duplicate Other
	// Snapshot: Xid is self, Other the owner that it got. Next is its bound.
	// If Full, Set is what InProgress answers; Probes are answers of Lookup,
	// besides or instead.
	Snapshot             // Xid → Snap, Other, Next, Set, Probes
	Retain               // as Snapshot; Snap is also the guard
	RetainSnapshot       // Of → Snap | too-old | foreign; Snap is a guard of the same snapshot
	Release              // Of → Yes
	Lookup               // Of, Xid → Yes | too-old | foreign
	Status               // Xid → Status
	IsActive             // Xid → Yes
	OldestActive         // → Xid, Yes
	OldestRequired       // → Xid, Yes
	OldestPinned         // → Xid, Yes
	PeekNext             // → Next
	Pin                  // Xid → ok | xid-range
	Unpin                // Xid →
	PinCount             // Xid → Count
	ObserveCommitted     // Xid → ok | not-committed Status | xid-range
	PruneAborted         // Xid → Count; Xid is the bound
	CheckpointExcluded   // → Next, Set
	CheckpointProjection // → Next, Set, Xid; Xid is the cutoff
	ReservesUniqueKey    // Xid, Other, Set → Yes; xmin, xmax, own

	numKinds
)

// A part is a piece of an operation's text.
type part uint8

const (
	partXid     part = iota + 1 // Op.Xid
	partOther                   // Op.Other
	partNext                    // Op.Next
	partSet                     // Op.Set in braces
	partList                    // Op.Set as arguments, in any order
	partOf                      // Op.Of
	partSnap                    // Op.Snap
	partYes                     // Op.Yes
	partStatus                  // Op.Status
	partCount                   // Op.Count
	partView                    // what a snapshot sees: owner, bound, hides, has, lacks
	partNothing                 // "ok"
)

// A shape is how operations of a kind are written: name(args) = answers.
type shape struct {
	name     string
	args     []part
	answers  []part
	refusals []Result
	refused  part // what stands after a refusal: the Xid of a group; or none
	found    bool // whether not-active and not-committed name the status found
}

var shapes = [numKinds]shape{
	Begin:                {"Begin", nil, []part{partXid}, []Result{Exhausted}, 0, false},
	AllocateCommitted:    {"AllocateCommitted", nil, []part{partXid}, []Result{Exhausted}, 0, false},
	Commit:               {"Commit", []part{partXid}, []part{partNothing}, []Result{NotActive, Unallocated}, 0, true},
	Rollback:             {"Rollback", []part{partXid}, []part{partNothing}, []Result{NotActive, Unallocated}, 0, true},
	CommitGroup:          {"CommitGroup", []part{partList}, []part{partNothing}, []Result{NotActive, Unallocated, Duplicate}, partOther, true},
	Snapshot:             {"Snapshot", []part{partXid}, []part{partSnap, partView}, nil, 0, false},
	Retain:               {"Retain", []part{partXid}, []part{partSnap, partView}, nil, 0, false},
	RetainSnapshot:       {"RetainSnapshot", []part{partOf}, []part{partSnap}, []Result{TooOld, Foreign}, 0, false},
	Release:              {"Release", []part{partOf}, []part{partYes}, nil, 0, false},
	Lookup:               {"Lookup", []part{partOf, partXid}, []part{partYes}, []Result{TooOld, Foreign}, 0, false},
	Status:               {"Status", []part{partXid}, []part{partStatus}, nil, 0, false},
	IsActive:             {"IsActive", []part{partXid}, []part{partYes}, nil, 0, false},
	OldestActive:         {"OldestActive", nil, []part{partXid, partYes}, nil, 0, false},
	OldestRequired:       {"OldestRequired", nil, []part{partXid, partYes}, nil, 0, false},
	OldestPinned:         {"OldestPinned", nil, []part{partXid, partYes}, nil, 0, false},
	PeekNext:             {"PeekNext", nil, []part{partNext}, nil, 0, false},
	Pin:                  {"Pin", []part{partXid}, []part{partNothing}, []Result{XidRange}, 0, false},
	Unpin:                {"Unpin", []part{partXid}, []part{partNothing}, nil, 0, false},
	PinCount:             {"PinCount", []part{partXid}, []part{partCount}, nil, 0, false},
	ObserveCommitted:     {"ObserveCommitted", []part{partXid}, []part{partNothing}, []Result{NotCommitted, XidRange}, 0, true},
	PruneAborted:         {"PruneAborted", []part{partXid}, []part{partCount}, nil, 0, false},
	CheckpointExcluded:   {"CheckpointExcluded", nil, []part{partNext, partSet}, nil, 0, false},
	CheckpointProjection: {"CheckpointProjection", nil, []part{partNext, partSet, partXid}, nil, 0, false},
	ReservesUniqueKey:    {"ReservesUniqueKey", []part{partXid, partOther, partSet}, []part{partYes}, nil, 0, false},
}

var kinds = func() map[string]Kind {
	m := map[string]Kind{}
	for k := Begin; k < numKinds; k++ {
		m[shapes[k].name] = k
	}
	return m
}()

func (k Kind) String() string {
	if k > 0 && k < numKinds {
		return shapes[k].name
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

func (k Kind) has(p part) bool {
	for _, q := range shapes[k].args {
		if p == q {
			return true
		}
	}
	for _, q := range shapes[k].answers {
		if p == q {
			return true
		}
	}
	return false
}
