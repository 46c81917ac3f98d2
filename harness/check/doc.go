// Package check decides whether a history of a snapshot manager is one that the
// contract of package core allows: whether each operation can have taken effect
// at one instant between its call and its return, so that all answers are right.
//
// # Why no search is needed
//
// General checkers of linearizability try orders, and take exponential time in
// the number of operations that overlap or never return. Here almost every answer
// says, of two instants, which came first. A snapshot includes x: x's commit came
// before it. It does not: the commit came after. OldestActive is x: x began
// before, finished after, and whatever else had begun before finished before. So
// a history is a graph of instants with real time on top, and it is allowed
// exactly if there is no circle. A circle is the counterexample, and is short:
// of two steps in real time one can be left out, and so of two steps along one
// chain, so that 2 to 4 operations mostly suffice. (Where an answer says that a
// transaction was not active, some more may have to show that it had begun.)
//
// Snapshots with their whole hidden sets are not compared one by one with every
// transaction. The sets of finished transactions are states of one sequence, so
// they contain one another; they are sorted by size, neighbours are compared, and
// each finish lies between two neighbours. The same goes for checkpoints and the
// committed transactions, and for everything that shows the allocator's bound.
//
// Three kinds of answers are an "or", and are decided while an order is built,
// which needs no search either (see schedule): that a transaction is not active
// (not begun, or finished), that none is, and which is the oldest. Hung calls
// cost nothing: a finish that never returned has a beginning and no end.
//
// Cost: O(n log n) plus the sizes of the recorded sets, in time and in memory.
//
// # What is decided
//
// Exactly, for ordered managers, where each xid is finished by who was told it:
// Begin, AllocateCommitted (a begin and a finish in one call; its xid may have
// been set aside before), Commit, Rollback, CommitGroup with all refusals,
// Snapshot and Retain with whole hidden sets or probes or both, their owners,
// RetainSnapshot when granted, Release, Lookup, Status, IsActive, OldestActive,
// PeekNext, CheckpointExcluded, CheckpointProjection, OldestRequired without
// pins (where guards record all that they hide), and ReservesUniqueKey where the
// deleter is not one's own. For managers that are not ordered: the same, but for
// guards and horizons. Tests compare with porcupine on millions of small histories
// of these.
//
// Where an answer allows several orders, and the one that was chosen does not
// explain it, the answer is given the benefit of the doubt and counted
// (Verdict.Undecided). That is seldom: it takes a manager that is not ordered, or
// somebody who saw an AllocateCommitted's xid active while it ran.
//
// By necessary conditions, which raise no false alarm and do not notice
// everything:
//   - OldestRequired and cutoffs are one-sided: too low an answer is not noticed
//     (a manager that is used by others at the same time may give one), moving
//     back is.
//   - Horizons with pins: never above what was surely pinned all the while;
//     backwards only if something as old was pinned meanwhile. Those of managers
//     that are not ordered: above nothing that had surely begun and was active, or
//     was hidden by a guard surely live. (Of small random violations one in some
//     thousands is missed.)
//   - PruneAborted: what was rolled back counts as committed from one instant on,
//     which lies after a prune's call and after the guards and pins that surely
//     held it back; and no more is forgotten than was rolled back. That something
//     is forgotten in time is not asked.
//   - ObserveCommitted: an observed xid and its gap count as committed from an
//     instant after the call of the first observation that can have covered it.
//   - Refusals as too old: something may have finished, or been forgotten, since
//     the snapshot, and no guard that was captured with it lives.
//   - Of a manager that is not ordered, an xid that nobody was handed out may count as
//     committed from any instant on at which the bound is above it: it was set aside
//     and given up. Of an ordered one that is taken not to happen.
//   - ReservesUniqueKey with a deleter of one's own that rolled back, or an xid
//     that may have been forgotten.
//   - PinCount, OldestPinned: within what Pins and Unpins that have surely, or
//     possibly, taken effect allow.
//   - Xids that no returned call had handed out, where several calls that never
//     returned may explain it.
//
// A hidden set is taken at its word. An xid below the bound and not in it had
// finished, or no Begin hands it out, ever; an AllocateCommitted may, since what was
// set aside for that need not be named. An xid in it had not finished; it may have
// been set aside only.
package check
