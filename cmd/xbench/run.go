package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/peterbourgon/ff/v3/ffcli"

	"xidlab/harness"
	"xidlab/harness/costs"
	"xidlab/harness/pin"
	"xidlab/harness/plot"
	"xidlab/harness/result"
	"xidlab/harness/trace"
	"xidlab/harness/trace/replay"
	"xidlab/harness/workload"
	"xidlab/variants"
)

const (
	// builtinTrace is the name of the workload that replays trace.Pgbench.
	builtinTrace = "pgbench-mixed"

	// What a run may take. The plots, and what the shell and the compiler add,
	// come on top.
	usualDuration = 100 * time.Second
	quickDuration = 8 * time.Second
)

// runFlags are the flags of xbench run, as typed.
type runFlags struct {
	quick, json, costs, explain                   bool
	variant, workload, trace, pace, threads, cpus string
	duration                                      time.Duration
	slices                                        int
	seed                                          uint64
	out, gc                                       string
	pinned                                        pinnedFlag
}

func runCommand(std streams, help *bytes.Buffer, line []string) *ffcli.Command {
	f := &runFlags{pinned: pinnedAuto}
	fs := newFlagSet("run", help)
	fs.BoolVar(&f.quick, "quick", false, "a first look: pinned only, and short")
	fs.BoolVar(&f.costs, "costs", false, "judge what the operations of "+strings.Join(costs.Variants(), " and ")+" cost by what\n\tthey are meant to cost; with -variant, show any")
	fs.BoolVar(&f.explain, "explain", false, "say why: what the variants themselves counted, such as retries and\n\tsegments of the log")
	fs.StringVar(&f.variant, "variant", "", "only these variants, `NAME,...` (see xbench list)")
	fs.StringVar(&f.workload, "workload", "", "only these workloads, `NAME,...` (see xbench list)")
	fs.StringVar(&f.trace, "trace", "", "replay the trace of `FILE`, made by xbench import; alone unless\n\t-workload is given too")
	fs.StringVar(&f.pace, "pace", paceMax, "replay traces as fast as possible (max), or at a multiple of the\n\trecorded pace (1x)")
	fs.StringVar(&f.threads, "threads", "", "only these numbers of threads, `N,...` (default: 1 to all CPUs)")
	fs.StringVar(&f.cpus, "cpus", "", "use only these CPUs, a `LIST` such as 0-3,8 (default: all that are allowed)")
	fs.DurationVar(&f.duration, "duration", usualDuration, "about how long to measure; many rows take longer; with -quick the\n\tdefault is "+quickDuration.String()+", with -costs "+costsDuration.String()+", with both "+quickCostsDuration.String())
	fs.IntVar(&f.slices, "slices", 0, "measure each row in `N` slices (default: as fits the duration)")
	fs.Uint64Var(&f.seed, "seed", 1, "of everything random")
	fs.BoolVar(&f.json, "json", false, "write the results as JSON to the standard output instead of tables")
	fs.StringVar(&f.out, "o", resultsDir, "write the results into a folder of this machine's under `DIR`")
	fs.StringVar(&f.gc, "gc", "", "garbage collector while measuring: off, ballast (a live heap of\n\t64 MiB), a GOGC percentage, or several, `MODE,...` (default: off,\n\tand without -quick, pinned, ballast too)")
	fs.Var(&f.pinned, "pinned", "pin workers to CPUs: true, false or both (default: both; with\n\t-quick true; false where the system does not permit it)")
	return &ffcli.Command{
		Name: "run", ShortUsage: "xbench run [flags]", ShortHelp: "Measure variants, and write tables, plots and result files.",
		LongHelp: `Every variant runs every workload with 1 thread to as many as there are CPUs,
pinned and not, in short slices that are interleaved with those of the others.
^C ends it within a moment; what was measured is kept.

EXAMPLES
  xbench run                                       everything: two minutes
  xbench run -quick                                a first look: a quarter of a minute
  xbench run -variant rwmutex,epoch -workload txn  two variants, one workload
  xbench run -workload txn-snapshot/active=1000    any number of idle transactions
  xbench run -trace shop.trace -pace 1x            a recorded workload, as recorded
  xbench run -threads 2 -cpus 0,2 -duration 10m    longer, on chosen CPUs
  xbench run -explain -workload txn-snapshot       with counters that say why
  xbench run -costs                                what each operation costs: under three minutes
  xbench run -quick -json | jq '.rows[].variant'   for machines

` + exitHelp,
		FlagSet: fs,
		Exec: func(ctx context.Context, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			if !isSet(fs, "duration") {
				f.duration = defaultDuration(f)
			}
			return run(ctx, std, f, line)
		},
	}
}

