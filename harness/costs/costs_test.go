package costs

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"xidlab/harness/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// made is a run with made-up figures.
type made struct{ *result.Run }

// calm is what a slice that nothing disturbed looks like.
var calm = result.Contamination{CoRun: 0.99}

// put adds a row with a slice of each of the figures, in nanoseconds per op of
// each worker.
func (m made) put(variant, load string, threads int, ns ...float64) *result.Row {
	name, params, _ := strings.Cut(load, "/")
	row := result.Row{Variant: variant, Workload: name, Threads: threads}
	if key, value, ok := strings.Cut(params, "="); ok {
		row.Params = []result.Param{{Key: key, Value: value}}
	}
	for _, x := range ns {
		s := result.Slice{Seconds: x * 1e-5, Contamination: calm}
		for range threads {
			s.WorkerOps = append(s.WorkerOps, 1e4)
			s.Ops += 1e4
		}
		row.Slices = append(row.Slices, s)
	}
	m.Rows = append(m.Rows, row)
	return &m.Rows[len(m.Rows)-1]
}

// machine is a run with the rows of a machine with F1 = 4 and L = 100.
func machineOf(rounds int) made {
	m := made{new(result.Run)}
	m.put(result.Reference, result.FetchAddPadded, 1, times(rounds, 4)...)
	m.put(result.Reference, result.FetchAdd, 2, times(rounds, 12)...)
	m.put(result.Reference, result.PingPong, 2, times(rounds, 100)...)
	m.put(result.Reference, result.EmptyLoop, 1, times(rounds, 0.5)...)
	return m
}

func times(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }

func everything(string) bool { return true }

// judged returns the line of an operation of epoch.
func judged(t *testing.T, m made, operation string, threads, cpus int) Line {
	t.Helper()
	for _, l := range Judge(m.Run, []string{blocks}, everything, cpus) {
		if l.Operation == operation && l.Threads == threads {
			return l
		}
	}
	t.Fatalf("no line %q with %d threads", operation, threads)
	return Line{}
}

func (l Line) wants(t *testing.T, what string, v Verdict, reason string) {
	t.Helper()
	if l.Verdict != v || !strings.Contains(l.Reason, reason) || (reason == "") != (l.Reason == "") {
		t.Errorf("%s: %s, %q, %.3f of the aim; want %s, %q", what, l.Verdict, l.Reason, l.OfAim, v, reason)
	}
}

func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		operation, load string
		threads         int
		most            float64 // with F1 = 4, L = 100, 20 with one thread, 30 with none active
	}{
		{"Begin, Commit", "txn", 1, 5.5 * 4},
		{"Begin, Commit", "txn", 2, 1.25 * 20},
		{"Begin, Snapshot, Commit, 0 active", "txn-snapshot/active=0", 2, 8*4 + 0.5*100},
		{"Begin, Snapshot, Commit, 256 active", "txn-snapshot/active=256", 1, 1.25 * 30},
		{"Begin, Snapshot, Commit, 256 active", "txn-snapshot/active=256", 2, 1.25 * 30},
		{"Begin, Rollback, pruned every 1024", "rollback", 2, 1.5 * 20},
		{"OldestActive, 4096 active", "oldest-active", 2, 3 * 4},
		{"writer beside a reader", "writer-reader", 2, 2.5 * 20},
	} {
		for _, by := range []struct {
			times float64
			want  Verdict
		}{{0.5, Pass}, {0.999, Pass}, {1.001, Miss}, {3, Miss}} {
			m := machineOf(5)
			m.put(blocks, c.load, c.threads, times(5, by.times*c.most)...)
			if c.threads == 2 {
				m.put(blocks, c.load, 1, times(5, 20)...)
			}
			if c.load != "txn-snapshot/active=0" {
				m.put(blocks, "txn-snapshot/active=0", c.threads, times(5, 30)...)
			}
			l := judged(t, m, c.operation, c.threads, 2)
			l.wants(t, fmt.Sprintf("%s, %d threads, %v of the aim", c.operation, c.threads, by.times), by.want, "")
			if d := l.OfAim/by.times - 1; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s: %v of the aim, want %v", c.operation, l.OfAim, by.times)
			}
			if d := l.NsPerOp / (by.times * c.most) / (l.Multiple * 4 / l.NsPerOp); l.Rounds != 5 || d < 0.999 || d > 1.001 {
				t.Errorf("%s: %+v; want %v ns of 5 rounds", c.operation, l, by.times*c.most)
			}
		}
	}
}

// TestRoundsArePaired: a machine that is sometimes slow is so for the yardstick
// too. The medians alone would say 10 / 4 of a fetch-add.
func TestRoundsArePaired(t *testing.T) {
	m := made{new(result.Run)}
	m.put(result.Reference, result.FetchAddPadded, 1, 4, 4, 4, 8, 8)
	m.put(blocks, "txn", 1, 20, 20, 41, 41, 41)
	l := judged(t, m, "Begin, Commit", 1, 2)
	if l.wants(t, "paired", Pass, ""); l.Multiple < 5.12 || l.Multiple > 5.13 {
		t.Errorf("%.3f F1, want the median of 5, 5, 10.25, 5.125, 5.125", l.Multiple)
	}
}

