//go:build sim

package explore_test

import (
	"context"
	"testing"

	"xidlab/harness/explore"
	"xidlab/internal/sched"
	"xidlab/variants"
)

// TestVariants runs a little of every program on every variant. The whole search
// is xbench explore's.
func TestVariants(t *testing.T) {
	most := 1000
	if testing.Short() {
		most = 100
	}
	for _, v := range variants.All {
		t.Run(v.Name, func(t *testing.T) {
			executions := 0
			for _, p := range explore.Programs {
				r, err := explore.Run(context.Background(), v.Small, p, sched.Config{MaxExecutions: most})
				if err != nil {
					t.Fatal(err)
				}
				executions += r.Stats.Executions
				if r.Violation != nil {
					t.Errorf("%s: %s\n%s, schedule %s\n%q", p.Name, r.Violation.Kind, r.Violation.Program.Text, r.Violation.Schedule, r.Violation.Report.Witness)
				}
			}
			t.Logf("%d programs, %d executions", len(explore.Programs), executions)
		})
	}
}
