//go:build sim

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"xidlab/harness/explore"
	"xidlab/internal/sched"
)

// A cell is what is known of one program on one manager, its parts together.
type cell struct {
	sched.Stats
	parts, ended int
	cfg          sched.Config
	took         time.Duration
	lacks        bool
	wrong        bool
}

func (c *cell) add(o *outcome) {
	if c.ended == 0 {
		c.Exhausted, c.cfg = true, o.Config
	}
	c.ended++
	c.Executions += o.Stats.Executions
	c.Redundant += o.Stats.Redundant
	c.Steps += o.Stats.Steps
	c.Cut += o.Stats.Cut
	c.Longest = max(c.Longest, o.Stats.Longest)
	c.Exhausted = c.Exhausted && o.Stats.Exhausted
	c.Complete = o.Stats.Complete // of parts none is
	c.took += o.Took
	c.lacks = c.lacks || len(o.Lacks) > 0
	c.wrong = c.wrong || o.Violation != nil || o.Error != ""
}

// complete reports whether every order of accesses has been seen.
func (c *cell) complete() bool {
	return c.Exhausted && c.ended == c.parts && c.Cut == 0 && !c.wrong &&
		(c.Complete || c.cfg.Strategy == sched.DPOR || c.cfg.Strategy == sched.DFS && c.cfg.Bound < 0)
}

func (c *cell) bounded() bool {
	return c.Exhausted && c.ended == c.parts && !c.wrong && !c.complete()
}

func (c *cell) String() string {
	switch {
	case c == nil || c.ended == 0:
		return "not searched"
	case c.wrong:
		return "WRONG"
	case c.lacks:
		return "-"
	case c.complete():
		return fmt.Sprint(c.Executions)
	case c.bounded() && c.cfg.Strategy == sched.DFS:
		return fmt.Sprintf("%d/%d", c.Executions, c.cfg.Bound)
	}
	return fmt.Sprintf(">%d", c.Executions)
}

// printSearch writes the table of what was searched, and what it means.
func printSearch(out io.Writer, jobs []job, outcomes []outcome, ended []bool, took time.Duration) {
	var programs, subjects []string
	cells := map[[2]string]*cell{}
	for i := range jobs {
		j := &jobs[i]
		if j.Layer != layerExplore {
			continue
		}
		key := [2]string{cmp.Or(j.Program.Name, "(a text)"), j.subject()}
		if !slices.Contains(programs, key[0]) {
			programs = append(programs, key[0])
		}
		if !slices.Contains(subjects, key[1]) {
			subjects = append(subjects, key[1])
		}
		c := cells[key]
		if c == nil {
			c = &cell{}
			cells[key] = c
		}
		c.parts++
		if ended[i] {
			c.add(&outcomes[i])
		}
	}
	if len(programs) == 0 {
		printProgress(out, jobs, outcomes, ended)
		return
	}
	fmt.Fprintf(out, "EXECUTIONS, one for each order of accesses\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "program\t%s\t\n", strings.Join(subjects, "\t"))
	var complete, bounded, other, wrong int
	var executions int
	var cpu time.Duration
	for _, p := range programs {
		fmt.Fprintf(w, "%s\t", p)
		for _, s := range subjects {
			c := cells[[2]string{p, s}]
			fmt.Fprintf(w, "%v\t", c)
			executions += c.Executions + c.Redundant
			cpu += c.took
			switch {
			case c.wrong:
				wrong++
			case c.lacks:
			case c.complete():
				complete++
			case c.bounded():
				bounded++
			default:
				other++
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	fmt.Fprintln(out)
	for _, line := range []struct {
		n    int
		text string
	}{
		{complete, "complete: every interleaving has been judged"},
		{bounded, "n/b, complete within the bound: every schedule with at most b preemptions"},
		{other, ">n: as far as the strategy, or the budget, went"},
		{wrong, "WRONG: see above"},
	} {
		if line.n > 0 {
			fmt.Fprintf(out, "%4d searches  %s\n", line.n, line.text)
		}
	}
	if cpu > 0 {
		fmt.Fprintf(out, "%d executions in %v, %.0f a second of each process.\n", executions, took.Round(time.Second), float64(executions)/cpu.Seconds())
	}
	fmt.Fprintln(out)
	printProgress(out, jobs, outcomes, ended)
}

// printProgress writes what waits for what.
func printProgress(out io.Writer, jobs []job, outcomes []outcome, ended []bool) {
	bySubject := map[string][]explore.OpProgress{}
	var subjects []string
	for i := range jobs {
		if jobs[i].Layer != layerProgress || !ended[i] {
			continue
		}
		s := jobs[i].subject()
		if !slices.Contains(subjects, s) {
			subjects = append(subjects, s)
		}
		bySubject[s] = append(bySubject[s], outcomes[i].Progress...)
	}
	if len(subjects) > 0 {
		explore.WriteProgress(out, subjects, bySubject)
	}
}