// TestTheFirstWorkersFigure: beside a slow reader the writer's own rate counts.
func TestTheFirstWorkersFigure(t *testing.T) {
	m := machineOf(5)
	m.put(blocks, "writer-reader", 1, times(5, 20)...)
	row := m.put(blocks, "writer-reader", 2, times(5, 30)...)
	for i := range row.Slices {
		s := &row.Slices[i]
		s.WorkerOps = []int64{10000, 100}
		s.Ops = 10100
	}
	l := judged(t, m, "writer beside a reader", 2, 2)
	if l.wants(t, "writer", Pass, ""); l.NsPerOp < 29.99 || l.NsPerOp > 30.01 {
		t.Errorf("%v ns, want the 30 of the first worker", l.NsPerOp)
	}
	judged(t, m, "writer beside a reader", 1, 2).wants(t, "alone", Shown, "")
}

func TestUnknown(t *testing.T) {
	const op = "Begin, Snapshot, Commit, 0 active"
	const load = "txn-snapshot/active=0"
	waited := result.Contamination{CoRun: 0.8}
	apart := result.Contamination{CoRun: 0.4}
	// disturb marks the slices from the given one, and makes them absurd.
	disturb := func(row *result.Row, from int, c result.Contamination) {
		for i := from; i < len(row.Slices); i++ {
			row.Slices[i].Contamination = c
			row.Slices[i].Seconds *= 100
		}
	}
	row := func(m made, variant, load string, threads int) *result.Row {
		return (judge{run: m.Run}).series(variant, load, threads, false).row
	}
	for _, c := range []struct {
		what   string
		rounds int
		cpus   int
		change func(m made)
		want   Verdict
		reason string
	}{
		{"all is well", 25, 2, func(made) {}, Pass, ""},
		{"five rounds", 5, 2, func(made) {}, Pass, ""},
		{"four rounds", 4, 2, func(made) {}, Unknown, "4 repetitions, a verdict takes 5"},
		{"one CPU", 25, 1, func(made) {}, Unknown, "it takes 2 CPUs, and there is 1"},
		{"five calm ones are enough", 25, 2, func(m made) { disturb(row(m, blocks, load, 2), 5, waited) }, Pass, ""},
		{"four are not", 25, 2, func(m made) { disturb(row(m, blocks, load, 2), 4, waited) }, Unknown, "only 4 of 25 repetitions were undisturbed"},
		{"the yardstick was disturbed", 25, 2, func(m made) {
			disturb(row(m, result.Reference, result.FetchAddPadded, 1), 3, waited)
		}, Unknown, "only 3 of 25"},
		{"by turns", 25, 2, func(m made) { disturb(row(m, blocks, load, 2), 2, apart) }, Unknown, "in 23 of 25 repetitions the threads may never have run at the same time"},
		{"the ping-pong by turns", 25, 2, func(m made) {
			disturb(row(m, result.Reference, result.PingPong, 2), 0, apart)
		}, Unknown, "in 25 of 25"},
		{"a CPU was left", 5, 2, func(m made) { row(m, blocks, load, 2).Slices[0].Contamination.Moved = true }, Unknown, "only 4 of 5"},
		{"no row", 25, 2, func(m made) { row(m, blocks, load, 2).Slices = nil }, Unknown, load + " with 2 threads was not measured"},
		{"no yardstick", 25, 2, func(m made) {
			row(m, result.Reference, result.FetchAddPadded, 1).Slices = nil
		}, Unknown, "F1 was not measured"},
		{"no ping-pong", 25, 2, func(m made) { row(m, result.Reference, result.PingPong, 2).Slices = nil }, Unknown, "L was not measured"},
		{"interrupted", 25, 2, func(m made) {
			r := row(m, blocks, load, 2)
			r.Slices = r.Slices[:7]
		}, Pass, ""},
	} {
		m := machineOf(c.rounds)
		m.put(blocks, load, 2, times(c.rounds, 60)...)
		c.change(m)
		judged(t, m, op, 2, c.cpus).wants(t, c.what, c.want, c.reason)
	}

	m := machineOf(5)
	m.put(blocks, "txn", 2, times(5, 1)...)
	judged(t, m, "Begin, Commit", 2, 2).wants(t, "nothing to compare with", Unknown, "the figure with one thread was not measured")
	m.put(blocks, "txn-snapshot/active=16", 1, times(5, 1)...)
	judged(t, m, "Begin, Snapshot, Commit, 16 active", 1, 2).wants(t, "nothing to compare with", Unknown, "the figure with none active was not measured")
	for _, l := range Judge(m.Run, Variants(), func(v string) bool { return v != ordered }, 2) {
		if l.Variant == ordered {
			l.wants(t, "a variant that is not there", Unknown, "there is no variant epoch-ordered in this build")
		}
	}
}

