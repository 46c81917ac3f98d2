package mutants

import (
	"slices"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/variants/epoch"
	"xidlab/variants/rwmutex"
	"xidlab/variants/sharded"
)

// Faults lists the faults that are built into the real variants. Each is named as
// where it stands, package fault says how, and can be switched on in a build with
// the sim tag. The managers are small, so that what is rare becomes common.
var Faults = slices.Concat(
	faultsOf(func() core.Manager { return epoch.With(epoch.Options{Segment: 4, Block: 1}) }, epochFaults),
	faultsOf(func() core.Manager { return epoch.With(epoch.Options{Segment: 4, Block: 2, Cursors: 2}) }, blockFaults),
	faultsOf(func() core.Manager {
		return epoch.With(epoch.Options{Segment: 4, Block: 1, Fan: 2, Reclaim: epoch.Recycle})
	}, reuseFaults),
	faultsOf(func() core.Manager {
		return epoch.With(epoch.Options{Segment: 4, Block: 2, Cursors: 1, Fan: 2, Reclaim: epoch.Recycle})
	}, blockReuseFaults),
	faultsOf(func() core.Manager { return sharded.NewShards(2) }, shardedFaults),
	faultsOf(func() core.Manager { return rwmutex.New() }, rwmutexFaults),
)

type row struct {
	name    fault.Fault
	mistake string
	claims  Layers
}

func faultsOf(newManager func() core.Manager, rows []row) []Mutant {
	faults := make([]Mutant, len(rows))
	for i, r := range rows {
		faults[i] = Mutant{string(r.name), r.mistake, newManager, r.claims, r.name}
	}
	return faults
}

// blockFaults need blocks of more than one xid.
var blockFaults = []row{
	{"epoch/cursor-before-segment", "a block is put at its cursor before its segment is made", Explore},
	{"epoch/begin-unmarked", "Begin takes an xid from its block and leaves the word as it is", Kit | Explore},
	{"epoch/seal-overwrites", "a walk seals a reserved xid whatever its word is by now", Explore},
	{"epoch/seals-at-nothing", "a walk seals at a number that every snapshot has reached", Kit | Explore},
	{"epoch/first-is-sealed", "a walk seals the first xid of a block, whose Begin has not returned", Explore},
	{"epoch/oldest-names-reserved", "OldestActive takes a reserved xid for an active one", Kit | Explore},
	{"epoch/oldest-passes-unsealed", "OldestActive passes a reserved xid and does not seal it", Kit | Explore},
	{"epoch/horizon-stops-at-reserved", "OldestRequired takes a reserved xid for an active one", Kit | Explore},
	{"epoch/horizon-passes-unsealed", "OldestRequired passes a reserved xid and does not seal it", Kit | Explore},
	{"epoch/reserved-is-active", "Status calls a reserved xid active", Kit | Explore},
	{"epoch/reserved-is-finished", "a finish of a reserved xid succeeds", Kit | Explore},
	{"epoch/owner-read-once", "a snapshot asks before its capture whether its owner has begun, and not again", Explore},
	{"epoch/jump-unaligned", "ObserveCommitted moves the allocator into the middle of a block", Kit | Explore},
}

