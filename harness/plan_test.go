package harness

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"xidlab/harness/workload"
)

func TestSlicesOfARowAreNeighbours(t *testing.T) {
	second := good()
	second.Name = "second"
	cfg := small(t, []Variant{good(), second}, "txn", "mixed")
	groups := plan(&cfg)
	order := func(seed, round uint64) (names []string) {
		for _, g := range shuffled(groups, rand.New(rand.NewPCG(seed, round))) {
			for _, c := range g {
				names = append(names, c.row.Name())
				if c.load != g[0].load && c.manager != nil || c.row.Threads != g[0].row.Threads || c.mode != g[0].mode {
					t.Errorf("%s and %s are in one group", c.row.Name(), g[0].row.Name())
				}
			}
		}
		return names
	}
	first := order(1, 0)
	if !slices.Equal(first, order(1, 0)) {
		t.Error("the same seed gave different orders")
	}
	next := order(1, 1)
	if slices.Equal(first, next) {
		t.Error("two rounds have the same order")
	}
	if len(first) != 4+3+2*2*2 {
		t.Errorf("a round has %d slices", len(first))
	}
	slices.Sort(first)
	slices.Sort(next)
	if !slices.Equal(first, next) || len(slices.Compact(first)) != len(next) {
		t.Error("a round does not have each row once")
	}
}

func TestOnlyWhatIsWanted(t *testing.T) {
	second := good()
	second.Name = "second"
	cfg := small(t, []Variant{good(), second}, "txn", "mixed")
	cfg.Wanted = func(variant, load string, threads int) bool {
		return load == "txn" && (variant == "second" || threads == 1)
	}
	cfg.Untimed = true
	var names []string
	for _, g := range plan(&cfg) {
		if len(g) == 0 || g.sampled(&cfg) {
			t.Errorf("a group of %d rows, sampled: %v", len(g), g.sampled(&cfg))
		}
		for _, c := range g {
			if c.manager != nil {
				names = append(names, c.row.Name())
			}
		}
	}
	want := []string{
		"Txn/variant=rwmutex/threads=1/pinned=false/gc=off",
		"Txn/variant=second/threads=1/pinned=false/gc=off",
		"Txn/variant=second/threads=2/pinned=false/gc=off",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the rows are %q, want %q", names, want)
	}
}

func TestScheduleKeepsToTheBudget(t *testing.T) {
	cfg := small(t, []Variant{good(), good(), good()}, "txn", "mixed", "rollback", "retain")
	cfg.Slices = 0
	groups := plan(&cfg)
	for _, c := range []struct {
		budget, overhead time.Duration
		over             bool // it cannot be kept
	}{
		{20 * time.Second, 3 * time.Millisecond, false},
		{20 * time.Second, 40 * time.Millisecond, false},
		{10 * time.Minute, 10 * time.Millisecond, false},
		{time.Second, 10 * time.Millisecond, true},
	} {
		cfg.Budget = c.budget
		now := time.Unix(0, 0)
		s := newSchedule(&cfg, groups, now)
		if s.rounds < minSlices || s.rounds > maxSlices {
			t.Errorf("%+v: %d slices of a row", c, s.rounds)
		}
		for s.done < s.total {
			s.plan(now, false)
			if s.window < minWindow || s.window > maxWindow {
				t.Fatalf("%+v: a window of %v", c, s.window)
			}
			took := s.ramp() + s.window + c.overhead
			now = now.Add(took)
			s.did(took)
		}
		took := now.Sub(time.Unix(0, 0))
		if over := took > c.budget+c.budget/20; over != c.over {
			t.Errorf("%+v: took %v in %d slices", c, took, s.total)
		}
		if s.left() != 0 {
			t.Errorf("%+v: %v left at the end", c, s.left())
		}
	}
}

func TestPingPong(t *testing.T) {
	sides := pingPong(2)
	if n := sides[1].Step(nil); n != 0 {
		t.Errorf("the second side moved %d times before the first", n)
	}
	for range 3 {
		for _, side := range sides {
			if n := side.Step(nil); n != 2 {
				t.Errorf("a side alone took part in %d transfers at its turn, want 2", n)
			}
		}
	}
}

func TestReferencesCount(t *testing.T) {
	for _, ref := range references(2) {
		run, err := ref.Start(nil, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		var w workload.Worker
		for i := range 2 {
			w = run.Worker(i)
		}
		want := referenceBatch
		if _, ok := w.(bounce); ok {
			want = 0 // it is the other side's turn
		}
		if n := w.Step(nil); n != want {
			t.Errorf("%s: a step is %d units", ref.Name(), n)
		}
		if _, err := run.Finish(); err != nil {
			t.Errorf("%s: %v", ref.Name(), err)
		}
	}
}

func TestParseGC(t *testing.T) {
	for s, ok := range map[string]bool{"off": true, "ballast": true, "100": true, "0": false, "-1": false, "on": false, "": false} {
		if g, err := ParseGC(s); (err == nil) != ok || ok && string(g) != s {
			t.Errorf("ParseGC(%q) = %q, %v", s, g, err)
		}
	}
}
