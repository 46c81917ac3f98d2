package epoch

import (
	"math/bits"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// A segment holds the words of 1<<shift consecutive xids; or, collapsed, what is
// left to know about them (see outcome). It is a header of an array that may
// belong to several segments, one after the other.
//
// # Reuse
//
// An array is used again at once, while others still hold the header by which
// they know it: a snapshot, whose directory is never too old for it, or an
// operation that stands still. There is no grace period, since none of them can
// take the words of the array's new life for those of the former one:
//
// Whoever writes, by a compare-and-swap from a word that it has loaded, fails. The
// words of the new life begin as fresh, reserved with a bound b that is a fence of
// the clock, drawn when all of the former life was decided. So every number of the
// former life is at most b, a bound in it was below b, and every number of the new
// life is b at least, a decided one above b: no word that can still change is ever
// the same in both (I13).
//
// Whoever reads looks at retired afterwards. The directory without the header is
// installed first, then retired is set, then the array is filled: so a reader who
// has loaded a word of the new life finds the header retired, and the outcome of x
// in the current directory. If retired is not set, the word was of the former
// life, as of when it was loaded. There is one answer that needs no such look:
// "included", since the numbers of the new life are above b, and every snapshot
// that has the header was captured before b was drawn.
type segment struct {
	words   []atomic.Uint64  // nil: collapsed
	fresh   word             // of an xid that nobody has touched
	retired atomic.Bool      // the array has been given to another segment
	outcome *outcome         // of a collapsed one
	scan    *sync.Cell[scan] // of one with words; belongs to the holder of the turn
}

// newSegment returns a segment with an array that is filled with fresh.
func newSegment(words []atomic.Uint64, fresh word) *segment {
	var s struct {
		segment
		scan sync.Cell[scan]
	}
	s.segment.words, s.fresh, s.segment.scan = words, fresh, &s.scan
	return &s.segment
}

// stride spreads consecutive xids of an ordered manager, which concurrent
// transactions tend to have, over different cache lines: the slot of x is
// x*stride modulo the segment. It is odd, so that is a permutation, and more than
// a line's eight words. (See docs/epoch.md for what it gains.) The xids of one
// processor's block belong together: there it is 1.
const stride = 73

// cell returns the word of x, which lies in s; nil if s has no words, or is nil.
func (s *segment) cell(x core.Xid, stride uint64) *atomic.Uint64 {
	if s == nil {
		return nil
	}
	if i := uint64(x) * stride & uint64(len(s.words)-1); i < uint64(len(s.words)) {
		return &s.words[i]
	}
	return nil
}

// collapsed reports whether nothing but an outcome is left of s.
func (s *segment) collapsed() bool { return s.outcome != nil }

// reused reports whether a word that was loaded from s may be another xid's. Then
// the xid has been decided, and the current directory knows how.
func (s *segment) reused() bool { return s != nil && s.retired.Load() }

// unfinal reports whether something may be found in s by the holder of the turn
// that can be given up: words, or aborts that are being forgotten.
func (s *segment) unfinal() bool { return s.words != nil || s.outcome.sentences != nil }

// An outcome is what is kept of a segment in which everything is decided, at
// numbers that every guard has reached: who has aborted. Segments without aborts
// are not kept at all.
//
// Snapshots that are taken later have reached all these numbers. Of those that
// are older, and not guarded, min and max let some be answered whose words are
// gone.
type outcome struct {
	min, max  uint64      // numbers from which its xids count as committed; max, also of rollbacks
	aborted   bitmap      // until they are forgotten at a number that every guard has reached
	sentences *[]sentence // on some of these, if not nil
}

// A sentence is the part of an outcome's aborts that a prune has condemned (I10).
type sentence struct {
	condemned bitmap
	prune     *prune
}

// word returns what the log would say about the xid with this place in the
// segment, but for the number: every snapshot that asks has reached it.
func (o *outcome) word(place uint64) word {
	switch {
	case !o.aborted.has(place):
		return newWord(committed, 0)
	case o.condemnedBy(place) != nil:
		return newWord(condemned, 0)
	}
	return newWord(aborted, 0)
}

// condemnedBy returns the prune that has condemned the xid with this place, or nil.
func (o *outcome) condemnedBy(place uint64) *prune {
	if o.sentences == nil {
		return nil
	}
	for _, s := range *o.sentences {
		if s.condemned.has(place) {
			return s.prune
		}
	}
	return nil
}

// includes reports whether a snapshot at number at, which may be older than the
// outcome, includes the xid with this place; false, false if it is too old to say.
func (o *outcome) includes(place, at uint64) (yes, known bool) {
	if o.aborted.has(place) {
		// A prune that is not decided yet draws a number above at: the snapshot
		// was captured before the prune condemned what had collapsed.
		p := o.condemnedBy(place)
		return p != nil && p.number() <= at, true
	}
	if fault.On == "epoch/outlived-guesses" {
		return at >= o.min, true
	}
	return at >= o.max, at >= o.max || at < o.min
}

// settles reports whether all places from place on, below limit, count as
// committed to every later snapshot; if not, which is the first that does not.
func (o *outcome) settles(place, limit uint64) (first uint64) {
	for place = o.aborted.next(place, limit); place < limit; place = o.aborted.next(place+1, limit) {
		if p := o.condemnedBy(place); p == nil || p.number() == never {
			break
		}
	}
	return place
}

// forgetting returns o without the aborts that have been forgotten at number n or
// before, and the largest number at which one was; o and 0 if there are none.
func (o *outcome) forgetting(n uint64) (*outcome, uint64) {
	left := outcome{min: o.min, max: o.max, aborted: o.aborted}
	last := uint64(0)
	var open []sentence
	for _, s := range *o.sentences {
		number := s.prune.number()
		if number > n && fault.On != "epoch/forgets-past-guards" {
			open = append(open, s)
			continue
		}
		left.min, left.max = min(left.min, number), max(left.max, number)
		left.aborted = left.aborted.without(s.condemned)
		last = max(last, number)
	}
	if last == 0 {
		return o, 0
	}
	if open != nil {
		left.sentences = &open
	}
	return &left, last
}

// A bitmap is a set of places in a segment.
type bitmap []uint64

func newBitmap(places int) bitmap { return make(bitmap, (places+63)/64) }

func (b bitmap) has(place uint64) bool { return b[place/64]>>(place%64)&1 != 0 }

func (b bitmap) add(place uint64) { b[place/64] |= 1 << (place % 64) }

// without returns a new set of what is in b and not in c, which is as long.
func (b bitmap) without(c bitmap) bitmap {
	left := make(bitmap, len(b))
	for i := range b {
		left[i] = b[i] &^ c[i]
	}
	return left
}

func (b bitmap) empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// next returns the first place in b from place on, or limit if there is none
// below.
func (b bitmap) next(place, limit uint64) uint64 {
	for place < limit {
		if w := b[place/64] >> (place % 64); w != 0 {
			return min(limit, place+uint64(bits.TrailingZeros64(w)))
		}
		place = (place/64 + 1) * 64
	}
	return limit
}