func defaultDuration(f *runFlags) time.Duration {
	switch {
	case f.quick && f.costs:
		return quickCostsDuration
	case f.costs:
		return costsDuration
	case f.quick:
		return quickDuration
	}
	return usualDuration
}

// run measures and reports.
func run(ctx context.Context, std streams, f *runFlags, line []string) error {
	started := time.Now()
	top := pin.ReadTopology()
	cfg, notes, err := configure(f, top)
	if err != nil {
		return err
	}
	if cfg.Paced {
		notes = append(notes, "at a pace, ns/op is mostly waiting: read the latencies; -duration says how far into the trace a slice gets")
	}
	for _, n := range notes {
		fmt.Fprintln(std.log, "note:", n)
	}
	defer setProcs(top)()
	cfg.Clock = pin.NewClock()
	env := result.ReadEnv(top, cfg.Clock)
	most := slices.Max(cfg.Threads)
	if quota, err := strconv.ParseFloat(env.Quota, 64); err == nil && quota < float64(most) {
		fmt.Fprintf(std.log, "note: a cgroup limits this process to %v CPUs: with %d threads it will be stopped now and then\n", quota, most)
	}
	rec, err := result.Create(f.out, result.Run{
		Xbench: version(), Command: append([]string{"xbench"}, line...), Seed: f.seed,
		Started: started, Env: env,
	})
	if err != nil {
		return environmentError(err)
	}
	show := newProgress(std.log)
	cfg.Progress = show.show
	notes, err = harness.Measure(ctx, *cfg, rec)
	show.clear()
	for _, n := range notes {
		fmt.Fprintln(std.log, "note:", n)
	}
	if err == nil {
		err = rec.Finish(time.Now())
	}
	switch {
	case errors.Is(err, context.Canceled):
		err = &codedError{exitInterrupted, fmt.Errorf("interrupted: what was measured so far is in %s", rec.JSONPath())}
	case err != nil && !errors.Is(err, harness.ErrBroken):
		err = environmentError(err)
	}
	// After an interruption somebody is waiting for the prompt, and where files
	// cannot be written there is no place for plots.
	draw := (err == nil || errors.Is(err, harness.ErrBroken)) && !f.costs
	return join(err, report(std, f, rec, cfg, draw))
}

// join joins what went wrong, the worse first, whose exit code counts.
func join(err, less error) error {
	if err == nil || less == nil {
		return cmp.Or(err, less)
	}
	return &codedError{exitCode(err), errors.Join(err, less)}
}

// setProcs makes GOMAXPROCS the number of CPUs, whatever quotas and variables
// say: it is the same for all rows, and a part of the machine's fingerprint.
func setProcs(top pin.Topology) (undo func()) {
	was := runtime.GOMAXPROCS(len(top.Order()))
	return func() { runtime.GOMAXPROCS(was) }
}

// report draws the plots and writes what was measured. All files are there before
// the first word is: whoever reads the output slowly, or stops, costs none.
func report(std streams, f *runFlags, rec *result.Recorder, cfg *harness.Config, draw bool) (err error) {
	r := rec.Run()
	plots := 0
	if draw && len(r.Rows) > 0 {
		files, plotErr := plot.Write(r, plotBase(rec.JSONPath()))
		plots = len(files)
		if plotErr != nil {
			defer func() { err = join(environmentError(plotErr), err) }()
		}
	}
	if err := words(std, f, rec, r, cfg, plots); err != nil {
		return environmentError(fmt.Errorf("%w; the results are in %s", err, rec.JSONPath()))
	}
	return nil
}

// words writes what was measured, and where it and the plots are.
func words(std streams, f *runFlags, rec *result.Recorder, r *result.Run, cfg *harness.Config, plots int) error {
	paths := std.out
	var lines []costs.Line
	if f.costs {
		lines = judgeCosts(f, r, cfg)
	}
	if f.json {
		paths = std.log
		out := struct {
			*result.Run
			Costs []costs.Line `json:"costs,omitempty"`
		}{r, lines}
		raw, err := json.MarshalIndent(out, "", " ")
		if err != nil {
			return err
		}
		if _, err := std.out.Write(append(raw, '\n')); err != nil {
			return err
		}
	} else if f.costs {
		if err := costs.Write(std.out, r, lines); err != nil {
			return err
		}
	} else if len(r.Rows) > 0 {
		if err := result.WriteTables(std.out, r); err != nil {
			return err
		}
		if err := writeDetails(std.out, r); err != nil {
			return err
		}
	}
	if f.explain && !f.json {
		if err := writeExplanation(std.out, r); err != nil {
			return err
		}
	}
	where := fmt.Sprintf("\nresults  %s  (benchstat -col /variant reads it)\n         %s\n", rec.BenchPath(), rec.JSONPath())
	if plots > 0 {
		where += fmt.Sprintf("plots    %s-*.svg and .png, %d files\n", plotBase(rec.JSONPath()), plots)
	}
	_, err := io.WriteString(paths, where)
	return err
}

