//go:build sim

package variants

import (
	"slices"

	"xidlab/variants/internal/mutants"
)

// A Mutant is a manager with one mistake, for the tests of the tests.
type Mutant = mutants.Mutant

// The layers of the tests that a Mutant may be claimed by.
const (
	Kit      = mutants.Kit
	Explore  = mutants.Explore
	Race     = mutants.Race
	Progress = mutants.Progress
	Stress   = mutants.Stress
)

// Mutants lists those of the small manager, which has most of the mistakes that a
// contract can be broken by, and the faults that are built into the variants.
func Mutants() []Mutant { return slices.Concat(mutants.All, mutants.Faults) }
