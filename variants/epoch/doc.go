// Package epoch is a lock-free snapshot manager whose snapshots are one number.
//
// A commit clock numbers finishes and snapshots; an outcome log maps every xid
// to one word that says what became of it, and at which number. A snapshot at
// number S includes exactly the commits numbered S or less, so taking one
// copies nothing, allocates nothing and costs the same however many
// transactions are active. A processor takes its xids from blocks of its own; with
// blocks of one the allocator is a fetch-add, and xids are ordered in real time.
// docs/epoch.md explains the ideas one after the other, with figures.
//
// The clock is the epoch of epoch-based reclamation (Fraser 2004): a guard
// announces its number in a slot of its own, and a segment of the log whose numbers
// no announced one can tell apart collapses to a bit for each xid, or to nothing.
// Its memory is used again at once (Recycle): the clock's numbers are what keeps
// the words of one life apart from those of the next, and makes a grace period
// needless. Or it is left to Go's collector (Collect): a snapshot holds the
// directory of its instant, so whatever it can still ask about stays reachable.
//
// # Invariants
//
// The code cites these by number.
//
//	I1  A word leaves "in progress" once, by a compare-and-swap from exactly
//	    the word whose bound was loaded before the number was drawn. So the
//	    number of a finish is larger than the number of every reader who has
//	    answered "not yet" from that word (push).
//	I2  The bound of an in-progress word never falls.
//	I3  A number drawn after a snapshot at S was captured is larger than S; a
//	    snapshot captured after a number was drawn is at least that number.
//	I4  Begin returns only when the segment of its xid is in the directory.
//	    So an xid below the allocator's bound without a segment, beyond the
//	    directory's end, belongs to a Begin that has not returned.
//	I5  The bound, the directory and the number of a snapshot were current at
//	    one instant: bound and directory are read before and after the number.
//	I6  Below a directory's settled mark everything is committed, at a number
//	    that every snapshot with this directory has reached.
//	I7  A guard's slot is held, with a number not above the guard's own, before
//	    its snapshot is captured; a collector reads the clock before it reads
//	    the slots. So no horizon passes a guard.
//	I8  The published horizon never falls. A retained snapshot is checked
//	    against it by a compare-and-swap, so that a collector that did not see
//	    the slot has to start over.
//	I9  An observed gap is in the directory before the allocator jumps over it,
//	    and has its number before a snapshot whose bound lies above it returns.
//	    That it has jumped is told by a bit of next, not by the bound: begins
//	    may have walked past the gap instead.
//	I10 Aborts are forgotten at one number: the words are condemned first, then
//	    the number is drawn, and readers of a condemned word push on the prune
//	    as they would on a transaction in progress. A prune whose set may have
//	    grown by then, or at whose number a guard may have lived, looks again.
//	I11 Of a block the first xid belongs to whoever allocates it, and is active
//	    from then on. Every other xid is reserved until one compare-and-swap of
//	    its word makes it begun, committed or sealed. See block.go.
//	I12 A word that was a link to a group and is given back has a bound that it
//	    never had before. So no link to a group is made after the group's end.
//	I13 No word that can still change is the same in two lives of an array. A
//	    header of the former life is marked after the directory has been
//	    replaced, and before the array is filled. See segment.
//	I14 What has collapsed was decided at numbers that every guard has reached,
//	    and every snapshot with a directory in which it has collapsed. Whoever
//	    retains an older snapshot is refused.
//
// # What waits for what
//
// Begin, Commit, Rollback, CommitGroup, AllocateCommitted, Snapshot, Includes,
// Status, OldestActive, OldestRequired, Retain and CheckpointExcluded never wait.
// A retry is always paid for by somebody else's progress: of Commit and Rollback
// by a reader's push, of Snapshot by a Begin or a new directory. Whoever cannot
// go on without the end of a group brings it about. The rare
// operations (Pin, Unpin, PinCount, PruneAborted, ObserveCommitted,
// RetainSnapshot, CheckpointProjection, and a Release that lets a waiting prune
// go on) take turns under one mutex.
package epoch
