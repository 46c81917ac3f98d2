package result

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (see go test -update); got:\n%s", path, got)
	}
}

func TestBenchGolden(t *testing.T) {
	r := sampleRun()
	var b strings.Builder
	if err := WriteBench(&b, &r); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.bench", b.String())
}

// TestMetricsAreUnits: a metric may be a quotient, as benchstat knows them.
func TestMetricsAreUnits(t *testing.T) {
	r := sampleRun()
	r.Rows = r.Rows[:1]
	r.Rows[0].Metrics = []Metric{{"retained-B/op", 12.5}, {"odd one", 1}}
	var b strings.Builder
	if err := WriteBench(&b, &r); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, " 12.5 retained-B/op 1 odd_one\n") {
		t.Errorf("got:\n%s", got)
	}
}

func TestTablesGolden(t *testing.T) {
	r := sampleRun()
	r.Partial = true
	var b strings.Builder
	if err := WriteTables(&b, &r); err != nil {
		t.Fatal(err)
	}
	golden(t, "tables.txt", b.String())
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns wide: %s", n, line)
		}
	}
}

// TestBenchReadable reads the file as benchstat does.
func TestBenchReadable(t *testing.T) {
	r := sampleRun()
	r.Rows[0].Workload, r.Rows[0].Params = "trace: odd name/with-4", []Param{{"a key", "x/y=z 1"}}
	r.Rows[0].Metrics = []Metric{{"horizon lag xids", 3}}
	var b bytes.Buffer
	if err := WriteBench(&b, &r); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{} // lines by name
	for i := range r.Rows {
		want["/"+r.Rows[i].Name()] += len(r.Rows[i].Slices)
	}
	got := map[string]int{}
	reader := benchfmt.NewReader(&b, "run.bench")
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			_, parts := rec.Name.Parts()
			if last := string(parts[len(parts)-1]); last != "-2" {
				t.Errorf("%s ends in %s, not in GOMAXPROCS", rec.Name, last)
			}
			name := strings.TrimSuffix(string(rec.Name.Full()), "-2")
			got["/"+name]++
			if cpu := rec.GetConfig("cpu"); cpu != r.Env.CPU {
				t.Errorf("cpu %q", cpu)
			}
			sec, ok1 := rec.Value("sec/op")
			rate, ok2 := rec.Value("ops/s")
			threads := 1.0
			if strings.Contains(name, "threads=2") {
				threads = 2
			}
			if p := sec * rate / threads; !ok1 || !ok2 || p < 0.9999 || p > 1.0001 {
				t.Errorf("%s: %v s/op and %v ops/s do not agree", name, sec, rate)
			}
		}
	}
	if err := reader.Err(); err != nil {
		t.Error(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	for unit, better := range map[string]int{"sec/op": -1, "ops/s": 1, "allocs/op": -1} {
		if got := reader.Units().GetBetter(unit); got != better {
			t.Errorf("%s: better is %d, want %d", unit, got, better)
		}
	}
}

// TestBenchOrder: benchstat compares with the first column that it meets.
func TestBenchOrder(t *testing.T) {
	r := sampleRun()
	rows := r.benchRows()
	if len(rows) != len(r.Rows) {
		t.Fatalf("%d of %d rows", len(rows), len(r.Rows))
	}
	variants := slices.Compact([]string{rows[0].Variant, rows[3].Variant, rows[len(rows)-1].Variant})
	if variants[0] != Baseline || variants[len(variants)-1] != Reference {
		t.Errorf("the order begins with %s and ends with %s", variants[0], variants[len(variants)-1])
	}
}

// TestBenchConfigIsTheMachines: benchstat would put runs into tables of their
// own if a line differed.
func TestBenchConfigIsTheMachines(t *testing.T) {
	a, b := sampleRun(), sampleRun()
	b.Seed, b.Xbench, b.Started, b.Partial = 99, "v9", b.Started.AddDate(1, 0, 0), true
	one, other := a.benchConfig(), b.benchConfig()
	if !slices.EqualFunc(one, other, func(x, y benchfmt.Config) bool { return x.Key == y.Key && bytes.Equal(x.Value, y.Value) }) {
		t.Errorf("%v differs from %v", one, other)
	}
}
