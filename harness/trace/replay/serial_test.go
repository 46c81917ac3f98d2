package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"xidlab/core"
	"xidlab/core/spec"
	"xidlab/harness/trace"
	"xidlab/harness/trace/replay"
)

func pgbench(t testing.TB) *trace.Trace {
	tr, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		return prefix(t, tr, 4000)
	}
	return tr
}

// prefix returns a valid trace of about n operations: the first n of tr, without
// the transactions that do not end among them.
func prefix(t testing.TB, tr *trace.Trace, n int) *trace.Trace {
	t.Helper()
	n = min(n, len(tr.Ops))
	whole := map[uint32]bool{}
	for _, op := range tr.Ops[:n] {
		if op.Kind.Ends() {
			whole[op.Tx] = true
		}
	}
	p := &trace.Trace{Source: tr.Source, Start: tr.Start, Sessions: tr.Sessions, Objects: tr.Objects}
	number := map[uint32]uint32{}
	for _, op := range tr.Ops[:n] {
		if !whole[op.Tx] {
			continue
		}
		if op.Kind.Opens() {
			number[op.Tx] = uint32(len(number))
		}
		op.Tx = number[op.Tx]
		p.Ops = append(p.Ops, op)
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p
}

// part is enough of the trace to have savepoints and serializable transactions.
func part(t testing.TB) *trace.Trace {
	tr, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	return prefix(t, tr, 12000)
}

// released is a trace whose savepoints commit: the writer's second object is
// written under one.
func released() *trace.Trace {
	tr := &trace.Trace{Sessions: []string{"writer", "reader"}, Objects: []trace.Object{{Table: "a"}, {Table: "b"}}}
	for i := range uint32(200) {
		w, r := 2*i, 2*i+1
		tr.Ops = append(tr.Ops,
			trace.Op{Kind: trace.Begin, Tx: w},
			trace.Op{Kind: trace.Snapshot, Tx: w},
			trace.Op{Kind: trace.Draw, Tx: w},
			trace.Op{Kind: trace.Write, Tx: w},
			trace.Op{Kind: trace.Savepoint, Tx: w, Level: 1},
			trace.Op{Kind: trace.Draw, Tx: w, Level: 1},
			trace.Op{Kind: trace.Write, Tx: w, Object: 1},
			trace.Op{Kind: trace.Begin, Session: 1, Tx: r, Isolation: trace.Isolation(i % 2)},
			trace.Op{Kind: trace.Snapshot, Session: 1, Tx: r},
			trace.Op{Kind: trace.Release, Tx: w, Level: 1},
			trace.Op{Kind: trace.Commit, Tx: w},
		)
		if i%4 < 2 { // read committed or not: a second snapshot
			tr.Ops = append(tr.Ops, trace.Op{Kind: trace.Snapshot, Session: 1, Tx: r})
		}
		tr.Ops = append(tr.Ops,
			trace.Op{Kind: trace.Read, Session: 1, Tx: r},
			trace.Op{Kind: trace.Read, Session: 1, Tx: r, Object: 1},
			trace.Op{Kind: trace.Commit, Session: 1, Tx: r},
		)
	}
	return tr
}

var probes = replay.Probes{PerUse: 8, HorizonEvery: 200, Seed: 1}

// TestSerialAgrees: the specification, alone and behind a lock, without
// capabilities (so that savepoints share xids) and by an array, gives the same
// outcomes.
func TestSerialAgrees(t *testing.T) {
	tr := pgbench(t)
	want, err := replay.Serial(spec.New(), tr, probes)
	if err != nil {
		t.Fatal(err)
	}
	st := tr.Stats()
	commits, rollbacks, yes, no := want.Count()
	if commits != st.Commits+st.Allocated || rollbacks != st.Rollbacks {
		t.Errorf("%d commits and %d rollbacks, the trace has %d and %d", commits, rollbacks, st.Commits+st.Allocated, st.Rollbacks)
	}
	if yes < 10*st.Transactions || no < st.Transactions || want.Len() < yes+no {
		t.Errorf("%d probes found a transaction, %d did not: too few", yes, no)
	}
	for name, m := range map[string]core.Manager{
		"locked": newLocked(), "bare": bare{spec.New()}, "quick": newQuick(1 << 16),
	} {
		got, err := replay.Serial(m, tr, probes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := replay.Diff(got, want); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestSerialNoticesWrongManagers: each broken promise is an error, or a
// difference from the specification.
func TestSerialNoticesWrongManagers(t *testing.T) {
	for name, c := range mutants() {
		tr := part(t)
		if c.m.splitsGroup {
			tr = released()
		}
		want, err := replay.Serial(spec.New(), tr, probes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := replay.Serial(c.m, tr, probes)
		what := fmt.Sprint(err)
		if err == nil {
			what = replay.Diff(got, want)
		}
		if !strings.Contains(what, c.serial) || what == "" {
			t.Errorf("%s: got %q, want %q", name, what, c.serial)
		}
	}
}

type mutant struct {
	m                  *locked
	serial, concurrent string // what is said about it
}

func mutants() map[string]mutant {
	return map[string]mutant{
		"off by one":                  {&locked{m: spec.New(), offByOne: true}, "in the snapshot", "a snapshot includes xid"},
		"the snapshot of the moment":  {&locked{m: spec.New(), changesMind: true}, "is in the snapshot; the other says", "a snapshot"},
		"no owner":                    {&locked{m: spec.New(), forgetsOwner: true}, "is in its snapshot: false", "does not include its owner"},
		"half a group":                {&locked{m: spec.New(), splitsGroup: true}, "savepoint's xid", "a snapshot includes xid"},
		"horizon by active":           {&locked{m: spec.New(), byActive: true}, "OldestRequired = ", "but a guard hides xid"},
		"rollback is commit":          {&locked{m: spec.New(), keepsAborted: true}, "savepoint's xid", "a snapshot includes xid"},
		"lost commits":                {&locked{m: spec.New(), losesCommits: true}, "is not in the snapshot; the other says", "a snapshot includes xid"},
		"horizons that move backward": {&locked{m: spec.New(), backwards: true}, "OldestRequired = 1", "moved backwards"},
	}
}

func TestDiff(t *testing.T) {
	tr := part(t)
	a, err := replay.Serial(spec.New(), tr, probes)
	if err != nil {
		t.Fatal(err)
	}
	b, err := replay.Serial(spec.New(), tr, replay.Probes{PerUse: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := replay.Diff(a, a); d != "" {
		t.Error(d)
	}
	if d := replay.Diff(a, b); d == "" {
		t.Error("other probes, but no difference")
	}
	if _, err := replay.Serial(spec.New(), &trace.Trace{Ops: make([]trace.Op, 1)}, probes); err == nil {
		t.Error("an invalid trace was replayed")
	}
}

// Two managers that answer alike cannot be told apart by their outcomes.
func Example() {
	tr := &trace.Trace{
		Sessions: []string{"reader", "writer"},
		Objects:  []trace.Object{{Table: "accounts"}},
		Ops: []trace.Op{
			{Kind: trace.Begin, Isolation: trace.RepeatableRead},
			{Kind: trace.Snapshot},
			{Kind: trace.AllocateCommitted, Session: 1, Tx: 1},
			{Kind: trace.Read}, // does not see it
			{Kind: trace.Commit},
		},
	}
	outcomes, err := replay.Serial(spec.New(), tr, replay.Probes{PerUse: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	commits, rollbacks, yes, no := outcomes.Count()
	fmt.Println(commits, "committed,", rollbacks, "rolled back; probes:", yes, "seen,", no, "not seen")

	again, err := replay.Serial(newLocked(), tr, replay.Probes{PerUse: 1})
	fmt.Println(replay.Diff(outcomes, again) == "", err)
	// Output:
	// 2 committed, 0 rolled back; probes: 0 seen, 2 not seen
	// true <nil>
}
