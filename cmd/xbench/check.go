package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/peterbourgon/ff/v3/ffcli"

	"xidlab/harness"
	"xidlab/harness/pin"
	"xidlab/harness/record"
	"xidlab/harness/stress"
	"xidlab/harness/workload"
	"xidlab/internal/sched"
)

const (
	checkDuration      = 90 * time.Second
	checkQuickDuration = 15 * time.Second
)

// checkFlags are the flags of xbench check, as typed.
type checkFlags struct {
	quick, list                      bool
	variant, mutant, workload, trace string
	cpus                             string
	threads, clock, pressure         string
	duration                         time.Duration
	seed                             uint64
	save, out                        string
	pinned                           pinnedFlag
}

func checkCommand(std streams, help *bytes.Buffer) *ffcli.Command {
	f := &checkFlags{}
	fs := newFlagSet("check", help)
	fs.BoolVar(&f.quick, "quick", false, "a first look, of "+checkQuickDuration.String())
	fs.StringVar(&f.variant, "variant", "", "only these variants, `NAME,...` (see xbench list)")
	fs.StringVar(&f.mutant, "mutant", "", "a mutant instead, by its `NAME` (sim build; see xbench mutants -list)")
	fs.StringVar(&f.workload, "workload", "", "only these workloads, `NAME,...` (see -list and xbench list)")
	fs.StringVar(&f.trace, "trace", "", "replay the trace of `FILE`, made by xbench import; alone unless\n\t-workload is given too")
	fs.BoolVar(&f.list, "list", false, "list the workloads that only check has, and check nothing")
	fs.DurationVar(&f.duration, "duration", checkDuration, "about how long, all variants together; with -quick the default is "+checkQuickDuration.String())
	fs.StringVar(&f.threads, "threads", "", "only these numbers of workers, `N,...` (default: as many as CPUs, at\n\tleast 2, and four times as many)")
	fs.StringVar(&f.cpus, "cpus", "", "use only these CPUs, a `LIST` such as 0-3,8 (default: all that are allowed)")
	fs.Var(&f.pinned, "pinned", "pin workers to CPUs: true, false or both (default: both; false where\n\tthe system does not permit it)")
	fs.StringVar(&f.clock, "clock", "both", "stamps: tsc (the time stamp counter, widened by the skew of the CPUs),\n\tcounter (exact, but one cache line for all), or both in turn")
	fs.StringVar(&f.pressure, "gc", "both", "garbage collector: calm (between recordings only), pressure (all the\n\ttime), or both")
	fs.Uint64Var(&f.seed, "seed", 1, "of everything random that is not the machine's")
	fs.StringVar(&f.save, "save", "", "keep every recording, as a file in `DIR`")
	fs.StringVar(&f.out, "o", "violations", "write what is found into `DIR`")
	return &ffcli.Command{
		Name: "check", ShortUsage: "xbench check [flags] [FILE...]", ShortHelp: "Record what real threads do to variants, and judge every answer.",
		LongHelp: `Workers on real CPUs make every variant run every workload, and some that are
made to break it: pinned, unpinned, more of them than there are CPUs, with a calm
garbage collector and with a busy one. What they call and what comes back is
recorded and judged exactly. A violation is shown in words, and written with the
recording, as JSON, and as a page. With FILEs, recordings are judged instead,
binary ones or text (go doc xidlab/harness/history describes the form).

EXAMPLES
  xbench check                            everything, in a minute and a half
  xbench check -quick                     a first look, in a quarter of a minute
  xbench check -variant epoch -duration 10m
  xbench check -workload stress/guards,retain -threads 8
  xbench check -save recordings && xbench check recordings/*.history
  xbench check mine.txt                   a history written by hand

` + checkExitHelp,
		FlagSet: fs,
		Exec: func(ctx context.Context, args []string) error {
			files, err := interleaved(fs, args)
			if err != nil {
				return err
			}
			if len(files) > 0 {
				return checkFiles(ctx, std, f, files)
			}
			if f.quick && !isSet(fs, "duration") {
				f.duration = checkQuickDuration
			}
			return checkVariants(ctx, std, f)
		},
	}
}

