package sched

//lint:file-ignore SA2001 critical sections are what the programs here are about, whatever is in them

import (
	"context"
	"testing"
	"time"
)

// collect is a snapshot manager that reads the states of transactions one after
// the other, and so is wrong: the smallest program that shows it has two writers
// and a reader.
func collect(order [3]int, report func(bound uint64, unfinished []uint64)) Program {
	return func() []func() {
		var next Uint64
		var done [3]Uint64
		writer := func(op int) func() {
			return func() {
				Call(op)
				x := next.Add(1) - 1
				Return(op)
				Call(op + 1)
				done[x].Store(1)
				Return(op + 1)
			}
		}
		reader := func() {
			Call(4)
			var set []uint64
			bound := next.Load()
			for x := range bound {
				if done[x].Load() == 0 {
					set = append(set, x)
				}
			}
			Return(4)
			report(bound, set)
		}
		var bodies [3]func()
		for i, f := range []func(){writer(0), writer(2), reader} {
			bodies[order[i]] = f
		}
		return bodies[:]
	}
}

// TestNonAtomicCollect: it is found by the forced orders of calls and returns
// alone, within 200 executions, however the threads are numbered.
func TestNonAtomicCollect(t *testing.T) {
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		executions, found := 0, false
		var bound uint64
		var set []uint64
		p := collect(order, func(b uint64, s []uint64) { bound, set = b, s })
		Explore(context.Background(), Config{}, p, func(x *Execution) bool {
			executions++
			ops := x.Ops(nil)
			// Of two transactions that the reader knows, one has finished and the
			// other has not. It is wrong if some order has the other one finish
			// before the first is called to.
			if bound == 2 && len(set) == 1 {
				late, early := 1, 3 // the ops that finish: which of them was seen?
				if xidOf(x, 0) == set[0] {
					late, early = 3, 1
				}
				// early is unseen. Can it return before late is called?
				found = found || ops[early].CallsBefore&(1<<late) == 0
			}
			return !found
		})
		if !found || executions > 200 {
			t.Errorf("order %v: found %v, after %d executions", order, found, executions)
		}
		t.Logf("order %v: %d executions", order, executions)
	}
}

// xidOf returns what the Add of op returned: its place among the updates of the
// first object.
func xidOf(x *Execution, op int8) (n uint64) {
	for i := range x.events {
		if e := &x.events[i]; e.kind == update {
			if e.op == op {
				return n
			}
			n++
		}
	}
	return n
}

// TestParts: the parts of a search together complete the traces of the whole.
func TestParts(t *testing.T) {
	for seed := range uint64(30) {
		p, text := randomProgram(seed, families["mixed"])
		whole, _, _ := traces(t, Config{}, p)
		for _, parts := range []int{2, 3, 7} {
			together := map[uint64]int{}
			for part := range parts {
				got, stats, _ := traces(t, Config{Part: part, Parts: parts}, p)
				if stats.Complete || !stats.Exhausted {
					t.Errorf("part %d of %d: complete %v, exhausted %v", part, parts, stats.Complete, stats.Exhausted)
				}
				for id := range got {
					together[id]++
				}
			}
			if len(together) != len(whole) {
				t.Errorf("seed %d: %s\n%d parts find %d of %d traces", seed, text, parts, len(together), len(whole))
			}
		}
	}
}

// TestSuspend: a thread that stops for ever is no failure; who waits for it is.
func TestSuspend(t *testing.T) {
	p := func() []func() {
		var mu Mutex
		f := func() { mu.Lock(); mu.Unlock() }
		return []func(){f, f}
	}
	for after, blocks := range []bool{false, true, false} {
		stuck, other := 0, 0
		stats := Explore(context.Background(), Config{Suspend: &Suspension{0, after}}, p, func(x *Execution) bool {
			if x.ThreadSteps(0) > after {
				t.Errorf("%d accesses after %d", x.ThreadSteps(0), after)
			}
			if f := x.Failure(); f != nil {
				if w := f.Waiting; len(w) != 1 || w[0].Thread != 1 || w[0].Holder != 0 {
					t.Errorf("waiting: %+v", w)
				}
				stuck++
			} else {
				other++
			}
			return true
		})
		if blocks != (stuck > 0) || !stats.Exhausted || other == 0 {
			t.Errorf("suspended after %d: %d executions get stuck, %d do not, exhausted %v", after, stuck, other, stats.Exhausted)
		}
	}
}

