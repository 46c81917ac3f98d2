package result

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// record makes the files of the sample run, less its rows, in a new folder.
func record(t *testing.T) (*Recorder, Run) {
	t.Helper()
	run := sampleRun()
	rows := run.Rows
	run.Rows, run.Finished = nil, time.Time{}
	rec, err := Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	run.Rows = rows
	return rec, run
}

func load(t *testing.T, path string) *Run {
	t.Helper()
	run, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func put(t *testing.T, rec *Recorder, rows ...Row) {
	t.Helper()
	for _, row := range rows {
		if err := rec.Put(row); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rec, run := record(t)
	put(t, rec, run.Rows...)
	finished := run.Started.Add(time.Minute)
	if err := rec.Finish(finished); err != nil {
		t.Fatal(err)
	}
	run.Finished = finished
	for _, path := range []string{rec.JSONPath(), rec.BenchPath()} {
		if got := load(t, path); !reflect.DeepEqual(*got, run) {
			t.Errorf("%s: read\n%+v, want\n%+v", path, *got, run)
		}
	}
	if got := rec.Run(); !reflect.DeepEqual(*got, run) {
		t.Errorf("Run() is\n%+v, want\n%+v", *got, run)
	}
}

// TestInterrupted: at every moment the files are a valid partial run.
func TestInterrupted(t *testing.T) {
	rec, run := record(t)
	if got := load(t, rec.JSONPath()); !got.Partial || len(got.Rows) != 0 {
		t.Errorf("at the start: %+v", got)
	}
	for i, row := range run.Rows {
		put(t, rec, row)
		if err := rec.Save(); err != nil {
			t.Fatal(err)
		}
		got := load(t, rec.JSONPath())
		if !got.Partial || !got.Finished.IsZero() || len(got.Rows) != i+1 || !reflect.DeepEqual(got.Command, run.Command) || got.Seed != run.Seed {
			t.Fatalf("after %d rows: %+v", i+1, got)
		}
		bench, err := os.ReadFile(rec.BenchPath())
		if err != nil || !strings.Contains(string(bench), "PARTIAL") {
			t.Fatalf("after %d rows: %v in\n%s", i+1, err, bench)
		}
	}
}

func TestPutReplaces(t *testing.T) {
	rec, run := record(t)
	row := run.Rows[0]
	all := row.Slices
	for n := range all {
		row.Slices = all[:n+1]
		put(t, rec, row)
	}
	if got := rec.Run().Rows; len(got) != 1 || len(got[0].Slices) != len(all) {
		t.Errorf("%d rows", len(got))
	}
	all[0].Ops = 1 // the caller's own, from now on
	if rec.Run().Rows[0].Slices[0].Ops == 1 {
		t.Error("the recorder shares the caller's slices")
	}
}

func TestPutRefuses(t *testing.T) {
	rec, run := record(t)
	good := run.Rows[0]
	for name, spoil := range map[string]func(*Row){
		"no workload": func(r *Row) { r.Workload = "" },
		"no variant":  func(r *Row) { r.Variant = "" },
		"no threads":  func(r *Row) { r.Threads = 0 },
		"no ops":      func(r *Row) { r.Slices[0].Ops = 0 },
		"no time":     func(r *Row) { r.Slices[0].Seconds = 0 },
		"workers":     func(r *Row) { r.Slices[0].WorkerOps = nil },
		"latencies":   func(r *Row) { r.Latencies = []Latency{{Op: "commit"}} },
		"counters":    func(r *Row) { r.Counters = []Counter{{Name: "a", Meaning: "b\x1b[2J"}} },
		"sampled":     func(r *Row) { r.Sampled = &Slice{} },
	} {
		row := good
		row.Slices = append([]Slice(nil), good.Slices...)
		spoil(&row)
		if err := rec.Put(row); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if n := len(rec.Run().Rows); n != 0 {
		t.Errorf("%d refused rows were kept", n)
	}
}

func TestConcurrentPutAndSave(t *testing.T) {
	rec, run := record(t)
	var wg sync.WaitGroup
	for i := range run.Rows {
		wg.Go(func() {
			if err := errors.Join(rec.Put(run.Rows[i]), rec.Save()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := load(t, rec.JSONPath()); len(got.Rows) != len(run.Rows) {
		t.Errorf("%d of %d rows", len(got.Rows), len(run.Rows))
	}
}

func TestRunsOfOneSecond(t *testing.T) {
	dir, run := t.TempDir(), sampleRun()
	seen := map[string]bool{}
	for range 3 {
		rec, err := Create(dir, run)
		if err != nil {
			t.Fatal(err)
		}
		if seen[rec.JSONPath()] {
			t.Errorf("%s is used twice", rec.JSONPath())
		}
		seen[rec.JSONPath()] = true
		if folder := filepath.Base(filepath.Dir(rec.JSONPath())); folder != run.Env.Fingerprint() {
			t.Errorf("folder %s, want the fingerprint", folder)
		}
	}
}

func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Create(filepath.Join(file, "results"), sampleRun())
	if err == nil || !strings.Contains(err.Error(), "-o") || strings.Contains(err.Error(), "\n") {
		t.Errorf("below a file: %v", err)
	}

	// Some files can be written, but not all.
	run := sampleRun()
	folder := filepath.Join(t.TempDir(), run.Env.Fingerprint())
	if err := os.MkdirAll(filepath.Join(folder, run.Started.UTC().Format("20060102T150405Z")+jsonExt), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Create(filepath.Dir(folder), run)
	if err == nil || !strings.Contains(err.Error(), "-o") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a folder where the JSON file should be: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*"+benchExt)); len(left) != 0 {
		t.Errorf("the failed run left %q", left)
	}
}

// TestNoRowsYet: to readers in other languages, no rows are an empty list.
func TestNoRowsYet(t *testing.T) {
	run := sampleRun()
	run.Rows = nil
	rec, err := Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(rec.JSONPath()); err != nil || !strings.Contains(string(raw), `"rows": []`) {
		t.Errorf("%v:\n%s", err, raw)
	}
}

// TestFailedSaveLosesNothing takes the folder away and brings it back.
func TestFailedSaveLosesNothing(t *testing.T) {
	rec, run := record(t)
	put(t, rec, run.Rows[0])
	if err := rec.Save(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(rec.JSONPath())
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	put(t, rec, run.Rows[1])
	if err := rec.Save(); err == nil || !strings.Contains(err.Error(), "unchanged") {
		t.Errorf("saved into nowhere: %v", err)
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	if got := load(t, rec.JSONPath()); len(got.Rows) != 1 {
		t.Errorf("%d rows after a failed save", len(got.Rows))
	}
	if err := rec.Save(); err != nil {
		t.Fatal(err)
	}
	if got := load(t, rec.JSONPath()); len(got.Rows) != 2 {
		t.Errorf("%d rows after the next save", len(got.Rows))
	}
}
