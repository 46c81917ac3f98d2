//go:build sim

package main

import (
	"context"
	"time"

	"xidlab/core"
	"xidlab/harness/pin"
	"xidlab/harness/stress"
	"xidlab/harness/workload"
	"xidlab/internal/sched"
	"xidlab/variants"
)

// openMutant returns how to make the mutant of that name, and switches it on until
// off is called.
func openMutant(name string) (open func() core.Manager, off func(), err error) {
	var known []string
	for _, m := range variants.Mutants() {
		if m.Name == name {
			return m.New, m.Switch(), nil
		}
		known = append(known, m.Name)
	}
	return nil, nil, workload.CheckName("mutant", name, known)
}

// stressed is how a mutant died of a stress.
type stressed struct {
	Load string
	Ops  int // until then
	Text string
}

// stressMutant does to a mutant what xbench check -quick does, and if that misses
// it, which happens in one run of ten at most, once more.
func stressMutant(ctx context.Context, name string, open opener) outcome {
	ops := 0
	for seed := uint64(1); seed <= 2; seed++ {
		f := &checkFlags{clock: "both", pressure: "both", duration: checkQuickDuration, seed: seed}
		cfg, _, err := configureCheck(f, pin.ReadTopology())
		if err != nil {
			return outcome{Error: err.Error()}
		}
		cfg.Name, cfg.Manager, cfg.Budget = name, open, f.duration
		if deadline, ok := ctx.Deadline(); ok {
			cfg.Budget = min(cfg.Budget, time.Until(deadline)/time.Duration(3-seed))
		}
		calm := sched.Perturb(seed)
		rep, err := stress.Run(ctx, *cfg)
		calm()
		ops += rep.Ops
		if v := rep.Violation; v != nil {
			return outcome{Stress: &stressed{v.Load, ops, v.Proof.Text}}
		}
		if err != nil {
			return outcome{Error: err.Error()}
		}
	}
	return outcome{}
}
