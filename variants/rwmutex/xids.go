package rwmutex

import (
	"slices"

	"xidlab/core"
)

// An ascending is a set of Xids in one slice, in ascending order, so that a
// copy of the set is one memmove. Elements mostly come at the end and mostly
// leave near it; thousands of old ones may stay in front.
//
// It is a deque: the set is buf[head:], and an element that leaves moves the
// shorter side, so removal costs at most half a memmove of the set, and the
// newest or the oldest leaves in O(1).
type ascending struct {
	buf  []core.Xid
	head int
}

func (s *ascending) all() []core.Xid { return s.buf[s.head:] }

// push adds x, which is greater than every element: O(1) amortised. The space
// in front is reclaimed when the end is reached and at least half is unused, so
// that each element moved is paid for by one that left.
func (s *ascending) push(x core.Xid) {
	if len(s.buf) == cap(s.buf) && s.head > len(s.buf)/2 {
		s.buf = s.buf[:copy(s.buf, s.buf[s.head:])]
		s.head = 0
	}
	s.buf = append(s.buf, x)
}

// insert adds x, which is not an element: for the undoing of a removal.
func (s *ascending) insert(x core.Xid) {
	i, _ := slices.BinarySearch(s.all(), x)
	s.buf = slices.Insert(s.buf, s.head+i, x)
}

// remove takes x out, and reports whether it was there.
func (s *ascending) remove(x core.Xid) bool {
	a := s.all()
	i, ok := find(a, x)
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

func (s *ascending) has(x core.Xid) bool {
	_, ok := find(s.all(), x)
	return ok
}

// find returns where x is in a. Elements are distinct and ascending, so x lies
// no further from either end than its distance from that end's value: the
// search for one of the newest k of any number of elements takes O(log k).
func find(a []core.Xid, x core.Xid) (int, bool) {
	if len(a) == 0 || x < a[0] || x > a[len(a)-1] {
		return 0, false
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
	return lo, lo < len(a) && a[lo] == x
}
