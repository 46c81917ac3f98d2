package epoch

import (
	"slices"
	"sort"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/sync/atomic"
)

// A directory is one immutable version of the map from xids to words; changes
// install a new one by compare-and-swap. It is also the [core.View] of the
// snapshots taken while it was current, and keeps reachable what they can ask.
//
// An xid has a word if its segment is there. Without one it is, in this order:
// inside an observed gap; beyond the end, and then its Begin has not returned
// (I4); in a collapsed segment, which knows who has aborted; otherwise in one of
// which nothing is left, all of it committed.
//
// The newest segments are a slice, which is what is mostly asked for, and copied
// with every change; the older ones a [trie], so that a change costs much the same
// whatever a guard, or aborts, keep.
type directory struct {
	m       *Manager
	settled core.Xid // I6
	shift   uint
	stride  uint64
	base    uint64     // index of newest[0]
	newest  []*segment // nil: nothing left, or inside a gap
	older   trie       // of indices below base

	// Observed gaps, ascending: all but the last two of them (whose array later
	// directories append to), the last that the allocator has jumped over, and the
	// one that is being installed, or nil.
	gaps          []*gap
	last, pending *gap
}

// end is the first xid that no segment of this directory could hold.
func (d *directory) end() core.Xid {
	return core.Xid((d.base + uint64(len(d.newest))) << d.shift)
}

// segment returns the segment of x, or nil if it has none here. O(1) for the newest
// segments, O(log n) for the others.
func (d *directory) segment(x core.Xid) *segment { return d.from(uint64(x)>>d.shift - d.base) }

// from is segment, of an index less base. It is inlined, and segment is not.
func (d *directory) from(i uint64) *segment {
	if i < uint64(len(d.newest)) {
		return d.newest[i]
	}
	return d.olderSegment(i)
}

//go:noinline
func (d *directory) olderSegment(i uint64) *segment { return d.older.get(d.base + i) }

// place returns the place of x in its segment.
func (d *directory) place(x core.Xid) uint64 { return uint64(x) & (1<<d.shift - 1) }

// load returns the segment of x, its cell and its word. Without a cell, the word is
// what it would be. If the segment has been reused, the word may be another xid's.
func (d *directory) load(x core.Xid) (*segment, *atomic.Uint64, word) {
	s := d.from(uint64(x)>>d.shift - d.base)
	c := s.cell(x, d.stride)
	if c != nil {
		if w := word(c.Load()); !w.unfinished() || d.gapless() {
			return s, c, w
		}
	}
	return d.loadRare(x, s, c)
}

func (d *directory) loadRare(x core.Xid, s *segment, c *atomic.Uint64) (*segment, *atomic.Uint64, word) {
	switch g := d.gapAt(x); {
	case g != nil:
		return nil, nil, newWord(committed, d.m.numberOf(g))
	case c != nil:
		return s, c, word(c.Load())
	case s != nil:
		return s, nil, s.outcome.word(d.place(x))
	case x >= d.end() && fault.On != "epoch/unmade-is-dropped":
		return nil, nil, 0 // I4
	}
	return nil, nil, newWord(committed, 0) // nothing is left of the segment
}

// load looks x up in the current directory. Lock-free: a segment is reused after
// another directory has been installed.
func (m *Manager) load(x core.Xid) (*segment, *atomic.Uint64, word) {
	for {
		s, c, w := m.dir.Load().load(x)
		if !s.reused() || fault.On == "epoch/load-trusts-reused" {
			return s, c, w
		}
	}
}

// gapAt returns the observed gap that x lies in, or nil.
func (d *directory) gapAt(x core.Xid) *gap {
	if g := d.gapFrom(x); g != nil && g.holds(d.m, x) {
		return g
	}
	return nil
}

// gapFrom returns the first gap that does not end below x, or nil.
func (d *directory) gapFrom(x core.Xid) *gap {
	i := sort.Search(len(d.gaps), func(i int) bool { return d.gaps[i].to >= x })
	switch {
	case i < len(d.gaps):
		return d.gaps[i]
	case d.last != nil && d.last.to >= x:
		return d.last
	case d.pending != nil && d.pending.to >= x:
		return d.pending
	}
	return nil
}

func (d *directory) gapless() bool { return d.last == nil && d.pending == nil }

// spans calls yield for every run [x, end) of xids that have their words in one
// segment, or would have (a nil segment, see I4), ascending in [from, to), until
// yield returns false; also for those in a collapsed segment, unless live. What
// nothing is left of is stepped over, and gaps; onGap, if not nil, is told of each
// gap and may stop the walk too.
func (d *directory) spans(from, to core.Xid, live bool, onGap func(*gap) bool, yield func(s *segment, x, end core.Xid) bool) {
	for x := from; x < to; {
		end := min(to, (x>>d.shift+1)<<d.shift)
		if !d.gapless() {
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
			x = d.afterMissing(x, live)
			continue
		}
		if (s == nil || !s.collapsed() || !live) && !yield(s, x, end) {
			return
		}
		x = end
	}
}

