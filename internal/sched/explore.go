// Package sched explores the interleavings of small concurrent programs: it runs
// their threads as coroutines and decides, at each access to shared memory, who
// makes the next one.
//
// A program sees its shared memory through the scheduled types of this package
// ([Uint64], [Mutex], [Cell] and so on). Outside an exploration they are what
// the standard library has; packages internal/sync and internal/sync/atomic are
// these types under the sim tag, and the standard ones otherwise. Go's atomics
// are sequentially consistent, so the interleavings of accesses are all that can
// happen to a program without data races; and those are found too, by vector
// clocks on plain memory ([Cell]).
//
// [Explore] searches, by one of four strategies, and hands every execution to its
// caller, who judges it; deadlocks, livelocks, panics, data races, locks held at
// the end, and executions that do not repeat are failures by themselves. [Replay]
// repeats an execution and collects what a report shows.
//
// One exploration at a time: while it runs, all scheduled types in the process
// belong to it. To use more processors, use processes, and search in parts.
package sched

import (
	"context"
	"math/rand/v2"
)

// A Program makes the threads of one execution, on shared state that is made
// anew: what it does itself is done before they start, and is not scheduled. It
// has to do the same each time, or the search fails and says so.
type Program func() []func()

// A Strategy is a way to search.
type Strategy int

const (
	// DPOR completes one execution for each order of dependent accesses that the
	// program allows, and so finds whatever there is to find.
	DPOR Strategy = iota
	// DFS tries every schedule with at most Bound preemptions: switches away
	// from a thread that could have gone on.
	DFS
	// PCT runs random schedules with few, random, switches; Bound is how many
	// orderings a bug may need.
	PCT
	// Random picks uniformly at every access.
	Random
)

var strategies = [...]string{"dpor", "dfs", "pct", "random"}

func (s Strategy) String() string { return strategies[s] }

// Strategies returns the names that ParseStrategy reads.
func Strategies() []string { return strategies[:] }

// ParseStrategy returns the strategy with this name; false if there is none.
func ParseStrategy(name string) (Strategy, bool) {
	for i, s := range strategies {
		if s == name {
			return Strategy(i), true
		}
	}
	return 0, false
}

// A Config says how to search.
type Config struct {
	Strategy      Strategy
	Bound         int    // see the strategies; of DFS: negative for any number
	Seed          uint64 // of PCT and Random
	MaxExecutions int    // 0: as many as there are
	MaxSteps      int    // of an execution, more is a livelock; 0: 10 000

	// Part is the part to search, of Parts: 0 of 1, or of 0, is everything. The
	// random strategies draw from another seed in each part.
	Part, Parts int

	// Suspend stops one thread for ever.
	Suspend *Suspension

	flaws flaws
}

const defaultSteps = 10_000

// A Suspension lets a thread make so many accesses and no more.
type Suspension struct{ Thread, After int }

// Stats is what a search has done.
type Stats struct {
	Executions int // that were complete, and visited
	Redundant  int // that were broken off, because what they led to had been seen
	Steps      int // accesses
	Longest    int // execution, in accesses
	Repeated   int // executions that were run once more, to see whether they repeat

	// Cut is how many threads were made to wait for a change though the program
	// had not declared that they do: they had read the same values for the eighth
	// time. What a loop does after more rounds than that is seen only if nobody
	// is left to end the wait.
	Cut int

	// Exhausted says that there is nothing left to try within the bound.
	Exhausted bool
	// Complete says that every order of accesses has been seen, but for further
	// rounds of declared waits: Exhausted, in one part, Cut is 0, and the bound,
	// if there is one, has made no difference.
	Complete bool
}

// repeatEvery is how many executions lie between those that are run twice.
const repeatEvery = 1024

// Explore runs program under the schedules that cfg asks for, and calls visit
// after each execution that is complete or has failed. It ends when there is no
// more to try, when visit returns false, or soon after ctx ends.
func Explore(ctx context.Context, cfg Config, program Program, visit func(*Execution) bool) (stats Stats) {
	explorations.Add(1)
	defer explorations.Add(-1)
	x := newExecution(&cfg)
	defer x.close()
	again := newExecution(&cfg)
	defer again.close()
	s := newStrategy(&cfg)
	failed := false
	for runs := 0; ; runs++ {
		if runs&63 == 0 && ctx.Err() != nil {
			return stats
		}
		x.run(program, s)
		stats.Steps += len(x.events)
		stats.Cut += x.idle
		if x.discarded && x.failure == nil {
			stats.Redundant++
		} else {
			stats.Executions++
			stats.Longest = max(stats.Longest, len(x.events))
			if runs%repeatEvery == 0 && x.failure == nil {
				stats.Repeated++
				if again.run(program, &replay{schedule: x.decisions}); again.Trace() != x.Trace() {
					x.fail(Uncontrolled, nil, "the same schedule, run again, led to another execution: the program depends on something that is not controlled")
				}
			}
			if x.failure != nil {
				// What follows a panic, or comes after ever so many accesses, is
				// not known.
				failed = failed || x.failure.Kind != Deadlock && x.failure.Kind != LeakedLock && x.failure.Kind != DataRace
			}
			if !visit(x) {
				return stats
			}
		}
		if !s.again(x) {
			stats.Exhausted = true
			stats.Complete = !s.(*tree).limited && cfg.Parts <= 1 && stats.Cut == 0 && !failed
			return stats
		}
		if cfg.MaxExecutions > 0 && stats.Executions+stats.Redundant >= cfg.MaxExecutions {
			return stats
		}
	}
}

func newStrategy(cfg *Config) strategy {
	random := walk{seed: rand.NewPCG(cfg.Seed, uint64(cfg.Part)).Uint64()}
	switch cfg.Strategy {
	case DPOR:
		return &tree{reduce: true, bound: -1, part: cfg.Part, parts: cfg.Parts, flaws: cfg.flaws}
	case DFS:
		return &tree{bound: cfg.Bound, part: cfg.Part, parts: cfg.Parts}
	case PCT:
		return &pct{walk: random, depth: max(cfg.Bound, 1)}
	case Random:
		return &random
	}
	panic("sched: no such strategy")
}

// Replay runs program under a schedule, and collects what a report shows. A
// schedule that does not fit is followed as far as it does.
func Replay(program Program, schedule Schedule, suspend *Suspension) *Execution {
	explorations.Add(1)
	defer explorations.Add(-1)
	x := newExecution(&Config{Suspend: suspend, MaxSteps: len(schedule) + defaultSteps})
	x.detailed = true
	r := &replay{schedule: schedule}
	x.run(program, r)
	x.deviated = r.deviated
	x.nameObjects()
	x.close()
	return x
}
