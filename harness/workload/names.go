package workload

import (
	"fmt"
	"strings"
)

// CheckName returns nil if name is one of known, otherwise an error that
// suggests the nearest one, if one is near. kind is what is named: "workload",
// "variant".
func CheckName(kind, name string, known []string) error {
	best, distance := "", 1+max(2, len(name)/2)
	for _, k := range known {
		if k == name {
			return nil
		}
		d := editDistance(name, k)
		if strings.HasPrefix(k, name) && name != "" {
			d = 1 // what was typed is an abbreviation
		}
		if d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", kind, name, best)
	}
	return fmt.Errorf("unknown %s %q: known are %s", kind, name, strings.Join(known, ", "))
}

// editDistance is the number of bytes to insert, delete or replace, or to swap
// with their neighbour, to turn a into b (Damerau 1964, in the restricted form
// that edits no byte twice), in O(len(a) len(b)).
func editDistance(a, b string) int {
	var before []int // the row before the last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(last[j+1], row[j]) + 1
			if a[i] == b[j] {
				row[j+1] = min(row[j+1], last[j])
			} else {
				row[j+1] = min(row[j+1], last[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
