// Package core is the contract of a snapshot manager: the part of an MVCC
// database that hands out transaction ids (xids), knows which transactions are
// unfinished, committed or rolled back, and tells each reader which of them it
// may see.
//
// [Manager] is what every implementation provides; the other interfaces are
// capabilities, which an implementation may add. A function of this package
// that takes a Manager uses the capabilities it finds.
//
// Every operation is linearizable: it takes effect at one instant between its
// call and its return. The order of these instants is the order that the
// comments speak of: a [Snapshot] includes exactly the transactions whose
// commit comes before it in that order, and its owner.
//
// All methods are safe for concurrent use. Misuse (finishing twice, an Xid
// never handed out, another manager's snapshot, a value above [MaxXid]) is
// answered with an error that names the Xid and the state it was found in, and
// changes nothing.
//
// The contract is executable: package spec is the sequential specification,
// package coretest checks an implementation against it.
package core

// A Manager hands out xids, remembers outcomes and takes snapshots.
type Manager interface {
	// Begin allocates an Xid never handed out before, active from that
	// instant. If Ordered, one Begin that returns before another is called
	// returns the smaller Xid. Panics with [ErrExhausted] beyond MaxXid.
	Begin() Xid

	// Snapshot returns the point-in-time snapshot with owner self, if self
	// is active at its instant; otherwise (None, finished, never handed out)
	// a pure reader's, without owner. It includes everything committed so
	// far and nothing that commits later. Taking it again refreshes it,
	// statement by statement.
	Snapshot(self Xid) Snapshot

	// Commit makes x committed: every later snapshot includes it. Errors:
	// ErrNotActive, ErrUnallocated. Of two racing finishes exactly one wins.
	Commit(x Xid) error

	// Rollback makes x aborted: no snapshot includes it, until PruneAborted
	// forgets it. Errors as Commit.
	Rollback(x Xid) error

	// Status returns what has become of x by now. None counts as committed;
	// an x above MaxXid is Unallocated. Once it is Committed, every later
	// snapshot includes x.
	Status(x Xid) Status

	// OldestActive returns the smallest active Xid; false if there is none.
	OldestActive() (Xid, bool)

	// PeekNext returns the allocator's bound: every Xid handed out so far is
	// below it, and Status of every Xid at or above it is Unallocated. At
	// most MaxXid+1.
	PeekNext() Xid

	// Ordered reports whether the Xids of Begin are ordered in real time: if
	// one Begin returns before another is called, its Xid is smaller. It is
	// a constant of the manager.
	Ordered() bool
}

// IsActive reports whether x is active now. Once it is false because x
// committed, every later snapshot includes x.
func IsActive(m Manager, x Xid) bool { return m.Status(x) == Active }

// IsAborted reports whether x has rolled back and is not forgotten.
func IsAborted(m Manager, x Xid) bool { return m.Status(x) == Aborted }

// A CommittedAllocator hands out xids that are born committed, for single-row
// autocommit writes.
type CommittedAllocator interface {
	// AllocateCommitted returns an Xid, never equal to a Begin's, that every
	// snapshot taken after it returns includes and none taken before it was
	// called. Until it returns it may be seen as active: it is a transaction
	// that begins and commits in one call. It may be smaller than xids
	// already handed out. It says nothing about durability: the caller logs
	// and syncs before it acknowledges. Panics like Begin.
	AllocateCommitted() Xid
}

// AllocateCommitted returns an Xid that is born committed: m's own way if m is
// a [CommittedAllocator], otherwise a Begin and a Commit.
func AllocateCommitted(m Manager) Xid {
	if a, ok := m.(CommittedAllocator); ok {
		return a.AllocateCommitted()
	}
	x := m.Begin()
	if err := m.Commit(x); err != nil {
		panic(err) // nobody else knows x
	}
	return x
}

// A Retainer protects snapshots from the collector of old versions.
type Retainer interface {
	// Retain captures a snapshot, as Manager.Snapshot does, and guards it,
	// in one step: no horizon computed in between can pass it by.
	Retain(self Xid) Guard

	// RetainSnapshot guards an existing snapshot. Another guard, a pin or an
	// active transaction may be what protected it so far. A horizon passes s
	// if it is above a transaction that has committed since s was taken. The
	// request is refused with ErrTooOld if an answer of OldestRequired or a
	// cutoff of CheckpointProjection has passed s, or a PruneAborted has
	// forgotten something since s was taken; it is granted if OldestRequired,
	// asked at any instant since, would not have passed s. Where it would
	// have but nobody asked, a manager may do either, and so where it
	// collapses (see [Collapser]). The snapshot of another manager, or of
	// none, is ErrForeign.
	RetainSnapshot(s Snapshot) (Guard, error)

	// OldestRequired returns a bound for the collector of old versions;
	// false if nothing is required, and the bound is then PeekNext. It is
	// never above an active Xid, a pinned Xid, or an Xid that committed after
	// the snapshot of some live guard (the guard's owner is no exception; an
	// Xid that aborted is, nobody needs it); at most the exact minimum of
	// these at its instant, and equal to it when nothing else runs. It does
	// not move backwards, unless something older is pinned anew. (A pin at
	// or above PeekNext counts from when the allocator passes it.)
	//
	// Only guards, pins and active transactions hold it back: whoever reads
	// through a snapshot while versions may be removed retains it.
	OldestRequired() (Xid, bool)
}

