// Package replay plays a recorded trace on a snapshot manager.
//
// [Serial] plays it in its one global order and writes down what the manager
// answered, in a form that does not depend on the manager: transactions by their
// numbers in the trace. Two managers that keep the contract give identical
// [Outcomes].
//
// A [Load] plays it concurrently, as a measured workload: the sessions are
// spread over the workers, each of which keeps the recorded order among its own,
// so that a long transaction stays open beside the short ones and never stalls
// its worker.
//
// # From the trace to the manager
//
// A Draw is Begin, and the xid becomes the owner of the snapshot in use. A
// snapshot under read committed is Snapshot(own xid); the one of a transaction
// above read committed is Retain, where the manager is a core.Retainer, as it is
// read through while others remove versions. Serializable transactions are
// replayed as snapshot isolation.
//
// Where the manager is a core.GroupCommitter, a savepoint that writes draws an
// xid of its own; RollbackTo rolls it back, and Commit commits what was released
// together with the transaction. Where it is not, savepoints write with the xid
// of their transaction, and RollbackTo is nothing to the manager. The outcome of
// the transaction is the same.
package replay