const checkExitHelp = exitHelp + `

check exits with 4, too, if hardly anything overlapped: that proves nothing.`

// checkVariants stresses the variants, one after the other, and reports.
func checkVariants(ctx context.Context, std streams, f *checkFlags) error {
	if f.list {
		return listScripts(std.out)
	}
	top := pin.ReadTopology()
	subjects, off, err := checkSubjects(f)
	if err != nil {
		return usageError(err)
	}
	defer off()
	cfg, notes, err := configureCheck(f, top)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(std.log, "note:", n)
	}
	defer setProcs(top)()
	defer sched.Perturb(f.seed)() // in a sim build only it does something

	began := time.Now()
	show := newProgress(std.log)
	var reports []*stress.Report
	var unwritten error
	for i, s := range subjects {
		cfg.Name, cfg.Manager = s.Name, s.New
		cfg.Budget = (f.duration - time.Since(began)) / time.Duration(len(subjects)-i)
		cfg.Progress = func(done float64, what string) {
			left := time.Duration((1-done)*float64(cfg.Budget)) + cfg.Budget*time.Duration(len(subjects)-i-1)
			show.terminal(harness.Progress{Done: int(1000 * (float64(i) + done)), Total: 1000 * len(subjects), Left: left, Row: what})
		}
		if f.save != "" {
			cfg.Recorded = saveInto(f.save)
		}
		var rep *stress.Report
		rep, err = stress.Run(ctx, *cfg)
		reports = append(reports, rep)
		if rep.Violation != nil {
			show.clear()
			unwritten = join(unwritten, writeViolation(std, f.out, rep.Violation))
		}
		if err != nil {
			break
		}
	}
	show.clear()
	if werr := writeCheck(std, cfg, subjects, reports); werr != nil {
		unwritten = join(unwritten, environmentError(werr))
	}
	switch {
	case errors.Is(err, context.Canceled):
		err = &codedError{exitInterrupted, errors.New("interrupted: what is shown was recorded and judged by then")}
	case err != nil:
		err = environmentError(err)
	default:
		err = idleOn(subjects, reports)
	}
	return join(brokenBy(subjects, reports), join(err, unwritten))
}

