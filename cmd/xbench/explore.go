package main

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"time"

	"github.com/peterbourgon/ff/v3/ffcli"

	"xidlab/internal/sched"
)

// exploreFlags are the flags of xbench explore, as typed.
type exploreFlags struct {
	variant, mutant, program, strategy string
	bound                              string
	budget                             time.Duration
	seed                               uint64
	processes                          int
	list, progress                     bool
	replay, out                        string
}

const exploreBudget = 3 * time.Minute

func exploreCommand(std streams, help *bytes.Buffer) *ffcli.Command {
	f := &exploreFlags{}
	fs := newFlagSet("explore", help)
	fs.StringVar(&f.variant, "variant", "", "only these variants, `NAME,...` (see xbench list)")
	fs.StringVar(&f.mutant, "mutant", "", "a mutant instead, by its `NAME` (see xbench mutants -list)")
	fs.StringVar(&f.program, "program", "", "only these programs, `NAME,...`, or one as a text (see -list);\n\tnone: only what -progress does")
	fs.StringVar(&f.strategy, "strategy", "", "of the search: "+strings.Join(sched.Strategies(), ", ")+" (default: dpor;\n\tfor large programs dfs, with a bound that grows from 2 as long as\n\tthere is time)")
	fs.StringVar(&f.bound, "bound", "", "of dfs: `N` preemptions in an execution, -1 for any number (default 2);\n\tof pct: the orderings that a bug may need (default 3)")
	fs.DurationVar(&f.budget, "budget", exploreBudget, "about how long to search, all together")
	fs.Uint64Var(&f.seed, "seed", 1, "of pct and random")
	fs.IntVar(&f.processes, "processes", runtime.NumCPU(), "search in `N` processes")
	fs.BoolVar(&f.list, "list", false, "list the programs, and search nothing")
	fs.BoolVar(&f.progress, "progress", true, "see whether others finish if one thread stops, and in how many steps")
	fs.StringVar(&f.replay, "replay", "", "show the violation of `FILE` again, which a search has written")
	fs.StringVar(&f.out, "o", "violations", "write what is found into `DIR`")
	return &ffcli.Command{
		Name: "explore", ShortUsage: "xbench explore [flags]", ShortHelp: "Search the interleavings of small programs (sim build).",
		LongHelp: `Every variant runs every program in every interleaving, or in every one within
a bound, and each is judged by the sequential specification. What is found is
minimised, shown, and written as a page and as a file for -replay.

EXAMPLES
  go run -tags sim ./cmd/xbench explore                  everything: three minutes
  xbench explore -list                                   what the programs are
  xbench explore -variant epoch -program long-fork       one of them
  xbench explore -program 'x=Begin; Commit(x) || s=Snapshot Includes(s, x)'
  xbench explore -budget 8h                              a night's search
  xbench explore -strategy pct -bound 4 -budget 8h       another one
  xbench explore -replay violations/epoch-snapshot.json

` + exitHelp,
		FlagSet: fs,
		Exec: func(ctx context.Context, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			return explorePrograms(ctx, std, f)
		},
	}
}

// mutantsFlags are the flags of xbench mutants, as typed.
type mutantsFlags struct {
	mutant     string
	list, full bool
	budget     time.Duration
	processes  int
}

func mutantsCommand(std streams, help *bytes.Buffer) *ffcli.Command {
	f := &mutantsFlags{}
	fs := newFlagSet("mutants", help)
	fs.StringVar(&f.mutant, "mutant", "", "only those whose names contain one of `TEXT,...`")
	fs.BoolVar(&f.list, "list", false, "list the mutants, and run nothing")
	fs.BoolVar(&f.full, "full", false, "run every layer on every mutant, not only those that claim it")
	fs.DurationVar(&f.budget, "budget", 20*time.Minute, "about how long it may take, all together")
	fs.IntVar(&f.processes, "processes", runtime.NumCPU(), "run in `N` processes")
	return &ffcli.Command{
		Name: "mutants", ShortUsage: "xbench mutants [flags]", ShortHelp: "Run the tests on managers that are wrong, and say which kills which (sim build).",
		LongHelp: `Each mutant is a manager with one mistake. A layer of the tests that claims to
kill it must. The exit code is 1 if one survives.

EXAMPLES
  go run -tags sim ./cmd/xbench mutants                 the layers that claim them
  xbench mutants -full                                  the whole matrix
  xbench mutants -mutant epoch/                         those of one variant
  xbench explore -mutant epoch/retry-keeps-number       see one die

` + exitHelp,
		FlagSet: fs,
		Exec: func(ctx context.Context, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			return killMutants(ctx, std, f)
		},
	}
}