var epochFaults = []row{
	// Begin, finish, Status
	{"epoch/allocation-clears", "Begin clears its word, which a finish by somebody who guessed the xid has decided", Explore},
	{"epoch/guess-refused", "a finish of an xid whose Begin has not made its segment yet is refused", Explore},
	{"epoch/finish-awaits-begin", "a finish of an xid whose Begin has not made its segment yet waits for it", Progress},
	{"epoch/bound-after-word", "Status reads the word, then the bound: a gap may be jumped over in between", Explore},
	{"epoch/draws-before-load", "a finish draws its number, then loads the word, and with it a bound above that number", Explore | Stress},
	{"epoch/retry-keeps-number", "a finish whose compare-and-swap fails tries again with the number that it has", Explore},
	{"epoch/publishes-then-ticks", "a finish publishes t+1 before it moves the clock from t", Explore},
	{"epoch/rollback-unnumbered", "a rollback writes no number", Kit | Explore | Stress},
	{"epoch/finish-overwrites", "a finish stores its word, whatever is there by now", Explore | Stress},
	{"epoch/push-overwrites", "a push stores its bound, whatever is there by now", Explore | Stress},
	{"epoch/push-lowers", "a push writes its bound though there is a higher one", Explore},
	{"epoch/status-unpushed", "Status says active and leaves no trace", Explore},
	{"epoch/present-is-now", "an answer about the present pushes t though no snapshot has t yet", Explore},
	{"epoch/status-pushes-present", "Status of a condemned xid pushes the largest number that any snapshot has, and a rollback may have a larger one", Explore},
	{"epoch/key-reads-once", "unique-key admission reads the deleter before the creator only", Explore},

	// clock
	{"epoch/snapshot-unmarked", "a snapshot does not set the clock's bit", Kit | Explore | Stress},
	{"epoch/capture-rereads", "a snapshot reads its number again after it has set the bit", Explore | Stress},
	{"epoch/draw-unseparated", "a finish draws t though a snapshot has it", Kit | Explore | Stress},
	{"epoch/fence-open", "a prune does not move the clock past its number", Kit | Explore},

	// directory, gaps
	{"epoch/unmade-is-dropped", "an xid beyond the directory's end counts as one whose segment was dropped", Kit | Explore | Stress},
	{"epoch/gap-by-bound", "a gap counts as jumped over if the bound is above it, though begins may have walked there", Explore},
	{"epoch/gap-failure-unsaid", "an observer whom begins have overtaken does not say so in its gap, and the next jump turns the parity", Explore},
	{"epoch/gap-number-once", "a gap counts as not jumped over if the parity is the old one, though it may have turned twice", Explore},
	{"epoch/gap-from-early", "where a gap begins is read before it is known that the allocator has jumped", Explore},
	{"epoch/gap-numbered-early", "an observed gap gets its number before the allocator jumps", Explore | Stress},
	{"epoch/gap-numbered-twice", "whoever numbers a gap stores the number, over one that others have used", Explore},
	{"epoch/jump-unawaited", "a snapshot whose bound is above a pending gap does not see to its number", Explore},
	{"epoch/snapshot-awaits-jump", "a snapshot whose bound is above a pending gap waits for its number", Progress},
	{"epoch/gaps-merged", "two gaps that touch become one at the later number, whoever lives between the two", Explore},

	// guards
	{"epoch/captures-then-registers", "Retain captures its snapshot, then takes a slot", Explore},
	{"epoch/slot-unclaimed", "Retain finds a slot free and takes it by a store", Explore | Stress},
	{"epoch/chunk-overwritten", "a chunk of slots is appended by a store, over one that was just appended", Explore},
	{"epoch/setting-in-ignored", "a horizon passes over a slot whose guard has not captured yet", Explore},
	{"epoch/leaving-is-left", "a horizon passes over a slot whose Release has not forgotten yet what it kept", Explore},
	{"epoch/slot-leaked", "a RetainSnapshot that is refused keeps its slot", Kit | Explore},
	{"epoch/horizon-untouched", "RetainSnapshot reads the horizon and leaves it as it is", Explore},

	// horizons
	{"epoch/oldest-pushes-early", "OldestActive pushes a number captured before its walk", Explore},
	{"epoch/oldest-unpushed", "OldestActive names an xid and leaves no trace", Explore},
	{"epoch/oldest-bound-once", "OldestActive finds everything finished below the bound that it read first, and answers none", Explore},
	{"epoch/oldest-stale-directory", "OldestActive takes an xid without a word for active by the directory from before its walk", Explore},
	{"epoch/slots-then-clock", "a horizon reads the slots, then the clock", Explore},
	{"epoch/required-old-bound", "OldestRequired answers none by the bound from before its walk", Explore},
	{"epoch/horizon-overwritten", "a horizon is published by a store", Explore | Stress},
	{"epoch/horizon-unnumbered", "a horizon does not say up to which number it has passed", Kit | Explore | Stress},
	{"epoch/horizon-falls-in-gap", "a horizon that a guard stops inside a gap goes back to where the gap begins", Explore},
	{"epoch/collapse-past-guards", "segments collapse up to the clock's number, whatever the guards hide", Explore},
	{"epoch/collapse-slots-then-clock", "a collapse reads the slots, then the clock", Explore},
	{"epoch/collapse-open", "a segment collapses though something in it is in progress", Kit | Explore},
	{"epoch/collapse-forgets-abort", "a segment collapses without its aborts", Kit | Explore},
	{"epoch/collapse-unsaid", "RetainSnapshot is not told up to which number segments have collapsed", Explore},
	{"epoch/retains-collapsed", "RetainSnapshot does not look up to which number segments have collapsed", Explore},
	{"epoch/aborts-settle", "a segment in which everything has finished is dropped, with its aborts", Kit | Explore | Stress},
	{"epoch/trylock-ignored", "a Begin trims though it did not get the turn", Race},
	{"epoch/collect-waits", "a Begin in the middle of a segment waits for the turn", Progress},

	// prunes
	{"epoch/prune-guards-once", "a prune looks for guards before it condemns, and not again", Explore},
	{"epoch/prune-misses-ended-guard", "a prune does not notice a guard that lived at its instant and has ended since", Explore},
	{"epoch/prune-skips-setting-in", "a prune passes over a slot whose guard has not captured yet", Explore},
	{"epoch/prune-covers-start", "a prune leaves out what rolled back after it first read the clock", Explore},
	{"epoch/prune-bound-closed", "a prune believes that nothing begins below its bound any more", Explore},
	{"epoch/prune-draws-first", "a prune draws its number, then loads its word, and with it a bound above that number", Explore},
	{"epoch/condemn-unpushed", "a prune passes over what is in progress and leaves no trace", Explore},
	{"epoch/defer-unchecked", "a prune that goes waiting does not look whether its guards have gone just now", Explore},
	{"epoch/waiting-cleared-early", "the prunes that waited are taken off the list, and a Release returns before they have forgotten", Explore},
	{"epoch/deferrals-merged", "a prune that goes waiting takes the place of those that wait", Explore},
	{"epoch/deferral-covers-later", "a prune covers what rolled back after its instant", Kit | Explore | Stress},
	{"epoch/sentence-unchecked", "a reader of a condemned word asks the current prune, which may be the next one", Explore},
	{"epoch/sentence-unpushed", "a reader of a condemned word says aborted and leaves no trace at the prune", Explore},
	{"epoch/condemns-collapsed-late", "a prune draws its number, then condemns what has collapsed", Explore},
	{"epoch/collapsed-unpinned", "a prune forgets what has collapsed though it is pinned", Explore},
	{"epoch/collapsed-unpardoned", "a prune that is put off leaves condemned what has collapsed", Explore},
	{"epoch/includes-awaits-prune", "a reader of a condemned word waits for the prune to end", Progress},

	// groups
	{"epoch/group-draws-early", "a group draws its number, then makes links of its members", Explore},
	{"epoch/group-as-given", "a group makes links of its members in the order that they were given in", Race},
	{"epoch/group-lowers", "a refused group gives its members back with the bound of fresh ones", Explore},
	{"epoch/group-gives-back-same", "a refused group gives its members back with the bound that it has, as they may have been before", Progress},
	{"epoch/group-leaves-early", "a group cannot be found any more while there are links to it", Progress},
	{"epoch/group-place-overwritten", "a group finds a place free and takes it by a store", Progress},
	{"epoch/group-id-again", "two groups that follow each other have the same id", Explore},
	{"epoch/link-unchecked", "a helper makes a link of a member without a look whether the group has ended", Progress},
	{"epoch/link-overwrites", "a group makes links of members that are another group's", Explore},
	{"epoch/link-unpushed", "a reader of a link says no and leaves no trace at the group", Explore},
	{"epoch/resolve-overwrites", "whoever replaces a link stores the member's word, whatever is there by now", Explore},
	{"epoch/finish-leaves-group", "a lone finish takes its transaction out of a group that is not decided", Explore},
	{"epoch/finish-commits-group", "a lone finish commits the group, whether or not all members are its", Explore},
	{"epoch/finish-awaits-group", "a lone finish of a group's member waits for the group's end", Progress},
	{"epoch/reader-awaits-group", "a reader of a link waits for the group's end", Progress},

	// snapshots
	{"epoch/directory-read-once", "a snapshot reads the directory before its number only", Explore | Stress},
	{"epoch/bound-read-once", "a snapshot reads the bound before its number only", Explore | Stress},
	{"epoch/includes-unpushed", "Includes says no of an xid in progress and leaves no trace", Explore | Stress},
	{"epoch/owner-unpushed", "Includes says that an owner has not rolled back and leaves no trace", Explore},
	{"epoch/in-progress-unpushed", "InProgress names an xid and leaves no trace", Explore},
	{"epoch/in-progress-guesses", "InProgress leaves out what was forgotten since, and says nothing", Kit | Explore},
	{"epoch/gaps-joined-unfilled", "the words that two joined gaps have in a segment get the later one's number", Explore},
	{"epoch/dropped-owner-guessed", "of an owner that came late, and whose segment is dropped, it is said that he has not rolled back", Explore},
	{"epoch/cutoff-unchecked", "a checkpoint's cutoff is below a horizon that was answered before its instant", Explore},
	{"epoch/cutoff-after", "a checkpoint's cutoff is computed after its instant", Explore | Stress},
	{"epoch/snapshot-takes-turn", "Snapshot takes turns with the rare operations", Race | Progress},
	{"epoch/pin-count-unlocked", "PinCount reads the pins without the turn", Race},
}

