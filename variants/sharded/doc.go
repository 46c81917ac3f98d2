// Package sharded is a snapshot manager that spreads what has become of
// transactions over many locks, and takes a snapshot by holding all of them.
// See [Manager] for the argument.
//
// # Invariants
//
// The class of an Xid is its remainder by the number of shards; an Xid belongs
// to the shard of its class, for ever.
//
//   - I1: whatever becomes of x is written only under the lock of its shard. An
//     Xid below next of which its shard knows nothing, because it is not below
//     the shard's frontier, is active.
//   - I2: an Xid of the class below the frontier is in active, or in aborts, or
//     has committed. Only one of the first two, and both are strictly ascending.
//   - I3: next only grows. An allocation is one addition to it, and begins there.
//   - I4: now moves only while every shard is locked. So it may be read under
//     any shard's lock, and whatever happens under one falls between the same
//     two of its values for everybody.
//   - I5: a shard's version grows, under its lock, whenever something finishes
//     there, is observed, or a prune passes; never otherwise.
//   - I6: horizon is taken before any shard, and shards in ascending order.
//   - I7: the smallest active Xid never goes down while something is active, and
//     is never below a horizon that was answered.
//   - I8: an Xid that aborted after a live guard was captured is in aborts,
//     unforgotten, for as long as that guard lives; one that was forgotten after
//     a live guard was captured is still there, marked with the instant.
//
// # What was measured
//
// Go 1.26, two virtual CPUs of an AMD EPYC (family 25) that others used too;
// nanoseconds of wall time per operation of all threads together, medians of 11
// runs of
//
//	go test -run xxx -bench NAME -cpu 1,2 -benchtime 40ms -count 11 ./variants ./variants/sharded
//
// of which the first package has the comparisons, here with nothing else active:
//
//   - BenchmarkBeginCommit: 18 at one thread and 23 at two; rwmutex takes 27 and
//     41. Most of the gain is that Begin takes no lock.
//   - BenchmarkBeginSnapshotCommit at two threads: 200, rwmutex 134. A snapshot
//     must fetch every shard from whoever finished there last: what this design
//     gains at a finish it pays at a snapshot.
//   - BenchmarkShards, begin+commit at two threads (not through an interface, as
//     above): 13 with 1 shard, 14 with 2, 43 with 4, 48 with 8 and more. With
//     fewer locks than threads would like, one thread does a run of operations
//     while the other waits, and the lines stay where they are; with more, every
//     shard's line travels. With a snapshot in each turn the locks add up: 45,
//     60, 94, 167, 591 at one thread with 2, 4, 8, 16, 64 shards. So the default
//     is as many shards as processors, or the next power of two.
//
// (These are from before atomic operations and locks were inlined, see
// docs/verification.md; BenchmarkBeginCommit has lost up to a third since.)
//
// # What was tried and not kept
//
// Prototypes of begin+commit alone, as above, when the one that was kept took 9
// at one thread and 20 at two, with 2 shards:
//
//   - Listing an active Xid at once, by locking the shard of next and advancing
//     next with a compare-and-swap: 15 and 28, and Begin waits.
//   - A shard per processor (procPin), in whose lock the Xid is drawn and listed:
//     22 and 24, whatever the number of shards. It would scale best, since a
//     finish touches its own lines only; but whoever asks about somebody else's
//     Xid has to look into every shard, or an index that is one more shared line
//     for each Begin to write.
package sharded
