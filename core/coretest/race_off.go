//go:build !race

package coretest

// raceEnabled says whether the race detector is on.
const raceEnabled = false
