package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"xidlab/harness/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// explained is a run with made-up counters: two variants that mean the same by a
// name, a third that does not; counters of all sizes; rows that are not shown.
func explained() *result.Run {
	slice := func(threads int) []result.Slice {
		return []result.Slice{{Ops: int64(threads), Seconds: 1, WorkerOps: make([]int64, threads)}}
	}
	row := func(workload, variant string, threads int, pinned bool, counters ...result.Counter) result.Row {
		return result.Row{Workload: workload, Variant: variant, Threads: threads, Pinned: pinned, GC: "off", Slices: slice(threads), Counters: counters}
	}
	long := "a reader met a transaction in progress and told it that it must not finish at or below the number that the reader has"
	pushes := func(n float64) result.Counter { return result.Counter{Name: "pushes", Meaning: long, Value: n} }
	held := func(n float64) result.Counter {
		return result.Counter{Name: "held", Meaning: "segments in the directory", Value: n, Gauge: true}
	}
	return &result.Run{Rows: []result.Row{
		row(result.FetchAdd, result.Reference, 2, true),
		row("txn", "epoch", 1, true, pushes(1e6), held(1e6)),
		row("txn", "plain", 1, true),
		row("txn", "epoch", 2, true, pushes(1234.5), held(17)),
		row("txn", "ordered", 2, true, pushes(12.345), held(2), result.Counter{Name: "retries", Meaning: "again", Value: 0.0001}),
		row("txn", "other", 2, true, result.Counter{Name: "held", Meaning: "locks that are held", Value: 0.25, Gauge: true}),
		row("txn", "plain", 2, true),
		row("txn", "epoch", 2, false, pushes(1e6)),
		row("idle", "epoch", 2, true),
	}}
}

func TestExplanation(t *testing.T) {
	var out bytes.Buffer
	if err := writeExplanation(&out, explained()); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/explain.txt"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s\n(-update rewrites it)", out.String(), want)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	out.Reset()
	if err := writeExplanation(&out, &result.Run{}); err != nil || !strings.Contains(out.String(), "count nothing") {
		t.Errorf("%v: of nothing it says\n%s", err, out.String())
	}
}

// TestExplain: the counters are in the output after the tables, and in the files;
// without the flag they are in neither.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		want  bool
	}{
		{"tables", brief("", "-workload", "txn-snapshot/active=16", "-explain"), true},
		{"without", brief("", "-workload", "txn-snapshot/active=16"), false},
		{"costs", briefCosts("", "-explain"), true},
		{"json", brief("", "-workload", "txn-snapshot/active=16", "-explain", "-json"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			code, out, log := command(t, append(c.flags, "-o", dir, "-variant", "rwmutex,epoch")...)
			if code != exitOK {
				t.Fatalf("exit code %d: %s", code, log)
			}
			r, err := result.Load(resultFile(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range r.Rows {
				found := slices.ContainsFunc(row.Counters, func(k result.Counter) bool { return k.Name == "blocks" && k.Value > 0 && k.Meaning != "" })
				if want := c.want && row.Workload == "txn-snapshot" && row.Variant == "epoch"; want && !found || !c.want && len(row.Counters) > 0 {
					t.Errorf("%s: counters %+v", row.Name(), row.Counters)
				}
			}
			if json.Valid([]byte(out)) {
				if !strings.Contains(out, `"counters"`) {
					t.Error("the JSON output has no counters")
				}
				return
			}
			why := strings.Index(out, "\nWhy: ")
			if (why >= 0) != c.want {
				t.Fatalf("the output says why: %v, want %v:\n%s", why >= 0, c.want, out)
			}
			if c.want {
				rest := out[why:]
				for _, s := range []string{"  blocks ", "\nblocks: ", "  = active ", "\nresults "} {
					if !strings.Contains(rest, s) {
						t.Errorf("after the tables there is no %q:\n%s", s, rest)
					}
				}
			}
		})
	}
}
