//go:build sim

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"xidlab/harness/explore"
	"xidlab/internal/sched"
	"xidlab/variants"
)

// The processes that a search starts are this test binary.
func TestMain(m *testing.M) {
	if served() {
		return
	}
	os.Exit(m.Run())
}

func TestExplore(t *testing.T) {
	out := filepath.Join(t.TempDir(), "found")
	code, text, log := command(t, "explore", "-o", out, "-program", "snapshot,double-finish", "-budget", "20s", "-progress=false")
	if code != exitOK || !strings.Contains(text, "double-finish") || !strings.Contains(text, fmt.Sprintf("%d searches  complete: ", 2*len(variants.All))) {
		t.Errorf("exit code %d\n%s\n%s", code, text, log)
	}
	for _, flags := range []string{"-strategy dfs -bound 1", "-strategy dfs -bound -1", "-strategy pct", "-strategy random -seed 3"} {
		code, text, _ := command(t, append(strings.Fields("explore -variant epoch -program double-finish -budget 1s -processes 1 -progress=false "+flags), "-o", out)...)
		complete := strings.Contains(text, "1 searches  complete: ")
		if code != exitOK || complete != (flags == "-strategy dfs -bound -1") {
			t.Errorf("%s: exit code %d, complete: %v\n%s", flags, code, complete, text)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Errorf("%s was made, and nothing found", out)
	}
}

func TestExploreProgress(t *testing.T) {
	code, text, _ := command(t, "explore", "-variant", "rwmutex,sharded", "-program", "none", "-budget", "20s")
	if code != exitOK || !strings.Contains(text, "wait-free: 1") || !strings.Contains(text, "rwmutex waits for m.mu: Begin, ") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

// TestViolation: a mutant is found, shown and written; the file shows it again,
// and says so when nothing is wrong any more.
func TestViolation(t *testing.T) {
	dir := t.TempDir()
	code, text, log := command(t, "explore", "-o", dir, "-mutant", "epoch/retry-keeps-number", "-program", "x=Begin; Commit(x) || s=Snapshot Includes(s, x)", "-processes", "2", "-progress=false")
	if code != exitFailed || !strings.Contains(text, "FAIL") || !strings.Contains(text, "schedule") || !strings.Contains(log, "found something wrong") {
		t.Fatalf("exit code %d\n%s\n%s", code, text, log)
	}
	file := filepath.Join(dir, "epoch-retry-keeps-number-program.json")
	page, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".html")
	if err != nil || !strings.Contains(string(page), "</html>") {
		t.Errorf("the page: %v, %d bytes", err, len(page))
	}
	code, again, log := command(t, "explore", "-replay", file)
	if code != exitFailed || !strings.Contains(again, "FAIL") || !strings.Contains(log, "not linearizable") {
		t.Errorf("replayed: exit code %d\n%s\n%s", code, again, log)
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mended := strings.Replace(strings.Replace(string(saved), `"Variant": ""`, `"Variant": "epoch"`, 1), "epoch/retry-keeps-number", "", 1)
	if err := os.WriteFile(file, []byte(mended), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, again, log := command(t, "explore", "-replay", file); code != exitOK || !strings.Contains(again, "nothing is wrong any more") {
		t.Errorf("mended, and replayed: exit code %d\n%s\n%s", code, again, log)
	}
}

func TestViolationsFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a-file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	code, text, log := command(t, "explore", "-o", file, "-mutant", "OffByOne", "-program", "snapshot", "-processes", "1", "-progress=false")
	if code != exitFailed || !strings.Contains(text, "schedule") || !strings.Contains(log, "could not be written") {
		t.Errorf("exit code %d\n%s\n%s", code, text, log)
	}
}

func TestMutants(t *testing.T) {
	code, text, log := command(t, "mutants", "-mutant", "OwnCeiling,sharded/stale-cut,epoch/collect-waits", "-budget", "1m")
	if code != exitOK || !strings.Contains(text, "all 3 mutants die") || !strings.Contains(text, "promises, ") || !strings.Contains(text, "writers, ") || !strings.Contains(text, "Begin waits: ") {
		t.Errorf("exit code %d\n%s\n%s", code, text, log)
	}
	if code, text, _ := command(t, "mutants", "-list"); code != exitOK || strings.Count(text, "\n") < 100 {
		t.Errorf("list: exit code %d, %d lines", code, strings.Count(text, "\n"))
	}
}

// TestWorkers: a process that hangs, or ends, or is asked for nonsense, is told
// from one that finds nothing.
func TestWorkers(t *testing.T) {
	start := func() *worker {
		w, err := startWorker()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.end)
		return w
	}
	search := job{Layer: layerExplore, Variant: "epoch", Program: explore.Programs[0], Limit: time.Minute}

	w := start()
	if o, alive := w.do(t.Context(), &job{Layer: layerExplore, Variant: "nobody"}, grace); !alive || !strings.Contains(o.Error, "nobody") {
		t.Errorf("nonsense: %+v, alive %v", o, alive)
	}
	if o, alive := w.do(t.Context(), &search, grace); !alive || o.Error != "" || !o.Stats.Complete {
		t.Errorf("after that: %+v, alive %v", o, alive)
	}
	w.cmd.Process.Kill()
	if o, alive := w.do(t.Context(), &search, grace); alive || !strings.Contains(o.Error, "the process ended") {
		t.Errorf("killed: %+v, alive %v", o, alive)
	}

	search.Config, search.Limit = sched.Config{Strategy: sched.Random}, time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if o, alive := start().do(ctx, &search, grace); alive || o.Error != "" {
		t.Errorf("interrupted: %+v, alive %v", o, alive)
	}
	if o, alive := start().do(t.Context(), &search, 50*time.Millisecond-search.Limit); alive || o.Error != "it hangs" {
		t.Errorf("late: %+v, alive %v", o, alive)
	}
}

// TestDocs: docs/verification.md has a row for each program and each mutant.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/verification.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range explore.Programs {
		if !strings.Contains(string(page), " "+p.Name+" ") {
			t.Errorf("no program %s: run what the page says, and put in what it prints", p.Name)
		}
	}
	for _, m := range variants.Mutants() {
		if !strings.Contains(string(page), "\n"+m.Name+" ") {
			t.Errorf("no mutant %s: run what the page says, and put in what it prints", m.Name)
		}
	}
}

