//go:build sim

package mutants

import (
	"flag"
	"testing"

	"xidlab/core/coretest"
)

var only = flag.String("fault", "", "run the kit on the fault of this name only, whatever it claims")

// Every fault that claims to be killed by the conformance kit is.
func TestFaultsKilled(t *testing.T) {
	for _, m := range Faults {
		if *only == "" && !m.Claims.Has(Kit) || *only != "" && *only != m.Name {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			defer m.Switch()()
			for f := range coretest.Check(m.New) {
				t.Log(f)
				return
			}
			t.Errorf("it survived: %s", m.Mistake)
		})
	}
}
