// Package trace is the model of a recorded workload: what the sessions of a
// database made their snapshot manager do, in one global order, with times.
//
// # The model
//
// A [Trace] is a list of operations, each of one session, in an order that
// every session's own order agrees with. The operations are those of a snapshot
// manager, not of SQL:
//
//   - A transaction is what lies between Begin and Commit or Rollback, and has
//     an isolation level. Begin is no manager call: a transaction has no xid
//     until it writes.
//   - Snapshot is taken once per statement under read committed and once per
//     transaction above it, where it serves until the transaction ends.
//   - Draw is the instant of the first write: the manager hands out an xid, and
//     the snapshot gets it as its owner (core.Snapshot.WithOwner). A read-only
//     transaction has no Draw.
//   - A savepoint is a level above the transaction, which is level 0. A write
//     on a level draws an xid for it, and for every level below that has none.
//     Release and RollbackTo name the level that they end.
//   - A single-row autocommit write is AllocateCommitted, a transaction in one
//     operation.
//   - Read and Write say which [Object] a statement touched: the rows of a
//     table with one column equal to one value, or the whole table. Write
//     includes the reading that finds the rows.
//
// Transactions are numbered by the order of their first operations, so that the
// outcomes of a replay can be compared between managers whose xids differ.
//
// Every transaction of a valid trace ends in it (see [Trace.Validate]), so that
// it can be replayed over and over.
//
// Package pglog makes traces from the logs of PostgreSQL, package replay plays
// them on managers. [Pgbench] is a trace that is always at hand.
package trace
