package epoch

import (
	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
	"xidlab/internal/sync/atomic"
)

// Reclaim says what becomes of the memory of segments that have collapsed.
type Reclaim int

const (
	// Collect leaves it to Go's collector: once nobody can reach it. A snapshot
	// that nobody guards can then be asked for as long as it is kept, and keeps
	// what it can ask.
	Collect Reclaim = iota

	// Recycle uses it again at once: in steady state nothing is allocated. A
	// snapshot that nobody guards is answered [core.ErrTooOld] where what it
	// would need is gone.
	Recycle
)

func (r Reclaim) String() string { return [...]string{"collect", "recycle"}[r] }

// maxSpares is how many arrays wait for their next life, at most; what is more
// is left to Go's collector.
const maxSpares = 8

// A spare is a segment that waits to be installed, its array filled. They form a
// stack. A node is pushed once, so that a compare-and-swap that pops it cannot take
// another list for the one that it has read.
type spare struct {
	s     *segment
	next  *spare
	depth int
}

// put makes s, which nobody has seen yet, a spare. It reports false if there are
// enough.
func (m *Manager) putSpare(s *segment) bool {
	for {
		top := m.spares.Load()
		p := &spare{s, top, 1}
		if top != nil {
			p.depth = top.depth + 1
		}
		if p.depth > maxSpares {
			return false
		}
		if m.spares.CompareAndSwap(top, p) {
			return true
		}
	}
}

// takeSpare returns a spare, or nil.
func (m *Manager) takeSpare() *segment {
	for {
		p := m.spares.Load()
		if p == nil || m.spares.CompareAndSwap(p, p.next) {
			if p == nil {
				return nil
			}
			return p.s
		}
	}
}

// retire gives the arrays of segments that are in the directory no more to new
// ones, as far as there are too few spares. Caller has the turn.
func (m *Manager) retire(collapsed []*segment) {
	if !m.recycle {
		return
	}
	fresh := word(0)
	for _, s := range collapsed {
		if top := m.spares.Load(); top != nil && top.depth == maxSpares {
			return
		}
		if fresh == 0 {
			// Every number of the arrays' lives so far is at most this one, and
			// so is that of every snapshot that has their headers (I13).
			fresh = newWord(reserved, m.clock.fence())
		}
		if invariants.Enabled {
			s.checkLife(fresh)
		}
		if fault.On == "epoch/reuse-unfenced" {
			fresh = 0
		}
		if fault.On != "epoch/retires-late" {
			s.retired.Store(true)
		}
		fill(s.words, fresh)
		if fault.On == "epoch/retires-late" {
			s.retired.Store(true)
		}
		m.putSpare(newSegment(s.words, fresh))
	}
}

// checkLife makes sure that all of a life that ends is decided, above the fence that
// it began with, and at or below the one that the next begins with (I13).
func (s *segment) checkLife(fresh word) {
	for i := range s.words {
		w := word(s.words[i].Load())
		if !w.decided() || w.number() > fresh.number() || w.number() <= s.fresh.number() && s.fresh != 0 {
			panic("epoch: an array is reused whose words are not all of one life, and over")
		}
	}
}

// A stock is what one call of extend has at hand: segments that it has got for a
// directory that was not installed do for the next one.
type stock struct {
	m        *Manager
	segments []*segment
	used     int
}

// segment returns a segment for the xids from first on. Where d has a gap it is
// one with an array of its own: a gap's words get the gap's number in the end,
// which may be below the fence of an array that is reused, and I13 would not hold.
func (k *stock) segment(d *directory, first core.Xid) *segment {
	if g := d.gapFrom(first); g != nil && core.Xid(g.from.Load())>>d.shift <= first>>d.shift && fault.On != "epoch/gap-reuses" {
		k.m.count(segmentsMade)
		return newSegment(make([]atomic.Uint64, 1<<d.shift), 0)
	}
	if k.used == len(k.segments) {
		s := k.m.takeSpare()
		if s == nil {
			k.m.count(segmentsMade)
			s = newSegment(make([]atomic.Uint64, 1<<d.shift), 0)
		} else {
			k.m.count(segmentsReused)
		}
		k.segments = append(k.segments, s)
	}
	k.used++
	return k.segments[k.used-1]
}

// release gives back what was not used.
func (k *stock) release() {
	for _, s := range k.segments[k.used:] {
		k.m.putSpare(s)
	}
}