func TestSearchUsage(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage.json")
	if err := os.WriteFile(garbage, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-variant", "epok"}, `did you mean`},
		{[]string{"-mutant", "nobody"}, "mutant"},
		{[]string{"-mutant", "OffByOne", "-variant", "epoch"}, "one of the two"},
		{[]string{"-program", "snapshoot"}, "no program"},
		{[]string{"-program", "x=Begin; Comit(x)"}, "Comit"},
		{[]string{"-strategy", "dfss"}, "strategy"},
		{[]string{"-strategy", "dpor", "-bound", "3"}, "has none"},
		{[]string{"-bound", "3"}, "say which"},
		{[]string{"-strategy", "pct", "-bound", "few"}, "give a number"},
		{[]string{"-strategy", "pct", "-bound", "0"}, "at least 1"},
		{[]string{"-strategy", "dfs", "-bound", "-2"}, "preemptions"},
		{[]string{"-budget", "0s"}, "no time"},
		{[]string{"-processes", "0"}, "positive"},
		{[]string{"-replay", garbage + "x"}, "no such file"},
		{[]string{"-replay", garbage}, "no file of a violation"},
	} {
		code, _, log := command(t, append([]string{"explore"}, c.args...)...)
		if code != exitUsage || !strings.Contains(log, c.want) || strings.Count(log, "\n") != 1 {
			t.Errorf("explore %q: exit code %d, %q; want %q", c.args, code, log, c.want)
		}
	}
	for _, c := range []struct{ line, want string }{
		{"-mutant nobody", "no mutant's name"}, {"-budget -1s", "no time"}, {"-processes -1", "positive"},
	} {
		code, _, log := command(t, append([]string{"mutants"}, strings.Fields(c.line)...)...)
		if code != exitUsage || !strings.Contains(log, c.want) {
			t.Errorf("mutants %s: exit code %d, %q; want %q", c.line, code, log, c.want)
		}
	}
}