// TestVerdictIsBlindToFigures: which rounds count does not depend on how fast
// they were.
func TestVerdictIsBlindToFigures(t *testing.T) {
	m := machineOf(9)
	row := m.put(blocks, "txn", 1, 1, 1, 1, 50, 50, 50, 50, 50, 1)
	for i := range 4 {
		row.Slices[i].Contamination.CoRun = 0.5
	}
	l := judged(t, m, "Begin, Commit", 1, 2)
	if l.wants(t, "slow in most undisturbed rounds", Miss, ""); l.Rounds != 5 {
		t.Errorf("judged by %d rounds, want the last 5", l.Rounds)
	}
}

func TestMemory(t *testing.T) {
	for _, c := range []struct {
		bytes  [2]float64 // an operation of two lines
		rest   float64    // of the others
		want   Verdict
		reason string
	}{
		{[2]float64{0, 0.4}, 0, Pass, ""},
		{[2]float64{8, 0}, 0, Miss, ""},
		{[2]float64{0, 0}, 8, Miss, ""},
		{[2]float64{0, 0}, -1, Unknown, "was not measured"},
	} {
		m := machineOf(1)
		for i, a := range aimsOf(blocks) {
			if i >= 2 && c.rest < 0 {
				break
			}
			for _, n := range threads {
				row := m.put(blocks, a.load, n, 1)
				row.Slices[0].Contamination.CoRun = 0.1 // counts are exact all the same
				if row.BytesPerOp = c.rest; i < 2 {
					row.BytesPerOp = c.bytes[i]
				}
			}
		}
		for _, n := range threads {
			l := judged(t, m, memory, n, 2)
			if l.wants(t, fmt.Sprint(c.bytes, c.rest), c.want, c.reason); l.Bytes != max(c.bytes[0], c.bytes[1], c.rest) {
				t.Errorf("%v, %v: the most is %v", c.bytes, c.rest, l.Bytes)
			}
		}
	}
}

// TestWithoutAims: any variant may be shown.
func TestWithoutAims(t *testing.T) {
	m := machineOf(5)
	for _, l := range Loads() {
		for _, n := range threads {
			m.put("rwmutex", l.Name(), n, times(5, 100)...)
		}
	}
	lines := Judge(m.Run, []string{"rwmutex"}, everything, 2)
	if want := len(aimsOf(blocks))*2 + 2; len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	for _, l := range lines {
		if l.Verdict != Shown || l.Aim != "" || l.Operation != memory && (l.NsPerOp < 99 || l.Multiple < 24.9) {
			t.Errorf("%+v; want figures without a judgement", l)
		}
	}
}

func TestTheTable(t *testing.T) {
	for _, l := range aims() {
		row := strings.Join([]string{"", l.variant, l.label, orNone(l.bounds[0]), orNone(l.bounds[1]), ""}, " | ")
		page, err := os.ReadFile("../../docs/epoch.md")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), strings.TrimSpace(row)) {
			t.Errorf("docs/epoch.md lacks the row\n%s", strings.TrimSpace(row))
		}
		if len(l.label) > 36 || l.bounds == [2]Bound{} {
			t.Errorf("%q: too long for the table, or without an aim", l.label)
		}
		for i, n := range threads {
			if !Wanted(l.variant, l.load, n) || l.bounds[i].Alone > 0 && n == 1 || l.bounds[i].Idle > 0 && (l.idle == "" || l.idle == l.load || !Wanted(l.variant, l.idle, n)) {
				t.Errorf("%+v cannot be judged with %d threads", l, n)
			}
		}
	}
	if Wanted(ordered, "txn", 1) || !Wanted("rwmutex", "txn", 1) || Wanted("rwmutex", "mixed", 1) {
		t.Error("Wanted does not know the lines")
	}
	for cpus, want := range map[int]int{0: 1, 1: 1, 2: 2, 64: 2} {
		if got := Threads(cpus); len(got) != want {
			t.Errorf("with %d CPUs: %v threads", cpus, got)
		}
	}
	seen := map[string]bool{}
	for _, l := range Loads() {
		if seen[l.Name()] {
			t.Errorf("%s twice", l.Name())
		}
		seen[l.Name()] = true
	}
}

func orNone(b Bound) string {
	if b == (Bound{}) {
		return "–"
	}
	return b.String()
}

// TestWrite compares the whole text with a golden file: a verdict of each kind,
// figures of all sizes, reasons that recur.
func TestWrite(t *testing.T) {
	m := machineOf(6)
	for i, a := range aimsOf(blocks) {
		for _, n := range threads {
			row := m.put(blocks, a.load, n, times(6, 1.5*float64(1+i)*float64(n))...)
			row.BytesPerOp = []float64{0, 0.01, 8.06}[i%3]
			if i%5 == 4 && n == 2 {
				for k := range row.Slices {
					row.Slices[k].Contamination.CoRun = 0.3
				}
			}
			m.put("rwmutex", a.load, n, times(6, 123456)...)
		}
	}
	m.Partial = true
	var b strings.Builder
	lines := Judge(m.Run, []string{blocks, ordered, "rwmutex"}, func(v string) bool { return v != ordered }, 2)
	if err := Write(&b, m.Run, lines); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/costs.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s\n(-update rewrites it)", b.String(), want)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
