package check

import (
	"slices"

	"xidlab/core"
)

// A ranking answers how many of a set of Xids are smaller than one: by a table
// where they are dense, else by a search.
type ranking struct {
	xs    []core.Xid // ascending
	table []int32    // by distance from the first
}

func newRanking(xs []core.Xid) ranking {
	r := ranking{xs: xs}
	n := len(xs)
	if n == 0 || uint64(xs[n-1]-xs[0]) > 8*uint64(n)+1024 {
		return r
	}
	r.table = make([]int32, xs[n-1]-xs[0]+1)
	k := 0
	for d := range r.table {
		for xs[k] < xs[0]+core.Xid(d) {
			k++
		}
		r.table[d] = int32(k)
	}
	return r
}

// rank returns how many of them are smaller than x.
func (r *ranking) rank(x core.Xid) int32 {
	n := len(r.xs)
	switch {
	case n == 0 || x <= r.xs[0]:
		return 0
	case x > r.xs[n-1]:
		return int32(n)
	case r.table != nil:
		return r.table[x-r.xs[0]]
	}
	k, _ := slices.BinarySearch(r.xs, x)
	return int32(k)
}
