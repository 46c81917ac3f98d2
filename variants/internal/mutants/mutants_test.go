package mutants

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"xidlab/core/coretest"
)

// The manager that the mutants are made of is right, or their deaths say
// nothing.
func TestSound(t *testing.T) { coretest.TestManager(t, Sound) }

var matrix = flag.Bool("matrix", false, "run every check on every mutant, not only until the first kills it (minutes)")

// Every mutant is killed by the conformance kit. The table says by what, after
// how many operations of that check.
func TestKilled(t *testing.T) {
	if len(All) != int(mistakes)-1 {
		t.Errorf("%d mutants for %d mistakes", len(All), mistakes-1)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-24s %6s  %s\n", "mutant", "ops", "killed by")
	for _, m := range All {
		mutant := m.Name
		for f := range coretest.Check(m.New) {
			if mutant == m.Name {
				t.Logf("%s (%s): %v", m.Name, m.Mistake, f)
			}
			fmt.Fprintf(&table, "%-24s %6d  %s\n", mutant, f.Ops, f.Check)
			if mutant = ""; !*matrix {
				break
			}
		}
		if mutant != "" {
			t.Errorf("%s survived: %s", m.Name, m.Mistake)
		}
	}
	t.Logf("\n%s", &table)
}
