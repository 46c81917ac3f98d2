// Package stress makes real threads use a snapshot manager in many ways at once,
// records what they do, and has every answer judged.
//
// A stress is a number of short recordings, each of one load on a fresh manager.
// Loads are those of package workload, recorded traces, and [Scripts], which are
// made to break managers. Modes say how the workers run: pinned to CPUs or not, as
// many as CPUs or more, beside a garbage collector that is calm or busy.
//
// A recording is made in windows of some milliseconds, between which all workers
// pause and give away what they noted, so that little memory is reserved for
// logs. What is open at a pause (transactions, guards, snapshots) stays open. The
// recording is judged as a whole, before the next one begins.
//
// What has not happened has not been tested. [Coverage] says how many operations
// overlapped, and of what kinds; a stress in which hardly any did proves nothing,
// and says so.
package stress