// configure turns flags into what to measure. Its notes say what will be
// different from what a reader expects.
func configure(f *runFlags, top pin.Topology) (cfg *harness.Config, notes []string, err error) {
	if f.duration <= 0 {
		return nil, nil, usageError(fmt.Errorf("-duration %v measures nothing: give a positive one, such as -duration 30s", f.duration))
	}
	if f.slices < 0 {
		return nil, nil, usageError(fmt.Errorf("-slices %d: give a positive number", f.slices))
	}
	cfg = &harness.Config{Budget: f.duration, Slices: f.slices, Seed: f.seed, Paced: f.pace != paceMax, Explained: f.explain}
	variant, ofLoads := f.variant, chosenLoads
	if f.costs {
		if err := costsAlone(f); err != nil {
			return nil, nil, usageError(err)
		}
		variant, ofLoads = costVariants(f), costLoads
	}
	if cfg.Variants, err = chosenVariants(variant); err != nil {
		return nil, nil, usageError(err)
	}
	if cfg.Loads, err = ofLoads(f); err != nil {
		return nil, nil, usageError(err)
	}
	if cfg.CPUs, err = chosenCPUs(f.cpus, top); err != nil {
		return nil, nil, usageError(err)
	}
	if cfg.Threads, err = chosenThreads(f.threads, len(cfg.CPUs)); err != nil {
		return nil, nil, usageError(err)
	}
	if f.costs {
		measureCosts(f, cfg)
	}
	pinned := f.pinned
	if pinned == pinnedAuto {
		pinned = pinnedBoth
		if f.quick || f.costs {
			pinned = pinnedTrue
		}
	}
	if most := slices.Max(cfg.Threads); most > len(cfg.CPUs) {
		note := fmt.Sprintf("%d threads share %d CPUs: these are figures of the scheduler too", most, len(cfg.CPUs))
		if f.pinned == pinnedAuto {
			// Pinned to one CPU, threads wait for a turn of the kernel's, of which a
			// program that serves many clients as goroutines knows nothing.
			pinned = pinnedFalse
			note += "; so everything is measured unpinned (-pinned=true insists)"
		}
		notes = append(notes, note)
	}
	if pinned != pinnedFalse {
		if err := tryPins(cfg.CPUs); err != nil {
			if f.pinned != pinnedAuto {
				return nil, nil, environmentError(fmt.Errorf("%w; -pinned=false does without", err))
			}
			notes = append(notes, fmt.Sprintf("%v: everything is measured unpinned, and marked so", err))
			pinned = pinnedFalse
		}
	}
	if cfg.Modes, err = chosenModes(f, pinned); err != nil {
		return nil, nil, usageError(err)
	}
	return cfg, notes, nil
}

// chosenModes returns the modes of the list of collectors, each once. By default
// the collector is off, so that nobody is charged for its work; but then nobody
// gets memory back from it either, and what allocates pays for fresh pages. So
// there are pinned rows with a ballast too, as far as there is time.
func chosenModes(f *runFlags, pinned pinnedFlag) (modes []harness.Mode, err error) {
	add := func(pinned bool, gc harness.GC) {
		if m := (harness.Mode{Pinned: pinned, GC: gc}); !slices.Contains(modes, m) {
			modes = append(modes, m)
		}
	}
	list := split(f.gc)
	if f.gc == "" {
		list = []string{string(harness.GCOff)}
	}
	for _, s := range list {
		gc, err := harness.ParseGC(s)
		if err != nil {
			return nil, fmt.Errorf("-gc: %w", err)
		}
		if pinned != pinnedFalse {
			add(true, gc)
		}
		if pinned != pinnedTrue {
			add(false, gc)
		}
	}
	if f.gc == "" && !f.quick && !f.costs && pinned != pinnedFalse {
		add(true, harness.GCBallast)
	}
	return modes, nil
}

func chosenVariants(list string) (chosen []harness.Variant, err error) {
	var known []string
	for _, v := range variants.All {
		known = append(known, v.Name)
	}
	names := known
	if list != "" {
		names = split(list)
	}
	for _, name := range names {
		if err := workload.CheckName("variant", name, known); err != nil {
			return nil, err
		}
	}
	for _, v := range variants.All { // in that order, each once
		if slices.Contains(names, v.Name) {
			chosen = append(chosen, harness.Variant{Name: v.Name, Summary: v.Summary, New: v.New})
		}
	}
	return chosen, nil
}