// brokenBy is the error of the variants that broke a promise.
func brokenBy(subjects []harness.Variant, reports []*stress.Report) error {
	var wrong []string
	for i, r := range reports {
		if r.Violation != nil {
			wrong = append(wrong, subjects[i].Name)
		}
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("%w by %s", harness.ErrBroken, strings.Join(wrong, ", "))
}

// idleOn is the error of those on which hardly anything overlapped, unless what was
// recorded was wrong or too little to tell.
func idleOn(subjects []harness.Variant, reports []*stress.Report) error {
	var idle []string
	for i, r := range reports {
		if r.Violation == nil && r.Idle() {
			idle = append(idle, subjects[i].Name)
		}
	}
	if idle == nil {
		return nil
	}
	return environmentError(fmt.Errorf("hardly any operations overlapped on %s, so that nothing is proved: give it two CPUs that are not busy, or -threads 8 and more time", strings.Join(idle, ", ")))
}

// checkSubjects returns what to stress, and switches a mutant on until off is
// called.
func checkSubjects(f *checkFlags) (subjects []harness.Variant, off func(), err error) {
	if f.mutant == "" {
		subjects, err = chosenVariants(f.variant)
		return subjects, func() {}, err
	}
	if f.variant != "" {
		return nil, nil, errors.New("-variant and -mutant: one of the two")
	}
	open, off, err := openMutant(f.mutant)
	return []harness.Variant{{Name: f.mutant, New: open}}, off, err
}

// configureCheck turns flags into what to stress and how.
func configureCheck(f *checkFlags, top pin.Topology) (cfg *stress.Config, notes []string, err error) {
	if f.duration <= 0 {
		return nil, nil, usageError(fmt.Errorf("-duration %v checks nothing: give a positive one, such as -duration 30s", f.duration))
	}
	cfg = &stress.Config{Seed: f.seed}
	if cfg.Loads, err = checkLoads(f); err != nil {
		return nil, nil, usageError(err)
	}
	cpus, err := chosenCPUs(f.cpus, top)
	if err != nil {
		return nil, nil, usageError(err)
	}
	workers, err := checkWorkers(f.threads, len(cpus))
	if err != nil {
		return nil, nil, usageError(err)
	}
	pressures := map[string][]bool{"calm": {false}, "pressure": {true}, "both": {false, true}}[f.pressure]
	if pressures == nil {
		return nil, nil, usageError(fmt.Errorf("-gc %q: want calm, pressure or both", f.pressure))
	}
	pinned := []bool{true, false}
	switch f.pinned {
	case pinnedTrue:
		pinned = []bool{true}
	case pinnedFalse:
		pinned = []bool{false}
	}
	if pinned[0] {
		if err := tryPins(cpus); err != nil {
			if f.pinned != pinnedAuto {
				return nil, nil, environmentError(fmt.Errorf("%w; -pinned=false does without", err))
			}
			notes = append(notes, fmt.Sprintf("%v: everything is recorded unpinned", err))
			pinned = []bool{false}
		}
	}
	var note string
	if cfg.Clocks, note, err = checkClocks(f.clock, top); err != nil {
		return nil, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	for _, n := range workers {
		for _, p := range pinned {
			if p && n > len(cpus) && len(pinned) > 1 {
				continue // they would take turns as unpinned ones do
			}
			for _, pressure := range pressures {
				m := stress.Mode{Workers: n, Pressure: pressure}
				if p {
					m.CPUs = cpus
				}
				cfg.Modes = append(cfg.Modes, m)
			}
		}
	}
	return cfg, notes, nil
}

// checkWorkers returns the numbers of the list; by default one that has a CPU
// each, two at least, and four times as many.
func checkWorkers(list string, cpus int) ([]int, error) {
	n := min(max(cpus, 2), 16)
	if list == "" {
		return []int{n, 4 * n}, nil
	}
	workers, err := chosenThreads(list, cpus)
	if err == nil && workers[0] < 2 {
		err = fmt.Errorf("-threads %s: one worker overlaps nothing; give 2 or more", list)
	}
	return workers, err
}

// checkClocks returns the clocks of that name. They are of all CPUs on which this
// process may run.
func checkClocks(name string, top pin.Topology) (clocks []*record.Clock, note string, err error) {
	if err := workload.CheckName("clock", name, []string{"tsc", "counter", "both"}); err != nil {
		return nil, "", usageError(err)
	}
	if name != "counter" {
		tsc, err := record.NewTSC(top.Order())
		switch {
		case err == nil:
			clocks = append(clocks, tsc)
		case name == "tsc":
			return nil, "", environmentError(fmt.Errorf("%w; -clock counter does without", err))
		default:
			note = fmt.Sprintf("%v: all stamps are from the atomic counter", err)
		}
	}
	if name != "tsc" {
		clocks = append(clocks, record.NewCounter())
	}
	return clocks, note, nil
}

// checkLoads returns the workloads that f asks for: scripts, and those that run
// has too.
func checkLoads(f *checkFlags) (loads []workload.Load, err error) {
	var scripts, others []string
	for _, s := range stress.Scripts() {
		scripts = append(scripts, s.Name())
		if f.workload == "" && f.trace == "" || slices.Contains(split(f.workload), s.Name()) {
			loads = append(loads, s)
		}
	}
	for _, name := range split(f.workload) {
		if slices.Contains(scripts, name) {
			continue
		}
		others = append(others, name)
		if name != builtinTrace {
			if _, err := workload.Find(name, append(scripts, builtinTrace)...); err != nil {
				return nil, err
			}
		}
	}
	if f.workload != "" && others == nil && f.trace == "" {
		return loads, nil
	}
	more, err := chosenLoads(&runFlags{workload: strings.Join(others, ","), trace: f.trace, pace: paceMax})
	return append(loads, more...), err
}

func listScripts(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range stress.Scripts() {
		fmt.Fprintf(w, "%s\t%s\n", s.Name(), s.Summary())
	}
	return w.Flush()
}
