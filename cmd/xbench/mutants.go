//go:build sim

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"xidlab/harness/explore"
	"xidlab/variants"
)

// killMutants runs the layers on the mutants, and reports.
func killMutants(ctx context.Context, std streams, f *mutantsFlags) error {
	var chosen []variants.Mutant
	for _, m := range variants.Mutants() {
		if f.mutant == "" || slices.ContainsFunc(split(f.mutant), func(s string) bool { return strings.Contains(m.Name, s) }) {
			chosen = append(chosen, m)
		}
	}
	switch {
	case len(chosen) == 0:
		return usageError(fmt.Errorf("no mutant's name contains %q: xbench mutants -list names them", f.mutant))
	case f.budget <= 0:
		return usageError(fmt.Errorf("-budget %v is no time at all", f.budget))
	case f.processes < 1:
		return usageError(fmt.Errorf("-processes %d: give a positive number", f.processes))
	}
	if f.list {
		w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		for _, m := range chosen {
			fmt.Fprintf(w, "%s\t%s\n", m.Name, m.Mistake)
		}
		return w.Flush()
	}

	var jobs []job
	for _, layer := range []string{layerExplore, layerProgress, layerKit, layerStress} { // the slowest last
		for _, m := range chosen {
			if f.full || claims(&m, layer) {
				jobs = append(jobs, job{Layer: layer, Mutant: m.Name, Any: true})
			}
		}
	}
	deaths := map[string]map[string]*outcome{} // by mutant and layer
	for _, m := range chosen {
		deaths[m.Name] = map[string]*outcome{}
	}
	p, ended := newProgress(std.log), 0
	fleet := fleet{processes: f.processes, deadline: time.Now().Add(f.budget), least: 10 * time.Second}
	err := fleet.run(ctx, jobs, func(i int, o outcome) {
		ended++
		p.count(ended, len(jobs), jobs[i].Mutant+", "+jobs[i].Layer)
		deaths[jobs[i].Mutant][jobs[i].Layer] = &o
	})
	p.clear()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(std.log, "interrupted: what follows is what had been run by then")
	}
	printMatrix(std.out, chosen, deaths)
	if err != nil {
		return err
	}
	var survivors []string
	for _, m := range chosen {
		for _, layer := range []string{layerKit, layerExplore, layerProgress, layerStress} {
			if claims(&m, layer) && !deaths[m.Name][layer].killed() {
				survivors = append(survivors, m.Name+" ("+layer+")")
			}
		}
		if m.Claims == 0 {
			survivors = append(survivors, m.Name+" (no layer claims it)")
		}
	}
	if len(survivors) > 0 {
		return &codedError{exitFailed, fmt.Errorf("survived what claims to kill them: %s", strings.Join(survivors, ", "))}
	}
	fmt.Fprintf(std.out, "\nall %d mutants die\n", len(chosen))
	return nil
}

// claims reports whether a layer claims to kill m.
func claims(m *variants.Mutant, layer string) bool {
	switch layer {
	case layerKit:
		return m.Claims.Has(variants.Kit)
	case layerProgress:
		return m.Claims.Has(variants.Progress)
	case layerStress:
		return m.Claims.Has(variants.Stress)
	}
	return m.Claims.Has(variants.Explore) || m.Claims.Has(variants.Race)
}

// killed reports whether the layer has noticed: that it hangs the process, or
// ends it, is notice enough.
func (o *outcome) killed() bool {
	return o != nil && (o.Kit != nil || o.Stress != nil || o.Violation != nil || o.Error != "" || o.Blocked != "")
}

// death says how, in a few words.
func (o *outcome) death() string {
	switch {
	case o == nil:
		return ""
	case o.Kit != nil:
		layer, _, _ := strings.Cut(o.Kit.Check, "/")
		return fmt.Sprintf("%s, %d", strings.ToLower(layer), o.Kit.Ops)
	case o.Stress != nil:
		return fmt.Sprintf("%s, %d", strings.TrimPrefix(o.Stress.Load, "stress/"), o.Stress.Ops)
	case o.Violation != nil:
		kind := ""
		if o.Violation.Kind != explore.NotLinearizable {
			kind = o.Violation.Kind + ": "
		}
		return fmt.Sprintf("%s%s, %d", kind, o.Violation.Program.Name, o.Stats.Executions)
	case o.Blocked != "":
		return o.Blocked
	case o.Error != "":
		return o.Error
	}
	return "lives"
}

// printMatrix writes who kills whom.
func printMatrix(out io.Writer, chosen []variants.Mutant, deaths map[string]map[string]*outcome) {
	fmt.Fprintf(out, `WHO KILLS WHOM, and after how many

explore   a program has an interleaving with wrong answers, or worse; executions of
          all programs until then
progress  an operation waits for a thread that stands still, and should not
kit       of the conformance kit, this layer; operations of one of its checks
stress    xbench check, this workload; operations of real threads until then, which
          vary

`)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "mutant\texplore\tprogress\tkit\tstress\n")
	for _, m := range chosen {
		d := deaths[m.Name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Name, d[layerExplore].death(), d[layerProgress].death(), d[layerKit].death(), d[layerStress].death())
	}
	w.Flush()
}
