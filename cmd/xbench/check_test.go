package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"xidlab/harness"
	"xidlab/harness/check"
	"xidlab/harness/history"
	"xidlab/harness/stress"
	"xidlab/variants"
)

const rightHistory = `xidlab history 1
manager mine
xids ordered
stamps ns

0 10 20 Begin() = 1
1 15 40 Snapshot(0) = s1 bound 2 hides {1}
0 50 60 Commit(1) = ok
`

// wrongHistory: a snapshot misses what had committed before.
const wrongHistory = rightHistory + "1 70 80 Snapshot(0) = s2 bound 2 hides {1}\n"

// inDir writes files into a folder of the test's.
func inDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCheckFiles(t *testing.T) {
	dir := inDir(t, map[string]string{"right.txt": rightHistory, "wrong.txt": wrongHistory})
	right, wrong, out := filepath.Join(dir, "right.txt"), filepath.Join(dir, "wrong.txt"), filepath.Join(dir, "out")
	code, stdout, stderr := command(t, "check", right)
	if code != exitOK || !strings.Contains(stdout, "right.txt: 3 operations of 2 workers on mine, judged in ") || !strings.Contains(stdout, "every answer is right") {
		t.Errorf("exit code %d, output %q, log %q", code, stdout, stderr)
	}
	code, stdout, stderr = command(t, "check", right, wrong, "-o", out)
	if code != exitFailed || !strings.Contains(stderr, "wrong.txt") || strings.Contains(stderr, "right.txt") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, log %q", code, stderr)
	}
	for _, want := range []string{"right.txt: 3 operations", "wrong.txt: 4 operations", "WRONG", "Commit(1)", "worker 1, 70 to 80 ns  Snapshot(0) = s2", filepath.Join(out, "wrong.html")} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output has no %q:\n%s", want, stdout)
		}
	}
	raw, err := os.ReadFile(filepath.Join(out, "wrong.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v check.Violation
	if err := json.Unmarshal(raw, &v); err != nil || len(v.Ops) != 2 || v.Manager != "mine" {
		t.Errorf("%v: %s", err, raw)
	}
	page, err := os.ReadFile(filepath.Join(out, "wrong.html"))
	if err != nil || !bytes.Contains(page, []byte("<html")) || !bytes.Contains(page, []byte("Commit(1)")) {
		t.Errorf("%v: %.200s", err, page)
	}
}

func TestCheckBadInput(t *testing.T) {
	dir := inDir(t, map[string]string{
		"mistake.txt": strings.Replace(rightHistory, "bound 2", "bund 2", 1),
		"else.bin":    "\x00\x01\x02\x03",
		"cut.history": "xidhist\x01",
		"a-file":      "",
		"right.txt":   rightHistory,
	})
	file := func(name string) string { return filepath.Join(dir, name) }
	for want, args := range map[string][]string{
		"mistake.txt:7:":                         {file("mistake.txt")},
		"else.bin: ":                             {file("else.bin")},
		"cut off":                                {file("cut.history")},
		"no such file":                           {file("nowhere.txt")},
		"-quick is for recording":                {"-quick", file("right.txt")},
		"-variant is for recording":              {file("right.txt"), "-variant", "epoch"},
		`unknown variant "epo"`:                  {"-variant", "epo"},
		`unknown workload "stress/guard"`:        {"-workload", "stress/guard"},
		`did you mean "stress/guards"`:           {"-workload", "stress/guard"},
		"checks nothing":                         {"-duration", "0s"},
		"give a number with a unit":              {"-duration", "3"},
		"overlaps nothing":                       {"-threads", "1"},
		`unknown clock "sundial"`:                {"-clock", "sundial"},
		`-gc "off": want calm, pressure or both`: {"-gc", "off"},
		"-cpus":                                  {"-cpus", "9999"},
		`did you mean "variant"`:                 {"-varant", "epoch"},
	} {
		code, stdout, stderr := command(t, append([]string{"check"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("check %q: exit code %d, output %q, log %q; want one line with %q", args, code, stdout, stderr, want)
		}
	}
	if code, _, stderr := command(t, "check", "-duration", "50ms", "-save", filepath.Join(file("a-file"), "below"), "-variant", "rwmutex"); code != exitEnvironment || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a folder that cannot be: exit code %d, log %q", code, stderr)
	}
}

func TestCheckOutputFails(t *testing.T) {
	dir := inDir(t, map[string]string{"right.txt": rightHistory})
	for _, args := range [][]string{{filepath.Join(dir, "right.txt")}, {"-duration", "20ms"}} {
		var log bytes.Buffer
		if code := xbench(t.Context(), append([]string{"check"}, args...), full{}, &log); code != exitEnvironment || !strings.Contains(log.String(), "disk full") {
			t.Errorf("check %q on a full disk: exit code %d, log %q", args, code, log.String())
		}
	}
}

// TestCheck records all variants, keeps the recordings, and judges them again.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	saved, out := filepath.Join(dir, "saved"), filepath.Join(dir, "out")
	code, stdout, stderr := command(t, "check", "-duration", "3s", "-workload", "stress/guards,stress/everything,txn,pgbench-mixed", "-save", saved, "-o", out)
	if code != exitOK && !strings.Contains(stderr, "hardly any operations overlapped") { // as may be where the CPUs are busy
		t.Fatalf("exit code %d, log %q, output %q", code, stderr, stdout)
	}
	for _, v := range variants.All {
		if !strings.Contains(stdout, v.Name+": recorded for") {
			t.Errorf("the output does not mention %s:\n%s", v.Name, stdout)
		}
		files, err := filepath.Glob(filepath.Join(saved, v.Name+"-*"+historyExt))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d recordings, %v", v.Name, len(files), err)
		}
		code, stdout, stderr := command(t, append([]string{"check"}, files...)...)
		if code != exitOK || strings.Count(stdout, "every answer is right") != len(files) || !strings.Contains(stdout, "on "+v.Name) {
			t.Errorf("exit code %d, log %q, output %q", code, stderr, stdout)
		}
	}
	for _, want := range []string{"overlapped", "checked/s", "an operation takes 64 bytes", "stamps by the counter are exact"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output has no %q:\n%s", want, stdout)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("violations were written where there are none")
	}
}

