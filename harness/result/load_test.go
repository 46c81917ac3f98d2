package result

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLoadErrors(t *testing.T) {
	run := sampleRun()
	good, err := json.Marshal(&run)
	if err != nil {
		t.Fatal(err)
	}
	doubled := run
	doubled.Rows = append(doubled.Rows[:1:1], run.Rows[0])
	twice, err := json.Marshal(&doubled)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, content, want string }{
		{"empty", "", "damaged"},
		{"truncated", string(good[:len(good)/2]), "measure again"},
		{"not JSON", "goos: linux\n", "damaged at byte 1"},
		{"not an object", "[1,2]", "not a result of xbench"},
		{"foreign", `{"name":"x"}`, "not a result of xbench"},
		{"future", strings.Replace(string(good), `"schema":1`, `"schema":2`, 1), "has schema 2, this xbench reads schema 1: use"},
		{"wrong type", strings.Replace(string(good), `"threads":1`, `"threads":"one"`, 1), "threads"},
		{"no ops", strings.Replace(string(good), `"ops":`, `"ops":-`, 1), "row 0: slice 0 has -"},
		{"a row twice", string(twice), "repeats RefFetchAdd"},
		{"for the terminal", strings.Replace(string(good), `"variant":"`, `"variant":"\u001b[31m`, 1), "control characters"},
	} {
		path := filepath.Join(t.TempDir(), "run.json")
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", c.name, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.bench")); err == nil || !strings.Contains(err.Error(), "none.bench is read from the .json file beside it") {
		t.Errorf("a bench file alone: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.HasPrefix(err.Error(), "read results: ") {
		t.Errorf("missing: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("folder: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	run := sampleRun()
	run.Rows = run.Rows[:2]
	good, err := json.Marshal(&run)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema":1,"rows":[{"workload":"w","variant":"v","threads":1,"slices":[{"ops":1,"seconds":1,"worker_ops":[1]}]}]}`))
	f.Add([]byte(`{"schema":1`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		run, err := decode("x.json", raw)
		if err != nil {
			return
		}
		// Whatever is read can be shown.
		var b strings.Builder
		if err := WriteTables(&b, run); err != nil {
			t.Error(err)
		}
		if err := WriteBench(&b, run); err != nil {
			t.Error(err)
		}
	})
}

func TestNewest(t *testing.T) {
	dir := t.TempDir()
	for _, none := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := Newest(none); err == nil || !strings.Contains(err.Error(), "xbench run") {
			t.Errorf("no results in %s: %v", none, err)
		}
	}
	var last string
	for _, day := range []int{2, 9, 5} {
		run := sampleRun()
		run.Started = time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC)
		if day == 9 {
			run.Env.Kernel = "another" // and so another folder
		}
		rec, err := Create(dir, run)
		if err != nil {
			t.Fatal(err)
		}
		if day == 9 {
			last = rec.JSONPath()
		}
	}
	if got, err := Newest(dir); err != nil || got != last {
		t.Errorf("got %s, %v; want %s", got, err, last)
	}
}