func chosenLoads(f *runFlags) (loads []workload.Load, err error) {
	pace, err := parsePace(f.pace)
	if err != nil {
		return nil, err
	}
	builtin := func() error {
		t, err := trace.Pgbench()
		if err != nil {
			return err
		}
		l, err := replay.NewLoad(builtinTrace, t, pace)
		loads = append(loads, l)
		return err
	}
	add := func(l workload.Load) {
		if !slices.ContainsFunc(loads, func(have workload.Load) bool { return have.Name() == l.Name() }) {
			loads = append(loads, l)
		}
	}
	for _, name := range split(f.workload) {
		if name == builtinTrace {
			if err := builtin(); err != nil {
				return nil, err
			}
			continue
		}
		found, err := workload.Find(name, builtinTrace)
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			add(l)
		}
	}
	if f.workload == "" && f.trace == "" {
		for _, l := range workload.All() {
			add(l)
		}
		if err := builtin(); err != nil {
			return nil, err
		}
	}
	if f.trace != "" {
		t, err := trace.ReadFile(f.trace)
		if err != nil {
			return nil, err
		}
		l, err := replay.NewLoad(traceName(f.trace), t, pace)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.trace, err)
		}
		add(l)
	}
	if pace > 0 && !slices.ContainsFunc(loads, func(l workload.Load) bool { _, replays := l.(*replay.Load); return replays }) {
		return nil, fmt.Errorf("-pace %s: no trace is replayed; add -trace FILE, or -workload %s", f.pace, builtinTrace)
	}
	return loads, nil
}

// traceName names a workload after the file of its trace, as the name of a
// benchmark may be, and so that it hides no other.
func traceName(file string) string {
	base := filepath.Base(file)
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, strings.TrimSuffix(base, filepath.Ext(base)))
	if known, _ := workload.Find(name); known != nil || name == builtinTrace || !strings.ContainsFunc(name, unicode.IsLetter) {
		name = "trace-" + name
	}
	return name
}

// paceMax is the pace of as fast as possible.
const paceMax = "max"

// parsePace reads "max" as 0, "1x" and "1" as 1.
func parsePace(s string) (float64, error) {
	if s == paceMax {
		return 0, nil
	}
	pace, err := strconv.ParseFloat(strings.TrimSuffix(s, "x"), 64)
	if err != nil || !(pace > 0) || math.IsInf(pace, 0) {
		return 0, fmt.Errorf("-pace %q: want max, or a multiple of the recorded pace such as 1x", s)
	}
	return pace, nil
}

// chosenCPUs returns the CPUs of the list, or all, best first.
func chosenCPUs(list string, top pin.Topology) ([]int, error) {
	order := top.Order()
	if list == "" {
		return order, nil
	}
	ids, err := pin.ParseCPUList(list)
	if err != nil {
		return nil, fmt.Errorf("-cpus: %w", err)
	}
	for _, id := range ids {
		if !slices.Contains(order, id) {
			return nil, fmt.Errorf("-cpus %s: CPU %d does not exist or is not allowed to this process, which may use %s", list, id, pin.FormatCPUList(slices.Sorted(slices.Values(order))))
		}
	}
	return slices.DeleteFunc(order, func(id int) bool { return !slices.Contains(ids, id) }), nil
}

// chosenThreads returns the numbers of the list, ascending; by default 1 to n,
// only the powers of two of which, and n, if n is large.
func chosenThreads(list string, n int) (threads []int, err error) {
	for _, s := range split(list) {
		t, err := strconv.Atoi(s)
		if err != nil || t < 1 || t > 1024 {
			return nil, fmt.Errorf("-threads %s: %q is not a number of threads from 1 to 1024", list, s)
		}
		threads = append(threads, t)
	}
	if list == "" {
		for t := 1; t < n; t++ {
			if n <= 4 || t&(t-1) == 0 {
				threads = append(threads, t)
			}
		}
		threads = append(threads, n)
	}
	slices.Sort(threads)
	return slices.Compact(threads), nil
}

// tryPins reports whether a thread can be pinned to each of the CPUs.
func tryPins(cpus []int) error {
	for _, cpu := range cpus {
		failed := make(chan error)
		go func() { // it stays locked, and its thread ends with it
			_, err := pin.Thread(cpu)
			failed <- err
		}()
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

// split splits a list at commas; the empty list has no elements.
func split(list string) []string {
	if list == "" {
		return nil
	}
	parts := strings.Split(list, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