// words is spans, xid by xid, of those that are not in collapsed segments.
func (d *directory) words(from, to core.Xid, yield func(core.Xid, *segment, *atomic.Uint64) bool) {
	d.spans(from, to, true, nil, func(s *segment, x, end core.Xid) bool {
		for ; x < end; x++ {
			if !yield(x, s, s.cell(x, d.stride)) {
				return false
			}
		}
		return true
	})
}

// afterMissing returns the first xid from the next segment on, after that of x,
// that is in a segment, of the live ones if live, or that may lie in a gap, or the
// end.
func (d *directory) afterMissing(x core.Xid, live bool) core.Xid {
	after := uint64(x)>>d.shift + 1
	next := d.end()
	if i, s := d.next(after, live); s != nil {
		next = core.Xid(i << d.shift)
	}
	if g := d.gapFrom(x); g != nil {
		next = min(next, max(core.Xid(after<<d.shift), core.Xid(g.from.Load())))
	}
	return next
}

// next returns the first segment from an index on, of those that are unfinal if
// live, or nil.
func (d *directory) next(index uint64, live bool) (uint64, *segment) {
	if index < d.base {
		if i, s := d.older.next(index, live); s != nil {
			return i, s
		}
		index = d.base
	}
	for i := index - d.base; i < uint64(len(d.newest)); i++ {
		if s := d.newest[i]; s != nil && (s.unfinal() || !live) {
			return d.base + i, s
		}
	}
	return 0, nil
}

// covers reports whether the segment of x is here.
func (d *directory) covers(x core.Xid) bool { return x < d.end() }

// replace makes the changes, which ascend, in d, and does not keep what nothing is
// left of.
func (d *directory) replace(changes []change) {
	older := sort.Search(len(changes), func(i int) bool { return changes[i].index >= d.base })
	d.older = d.older.with(changes[:older])
	if older == len(changes) {
		return
	}
	d.newest = slices.Clone(d.newest)
	for _, c := range changes[older:] {
		d.newest[c.index-d.base] = c.s
	}
	// What is left behind does not make the slice longer.
	for len(d.newest) > 1 && (d.newest[0] == nil || d.newest[1] == nil) {
		d.age(1)
	}
}

// extend makes sure that the segment of x is in the directory, and the one
// after it too if x is the middle of its own: whoever gets there makes the
// next segment ahead of need, so that nobody waits for memory.
func (m *Manager) extend(x core.Xid) {
	last := uint64(x) >> m.shift
	if m.middle(x) {
		last++
	}
	last = min(last, uint64(core.MaxXid)>>m.shift) // so that no xid above it is covered
	have := stock{m: m}
	for {
		d := m.dir.Load()
		have.used = 0
		if last < d.base+uint64(len(d.newest)) || m.dir.CompareAndSwap(d, d.extended(last, &have)) {
			break
		}
	}
	have.release()
}

// extended returns a directory with segments up to the index last.
func (d *directory) extended(last uint64, have *stock) *directory {
	next := *d
	next.newest = slices.Clip(d.newest) // what others append to is not ours
	for i := d.base + uint64(len(d.newest)); i <= last; i++ {
		// Segments that lie inside a gap are never made. The gap below an xid
		// that has begun is in the directory (I9).
		if g := d.gapAt(core.Xid(i << d.shift)); g != nil && uint64(g.to)>>d.shift > i {
			next.age(len(next.newest))
			i = uint64(g.to) >> d.shift
			next.base = i
		}
		if len(next.newest) == d.m.newest {
			next.age((d.m.newest + 1) / 2)
		}
		next.newest = append(next.newest, have.segment(&next, core.Xid(i<<d.shift)))
	}
	return &next
}

// age moves the first n of the newest segments to the older ones.
func (d *directory) age(n int) {
	var changes []change
	for i, s := range d.newest[:n] {
		if s != nil {
			changes = append(changes, change{d.base + uint64(i), s})
		}
	}
	d.older = d.older.with(changes)
	d.base, d.newest = d.base+uint64(n), d.newest[n:]
}

// middle reports whether x is the middle of its segment.
func (m *Manager) middle(x core.Xid) bool {
	return uint64(x)&(1<<m.shift-1) == 1<<(m.shift-1)
}

// update installs a changed copy of the directory. The function may be called
// several times. It must not write to what the old copy's slices hold.
func (m *Manager) update(change func(*directory)) {
	for {
		d := m.dir.Load()
		next := *d
		change(&next)
		if m.dir.CompareAndSwap(d, &next) {
			return
		}
	}
}