// reuseFaults need a manager that reuses memory.
var reuseFaults = []row{
	{"epoch/guarded-owner-forgotten", "a guard that was taken for a finished transaction is too old to know it once something else is forgotten", Explore},
	{"epoch/reuse-unfenced", "the words of an array's next life begin at zero, as those of the former one did", Explore},
	{"epoch/retires-late", "an array is filled, then its segment is marked", Explore},
	{"epoch/retires-early", "a segment is marked before the directory is without it: who finds it looks again and again", Progress},
	{"epoch/gap-reuses", "an array is reused where there is a gap, whose number may be that of a snapshot of its former life", Explore},
	{"epoch/load-trusts-reused", "Status and Begin believe a word that may be another xid's", Explore},
	{"epoch/finish-trusts-reused", "a finish believes a word that may be another xid's", Explore},
	{"epoch/includes-trusts-reused", "Includes believes a word that may be another xid's", Explore},
	{"epoch/owner-trusts-reused", "an owner's snapshot believes a word that may be another xid's", Explore},
	{"epoch/in-progress-trusts-reused", "InProgress believes words that may be other xids'", Explore},
	{"epoch/oldest-trusts-reused", "OldestActive believes a word that may be another xid's", Explore},
	{"epoch/outlived-guesses", "a snapshot that has outlived its words takes everything for committed that is not aborted", Explore},
	{"epoch/checkpoint-guesses", "a checkpoint leaves out what its snapshot is too old to tell", Explore},
	{"epoch/forgets-past-guards", "an abort in a collapsed segment is dropped as soon as it is forgotten, though a guard is older", Explore},
}

