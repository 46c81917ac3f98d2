// Package explore runs small programs over a snapshot manager in every
// interleaving that package sched finds, and judges each by the sequential
// specification.
//
// # What is judged
//
// A [Program] is data: a text such as
//
//	x=Begin; Commit(x) || s=Snapshot Includes(s, x)
//
// Its operations are called by the threads of an execution. When these have
// ended, the explorer asks a list of questions about everything, releases the
// guards, and asks again. All the answers, and the real-time order of the calls,
// have to be those of core/spec, with every operation taking effect at one
// instant between its call and its return: linearizability (Herlihy and Wing
// 1990). AllocateCommitted has two instants, since it begins and commits. Where
// the contract lets a manager choose (xids set aside, which of several reasons
// to refuse, when a snapshot is too old, horizons that lag while something else
// runs), the specification follows the choice if it is one of those allowed.
//
// An execution stands for all interleavings with the same order of dependent
// accesses, and they may differ in the order of calls and returns, which are no
// accesses. So the check looks for a real-time order, of all those that some of
// them has, for which there is no sequence of instants.
//
// A manager that hands out xids in blocks must not do so beside an
// ObserveCommitted in another thread: where the observed gap begins then depends
// on xids that nobody has seen yet.
//
// # Builds
//
// Without the sim tag the variants make no accesses that can be scheduled, and
// every program has one execution. Managers made of sched's types are explored in
// every build.
package explore
