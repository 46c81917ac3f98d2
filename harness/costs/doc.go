// Package costs judges what the operations of a snapshot manager cost in a run
// by what they are meant to cost.
//
// The aims are multiples of what the machine itself can do: see [Bound] for
// their terms and aims.go for the table. Each line is judged by paired rounds:
// the ratio of figure and aim is taken from slices of the same round, which lie
// seconds apart, and the median of the ratios decides. Rounds in which a slice
// that matters was disturbed are left out; with too few of the others the
// verdict is unknown, and says why. Nothing looks at a figure before it decides
// whether to believe it.
package costs