// TestCheckInterrupted: what was done is shown, and what was kept is whole.
func TestCheckInterrupted(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "saved")
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	interrupted, stop := context.WithCancel(context.Background())
	defer stop()
	context.AfterFunc(ctx, stop)
	var out, log bytes.Buffer
	code := xbench(interrupted, []string{"check", "-duration", "1h", "-workload", "stress/snapshots", "-save", saved}, &out, &log)
	if code != exitInterrupted || !strings.Contains(log.String(), "interrupted") || !strings.Contains(out.String(), "rwmutex") {
		t.Errorf("exit code %d, log %q, output %q", code, log.String(), out.String())
	}
	files, err := filepath.Glob(filepath.Join(saved, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, f := range files {
		if _, err := history.ReadFile(f); err != nil {
			t.Error(err)
		}
	}
}

// TestCheckVerdicts: a stress in which nothing overlapped is no pass, and a broken
// promise counts more.
func TestCheckVerdicts(t *testing.T) {
	busy := &stress.Report{Coverage: stress.Coverage{Ops: 1000, Overlapped: 500}}
	idle := &stress.Report{Coverage: stress.Coverage{Ops: 1000}}
	wrong := &stress.Report{Violation: &stress.Violation{Proof: &check.Violation{}}}
	for _, c := range []struct {
		reports []*stress.Report
		want    int
		says    string
	}{
		{[]*stress.Report{busy, busy}, exitOK, ""},
		{[]*stress.Report{busy, idle}, exitEnvironment, "overlapped on b, so that nothing is proved"},
		{[]*stress.Report{wrong, idle}, exitFailed, "broken by a"},
	} {
		subjects := []harness.Variant{{Name: "a"}, {Name: "b"}}
		err := join(brokenBy(subjects, c.reports), idleOn(subjects, c.reports))
		if exitCode(err) != c.want || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, exit code %d, want %d", err, exitCode(err), c.want)
		}
	}
}

// TestCheckNothingWritten: a violation that cannot be written is shown, and is still
// one.
func TestCheckNothingWritten(t *testing.T) {
	dir := inDir(t, map[string]string{"wrong.txt": wrongHistory, "a-file": ""})
	code, stdout, stderr := command(t, "check", filepath.Join(dir, "wrong.txt"), "-o", filepath.Join(dir, "a-file", "below"))
	if code != exitFailed || !strings.Contains(stdout, "Commit(1)") || !strings.Contains(stderr, "could not be written") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, output %q, log %q", code, stdout, stderr)
	}
}

func TestCheckList(t *testing.T) {
	code, stdout, stderr := command(t, "check", "-list")
	if code != exitOK || !strings.Contains(stdout, "stress/everything") || stderr != "" {
		t.Errorf("exit code %d, output %q, log %q", code, stdout, stderr)
	}
}
