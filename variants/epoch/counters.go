package epoch

import (
	"math/bits"

	"xidlab/core"
	"xidlab/internal/invariants"
)

// What is counted, on paths that are rare or that cost a compare-and-swap anyway.
// All else that Counters tells is derived from what the manager is.
const (
	pushes = iota
	pushRetries
	finishRetries
	snapshotRetries
	blocksLost
	seals
	segmentsMade
	segmentsCollapsed
	segmentsReused
	groupHelps
	jumped   // xids
	refusals // ErrTooOld
)

const pushSample = 16

var _ core.Explainer = (*Manager)(nil)

// count adds one to a kind of events.
func (m *Manager) count(kind int) { m.tally.Add(kind, 1) }

// pushCounts reports whether a push at number n is counted. To count each would
// make the first reader of a word pay a fifth more: so in a normal build all those
// are that are at one number in pushSample, for as many. With the checks of package
// invariants the count is exact.
func pushCounts(n uint64) bool {
	const fibonacci = 0x9e3779b97f4a7c15 // spreads the numbers: the clock has a rhythm, see eagerTicks
	return invariants.Enabled || n*fibonacci>>60 == 0
}

// countPush is not inlined, so that push needs little room.
//
//go:noinline
func (m *Manager) countPush(ok bool) {
	switch {
	case !ok:
		m.count(pushRetries)
	case invariants.Enabled:
		m.count(pushes)
	default:
		m.tally.Add(pushes, pushSample)
	}
}

// Counters implements [core.Explainer]. It takes its turn among the rare
// operations, and walks the directory.
func (m *Manager) Counters() []core.Counter {
	m.turn.Lock()
	waiting := len(m.upkeep.Read().deferred)
	m.turn.Unlock()
	d, next := m.dir.Load(), m.next.Load()&^parity
	if m.blockMask == 0 {
		next-- // None is in no block
	}
	held, outcomes := d.kept()
	spares := uint64(0)
	if top := m.spares.Load(); top != nil {
		spares = uint64(top.depth)
	}
	bound := m.PeekNext()
	lag := func(of core.Xid) uint64 { return uint64(max(bound, of) - of) }
	return []core.Counter{
		{Name: "pushes", Value: m.tally.Sum(pushes), Meaning: "a reader met a transaction in progress and raised the bound in its word: a compare-and-swap on a line that the transaction needs to finish"},
		{Name: "push-retries", Value: m.tally.Sum(pushRetries), Meaning: "the word that a reader was about to push had changed: it looked again"},
		{Name: "finish-retries", Value: m.tally.Sum(finishRetries), Meaning: "a reader pushed between a finish's draw and its compare-and-swap: it drew again"},
		{Name: "snapshot-retries", Value: m.tally.Sum(snapshotRetries), Meaning: "a block was allocated, or the directory changed, while a snapshot was captured: it captured again"},
		{Name: "ticks", Value: m.clock.now() - firstTick, Meaning: "the commit clock moved: a write of the line that every snapshot and every finish reads"},
		{Name: "blocks", Value: (next - m.tally.Sum(jumped)) >> bits.Len64(m.blockMask), Meaning: "blocks of xids allocated: a fetch-add of the line that all begins share, and that every snapshot reads"},
		{Name: "blocks-lost", Value: m.tally.Sum(blocksLost), Meaning: "a new block found its cursor taken by another goroutine's: all but its first xid are left to be sealed"},
		{Name: "seals", Value: m.tally.Sum(seals), Meaning: "a walk or a collapse had to get past an xid that was set aside, and gave it up: a compare-and-swap, and a begin there finds another"},
		{Name: "segments-made", Value: m.tally.Sum(segmentsMade), Meaning: "a segment of the log was allocated: 8 bytes an xid, cleared"},
		{Name: "segments-collapsed", Value: m.tally.Sum(segmentsCollapsed), Meaning: "everything in a segment was decided and no guard could tell when: its words were given up"},
		{Name: "segments-reused", Value: m.tally.Sum(segmentsReused), Meaning: "an array that was at hand became a segment, mostly one of a collapsed segment: filled, and not allocated"},
		{Name: "group-helps", Value: m.tally.Sum(groupHelps), Meaning: "a finish met a member of another's undecided group, and brought that to its end"},
		{Name: "too-old", Value: m.tally.Sum(refusals), Meaning: "a snapshot without a guard was told that it is too old"},
		{Name: "segments-held", Gauge: true, Value: held, Meaning: "segments of which the words are kept: 8 bytes an xid"},
		{Name: "outcomes-held", Gauge: true, Value: outcomes, Meaning: "collapsed segments of which it is kept who has aborted: a bit an xid"},
		{Name: "spares", Gauge: true, Value: spares, Meaning: "arrays of collapsed segments that wait to be used again"},
		{Name: "gaps", Gauge: true, Value: d.gapCount(), Meaning: "observed gaps that the directory lists: every look at an unfinished word searches them"},
		{Name: "guard-slots", Gauge: true, Value: m.guards.made(), Meaning: "slots for guards, which every horizon reads; there are as many as ever were needed at once, in chunks"},
		{Name: "oldest-active-lag", Gauge: true, Value: lag(core.Xid(m.oldest.Load())), Meaning: "xids between the bound and where OldestActive goes on looking"},
		{Name: "horizon-lag", Gauge: true, Value: lag(m.horizon.Load().xid), Meaning: "xids between the bound and the horizon that was last asked for; all of them, if nobody asks"},
		{Name: "settled-lag", Gauge: true, Value: lag(d.settled), Meaning: "xids between the bound and the settled mark: of those above it a snapshot asks the log"},
		{Name: "prunes-waiting", Gauge: true, Value: uint64(waiting), Meaning: "calls of PruneAborted that wait for older guards"},
	}
}

// kept returns how many segments d has that have words, and that have collapsed.
func (d *directory) kept() (held, outcomes uint64) {
	for i, s := d.next(0, false); s != nil; i, s = d.next(i+1, false) {
		if s.collapsed() {
			outcomes++
		} else {
			held++
		}
	}
	return held, outcomes
}

// made returns how many slots there are.
func (g *guards) made() (n uint64) {
	for c := &g.first; c != nil; c = c.next.Load() {
		n += slotsPerChunk
	}
	return n
}

// gapCount returns how many gaps d lists.
func (d *directory) gapCount() uint64 {
	n := len(d.gaps)
	for _, g := range []*gap{d.last, d.pending} {
		if g != nil {
			n++
		}
	}
	return uint64(n)
}
