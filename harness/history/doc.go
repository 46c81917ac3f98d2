// Package history holds what some threads did to a snapshot manager, and when:
// one [Op] for each call, with the stamps of a clock before the call and after
// the return. A recorder makes histories, a checker judges them; people write
// small ones by hand.
//
// # Stamps
//
// An operation came before another in real time if its Return is smaller than
// the other's Call. Everything else overlaps, equal stamps included. Stamps are
// nanoseconds or the steps of a counter (see [Header]). Where clocks of several
// CPUs disagree by up to Skew, a recorder widens its intervals: Call is early
// and Return late by no more than Skew, so that "came before" stays true of the
// real order. What one worker did is ordered by its place in the history
// whatever the stamps say.
//
// # Text
//
// A history can be written by hand, one operation a line:
//
//	xidlab history 1
//	manager epoch
//	xids ordered
//	stamps ns
//
//	# worker, call, return, and what it was
//	0 10 20 Begin() = 1
//	1 15 40 Snapshot(0) = s1 bound 2 hides {1}
//	0 50 - Commit(1)
//
// The first line is fixed, the lines "manager NAME", "xids ordered" or "xids
// unordered", "stamps ns" or "stamps steps", and "skew N" follow in any order;
// only xids is required. A return of "-" is a call that never returned; it has
// no answer. The lines are in the order of the calls. All kinds are listed in
// [Kind]; testdata/every.txt shows each of them.
//
// # Binary form
//
// [Writer] writes, and [Reader] reads, the same in about a tenth of the space,
// in blocks with a checksum each, so that a history larger than memory can be
// read as a stream and damage is found where it is.
package history
