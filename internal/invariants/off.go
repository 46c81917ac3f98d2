//go:build !invariants && !race

// Package invariants says whether checks of a variant's own invariants are
// compiled in: under the invariants tag, and under -race.
package invariants

// Enabled is a constant, so that a branch on it vanishes when it is false.
const Enabled = false
