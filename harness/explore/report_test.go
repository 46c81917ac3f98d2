package explore

import (
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"xidlab/internal/sched"
)

var update = flag.Bool("update", false, "write the golden files of the reports anew")

// lateDraw is a report of two threads, one of them interrupted twice.
func lateDraw() *Report {
	at := func(thread, op int, kind, object, detail, function, file string, line int) sched.Event {
		return sched.Event{Thread: thread, Op: op, Kind: kind, Object: object, Detail: detail,
			Where: function + " (" + file + ")", File: "/src/xidlab/variants/epoch/" + file, Line: line}
	}
	return &Report{
		Variant: "epoch", Program: "writer-and-snapshot",
		About:   "a snapshot beside a commit must not change its mind",
		Text:    "x=Begin; Commit(x) || s=Snapshot Includes(s, x); Status(x)",
		Failure: "not linearizable",
		Witness: []string{
			"Snapshot returned before Commit(x) was called in an equivalent interleaving, but Includes(s, x) is true.",
			"After x=Begin, Snapshot the specification answers Includes(s, x) = false.",
		},
		Before: []ReportOp{{Text: "x=Begin", Answer: "1", Called: true, Returned: true}},
		Ops: []ReportOp{
			{Thread: 0, Text: "Commit(x)", Answer: "done", Called: true, Returned: true},
			{Thread: 1, Text: "s=Snapshot", Answer: "bound 2, includes {None}", Called: true, Returned: true},
			{Thread: 1, Text: "Includes(s, x)", Answer: "true", Called: true, Returned: true, Failing: true},
		},
		Events: []sched.Event{
			at(0, 0, "read", "Pointer #1", "Load() = 0xc000012340", "(*Manager).Commit", "epoch.go", 148),
			at(0, 0, "read", "Uint64 #7", "Load() = 8", "(*Manager).Commit", "epoch.go", 149),
			at(0, 0, "read", "Uint64 #3", "Load() = 4", "(*clock).draw", "clock.go", 33),
			at(1, 1, "read", "Uint64 #3", "Load() = 4", "(*clock).capture", "clock.go", 20),
			at(1, 1, "update", "Uint64 #3", "CompareAndSwap(4, 5) = true", "(*clock).capture", "clock.go", 24),
			at(1, 1, "read", "Uint64 #2", "Load() = 2", "(*Manager).Snapshot", "snapshot.go", 41),
			at(0, 0, "update", "Uint64 #7", "CompareAndSwap(8, 17) = true", "(*Manager).finish", "epoch.go", 171),
			at(1, 2, "read", "Uint64 #7", "Load() = 17", "(*directory).load", "directory.go", 92),
		},
		After:    []ReportOp{{Text: "Status(x)", Answer: "committed", Called: true, Returned: true}},
		Found:    "DPOR, execution 12 of at most 1000",
		Seed:     7,
		Schedule: "3A3B1A1B",
		Replay:   `xbench explore -variant epoch -program "x=Begin; Commit(x) || s=Snapshot Includes(s, x)" -replay 3A3B1A1B`,
	}
}

// stuck is a report of three threads that wait for each other, with operations
// that make no access, one that is never called, and an access outside of any.
func stuck() *Report {
	return &Report{
		Variant: "sharded", Text: "PeekNext Commit(1) Status(1) || Commit(2) || OldestActive",
		Failure: "deadlock: A waits for Mutex #2 (lock), held by B, B waits for Mutex #1 (lock), held by A",
		Ops: []ReportOp{
			{Thread: 0, Text: "PeekNext", Answer: "3", Called: true, Returned: true},
			{Thread: 0, Text: "Commit(1)", Answer: "waits for Mutex #2, held by B", Called: true, Failing: true},
			{Thread: 0, Text: "Status(1)"},
			{Thread: 1, Text: "Commit(2)", Answer: "waits for Mutex #1, held by A", Called: true, Failing: true},
			{Thread: 2, Text: "OldestActive", Called: true},
			{Thread: 3, Text: "Unpin(3)", Called: true, Returned: true},
		},
		Events: []sched.Event{
			{Thread: 0, Op: 1, Kind: "lock", Object: "Mutex #1", Detail: "Lock()"},
			{Thread: 2, Op: -1, Kind: "read", Object: "Cell[map[core.Xid]sharded.transaction] #12"},
			{Thread: 1, Op: 3, Kind: "lock", Object: "Mutex #2", Detail: "Lock()"},
		},
		Found: "depth-first, at most 2 preemptions, execution 3", Schedule: "ACB", Replay: "xbench explore -replay ACB",
	}
}

// sound is a report of an execution that nothing is wrong with.
func sound() *Report {
	return &Report{
		Variant: "rwmutex", Text: "PeekNext", Schedule: "A",
		Ops:    []ReportOp{{Text: "PeekNext", Answer: "1", Called: true, Returned: true}},
		Events: []sched.Event{{Kind: "read-lock", Object: "RWMutex #0", Detail: "RLock()"}},
	}
}

var reports = map[string]func() *Report{"late-draw": lateDraw, "stuck": stuck, "sound": sound}

func golden(t *testing.T, file, got string) {
	t.Helper()
	file = "testdata/" + file
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is written now (look at the difference; go test -update writes it anew):\n%s", file, got)
	}
}

