package mutants

import "xidlab/core"

// A Mutant is a manager with one mistake.
type Mutant struct {
	Name    string
	Mistake string // what is wrong, and who made it where that is known
	New     func() core.Manager
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

// All lists the mutants. The first four are mistakes that a published
// implementation of this design made; CheckThenCommit, its other one, needs
// serializable transactions.
var All = []Mutant{
	{"OffByOne", "a snapshot takes the allocator's next value as its inclusive bound", with(offByOne)},
	{"OwnCeiling", "a snapshot is bounded by its owner's xid, and copies the active set later", with(ownCeiling)},
	{"LeakyPool", "an xid reserved before a snapshot and handed out, committed, after it is visible", with(leakyPool)},
	{"OldestActiveDecides", "the horizon is the oldest active xid, whatever the guards hide", with(oldestActiveDecides)},

	{"AbortedDeleterFrees", "an own deleter that rolled back frees a unique key", with(abortedDeleterFrees)},
	{"AbortedReserves", "an aborted creator holds its unique key", with(abortedReserves)},
	{"AbortedVisible", "a snapshot includes what had rolled back", with(abortedVisible)},
	{"AbortHoldsHorizon", "a guard holds back what rolled back", with(abortHoldsHorizon)},
	{"ActiveDeleterFrees", "an active foreign deleter frees a unique key", with(activeDeleterFrees)},
	{"AnyOwner", "whoever asks is the owner, active or not", with(anyOwner)},
	{"Boundary", "a horizon of < where it should be <=", with(boundary)},
	{"CapturesThenRegisters", "a guard captures, then registers", with(capturesThenRegisters)},
	{"ChangesMind", "a snapshot looks at the current outcome", with(changesMind)},
	{"CheckpointKeepsAborted", "a checkpoint does not leave out what rolled back", with(checkpointKeepsAborted)},
	{"CheckpointKeepsReserved", "a checkpoint does not leave out what is reserved", with(checkpointKeepsReserved)},
	{"CommitInTwoSteps", "Status says committed before snapshots do", with(commitInTwoSteps)},
	{"CommitsAborted", "a commit after a rollback succeeds (DuckDB)", with(commitsAborted)},
	{"CounterBeforeSet", "Begin moves the bound, and later enters its xid as active (MariaDB)", with(counterBeforeSet)},
	{"CutoffIgnoresGuards", "a checkpoint's cutoff is the oldest active xid", with(cutoffIgnoresGuards)},
	{"DeferredIgnoresPins", "a delayed prune forgets what was pinned meanwhile", with(deferredIgnoresPins)},
	{"EqualGuardsReleased", "releasing a guard releases those that are equal (RocksDB)", with(equalGuardsReleased)},
	{"ForeignAccepted", "another manager's snapshot is retained", with(foreignAccepted)},
	{"GapLost", "the gap below an observed xid begins one too late", with(gapLost)},
	{"GroupHalfDone", "a refused group has committed the members before the wrong one", with(groupHalfDone)},
	{"GroupOneByOne", "the members of a group commit one after the other", with(groupOneByOne)},
	{"GroupTakesTwice", "a group may name a member twice", with(groupTakesTwice)},
	{"InProgressMissesOldest", "InProgress does not name the oldest", with(inProgressMissesOldest)},
	{"LateAbortsForgotten", "a delayed prune forgets what rolled back after it", with(lateAbortsForgotten)},
	{"ObservedUnguarded", "a guard does not hold back what is observed after it", with(observedUnguarded)},
	{"ObservesActive", "observing an unfinished xid succeeds", with(observesActive)},
	{"ObservesTooMuch", "an xid above MaxXid is observed", with(observesTooMuch)},
	{"OldestSkips", "OldestActive finds its candidate finished and answers that there is none", with(oldestSkips)},
	{"OwnersUnguarded", "one class of guard, that with an owner, is not registered (PostgreSQL)", with(ownersUnguarded)},
	{"OwnerStays", "an owner that rolled back is still included", with(ownerStays)},
	{"PeekOffByOne", "the allocator's bound is the last xid handed out", with(peekOffByOne)},
	{"PinsTooMuch", "an xid above MaxXid is pinned", with(pinsTooMuch)},
	{"PoolOutlivesHorizon", "an xid below a horizon already answered is handed out", with(poolOutlivesHorizon)},
	{"PoolOverlaps", "the pool's xids are handed out by Begin too", with(poolOverlaps)},
	{"PruneGivesUp", "a prune that a guard delays is never made up for", with(pruneGivesUp)},
	{"PruneIgnoresGuards", "a prune forgets what a live guard hides", with(pruneIgnoresGuards)},
	{"PruneIgnoresPins", "a prune forgets what is pinned", with(pruneIgnoresPins)},
	{"PruneTakesBound", "a prune forgets its bound too", with(pruneTakesBound)},
	{"RacingFinish", "a finish checks, then acts: two racing ones both win", with(racingFinish)},
	{"ReleasesTwice", "a second Release reports true (Bolt)", with(releasesTwice)},
	{"RequiredIgnoresPins", "a pin does not cap the horizon", with(requiredIgnoresPins)},
	{"ReservedInProgress", "InProgress names what is reserved or aborted", with(reservedInProgress)},
	{"RetainsTooOld", "a snapshot that the horizon has passed is retained (PostgreSQL)", with(retainsTooOld)},
	{"RollsBackCommitted", "a rollback after a commit succeeds (DuckDB)", with(rollsBackCommitted)},
	{"StaleCache", "a cached snapshot outlives a born-committed xid, an observed one, a prune (PostgreSQL)", with(staleCache)},
	{"StatusRemembers", "Status calls a forgotten xid aborted", with(statusRemembers)},
	{"TokenReused", "a released guard's token names the next guard", with(tokenReused)},
	{"TornCheckpoint", "a checkpoint reads the bound and the outcomes at two instants", with(tornCheckpoint)},
	{"TornKey", "unique-key admission reads creator and deleter at two instants", with(tornKey)},
	{"TornSnapshot", "a snapshot reads the active set and the bound at two instants", with(tornSnapshot)},
	{"Unordered", "an ordered manager hands out pairs, the larger xid first", with(unordered)},
	{"UnpinDebt", "an Unpin without a pin is owed", with(unpinDebt)},
	{"UnpinsAll", "an Unpin drops every reference", with(unpinsAll)},
	{"VagueError", "an xid not allocated yet is called not active", with(vagueError)},
	{"WrapsAround", "after MaxXid comes 1", with(wrapsAround)},
}

func with(k mistake) func() core.Manager { return func() core.Manager { return newManager(k) } }
