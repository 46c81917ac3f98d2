//go:build sim

package explore

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"xidlab/core"
	"xidlab/internal/sched"
	"xidlab/variants"
)

var literalPrograms = flag.Int("literal", 250, "random programs, for TestLiteralOrders")

// TestLiteralOrders: a search that completes one execution for each order of
// accesses, and judges all the orders of calls that it stands for, finds the same
// kinds of violations as one that runs every schedule and takes the calls where
// they are: on the variants, which have none, and on mutants.
func TestLiteralOrders(t *testing.T) {
	type subject struct {
		name string
		open func() core.Manager
		on   func() (off func())
	}
	sound := func() func() { return func() {} }
	subjects := []subject{{"toy", newToy(none), sound}}
	for _, v := range variants.All {
		subjects = append(subjects, subject{v.Name, v.Small, sound})
	}
	whole := len(subjects)
	for _, m := range variants.Mutants() {
		subjects = append(subjects, subject{m.Name, m.New, m.Switch})
	}
	compared, wrong := 0, 0
	for seed := range uint64(*literalPrograms) {
		rng := rand.New(rand.NewPCG(seed, 99))
		i := rng.IntN(len(subjects))
		if rng.IntN(4) == 0 {
			i = rng.IntN(whole)
		}
		who := subjects[i]
		s := smallProgram(t, rng)
		if len(capabilitiesOf(who.open()).lacks(s.needs)) > 0 {
			continue
		}
		off := who.on()
		every, exhausted := violations(s, who.open, sched.Config{Strategy: sched.DFS, Bound: -1, MaxExecutions: 3000, MaxSteps: 2000}, (*checker).literally)
		if exhausted {
			compared++
			got, _ := violations(s, who.open, sched.Config{MaxSteps: 2000}, (*checker).check)
			if fmt.Sprint(every) != fmt.Sprint(got) {
				t.Errorf("seed %d, %s: %v\nevery schedule: %v\nevery order of accesses: %v", seed, who.name, s, every, got)
			}
			if len(got) > 0 {
				wrong++
			}
			if i < whole && len(got) > 0 {
				t.Errorf("seed %d: a false alarm on %s: %v: %v", seed, who.name, s, got)
			}
		}
		off()
	}
	t.Logf("%d programs compared, %d of them with a violation", compared, wrong)
	if compared == 0 || wrong == 0 {
		t.Error("nothing was compared, or nothing was wrong")
	}
}

// smallProgram returns two or three threads of an operation or two.
func smallProgram(t *testing.T, rng *rand.Rand) *script {
	var threads []string
	for i := range 2 + rng.IntN(4)/3 {
		text := sequences[rng.IntN(len(sequences))]
		threads = append(threads, strings.ReplaceAll(text, "%d", fmt.Sprint(i)))
	}
	s, err := parse(setups[rng.IntN(len(setups))] + "; " + strings.Join(threads, " || ") + "; OldestRequired")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// violations returns the kinds that a search finds.
func violations(s *script, open func() core.Manager, cfg sched.Config, right func(*checker, *sched.Execution) bool) (kinds map[string]bool, exhausted bool) {
	kinds = map[string]bool{}
	k := newChecker(newClient(s, open))
	stats := sched.Explore(context.Background(), cfg, k.c.start, func(x *sched.Execution) bool {
		switch f := x.Failure(); {
		case f != nil:
			kinds[f.Kind.String()] = true
		case k.c.finish() != nil:
			kinds[sched.Panic.String()] = true
		case !right(k, x):
			kinds[NotLinearizable] = true
		}
		return true
	})
	return kinds, stats.Exhausted
}

// literally judges the order of calls and returns that an execution has: a call
// is immediately before the first access of its operation, a return immediately
// after the last. Operations without accesses take every place that they can.
func (k *checker) literally(x *sched.Execution) bool {
	j := k.judge()
	if j.setupWrong != "" {
		return false
	}
	ops := x.Ops(nil)
	call, ret := make([]float64, len(ops)), make([]float64, len(ops))
	var place func(p int) bool
	place = func(p int) bool {
		if p == len(ops) {
			called := make([]uint64, len(ops))
			for a := range ops {
				for b := range ops {
					if a == b || call[b] < ret[a] {
						called[a] |= 1 << b
					}
				}
			}
			ok, _ := j.linearizable(called)
			return ok
		}
		if ops[p].First >= 0 {
			call[p], ret[p] = float64(ops[p].First)-0.1, float64(ops[p].Last)+0.1
			return place(p + 1)
		}
		from, to := 0.0, float64(x.Steps())
		for q := range ops {
			switch {
			case ops[q].Thread != ops[p].Thread || ops[q].First < 0:
			case q < p:
				from = float64(ops[q].Last + 1)
			default:
				to = min(to, float64(ops[q].First))
			}
		}
		// Between two accesses there is room for those of several threads, in
		// either order: they are told apart by halves.
		for at := from; at <= to; at++ {
			for _, half := range []float64{0.45, 0.55} {
				call[p] = at - 1 + half + 0.001*float64(p)
				ret[p] = call[p] + 0.0001
				if !place(p + 1) {
					return false
				}
			}
		}
		return true
	}
	return place(0)
}
