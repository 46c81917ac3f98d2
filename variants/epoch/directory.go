package epoch

import (
	"slices"
	"sort"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/sync/atomic"
)

// A segment holds the words of 1<<shift consecutive xids.
type segment struct {
	words []atomic.Uint64
}

// stride spreads consecutive xids of an ordered manager, which concurrent
// transactions tend to have, over different cache lines: the slot of x is
// x*stride modulo the segment. It is odd, so that is a permutation, and more than
// a line's eight words. (See docs/epoch.md for what it gains.) The xids of one
// processor's block belong together: there it is 1.
const stride = 73

// A directory is one immutable version of the map from xids to words; changes
// install a new one by compare-and-swap. It is also the [core.View] of the
// snapshots taken while it was current, and keeps reachable what they can ask.
//
// An xid has a word if its segment is there. Without one it is, in this order:
// inside an observed gap; beyond the end, and then its Begin has not returned
// (I4); otherwise in a segment that was dropped, all of it committed.
type directory struct {
	m        *Manager
	settled  core.Xid // I6
	shift    uint
	stride   uint64
	base     uint64     // index of segments[0]
	segments []*segment // nil: dropped, or inside a gap
	older    []extent   // segments below a gap that was jumped over
	gaps     []*gap     // ascending; the last may be pending
	pending  *gap       // is being installed, or nil
}

// An extent is a run of segments below the directory's newest one.
type extent struct {
	base     uint64
	segments []*segment
}

// end is the first xid that no segment of this directory could hold.
func (d *directory) end() core.Xid {
	return core.Xid((d.base + uint64(len(d.segments))) << d.shift)
}

// cell returns the word of x, or nil if it has none here. O(1), but for xids
// older than a jump, which search the list of jumps.
func (d *directory) cell(x core.Xid) *atomic.Uint64 { return d.segment(x).cell(x, d.stride) }

func (d *directory) segment(x core.Xid) *segment {
	if i := uint64(x)>>d.shift - d.base; i < uint64(len(d.segments)) {
		return d.segments[i]
	}
	return d.olderSegment(x)
}

func (d *directory) olderSegment(x core.Xid) *segment {
	for _, e := range d.older {
		if i := uint64(x)>>d.shift - e.base; i < uint64(len(e.segments)) {
			return e.segments[i]
		}
	}
	return nil
}

// cell returns the word of x, which lies in s; nil if s is.
func (s *segment) cell(x core.Xid, stride uint64) *atomic.Uint64 {
	if s == nil {
		return nil
	}
	return &s.words[uint64(x)*stride&uint64(len(s.words)-1)]
}

// load returns the cell of x and its word; a nil cell and the word that it
// would have for an x without one.
func (d *directory) load(x core.Xid) (*atomic.Uint64, word) {
	c := d.cell(x)
	if c != nil {
		if w := word(c.Load()); !w.unfinished() || len(d.gaps) == 0 {
			return c, w
		}
	}
	switch g := d.gapAt(x); {
	case g != nil:
		return nil, newWord(committed, d.m.numberOf(g))
	case c != nil:
		return c, word(c.Load())
	case x >= d.end() && fault.On != "epoch/unmade-is-dropped":
		return nil, 0 // I4
	}
	return nil, newWord(committed, 0) // I6, or a segment dropped below the horizon
}

// gapAt returns the observed gap that x lies in, or nil.
func (d *directory) gapAt(x core.Xid) *gap {
	i := sort.Search(len(d.gaps), func(i int) bool { return d.gaps[i].to >= x })
	if i < len(d.gaps) && d.gaps[i].holds(d.m, x) {
		return d.gaps[i]
	}
	return nil
}

// spans calls yield for every run [x, end) of xids that have their words in one
// segment, or would have (a nil segment, see I4), ascending in [from, to), until
// yield returns false. Dropped segments and gaps are stepped over; onGap, if not
// nil, is told of each gap and may stop the walk too.
func (d *directory) spans(from, to core.Xid, onGap func(*gap) bool, yield func(s *segment, x, end core.Xid) bool) {
	for x := from; x < to; {
		end := min(to, (x>>d.shift+1)<<d.shift)
		if len(d.gaps) > 0 {
			if g := d.gapAt(x); g != nil {
				if onGap != nil && !onGap(g) {
					return
				}
				x = g.to + 1
				continue
			}
			end = x + 1 // the next one may lie in a gap
		}
		s := d.segment(x)
		if s == nil && x < d.end() {
			x = d.afterMissing(x)
			continue
		}
		if !yield(s, x, end) {
			return
		}
		x = end
	}
}

// words is spans, xid by xid.
func (d *directory) words(from, to core.Xid, yield func(core.Xid, *atomic.Uint64) bool) {
	d.spans(from, to, nil, func(s *segment, x, end core.Xid) bool {
		for ; x < end; x++ {
			if !yield(x, s.cell(x, d.stride)) {
				return false
			}
		}
		return true
	})
}

// afterMissing returns the first xid above x that may have a word, for an x
// below the end that has none: the next segment's first, or the first of the
// next extent, however far away.
func (d *directory) afterMissing(x core.Xid) core.Xid {
	next := (x>>d.shift + 1) << d.shift
	for _, e := range append(slices.Clip(d.older), extent{d.base, d.segments}) {
		start := core.Xid(e.base << d.shift)
		if next <= start {
			return start
		}
		if next < start+core.Xid(len(e.segments))<<d.shift {
			break
		}
	}
	return next
}

// covers reports whether the segment of x is here.
func (d *directory) covers(x core.Xid) bool { return x < d.end() }

// extend makes sure that the segment of x is in the directory, and the one
// after it too if x is the middle of its own: whoever gets there makes the
// next segment ahead of need, so that nobody waits for memory.
func (m *Manager) extend(x core.Xid) {
	last := uint64(x) >> m.shift
	if m.middle(x) {
		last++
	}
	last = min(last, uint64(core.MaxXid)>>m.shift) // so that no xid above it is covered
	for {
		d := m.dir.Load()
		if last < d.base+uint64(len(d.segments)) || m.dir.CompareAndSwap(d, d.extended(last)) {
			return
		}
	}
}

// extended returns a directory with segments up to the index last.
func (d *directory) extended(last uint64) *directory {
	next := *d
	next.segments = slices.Clip(d.segments) // what others append to is not ours
	for i := d.base + uint64(len(d.segments)); i <= last; i++ {
		// Segments that lie inside a gap are never made. The gap below an xid
		// that has begun is in the directory (I9).
		if g := d.gapAt(core.Xid(i << d.shift)); g != nil && uint64(g.to)>>d.shift > i {
			if len(next.segments) > 0 {
				next.older = append(slices.Clip(next.older), extent{next.base, next.segments})
			}
			i = uint64(g.to) >> d.shift
			next.base, next.segments = i, nil
		}
		next.segments = append(next.segments, &segment{make([]atomic.Uint64, 1<<d.shift)})
	}
	return &next
}

// middle reports whether x is the middle of its segment.
func (m *Manager) middle(x core.Xid) bool {
	return uint64(x)&(1<<m.shift-1) == 1<<(m.shift-1)
}
