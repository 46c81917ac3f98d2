package check

import (
	"cmp"
	"slices"
)

// sortBy sorts nodes by their stamps.
func sortBy(nodes []int32, stamps []int64) {
	less := func(a, b int32) int { return cmp.Compare(stamps[a], stamps[b]) }
	if !slices.IsSortedFunc(nodes, less) {
		slices.SortStableFunc(nodes, less)
	}
}
