package ledger

import (
	"slices"

	"xidlab/core"
)

// An Ascending is a set of Xids in one slice, in ascending order, so that a
// copy of the set is one memmove. Elements mostly come at the end and mostly
// leave near it; thousands of old ones may stay in front. The zero value is
// empty.
//
// It is a deque: the set is buf[head:], and an element that leaves moves the
// shorter side, so removal costs at most half a memmove of the set, and the
// newest or the oldest leaves in O(1).
type Ascending struct {
	buf  []core.Xid
	head int
}

// All returns the elements. The slice is the set's own: not to be changed, and
// good until the set changes. It only reads.
func (s *Ascending) All() []core.Xid { return s.buf[s.head:] }

// Push adds x, which is greater than every element: O(1) amortised. The space
// in front is reclaimed when the end is reached and at least half is unused, so
// that each element moved is paid for by one that left.
func (s *Ascending) Push(x core.Xid) {
	if len(s.buf) == cap(s.buf) && s.head > len(s.buf)/2 {
		s.buf = s.buf[:copy(s.buf, s.buf[s.head:])]
		s.head = 0
	}
	s.buf = append(s.buf, x)
}

// Insert adds x, which is not an element, wherever it belongs: for the undoing
// of a removal. It costs a memmove of what is above x.
func (s *Ascending) Insert(x core.Xid) {
	i, _ := Find(s.All(), x)
	s.buf = slices.Insert(s.buf, s.head+i, x)
}

// Remove takes x out, and reports whether it was there.
func (s *Ascending) Remove(x core.Xid) bool {
	a := s.All()
	i, ok := Find(a, x)
	if !ok {
		return false
	}
	if i < len(a)/2 {
		copy(a[1:i+1], a[:i])
		s.head++
	} else {
		copy(a[i:], a[i+1:])
		s.buf = s.buf[:len(s.buf)-1]
	}
	return true
}

// Has reports whether x is an element. It only reads.
func (s *Ascending) Has(x core.Xid) bool {
	_, ok := Find(s.All(), x)
	return ok
}

// Find returns where x is in a, or would have to be inserted, and whether it is
// there. Elements are distinct and ascending, so x lies no further from either
// end than its distance from that end's value: the search for one of the newest
// k of any number of elements takes O(log k).
func Find(a []core.Xid, x core.Xid) (int, bool) {
	if len(a) == 0 || x < a[0] {
		return 0, false
	}
	if x > a[len(a)-1] {
		return len(a), false
	}
	lo, hi := 0, len(a) // a[lo-1] < x < a[hi]
	if d := x - a[0]; d < core.Xid(hi) {
		hi = int(d) + 1
	}
	if d := a[len(a)-1] - x; d < core.Xid(len(a)) {
		lo = len(a) - 1 - int(d)
	}
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); a[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, a[lo] == x
}
