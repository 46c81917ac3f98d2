package mutants

import (
	"xidlab/core"
	"xidlab/internal/fault"
)

// A Mutant is a manager with one mistake: either the small manager of this
// package, or a real variant with one line made wrong, a fault.
type Mutant struct {
	Name    string // of a fault that of the variant comes first: "epoch/retry-keeps-number"
	Mistake string // what is wrong, and who made it where that is known
	New     func() core.Manager
	Claims  Layers // that kill it

	fault fault.Fault // or ""
}

// Switch makes the managers that New returns wrong, until off is called. They
// must not be used beyond that. A fault is switched on for the whole process, one
// at a time, and only in a build with the sim tag; elsewhere Switch panics.
func (m Mutant) Switch() (off func()) {
	if m.fault == "" {
		return func() {}
	}
	return fault.Switch(m.fault)
}

type mistake int

const (
	none mistake = iota
	offByOne
	ownCeiling
	leakyPool
	oldestActiveDecides
	abortedReserves
	abortedVisible
	abortHoldsHorizon
	activeDeleterFrees
	abortedDeleterFrees
	anyOwner
	boundary
	capturesThenRegisters
	changesMind
	checkpointKeepsAborted
	checkpointKeepsReserved
	commitInTwoSteps
	commitsAborted
	counterBeforeSet
	cutoffIgnoresGuards
	deferredIgnoresPins
	equalGuardsReleased
	foreignAccepted
	gapLost
	groupHalfDone
	groupOneByOne
	groupTakesTwice
	inProgressMissesOldest
	lateAbortsForgotten
	observedUnguarded
	observesActive
	observesTooMuch
	oldestSkips
	ownersUnguarded
	ownerStays
	peekOffByOne
	pinsTooMuch
	poolOutlivesHorizon
	poolOverlaps
	pruneGivesUp
	pruneIgnoresGuards
	pruneIgnoresPins
	pruneTakesBound
	racingFinish
	releasesTwice
	requiredIgnoresPins
	reservedInProgress
	retainsTooOld
	rollsBackCommitted
	staleCache
	statusRemembers
	tokenReused
	tornCheckpoint
	tornKey
	tornSnapshot
	unordered
	unpinDebt
	unpinsAll
	vagueError
	wrapsAround
	mistakes // how many there are
)

