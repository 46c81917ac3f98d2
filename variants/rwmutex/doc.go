// Package rwmutex is the baseline of the laboratory: a snapshot manager whose
// whole state lies behind one reader-writer lock, as good as that design gets.
// See [Manager] for how it works and where it blocks.
//
// # Invariants
//
// They hold whenever nobody holds the lock for writing, and are cited where
// they are used:
//
//   - I1: active is strictly ascending, and all of it is below next.
//   - I2: an Xid below next is active, or in aborts, or committed; no Xid is
//     both active and in aborts.
//   - I3: now grows at every commit, rollback, observation and prune, so two
//     snapshots with the same now have the same committed transactions. (A
//     Begin does not move it.)
//   - I4: the smallest active Xid never goes down while something is active,
//     and is never below a horizon that was answered. So is everything that a
//     horizon was answered from, except a new pin.
//   - I5: an Xid that aborted after a live guard was captured is in aborts,
//     unforgotten, for as long as that guard lives.
//   - I6: an Xid that was forgotten after a live guard was captured is still in
//     aborts, marked with the instant of forgetting.
//
// # What was measured and not kept
//
// Go 1.26, two virtual CPUs of an AMD EPYC (family 25) that others used too;
// nanoseconds of wall time per operation of all threads together, median of 11
// runs of
//
//	go test -run xxx -bench NAME -cpu 1,2 -benchtime 40ms -count 11 ./variants ./variants/rwmutex
//
// of which the first package has the comparisons:
//
//   - A pool of born-committed Xids, reserved under the manager's lock and
//     handed out under one of its own (BenchmarkPool, which keeps the code): 8.0
//     at one thread and 11.7 at two with 64 in the pool, 11.6 and 16.1 with 2,
//     against 10.1 and 15.8 for an increment under the lock. But a snapshot then
//     takes both locks: an allocation and a snapshot take 48 to 56, against 36
//     and 41. And what is left of the pool must be hidden, which keeps the bound
//     of every snapshot low. The increment was kept.
//   - Tombstones in the active set, instead of a memmove, when one leaves from
//     the middle: not tried. Any of 4096 leaves in 168, any of 256 in 73
//     (BenchmarkFinishScattered, at one thread, Begin included): much of that is
//     the memmove. But the most that tombstones could save is less than what
//     they would add to each snapshot, which copies them: a turn with one beside
//     4096 active takes 3500 (BenchmarkBeginSnapshotCommit).
package rwmutex
