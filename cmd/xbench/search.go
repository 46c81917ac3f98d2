//go:build sim

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"xidlab/core"
	"xidlab/harness"
	"xidlab/harness/atomicfile"
	"xidlab/harness/explore"
	"xidlab/harness/workload"
	"xidlab/internal/sched"
	"xidlab/variants"
)

type opener = func() core.Manager

// explorePrograms searches, and reports.
func explorePrograms(ctx context.Context, std streams, f *exploreFlags) error {
	if f.list {
		w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		for _, p := range explore.Programs {
			size := ""
			if p.Large {
				size = " (large)"
			}
			fmt.Fprintf(w, "%s%s\t%s\n\t  %s\n", p.Name, size, p.About, p.Text)
		}
		return w.Flush()
	}
	if f.replay != "" {
		return replayFile(std, f.replay)
	}
	jobs, err := plannedJobs(f)
	if err != nil {
		return usageError(err)
	}
	started := time.Now()
	fleet := fleet{processes: f.processes, deadline: started.Add(f.budget), least: time.Second}
	outcomes := make([]outcome, len(jobs))
	ended := make([]bool, len(jobs))
	bad, searched := 0, 0
	p := newProgress(std.log)
	err = fleet.run(ctx, jobs, func(i int, o outcome) {
		outcomes[i], ended[i] = o, true
		searched++
		p.count(searched, len(jobs), jobs[i].name())
		if o.Violation == nil && o.Error == "" {
			return
		}
		bad++
		p.clear()
		reportViolation(std, f, &jobs[i], &o)
	})
	p.clear()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(std.log, "interrupted: what follows is what had been searched by then")
	}
	printSearch(std.out, jobs, outcomes, ended, time.Since(started))
	if err == nil && bad > 0 {
		err = &codedError{exitFailed, fmt.Errorf("%d of %d searches found something wrong", bad, len(jobs))}
	}
	return err
}

// plannedJobs returns the searches that f asks for: small ones first, so that the
// large ones get the time that those leave.
func plannedJobs(f *exploreFlags) (jobs []job, err error) {
	if f.budget <= 0 {
		return nil, fmt.Errorf("-budget %v is no time at all", f.budget)
	}
	if f.processes < 1 {
		return nil, fmt.Errorf("-processes %d: give a positive number", f.processes)
	}
	subjects, err := chosenSubjects(f)
	if err != nil {
		return nil, err
	}
	programs := explore.Programs
	if f.program == "none" {
		programs = nil
	} else if f.program != "" {
		programs = nil
		names := split(f.program)
		if strings.ContainsAny(f.program, " ;|(=") {
			names = []string{f.program} // a text
		}
		for _, name := range names {
			p, err := explore.Find(name)
			if err != nil {
				return nil, err
			}
			programs = append(programs, p)
		}
	}
	for _, large := range []bool{false, true} {
		for _, p := range programs {
			if p.Large != large {
				continue
			}
			cfg, err := chosenSearch(f, large)
			if err != nil {
				return nil, err
			}
			for _, s := range subjects {
				s.Layer, s.Program, s.Config = layerExplore, p, cfg
				s.Deepen = large && f.strategy == "" && f.bound == ""
				parts := 1
				if !s.Deepen && len(programs)*len(subjects) < f.processes {
					parts = f.processes
				}
				for part := range parts {
					s.Config.Part, s.Config.Parts = part, parts
					jobs = append(jobs, s)
				}
			}
		}
	}
	if f.progress {
		var ladders []job
		for _, p := range slices.Concat(explore.Crossings(), explore.Ladders()) {
			for _, s := range subjects {
				s.Layer, s.Program = layerProgress, p
				ladders = append(ladders, s)
			}
		}
		jobs = append(ladders, jobs...)
	}
	return jobs, nil
}

// chosenSubjects returns jobs that know what they are about.
func chosenSubjects(f *exploreFlags) (subjects []job, err error) {
	if f.mutant != "" {
		if f.variant != "" {
			return nil, errors.New("-variant and -mutant: one of the two")
		}
		var known []string
		for _, m := range variants.Mutants() {
			known = append(known, m.Name)
		}
		return []job{{Mutant: f.mutant}}, workload.CheckName("mutant", f.mutant, known)
	}
	chosen, err := chosenVariants(f.variant)
	for _, v := range chosen {
		subjects = append(subjects, job{Variant: v.Name})
	}
	return subjects, err
}

