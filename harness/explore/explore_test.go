package explore

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"xidlab/core"
	"xidlab/internal/sched"
)

func mustFind(t *testing.T, name string) Program {
	t.Helper()
	p, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustRun(t *testing.T, k mistake, p Program, cfg sched.Config) *Result {
	t.Helper()
	r, err := Run(context.Background(), newToy(k), p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPrograms runs the list on a manager that is right: every program is
// explored completely, and nothing is found. So the check raises no false alarm
// for what a lock around everything allows.
func TestPrograms(t *testing.T) {
	names := map[string]bool{}
	var used [opcodes]bool
	executions := 0
	for _, p := range slices.Concat(Programs, Ladders()) {
		s, err := parse(p.Text)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		for _, st := range slices.Concat(s.setup, s.end, flat(s.threads)) {
			used[st.op] = true
		}
		if s.String() != p.Text && p.Measures == "" {
			t.Errorf("%s: its text is %q, canonically %q", p.Name, p.Text, s)
		}
		if names[p.Name] || p.Name == "" || p.About == "" || strings.ContainsAny(p.Name, " ;|(=") {
			t.Errorf("program %q: want a name that no other has, one word, and a line about it", p.Name)
		}
		names[p.Name] = true
		if p.Large && testing.Short() {
			continue
		}
		r := mustRun(t, none, p, sched.Config{})
		if r.Violation != nil {
			t.Errorf("%s: a false alarm: %s: %v", p.Name, r.Violation.Kind, r.Violation.Report.Witness)
		} else if !r.Stats.Complete || r.Stats.Executions == 0 {
			t.Errorf("%s: %d executions, complete: %v", p.Name, r.Stats.Executions, r.Stats.Complete)
		}
		executions += r.Stats.Executions
	}
	for op, yes := range used {
		if !yes {
			t.Errorf("no program uses %s", operations[op].name)
		}
	}
	t.Logf("%d programs, %d executions", len(names), executions)
}

func flat(threads [][]step) (steps []step) {
	for _, t := range threads {
		steps = append(steps, t...)
	}
	return steps
}

// TestViolations runs the list on managers with one mistake each.
func TestViolations(t *testing.T) {
	for _, c := range []struct {
		k       mistake
		program string
		kind    string
		smaller string // the program after minimisation
		words   string // of the witness or the failure
	}{
		{groupOneByOne, "group", NotLinearizable, "x=Begin y=Begin; CommitGroup(x, y) || s=Snapshot",
			"B: s=Snapshot -> {1} below 3, want {1 2} below 3"},
		{oldestOneByOne, "always-active", NotLinearizable, "x=Begin; Begin Commit(x) || OldestActive", "B: OldestActive -> none, want 2"},
		{finishInTwoHolds, "double-finish", NotLinearizable, "x=Begin; Commit(x) || Rollback(x)",
			"After A: Commit(x) -> ok: B: Rollback(x) -> ok, want refused: 1 is committed (not active)."},
		{boundFirst, "x=Begin; Begin Commit(x) || CheckpointExcluded", NotLinearizable, "x=Begin; Begin Commit(x) || CheckpointExcluded",
			"B: CheckpointExcluded -> {} below 2, want a bound of at least 3"},
		{horizonLow, "release-horizon", NotLinearizable, "x=Begin g=Retain Commit(x); Release(g)", "in the end OldestRequired is 1, want 2"},
		{cachesForEver, "writers", NotLinearizable, "x=Begin; Commit(x) || Snapshot Snapshot",
			"A: Commit(x) -> ok returned before B: Snapshot was called."},
		{deadlocks, "checkpoint-begin", "deadlock", "Begin || AllocateCommitted", "A waits for"},
		{leaks, "double-finish", "leaked lock", "x=Begin; Commit(x) || Rollback(x)", "held at the end"},
		{panics, "writers", "panic", "x=Begin y=Begin; Commit(x) || Commit(y)", "somebody else is here"},
	} {
		p := mustFind(t, c.program)
		r := mustRun(t, c.k, p, sched.Config{})
		v := r.Violation
		if v == nil {
			t.Errorf("mistake %d: %s finds nothing in %d executions", c.k, p.Name, r.Stats.Executions)
			continue
		}
		report := strings.Join(append(v.Report.Witness, v.Report.Failure), "\n")
		t.Logf("mistake %d: %s after %d executions\n%s, %s\n%s", c.k, v.Kind, v.Executions, v.Program.Text, v.Schedule, report)
		if v.Kind != c.kind || v.Program.Text != c.smaller || !strings.Contains(report, c.words) {
			t.Errorf("mistake %d: got %s of %q, want %s of %q with %q", c.k, v.Kind, v.Program.Text, c.kind, c.smaller, c.words)
		}
		replayAgain(t, c.k, v)
	}
}

// TestReplaySetup: what runs alone is judged as well.
func TestReplaySetup(t *testing.T) {
	r, err := Replay(newToy(horizonLow), Program{Text: "x=Begin Commit(x) OldestRequired; Begin"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "in the setup, where nothing runs at once: OldestRequired = 1, want 2 exactly, since nothing else ran"
	if r.Failure != NotLinearizable || !slices.Equal(r.Witness, []string{want}) {
		t.Errorf("%q %q, want %q", r.Failure, r.Witness, want)
	}
	if r, err := Replay(newToy(none), mustFind(t, "writers"), nil); err != nil || r.Failure != "" || r.Witness != nil {
		t.Errorf("a right execution: %q %q, %v", r.Failure, r.Witness, err)
	}
}

// replayAgain sends a violation through what a file does to it, and replays it.
func replayAgain(t *testing.T, k mistake, v *Violation) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var read Violation
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	schedule, err := sched.ParseSchedule(v.Schedule.String())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Replay(newToy(k), read.Program, schedule)
	if err != nil {
		t.Fatal(err)
	}
	stack := v.Kind == sched.Panic.String() // its numbers differ
	if again.Failure != v.Report.Failure || !stack && !slices.Equal(again.Witness, v.Report.Witness) {
		t.Errorf("replayed: %q %q, first: %q %q", again.Failure, again.Witness, v.Report.Failure, v.Report.Witness)
	}
}

// TestStrategies: what one strategy finds the others find, given time.
func TestStrategies(t *testing.T) {
	p := mustFind(t, "group")
	for _, cfg := range []sched.Config{
		{Strategy: sched.DFS, Bound: 1},
		{Strategy: sched.PCT, Bound: 3, Seed: 1, MaxExecutions: 1000},
		{Strategy: sched.Random, Seed: 1, MaxExecutions: 1000},
	} {
		if r := mustRun(t, groupOneByOne, p, cfg); r.Violation == nil {
			t.Errorf("%v finds nothing in %d executions", cfg.Strategy, r.Stats.Executions)
		}
		cfg.MaxExecutions = 200
		if r := mustRun(t, none, p, cfg); r.Violation != nil {
			t.Errorf("%v: a false alarm: %v", cfg.Strategy, r.Violation.Report.Witness)
		}
	}
}

func TestProgress(t *testing.T) {
	of := map[string][]OpProgress{}
	for _, name := range []string{"retain", "OldestActive+0", "OldestActive+1", "OldestActive+2", "OldestActive+3"} {
		i := slices.IndexFunc(Ladders(), func(p Program) bool { return p.Name == name })
		p := Program{}
		if i >= 0 {
			p = Ladders()[i]
		} else {
			p = mustFind(t, name)
		}
		list, err := Progress(context.Background(), newToy(none), p, ProgressExecutions)
		if err != nil {
			t.Fatal(err)
		}
		of["toy"] = append(of["toy"], list...)
	}
	var b strings.Builder
	if err := WriteProgress(&b, []string{"toy"}, of); err != nil {
		t.Fatal(err)
	}
	t.Log(b.String())
	for _, want := range []string{"blocks", "toy waits for "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestVerdict(t *testing.T) {
	rung := func(n, steps int) OpProgress {
		return OpProgress{Op: "Commit", Measured: true, Rounds: n, Steps: steps, Complete: true}
	}
	for _, c := range []struct {
		list []OpProgress
		want string
	}{
		{nil, "-"},
		{[]OpProgress{{Op: "Commit", Steps: 4}}, "at most 4"},
		{[]OpProgress{rung(0, 4), rung(1, 6), rung(2, 6), rung(3, 6)}, "wait-free: 6"},
		{[]OpProgress{rung(0, 4), rung(1, 6), rung(2, 8), rung(3, 10)}, "lock-free: 4, 6, 8, 10"},
		{[]OpProgress{rung(0, 4), rung(1, 4), rung(2, 4), {Op: "Commit", Measured: true, Rounds: 3, Steps: 4}}, "wait-free: 4?"},
		{[]OpProgress{rung(0, 4), {Op: "Commit", Blocked: "Mutex #0"}}, "blocks"},
	} {
		if v := verdictOn("Commit", c.list); v.String() != c.want {
			t.Errorf("%v: %q, want %q", c.list, v.String(), c.want)
		}
	}
}

func TestLacks(t *testing.T) {
	type bare struct{ core.Manager } // hides the capabilities
	open := func() core.Manager { return bare{newToy(none)()} }
	r, err := Run(context.Background(), open, mustFind(t, "checkpoint-cutoff"), sched.Config{})
	if err != nil || !slices.Equal(r.Lacks, []string{"core.Retainer", "core.Checkpointer"}) || r.Stats.Executions != 0 {
		t.Errorf("lacks %v, %d executions, %v", r.Lacks, r.Stats.Executions, err)
	}
	// What it does not have, it is not asked about in the end either.
	for _, p := range Programs {
		if p.Large {
			continue
		}
		if r, err := Run(context.Background(), open, p, sched.Config{}); err != nil || r.Violation != nil || len(r.Lacks) == 0 && !r.Stats.Complete {
			t.Errorf("%s: %v, %+v", p.Name, err, r)
		}
	}
	if _, err := Replay(open, mustFind(t, "group"), nil); err == nil || !strings.Contains(err.Error(), "core.GroupCommitter") {
		t.Errorf("replayed on a manager that commits no groups: %v", err)
	}
	if got := (retains | pins).lacks(retains | groups | prunes); !slices.Equal(got, []string{"core.Pruner", "core.GroupCommitter"}) {
		t.Errorf("lacks %v", got)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Begin", "Begin"},
		{"x=Begin;Commit( x )", "x=Begin; Commit(x)"},
		{"Begin || Begin; PeekNext", "Begin || Begin; PeekNext"},
		{"; Begin; PeekNext", "; Begin; PeekNext"},
		{"x=Begin g=Retain(x);Includes(g,x)Snapshot(7)||Commit(None)||t=WithOwner(g,x) InProgress(t);Release(g)",
			"x=Begin g=Retain(x); Includes(g, x) Snapshot(7) || Commit(None) || t=WithOwner(g, x) InProgress(t); Release(g)"},
		{"ObserveCommitted(MaxXid) || ObserveCommitted(MaxXid+1)", "ObserveCommitted(MaxXid) || ObserveCommitted(MaxXid+1)"},
		{"x=Begin; Insert(k, x) || Delete(k, 3)", "x=Begin; Insert(k, x) || Delete(k, 3)"},
	} {
		s, err := parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if s.String() != c.want {
			t.Errorf("%q is printed as %q, want %q", c.text, s, c.want)
		}
		if again, err := parse(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%q is not read back: %v", s, err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "thread 1 of program"},
		{"Begin ||", "thread 2 of program"},
		{"a; b; c; d", "3 semicolons"},
		{"Begin || Begin; Begin || Begin", "threads in two parts"},
		{"Begun", `thread 1: "Begun" is no operation; the operations are Begin, Alloc`},
		{"Commit", "thread 1: Commit has 0 arguments, want 1"},
		{"Snapshot(1, 2)", "want 0 or 1"},
		{"ReservesUniqueKey(1)", "want 2 to 8"},
		{"Commit(x)", `argument 1 of Commit: "x" is no transaction that is known here`},
		{"x=Begin || Commit(x)", "x is another thread's"},
		{"x=Begin x=Begin", `"x" is the name of two answers`},
		{"x=Commit(1)", "the answer of Commit gets no name"},
		{"s=Snapshot Commit(s)", "s is a snapshot, want a transaction"},
		{"s=Snapshot Release(s)", "s is a snapshot, want a guard"},
		{"1x=Begin", "is no name"},
		{"None=Begin", "is no name"},
		{"Commit(1", "is not closed"},
		{"CommitGroup(1,,2)", "empty argument"},
		{"Commit(99999999999999999999)", "value out of range"},
		{"Commit(MaxXidder)", "want MaxXid, or MaxXid+1"},
		{"Insert(1, 2)", "is no key"},
		{strings.Repeat("Begin || ", 8) + "Begin", "at most 8 and 64"},
		{strings.Repeat("Begin ", 65), "at most 8 and 64"},
	} {
		if _, err := parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Find("no-such"); err == nil || !strings.Contains(err.Error(), "-list") {
		t.Errorf("Find of a name that is none: %v", err)
	}
	if p, err := Find("x=Begin;Commit(x)"); err != nil || p.Text != "x=Begin; Commit(x)" {
		t.Errorf("Find of a text: %q, %v", p.Text, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, p := range Programs {
		f.Add(p.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse(text)
		if err != nil {
			return
		}
		again, err := parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q is printed as %q, which is read as %v, %v", text, s, again, err)
		}
	})
}
