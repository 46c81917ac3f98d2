package sharded

import (
	"slices"

	"xidlab/core"
)

// An ascending is a set of Xids of one class, in ascending order in one slice:
// a deque, buf[head:]. An element that leaves moves the shorter side.
type ascending struct {
	buf  []core.Xid
	head int
}

func (s *ascending) all() []core.Xid { return s.buf[s.head:] }

// push adds x, which is greater than every element: O(1) amortised, since the
// space in front is reclaimed only when it is half of the slice.
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

// find returns where x is in a, which is ascending. The newest, which finish
// most often, are looked for from the end, in O(log of the distance).
func find(a []core.Xid, x core.Xid) (int, bool) {
	hi, step := len(a), 1
	lo := hi - step
	for lo > 0 && a[lo] > x { // a[hi:] is above x
		hi, step = lo, step*2
		lo = hi - step
	}
	lo = max(lo, 0)
	i, ok := slices.BinarySearch(a[lo:hi], x)
	return lo + i, ok
}