// blockReuseFaults need blocks of more than one xid, too.
var blockReuseFaults = []row{
	{"epoch/horizon-trusts-reused", "a horizon seals an xid whose word may be another's", Explore},
}

var shardedFaults = []row{
	{"sharded/bound-before-locks", "a snapshot reads the bound, then locks the shards", Explore | Stress},
	{"sharded/bound-after-versions", "a snapshot without locks reads the bound after the versions", Explore | Stress},
	{"sharded/stale-cut", "a snapshot without locks does not compare the versions", Kit | Explore | Stress},
	{"sharded/rollback-untouched", "a rollback leaves its shard's version as it is", Kit | Explore | Stress},
	{"sharded/touched-after-unlock", "a commit moves its shard's version after it has unlocked it", Explore | Stress},
	{"sharded/refused-as-active", "a finish that came before the Begin is refused because the xid is active", Explore | Stress},
	{"sharded/observe-overwrites", "an observed xid moves the allocator by a store, back over begins", Explore | Stress},
	{"sharded/observe-touches-late", "an observed xid moves the allocator, then the versions of the shards", Explore},
	{"sharded/oldest-shard-by-shard", "OldestActive lets go of the locks between two shards", Explore | Stress},
	{"sharded/copied-shard-by-shard", "a snapshot lets go of the locks between two shards", Explore | Stress},
	{"sharded/retain-in-two-holds", "Retain captures in one hold of the horizon's lock, and registers in the next", Explore | Stress},
	{"sharded/passed-in-two-holds", "RetainSnapshot looks at the horizon in one hold of its lock, and registers in the next", Explore | Stress},
	{"sharded/checkpoint-in-two-holds", "a checkpoint lets go of the locks between its set and its cutoff", Explore},
	{"sharded/deferral-untouched", "a prune that waits leaves the versions as they are, so that a later guard counts as an earlier one", Explore},
	{"sharded/group-descends", "a group locks its shards in descending order", Race},
	{"sharded/key-locks-unordered", "unique-key admission locks the creator's shard, then the deleter's", Race},
	{"sharded/key-locks-one", "unique-key admission locks one of the two shards", Race},
	{"sharded/lock-leaked", "a commit that is refused keeps its shard's lock", Race},
	{"sharded/pin-count-unlocked", "PinCount reads the pins without a lock", Race},
}

var rwmutexFaults = []row{
	{"rwmutex/rollback-at-same-instant", "a rollback does not start a new instant, so that a copy outlives it", Kit | Explore | Stress},
	{"rwmutex/group-one-by-one", "a group lets go of the lock between two members", Explore | Stress},
	{"rwmutex/key-in-two-holds", "unique-key admission reads the creator in one hold of the lock, and the deleter in the next", Explore | Stress},
	{"rwmutex/retain-in-two-holds", "Retain captures in one hold of the lock, and registers in the next", Explore | Stress},
	{"rwmutex/passed-in-two-holds", "RetainSnapshot looks at the horizon in one hold of the lock, and registers in the next", Explore | Stress},
	{"rwmutex/checkpoint-in-two-holds", "a checkpoint lets go of the lock between its set and its cutoff", Explore | Stress},
	{"rwmutex/required-shared", "OldestRequired holds the lock for reading, and writes", Race},
	{"rwmutex/lookup-unlocked", "a snapshot looks an abort up without the lock", Race},
	{"rwmutex/bound-unlocked", "PeekNext reads the bound without the lock", Race},
	{"rwmutex/read-lock-twice", "unique-key admission takes the lock for reading while it has it", Race},
}