// All lists the mutants of the small manager. The first four are mistakes that a
// published implementation of this design made; CheckThenCommit, its other one,
// needs serializable transactions.
var All = []Mutant{
	of("OffByOne", "a snapshot takes the allocator's next value as its inclusive bound", offByOne, Stress),
	of("OwnCeiling", "a snapshot is bounded by its owner's xid, and copies the active set later", ownCeiling, Stress),
	of("LeakyPool", "an xid reserved before a snapshot and handed out, committed, after it is visible", leakyPool, Stress),
	of("OldestActiveDecides", "the horizon is the oldest active xid, whatever the guards hide", oldestActiveDecides, Stress),

	of("AbortedDeleterFrees", "an own deleter that rolled back frees a unique key", abortedDeleterFrees),
	of("AbortedReserves", "an aborted creator holds its unique key", abortedReserves),
	of("AbortedVisible", "a snapshot includes what had rolled back", abortedVisible, Stress),
	of("AbortHoldsHorizon", "a guard holds back what rolled back", abortHoldsHorizon),
	of("ActiveDeleterFrees", "an active foreign deleter frees a unique key", activeDeleterFrees),
	of("AnyOwner", "whoever asks is the owner, active or not", anyOwner),
	of("Boundary", "a horizon of < where it should be <=", boundary, Stress),
	of("CapturesThenRegisters", "a guard captures, then registers", capturesThenRegisters, Stress),
	of("ChangesMind", "a snapshot looks at the current outcome", changesMind, Stress),
	of("CheckpointKeepsAborted", "a checkpoint does not leave out what rolled back", checkpointKeepsAborted, Stress),
	of("CheckpointKeepsReserved", "a checkpoint does not leave out what is reserved", checkpointKeepsReserved, Stress),
	of("CommitInTwoSteps", "Status says committed before snapshots do", commitInTwoSteps, Stress),
	of("CommitsAborted", "a commit after a rollback succeeds (DuckDB)", commitsAborted, Stress),
	of("CounterBeforeSet", "Begin moves the bound, and later enters its xid as active (MariaDB)", counterBeforeSet, Stress),
	of("CutoffIgnoresGuards", "a checkpoint's cutoff is the oldest active xid", cutoffIgnoresGuards, Stress),
	of("DeferredIgnoresPins", "a delayed prune forgets what was pinned meanwhile", deferredIgnoresPins, Stress),
	of("EqualGuardsReleased", "releasing a guard releases those that are equal (RocksDB)", equalGuardsReleased, Stress),
	of("ForeignAccepted", "another manager's snapshot is retained", foreignAccepted),
	of("GapLost", "the gap below an observed xid begins one too late", gapLost),
	of("GroupHalfDone", "a refused group has committed the members before the wrong one", groupHalfDone, Stress),
	of("GroupOneByOne", "the members of a group commit one after the other", groupOneByOne, Stress),
	of("GroupTakesTwice", "a group may name a member twice", groupTakesTwice, Stress),
	of("InProgressMissesOldest", "InProgress does not name the oldest", inProgressMissesOldest, Stress),
	of("LateAbortsForgotten", "a delayed prune forgets what rolled back after it", lateAbortsForgotten, Stress),
	of("ObservedUnguarded", "a guard does not hold back what is observed after it", observedUnguarded),
	of("ObservesActive", "observing an unfinished xid succeeds", observesActive, Stress),
	of("ObservesTooMuch", "an xid above MaxXid is observed", observesTooMuch, Stress),
	of("OldestSkips", "OldestActive finds its candidate finished and answers that there is none", oldestSkips, Stress),
	of("OwnersUnguarded", "one class of guard, that with an owner, is not registered (PostgreSQL)", ownersUnguarded, Stress),
	of("OwnerStays", "an owner that rolled back is still included", ownerStays, Stress),
	of("PeekOffByOne", "the allocator's bound is the last xid handed out", peekOffByOne, Stress),
	of("PinsTooMuch", "an xid above MaxXid is pinned", pinsTooMuch),
	of("PoolOutlivesHorizon", "an xid below a horizon already answered is handed out", poolOutlivesHorizon),
	of("PoolOverlaps", "the pool's xids are handed out by Begin too", poolOverlaps, Stress),
	of("PruneGivesUp", "a prune that a guard delays is never made up for", pruneGivesUp),
	of("PruneIgnoresGuards", "a prune forgets what a live guard hides", pruneIgnoresGuards, Stress),
	of("PruneIgnoresPins", "a prune forgets what is pinned", pruneIgnoresPins),
	of("PruneTakesBound", "a prune forgets its bound too", pruneTakesBound, Stress),
	of("RacingFinish", "a finish checks, then acts: two racing ones both win", racingFinish),
	of("ReleasesTwice", "a second Release reports true (Bolt)", releasesTwice, Stress),
	of("RequiredIgnoresPins", "a pin does not cap the horizon", requiredIgnoresPins, Stress),
	of("ReservedInProgress", "InProgress names what is reserved or aborted", reservedInProgress, Stress),
	of("RetainsTooOld", "a snapshot that the horizon has passed is retained (PostgreSQL)", retainsTooOld, Stress),
	of("RollsBackCommitted", "a rollback after a commit succeeds (DuckDB)", rollsBackCommitted, Stress),
	of("StaleCache", "a cached snapshot outlives a born-committed xid, an observed one, a prune (PostgreSQL)", staleCache, Stress),
	of("StatusRemembers", "Status calls a forgotten xid aborted", statusRemembers, Stress),
	of("TokenReused", "a released guard's token names the next guard", tokenReused, Stress),
	of("TornCheckpoint", "a checkpoint reads the bound and the outcomes at two instants", tornCheckpoint, Stress),
	of("TornKey", "unique-key admission reads creator and deleter at two instants", tornKey, Stress),
	of("TornSnapshot", "a snapshot reads the active set and the bound at two instants", tornSnapshot, Stress),
	of("Unordered", "an ordered manager hands out pairs, the larger xid first", unordered, Stress),
	of("UnpinDebt", "an Unpin without a pin is owed", unpinDebt),
	of("UnpinsAll", "an Unpin drops every reference", unpinsAll, Stress),
	of("VagueError", "an xid not allocated yet is called not active", vagueError, Stress),
	of("WrapsAround", "after MaxXid comes 1", wrapsAround),
}

// of is killed by the kit, and by the layers of also.
func of(name, mistake string, k mistake, also ...Layers) Mutant {
	m := Mutant{name, mistake, func() core.Manager { return newManager(k) }, Kit, ""}
	for _, l := range also {
		m.Claims |= l
	}
	return m
}