// TestSpinning: a loop that waits without saying so does not make the search
// infinite, and the search does not call itself complete: the loop may be one that
// tries so many times and then does something else, which is seen if nobody is left
// to end the wait.
func TestSpinning(t *testing.T) {
	wait := func() []func() {
		var a, b Bool
		return []func(){func() {
			for !a.Load() || !b.Load() {
			}
		}, func() { a.Store(true); b.Store(true) }}
	}
	if _, stats, failures := traces(t, Config{}, wait); !stats.Exhausted || stats.Complete || stats.Cut == 0 || len(failures) > 0 || stats.Executions > 1000 {
		t.Errorf("%+v, %v", stats, failures)
	}
	gaveUp := false
	_, stats, failures := traces(t, Config{}, func() []func() {
		var a Bool
		return []func(){func() {
			for range 20 {
				if a.Load() {
					return
				}
			}
			gaveUp = true
		}, func() { a.Swap(false) }}
	})
	if stats.Complete || len(failures) > 0 || !gaveUp {
		t.Errorf("%+v, %v, gave up: %v", stats, failures, gaveUp)
	}
}

// TestEnds: a search ends with its context, or when its caller has enough.
func TestEnds(t *testing.T) {
	p, _ := randomProgram(3, families["atomics"])
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if stats := Explore(ctx, Config{Strategy: Random}, p, func(*Execution) bool { return true }); stats.Complete || stats.Exhausted || stats.Executions == 0 {
		t.Errorf("%+v", stats)
	}
	n := 0
	if stats := Explore(context.Background(), Config{}, p, func(*Execution) bool { n++; return n < 2 }); stats.Executions != 2 || stats.Complete {
		t.Errorf("%+v after %d visits", stats, n)
	}
	if running.Load() != nil {
		t.Error("an execution is still running")
	}
}

// TestSeeds: a random search with the same seed is the same search.
func TestSeeds(t *testing.T) {
	p, _ := randomProgram(5, families["mixed"])
	for _, s := range []Strategy{PCT, Random} {
		run := func(seed uint64, part int) (schedules string) {
			Explore(context.Background(), Config{Strategy: s, Bound: 3, Seed: seed, Part: part, MaxExecutions: 50}, p, func(x *Execution) bool {
				schedules += x.Schedule().String() + " "
				return true
			})
			return schedules
		}
		if a := run(1, 0); a != run(1, 0) || a == run(2, 0) || a == run(1, 1) {
			t.Errorf("%v: seeds do not tell searches apart, or do not repeat them", s)
		}
	}
}

// TestReplayShows: a replay says what each access did, and where.
func TestReplayShows(t *testing.T) {
	p := func() []func() {
		var a Uint64
		return []func(){func() { a.Add(5) }, func() { Call(0); a.CompareAndSwap(5, 6); Return(0) }}
	}
	x := Replay(p, Schedule{{N: 0}, {N: 1}}, nil)
	e := x.Events()
	if len(e) != 2 || e[0].Detail != "Add(5) = 5" || e[1].Detail != "CompareAndSwap(5, 6) = true" || e[0].Op != -1 || e[1].Op != 0 ||
		e[0].Object != "Uint64 #0" || e[1].Kind != "update" || e[1].Line == 0 || e[1].File == "" {
		t.Errorf("%+v", e)
	}
}

func FuzzSchedule(f *testing.F) {
	for _, s := range []string{"", "A", "3A2B#1.A", "#0.#12.", "99H", "0A", "#", "2#1.", "I"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSchedule(text)
		if err != nil {
			return
		}
		again, err := ParseSchedule(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q reads as %v, that as %v, %v", text, s, again, err)
		}
	})
}

// TestLocalRepeats: the place of a thread is explored; that of a set-up, which is
// not, is always the same.
func TestLocalRepeats(t *testing.T) {
	seen := map[[2]int]bool{}
	stats := Explore(context.Background(), Config{}, func() []func() {
		before := Local(16)
		var a Uint64
		return []func(){func() { a.Load(); seen[[2]int{before, Local(4)}] = true }}
	}, func(*Execution) bool { return Local(16) == 0 })
	if len(seen) != 4 || !seen[[2]int{0, 3}] || !stats.Complete {
		t.Errorf("places %v, %+v; want those of the thread, four, beside 0", seen, stats)
	}
}