func TestReportText(t *testing.T) {
	for name, report := range reports {
		var b strings.Builder
		if err := report().WriteText(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", b.String())
		checkWidth(t, b.String())
	}
	for seed := range uint64(200) {
		r := randomReport(rand.New(rand.NewPCG(seed, 1)))
		for i := range r.Events {
			r.Events[i].Object, r.Events[i].Detail = "Pointer #17", "CompareAndSwap(0xc000123450, 0xc000678900) = false"
			r.Events[i].File, r.Events[i].Line = "a_file_with_a_long_name.go", 1234
		}
		var b strings.Builder
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		checkWidth(t, b.String())
	}
}

func checkWidth(t *testing.T, text string) {
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 && !strings.HasPrefix(line, "replay") {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

func TestReportHTML(t *testing.T) {
	for name, report := range reports {
		var b strings.Builder
		if err := report().WriteHTML(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".html", b.String())
		for _, never := range []string{"<script", "src=", "href=", "url(", "@import", "ZgotmplZ"} {
			if strings.Contains(b.String(), never) {
				t.Errorf("%s: the page contains %s", name, never)
			}
		}
	}
}

// TestReportEscapes: a page shows what it is given, and does not obey it.
func TestReportEscapes(t *testing.T) {
	r := lateDraw()
	bad := `</pre><script>alert("x")</script>`
	r.Text, r.About, r.Failure, r.Replay, r.Schedule, r.Found = bad, bad, bad, bad, bad, bad
	r.Witness = []string{bad}
	for i := range r.Ops {
		r.Ops[i].Text, r.Ops[i].Answer = bad, bad
	}
	for i := range r.Events {
		e := &r.Events[i]
		e.Detail, e.Object, e.Where, e.File = bad, bad, `" onclick="x`, bad
	}
	var b strings.Builder
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "<script") || strings.Contains(s, `" onclick`) || !strings.Contains(s, "&lt;script&gt;") {
		t.Errorf("not escaped:\n%s", s)
	}
}

// TestReportRows: whatever happens, a thread calls its operations in order, an
// operation's accesses lie between its call and its return, and nothing is lost.
func TestReportRows(t *testing.T) {
	for seed := range uint64(2000) {
		r := randomReport(rand.New(rand.NewPCG(seed, 0)))
		rows := r.rows()
		events := 0
		called, ended := make([]bool, len(r.Ops)), make([]bool, len(r.Ops))
		running := map[int]int{} // by thread: the operation, plus 1
		for i, row := range rows {
			ok := true
			switch row.kind {
			case rowCall:
				ok = running[row.thread] == 0 && !called[row.op] && r.Ops[row.op].Called
				for op := range row.op {
					ok = ok && (r.Ops[op].Thread != row.thread || ended[op])
				}
				called[row.op], running[row.thread] = true, row.op+1
			case rowAccess:
				e := r.Events[row.event]
				ok = row.event == events && row.thread == e.Thread && row.op == e.Op && running[row.thread] == e.Op+1
				events++
			case rowReturn:
				ok = running[row.thread] == row.op+1 && r.Ops[row.op].Returned
				ended[row.op], running[row.thread] = true, 0
			case rowHang:
				ok = running[row.thread] == row.op+1 && !r.Ops[row.op].Returned
				ended[row.op] = true
			case rowUncalled:
				ok = !r.Ops[row.op].Called
				ended[row.op] = true
			}
			if row.kind <= rowReturn && i > 0 {
				ok = ok && (row.from >= 0) == (rows[i-1].thread != row.thread)
			}
			if row.op >= 0 {
				ok = ok && r.Ops[row.op].Thread == row.thread
			}
			if !ok {
				t.Fatalf("seed %d: row %d is wrong: %+v\n%+v\n%+v", seed, i, row, r.Ops, r.Events)
			}
		}
		for op := range r.Ops {
			if !ended[op] {
				t.Fatalf("seed %d: nothing is said of the end of operation %d", seed, op)
			}
		}
		if events != len(r.Events) {
			t.Fatalf("seed %d: %d of %d accesses are shown", seed, events, len(r.Events))
		}
	}
}

// randomReport returns a report of some threads, each of which gets somewhere.
func randomReport(rng *rand.Rand) *Report {
	r := &Report{}
	var waiting [][]sched.Event // by thread
	for thread := range 1 + rng.IntN(8) {
		var events []sched.Event
		stopped := false
		for range rng.IntN(4) {
			o := ReportOp{Thread: thread, Called: !stopped, Returned: !stopped && rng.IntN(5) > 0}
			if o.Called {
				for range rng.IntN(4) {
					events = append(events, sched.Event{Thread: thread, Op: len(r.Ops)})
				}
			}
			if o.Returned && rng.IntN(6) == 0 {
				events = append(events, sched.Event{Thread: thread, Op: -1})
			}
			stopped = stopped || !o.Returned
			r.Ops = append(r.Ops, o)
		}
		waiting = append(waiting, events)
	}
	for {
		i := rng.IntN(len(waiting))
		if len(waiting[i]) == 0 {
			if waiting = append(waiting[:i], waiting[i+1:]...); len(waiting) == 0 {
				return r
			}
			continue
		}
		r.Events, waiting[i] = append(r.Events, waiting[i][0]), waiting[i][1:]
	}
}
