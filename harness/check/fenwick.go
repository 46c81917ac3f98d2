package check

// A fenwick tree answers which of the entries at places below a bound has the
// largest value, in O(log n). Entries only grow.
type fenwick struct {
	value []int64
	who   []int32
}

func newFenwick(n int) *fenwick {
	f := &fenwick{make([]int64, n+1), make([]int32, n+1)}
	for i := range f.value {
		f.value[i], f.who[i] = first, none
	}
	return f
}

// add enters a value at a place.
func (f *fenwick) add(place int32, value int64, who int32) {
	for i := int(place) + 1; i < len(f.value); i += i & -i {
		if value > f.value[i] {
			f.value[i], f.who[i] = value, who
		}
	}
}

// below returns the largest value at a place below the bound.
func (f *fenwick) below(bound int32) (value int64, who int32) {
	value, who = first, none
	for i := int(bound); i > 0; i -= i & -i {
		if f.value[i] > value {
			value, who = f.value[i], f.who[i]
		}
	}
	return value, who
}