// chosenSearch returns how to search a program.
func chosenSearch(f *exploreFlags, large bool) (cfg sched.Config, err error) {
	cfg.Seed = f.seed
	if large {
		cfg.Strategy = sched.DFS
	}
	if f.strategy != "" {
		if err := workload.CheckName("strategy", f.strategy, sched.Strategies()); err != nil {
			return cfg, err
		}
		cfg.Strategy, _ = sched.ParseStrategy(f.strategy)
	}
	if f.bound == "" {
		cfg.Bound = map[sched.Strategy]int{sched.DFS: 2, sched.PCT: 3}[cfg.Strategy]
		return cfg, nil
	}
	if cfg.Bound, err = strconv.Atoi(f.bound); err != nil {
		return cfg, fmt.Errorf("-bound %q: give a number", f.bound)
	}
	switch {
	case f.strategy == "":
		err = errors.New("-bound is for -strategy dfs and -strategy pct; say which")
	case cfg.Strategy == sched.DFS && cfg.Bound < -1:
		err = fmt.Errorf("-bound %d: of dfs it is a number of preemptions, or -1 for any", cfg.Bound)
	case cfg.Strategy == sched.PCT && cfg.Bound < 1:
		err = fmt.Errorf("-bound %d: of pct it is at least 1", cfg.Bound)
	case cfg.Strategy != sched.DFS && cfg.Strategy != sched.PCT:
		err = fmt.Errorf("-bound is for dfs and pct; %v has none", cfg.Strategy)
	}
	return cfg, err
}

func (j *job) subject() string { return cmp.Or(j.Variant, j.Mutant) }

func (j *job) name() string {
	name := j.subject() + " " + cmp.Or(j.Program.Name, j.Program.Text)
	if j.Layer == layerProgress {
		name += ", one thread stopped"
	}
	return name
}

// A saved violation is the file that -replay reads.
type saved struct {
	Variant, Mutant string
	Program         explore.Program
	Schedule        string
	Found           string
	Seed            uint64
}

// reportViolation shows what a job has found, and writes it.
func reportViolation(std streams, f *exploreFlags, j *job, o *outcome) {
	if o.Violation == nil {
		fmt.Fprintf(std.out, "%s: %s\n", j.name(), o.Error)
		return
	}
	v := o.Violation
	file := filepath.Join(f.out, strings.NewReplacer("/", "-", " ", "-").Replace(j.subject())+"-"+cmp.Or(j.Program.Name, "program"))
	r := v.Report
	r.Variant, r.Seed = j.subject(), f.seed
	r.Found = fmt.Sprintf("%s, in execution %d", describeSearch(&o.Config), v.Executions)
	r.Replay = "go run -tags sim ./cmd/xbench explore -replay " + file + ".json"
	s := saved{Variant: j.Variant, Mutant: j.Mutant, Program: v.Program, Schedule: v.Schedule.String(), Found: r.Found, Seed: f.seed}
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.MkdirAll(f.out, 0o777)
	}
	if err == nil {
		err = atomicfile.Write(file+".json", append(text, '\n'))
	}
	var page bytes.Buffer
	if err == nil {
		err = r.WriteHTML(&page)
	}
	if err == nil {
		err = atomicfile.Write(file+".html", page.Bytes())
	}
	if err := r.WriteText(std.out); err != nil {
		fmt.Fprintln(std.log, "xbench explore:", err)
	}
	if err != nil {
		fmt.Fprintf(std.log, "xbench explore: the violation could not be written: %v; the schedule is above\n", err)
		return
	}
	fmt.Fprintf(std.out, "\n%s.html shows it\n\n", file)
}

// count shows how many of several things have been done, and the last of them.
func (p *progress) count(done, total int, what string) {
	p.show(harness.Progress{Done: done, Total: total, Row: what, Left: time.Since(p.began) / time.Duration(done) * time.Duration(total-done)})
}

// describeSearch says in words how a search was made.
func describeSearch(cfg *sched.Config) string {
	switch cfg.Strategy {
	case sched.DFS:
		if cfg.Bound < 0 {
			return "depth-first search"
		}
		return fmt.Sprintf("depth-first search with at most %d preemptions", cfg.Bound)
	case sched.PCT:
		return fmt.Sprintf("PCT of depth %d, seed %d", cfg.Bound, cfg.Seed)
	case sched.Random:
		return fmt.Sprintf("random walks, seed %d", cfg.Seed)
	}
	return "source-DPOR"
}

// replayFile shows a violation again.
func replayFile(std streams, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return usageError(err)
	}
	var s saved
	if err := json.Unmarshal(text, &s); err != nil {
		return usageError(fmt.Errorf("%s is no file of a violation: %w", name, err))
	}
	schedule, err := sched.ParseSchedule(s.Schedule)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", name, err))
	}
	j := job{Variant: s.Variant, Mutant: s.Mutant, Program: s.Program}
	open, off, err := j.open()
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", name, err))
	}
	defer off()
	r, err := explore.Replay(open, s.Program, schedule)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", name, err))
	}
	r.Variant, r.Found, r.Seed = j.subject(), s.Found, s.Seed
	r.Replay = "go run -tags sim ./cmd/xbench explore -replay " + name
	if err := r.WriteText(std.out); err != nil {
		return err
	}
	if r.Failure != "" {
		return &codedError{exitFailed, fmt.Errorf("%s on %s: %s", cmp.Or(s.Program.Name, "the program"), j.subject(), r.Failure)}
	}
	fmt.Fprintf(std.out, "\nnothing is wrong any more\n")
	return nil
}