// A Collapser says whether a Retainer gives up, to save memory, in what order
// transactions have finished, where no live guard can tell. Active transactions
// and pins do not keep that, only guards do.
type Collapser interface {
	// Collapses is a constant of the manager. If it is true, the manager may
	// answer ErrTooOld to RetainSnapshot, to Lookup and to InProgress once some
	// transaction has finished, or something that was set aside has been given
	// up, after the snapshot's instant, and, since then, no guard was live that is as old as the snapshot.
	Collapses() bool
}

// Collapses reports whether m is a [Collapser] that does.
func Collapses(m Manager) bool {
	c, ok := m.(Collapser)
	return ok && c.Collapses()
}

// A Pinner keeps reference-counted external pins. A pinned Xid caps
// OldestRequired, and its aborted outcome is not forgotten.
type Pinner interface {
	// Pin adds a reference to x, which need not be allocated. Pin of None
	// does nothing. An x above MaxXid is ErrXidRange.
	Pin(x Xid) error
	// Unpin drops a reference to x; without one it does nothing.
	Unpin(x Xid)
	// PinCount returns the number of references to x.
	PinCount(x Xid) int
	// OldestPinned returns the smallest pinned Xid; false if there is none.
	OldestPinned() (Xid, bool)
}

// IsPinned reports whether x has a reference.
func IsPinned(p Pinner, x Xid) bool { return p.PinCount(x) > 0 }

// A Pruner forgets aborted outcomes.
type Pruner interface {
	// PruneAborted forgets the aborted xids below the bound, and returns how
	// many it forgot now. Call it only after every version that names them
	// is removed: to snapshots taken later, and to Status, a forgotten Xid
	// counts as committed.
	//
	// A pinned Xid is not forgotten. Nothing is forgotten while a guard
	// lives whose snapshot was captured before the prune; as soon as the
	// last of them is released, what had aborted before the prune and is not
	// pinned then is forgotten after all.
	PruneAborted(below Xid) int
}

// A Recoverer rebuilds the state of a manager from a log.
type Recoverer interface {
	// ObserveCommitted takes note of a committed x. At or above the
	// allocator's bound: x and the gap below it count as committed at this
	// instant (snapshots already taken do not include them, later ones do)
	// and the bound moves to x+1. Below the bound: nil if x is committed,
	// else ErrNotCommitted, and nothing changes. Above MaxXid: ErrXidRange.
	// A jump of any size costs no memory in proportion.
	ObserveCommitted(x Xid) error
}

// A Checkpointer describes one instant to a crash-recoverable checkpoint.
// Neither method changes live transactions or their readers.
type Checkpointer interface {
	// CheckpointExcluded returns the allocator's bound, and every Xid below
	// it whose writes a checkpoint of that instant must leave out: active,
	// aborted, reserved.
	CheckpointExcluded() (next Xid, excluded XidSet)

	// CheckpointProjection returns the same of one instant, with a retention
	// cutoff: as OldestRequired (next when nothing is required), at most the
	// exact one of that instant.
	CheckpointProjection() (next Xid, excluded XidSet, cutoff Xid)
}

// A KeyReserver answers unique-key admission from current outcomes, not from a
// snapshot.
type KeyReserver interface {
	// ReservesUniqueKey reports whether a version created by xmin and
	// deleted by xmax (None: not deleted) holds its unique key: false if the
	// creator aborted, or the deleter committed, or the deleter is one of
	// own, the caller's xids, and has not rolled back. Otherwise true: an
	// active or committed creator reserves the key, and an active foreign
	// deleter does not free it. The answer is that of one instant.
	ReservesUniqueKey(xmin, xmax Xid, own XidSet) bool
}

// A GroupCommitter commits several xids at one instant.
type GroupCommitter interface {
	// CommitGroup commits a transaction together with its released
	// savepoints: all at one instant, or none. Errors: ErrNotActive,
	// ErrUnallocated, ErrDuplicate, naming the x that was refused. An empty
	// group is committed by doing nothing.
	CommitGroup(xs ...Xid) error
}
