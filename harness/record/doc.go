// Package record writes down what threads do to a snapshot manager, as they do it,
// in the form of package history.
//
// A [Recorder] gives each worker a manager of its own, a [Worker], which calls the
// one that is recorded. A worker notes a call before it makes it, so that one that
// never returns is in the recording too, and shares nothing with the others while
// it does: its notes go into memory that was reserved before. [Recorder.Take]
// collects them while all workers pause.
//
// # Stamps
//
// Every operation is stamped before its call and after its return, by a [Clock].
// There are two kinds. The counter is exact, but all workers write it, which keeps
// them in step. The time stamp counters of the processors cost them nothing but
// time; but those of two CPUs may disagree. How far is measured: a message that
// passes from one to the other and back bounds the difference from both sides.
// Every operation is then widened, its call moved back and its return forward,
// each by half of what any two counters may differ by:
//
//	real time          |---- a ----|   |---- b ----|
//	CPU 0's counter    |---- a ----|
//	CPU 1's counter, behind       |---- b ----|        b seems to overlap a, or to precede it
//	widened          <---- a ---->
//	                             <---- b ---->         they overlap: nothing is claimed
//
// If the widened return of a is before the widened call of b, then a had returned
// before b was called, whatever the difference is within its bounds. So an order
// that is claimed is true, and a checker that relies on it raises no false alarm;
// an order that is true may not be claimed, and what depends on it goes unnoticed.
//
// # Memory
//
// An operation takes [BytesPerOp], each xid of a set and each answer of a snapshot
// [BytesPerXid]. [Limits] say how many are reserved; a worker that is [Worker.Full]
// should pause.
//
// # What is not recorded
//
// A snapshot's answers about its owner, where it is not certain whether it had one:
// the transaction was just then beginning or finishing. Such a snapshot is recorded
// as one that was taken for nobody. The same goes for answers about owners that the
// holder has replaced (see core.Snapshot.WithOwner).
package record
