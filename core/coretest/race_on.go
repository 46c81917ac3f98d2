//go:build race

package coretest

// raceEnabled says whether the race detector is on. It makes every operation
// about ten times slower, so the kit then does the work of -short: a race is
// found in the first rounds or not at all.
const raceEnabled = true
