package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"xidlab/harness/costs"
	"xidlab/harness/result"
)

// briefCosts are flags for all lines in about a second. Two slices are too few
// for a verdict.
func briefCosts(dir string, more ...string) []string {
	return append([]string{"run", "-costs", "-o", dir, "-duration", "1ms", "-slices", "2", "-pinned=false"}, more...)
}

func TestCosts(t *testing.T) {
	dir := t.TempDir()
	code, out, log := command(t, briefCosts(dir)...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, log)
	}
	for _, want := range []string{"F1, fetch-add", "Begin, Snapshot, Commit, 4096 active", "1.25 x 0 active", " unknown ", "repetitions, a verdict takes 5", "lines with an aim", resultFile(t, dir)} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %q:\n%s", want, out)
		}
	}
	for _, not := range []string{"÷rwmutex", "In detail", "plots "} {
		if strings.Contains(out, not) {
			t.Errorf("the output has %q:\n%s", not, out)
		}
	}
	if pictures, err := filepath.Glob(filepath.Join(dir, "*", "*.svg")); err != nil || len(pictures) > 0 {
		t.Errorf("plots: %q, %v", pictures, err)
	}
	r, err := result.Load(resultFile(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Variant != result.Reference && (!costs.Wanted(row.Variant, row.Workload+param(row), row.Threads) || row.Sampled != nil) {
			t.Errorf("%s is of no line, or has latencies", row.Name())
		}
	}
	if bench, err := os.ReadFile(strings.TrimSuffix(resultFile(t, dir), ".json") + ".bench"); err != nil || !strings.Contains(string(bench), "BenchmarkIncludesLog/variant=epoch/threads=1") {
		t.Errorf("the file for benchstat lacks a line's row (%v)", err)
	}
}

func param(row result.Row) string {
	if len(row.Params) == 0 {
		return ""
	}
	return "/" + row.Params[0].Key + "=" + row.Params[0].Value
}

func TestCostsOfAVariantWithoutAims(t *testing.T) {
	code, out, log := command(t, briefCosts(t.TempDir(), "-variant", "rwmutex", "-json")...)
	var r struct {
		result.Run
		Costs []costs.Line
	}
	if err := json.Unmarshal([]byte(out), &r); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v; log %s", code, err, log)
	}
	if len(r.Rows) == 0 || len(r.Costs) == 0 || r.Partial {
		t.Errorf("%d rows, %d lines, partial: %v", len(r.Rows), len(r.Costs), r.Partial)
	}
	for _, l := range r.Costs {
		if l.Variant != "rwmutex" || l.Aim != "" || l.Verdict == costs.Pass || l.Verdict == costs.Miss {
			t.Errorf("%+v: want a line of rwmutex without a judgement", l)
		}
	}
}

func TestCostsChooseForThemselves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	for args, want := range map[string]string{
		"-workload txn":    `leave out -workload`,
		"-threads 1":       `leave out -threads`,
		"-trace x":         `leave out -trace`,
		"-pace 1x":         `leave out -pace`,
		"-pinned=both":     `one mode`,
		"-gc off,ballast":  `one mode`,
		"-variant rwmutx":  `did you mean "rwmutex"\?`,
		"-duration -1s":    `measures nothing`,
		"-variant epoch,x": `unknown variant "x"`,
	} {
		code, out, log := command(t, append([]string{"run", "-costs", "-o", dir}, strings.Fields(args)...)...)
		if code != exitUsage || out != "" || strings.Count(log, "\n") != 1 || !regexp.MustCompile(want).MatchString(log) {
			t.Errorf("-costs %s: exit code %d, output %q, log %q; want %s", args, code, out, log, want)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("results were begun in spite of the mistake")
	}
}
