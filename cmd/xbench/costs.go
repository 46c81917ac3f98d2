package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"xidlab/harness"
	"xidlab/harness/costs"
	"xidlab/harness/result"
	"xidlab/harness/workload"
	"xidlab/variants"
)

// What xbench run -costs takes. A verdict takes five undisturbed slices of each
// row; on a machine that others use too, many more must be measured for that, and
// short ones, so that some are undisturbed.
const (
	costsDuration      = 150 * time.Second
	quickCostsDuration = 20 * time.Second

	costsSlices      = 50
	quickCostsSlices = 10
)

// costsAlone reports flags that say what -costs says itself.
func costsAlone(f *runFlags) error {
	for _, c := range []struct {
		set  bool
		flag string
	}{
		{f.workload != "", "workload"}, {f.trace != "", "trace"}, {f.pace != paceMax, "pace"}, {f.threads != "", "threads"},
	} {
		if c.set {
			return errors.New("-costs measures workloads of its own, with 1 and 2 threads: leave out -" + c.flag)
		}
	}
	if f.pinned == pinnedBoth || strings.Contains(f.gc, ",") {
		return errors.New("-costs measures in one mode: choose one of -pinned=true and false, and one -gc")
	}
	return nil
}

// costVariants returns the list of what is measured: those named, or those of the
// aims that there are.
func costVariants(f *runFlags) string {
	return cmp.Or(f.variant, strings.Join(slices.DeleteFunc(costs.Variants(), func(v string) bool { return !built(v) }), ","))
}

func built(variant string) bool {
	return slices.ContainsFunc(variants.All, func(v variants.Variant) bool { return v.Name == variant })
}

func costLoads(*runFlags) ([]workload.Load, error) { return costs.Loads(), nil }

// measureCosts is what -costs decides itself.
func measureCosts(f *runFlags, cfg *harness.Config) {
	cfg.Threads = costs.Threads(len(cfg.CPUs))
	cfg.Wanted, cfg.Untimed = costs.Wanted, true
	if cfg.Slices == 0 {
		cfg.Slices = costsSlices
		if f.quick {
			cfg.Slices = quickCostsSlices
		}
	}
}

// judgeCosts judges the variants that were named, or all that there are aims for,
// in the build or not.
func judgeCosts(f *runFlags, r *result.Run, cfg *harness.Config) []costs.Line {
	names := costs.Variants()
	if f.variant != "" {
		names = nil
		for _, v := range cfg.Variants {
			names = append(names, v.Name)
		}
	}
	return costs.Judge(r, names, built, len(cfg.CPUs))
}
