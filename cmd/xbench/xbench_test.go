package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"xidlab/harness"
	"xidlab/harness/pin"
	"xidlab/harness/plot"
	"xidlab/harness/result"
	"xidlab/harness/trace"
	"xidlab/harness/workload"
	"xidlab/variants"
)

// logFile is a csvlog of some seconds of pgbench.
const logFile = "../../harness/trace/testdata/pgbench-mixed.csvlog.gz"

// command runs xbench.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	code = xbench(t.Context(), args, &out, &log)
	return code, out.String(), log.String()
}

// brief are flags for a run of a fraction of a second.
func brief(dir string, more ...string) []string {
	return append([]string{"run", "-o", dir, "-duration", "1ms", "-slices", "2", "-pinned=false", "-threads", "1"}, more...)
}

// resultFile returns the one result under dir.
func resultFile(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d result files in %s (%v), want one", len(found), dir, err)
	}
	return found[0]
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	code, out, log := command(t, brief(dir, "-workload", "txn,txn-snapshot/active=16,txn-snapshot/active=0")...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, log)
	}
	file := resultFile(t, dir)
	for _, want := range []string{"txn (op: transaction)", "÷rwmutex", "allocs/op", "active=16", "In detail", file, strings.TrimSuffix(file, ".json") + ".bench"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %q:\n%s", want, out)
		}
	}
	for _, v := range variants.All {
		if !strings.Contains(out, v.Name) {
			t.Errorf("the output does not mention %s", v.Name)
		}
	}
	if !strings.Contains(log, "100%") && !strings.Contains(log, " after ") {
		t.Errorf("no progress in the log: %q", log)
	}
	r, err := result.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if r.Partial || r.Finished.IsZero() || r.Seed != 1 || len(r.Command) == 0 || r.Command[0] != "xbench" {
		t.Errorf("partial %v, finished %v, seed %d, command %q", r.Partial, r.Finished, r.Seed, r.Command)
	}
	if want := 3 + 3*len(variants.All); len(r.Rows) != want {
		t.Errorf("%d rows, want %d", len(r.Rows), want)
	}
	want := []string{"throughput-txn", "throughput-txn-snapshot", "cost-txn-snapshot"}
	for _, chart := range plot.Charts(r) {
		// How many calls are sampled in a millisecond depends on the machine, and
		// with it whether there is a distribution to draw.
		if strings.HasPrefix(chart.Name, "latency-") {
			want = append(want, chart.Name)
		}
	}
	for _, name := range want {
		for _, ext := range []string{".svg", ".png"} {
			if _, err := os.Stat(strings.TrimSuffix(file, ".json") + "-" + name + ext); err != nil {
				t.Error(err)
			}
		}
	}

	pictures := filepath.Join(t.TempDir(), "new")
	if code, out, log := command(t, "plot", file, "-o", pictures); code != exitOK || !strings.Contains(out, pictures) {
		t.Errorf("plot: exit code %d, output %q, log %q", code, out, log)
	}
	if drawn, _ := filepath.Glob(filepath.Join(pictures, "*.svg")); len(drawn) != len(want) {
		t.Errorf("plot drew %q, want those of %q", drawn, want)
	}
}

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestOutputFails: whatever becomes of the output, all files are written, and
// the log says where.
func TestOutputFails(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	code := xbench(t.Context(), brief(dir, "-workload", "autocommit", "-variant", variants.All[0].Name), full{}, &log)
	file := resultFile(t, dir)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if last := lines[len(lines)-1]; code != exitEnvironment || !strings.Contains(last, "disk full") || !strings.Contains(last, file) {
		t.Errorf("exit code %d, the last line of the log is %q; want the error, and %s", code, last, file)
	}
	if r, err := result.Load(file); err != nil || r.Partial {
		t.Errorf("%v: %+v; want a complete run", err, r)
	}
	if plots, _ := filepath.Glob(strings.TrimSuffix(file, ".json") + "-*.png"); len(plots) == 0 {
		t.Error("the plots are missing")
	}
	for _, args := range []string{"list", "env", "version", "help", "run -h", "-h"} {
		if code := xbench(t.Context(), strings.Fields(args), full{}, &log); code != exitEnvironment {
			t.Errorf("xbench %s: exit code %d", args, code)
		}
	}
}

func TestProgressFitsTheTerminal(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, columns: 40}
	p.show(harness.Progress{Done: 1, Total: 2, Left: time.Minute, Row: strings.Repeat("long/", 20)})
	p.clear()
	for _, line := range strings.Split(out.String(), "\r") {
		if n := utf8.RuneCountInString(line); n >= 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if !strings.Contains(out.String(), "50%") {
		t.Errorf("no progress in %q", out.String())
	}
}

func TestQuantiles(t *testing.T) {
	l := result.Latency{Quantiles: []result.Quantile{{Q: .5, Nanoseconds: .3}, {Q: .99, Nanoseconds: 1234.5}}}
	if got := quantiles(l); got != "<1 1234" {
		t.Errorf("got %q", got)
	}
}

// TestDoubtfulDetails: latencies are marked by the slice that they are from,
// whatever disturbed the others.
func TestDoubtfulDetails(t *testing.T) {
	row := func(variant string, of, sampled float64) result.Row {
		s := result.Slice{Ops: 2, Seconds: 1, WorkerOps: []int64{1, 1}, Contamination: result.Contamination{CoRun: of}}
		other := s
		other.Contamination.CoRun = sampled
		return result.Row{
			Workload: "txn", Variant: variant, Threads: 2, Slices: []result.Slice{s}, Sampled: &other,
			Latencies: []result.Latency{{Op: "commit", Quantiles: []result.Quantile{{Q: .5, Nanoseconds: 40}}}},
			Metrics:   []result.Metric{{Name: "lag", Value: 3}},
		}
	}
	crowd := row("a", 1, 1)
	crowd.Threads, crowd.Latencies[0].Max = 3, 5e6
	for _, c := range []struct {
		rows []result.Row
		want string
	}{
		{[]result.Row{crowd}, `in ns\n\(< the longest, and all timed, where threads outnumber(?s).*commit +40 < 5000000\n`},
		{[]result.Row{row("a", 1, 1), row("b", 1, .4)}, `(?s)commit +40 +40 \*\n +lag +3 +3\n.*\* Other work`},
		{[]result.Row{row("a", .4, 1), row("b", .4, 1)}, `^[^*]*commit +40 +40\n[^*]*$`},
	} {
		var out bytes.Buffer
		if err := writeDetails(&out, &result.Run{Rows: c.rows, Env: result.Env{GOMAXPROCS: 2}}); err != nil || !regexp.MustCompile(c.want).MatchString(out.String()) {
			t.Errorf("%v: got\n%s\nwant %s", err, out.String(), c.want)
		}
	}
}

func TestRunJSON(t *testing.T) {
	code, out, log := command(t, brief(t.TempDir(), "-workload", "autocommit", "-variant", variants.All[0].Name, "-json")...)
	var r result.Run
	if err := json.Unmarshal([]byte(out), &r); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v; log %s", code, err, log)
	}
	if len(r.Rows) != 4 || r.Partial {
		t.Errorf("%d rows, partial %v", len(r.Rows), r.Partial)
	}
}

func TestImportAndReplay(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.trace")
	code, out, log := command(t, "import", "pg-csvlog", logFile, "-o", file)
	if code != exitOK || !strings.Contains(out, "xbench run -trace "+file) {
		t.Fatalf("exit code %d, output %q, log %q", code, out, log)
	}
	tr, err := trace.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code, out, log = command(t, "import", "pg-csvlog", logFile, "-dump")
	if lines := strings.Count(out, "\n"); code != exitOK || lines != 1+len(tr.Ops) || !strings.Contains(out, " begin serializable\n") || !strings.Contains(log, "1 files") {
		t.Errorf("exit code %d, %d lines for %d operations, log %q; want the trace, and the report in the log", code, lines, len(tr.Ops), log)
	}
	results := filepath.Join(dir, "results")
	code, out, log = command(t, brief(results, "-trace", file)...)
	if code != exitOK || !strings.Contains(out, "shop (op: transaction)") || strings.Contains(out, "autocommit (op") {
		t.Errorf("exit code %d, output %s, log %q; want the trace alone", code, out, log)
	}
	r, err := result.Load(resultFile(t, results))
	if err != nil {
		t.Fatal(err)
	}
	if want := 3 + len(variants.All); len(r.Rows) != want {
		t.Errorf("%d rows, want %d", len(r.Rows), want)
	}
}

// TestBadInput: one line that says what to do, the documented exit code, and no
// results lost or begun.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inFolder := file("a-file", "")
	corrupt := file("corrupt.json", `{"schema": 1, "rows": [`)
	future := file("future.json", `{"schema": 1000}`)
	foreign := file("foreign.json", `{"a": 1}`)
	noTrace := file("x.trace", "no trace at all")
	notLog := file("x.csv", "a,b,c\n")

	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(bytes.Repeat([]byte("2026-11-30 09:19:35.789 UTC,postgres\n"), 1000))
	z.Close()
	truncated := file("cut.csv.gz", zipped.String()[:zipped.Len()/2])

	tr, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	encoded := string(tr.Encode())
	cut := file("cut.trace", encoded[:len(encoded)-20])

	results := filepath.Join(dir, "results")
	for _, c := range []struct {
		args string
		code int
		want string // in the line, a regular expression
	}{
		{"run -variant rwmutx", exitUsage, `unknown variant "rwmutx": did you mean "rwmutex"\?`},
		{"run -workload tnx", exitUsage, `unknown workload "tnx": did you mean "txn"\?`},
		{"run -workload pgbench", exitUsage, `did you mean "pgbench-mixed"\?`},
		{"run -workload txn-snapshot/active=many", exitUsage, `must be between 0 and`},
		{"run -cpus 0,9999", exitUsage, `CPU 9999 does not exist or is not allowed`},
		{"run -cpus zero", exitUsage, `write it like 0-3,8`},
		{"run -threads 0", exitUsage, `"0" is not a number of threads`},
		{"run -threads two", exitUsage, `"two" is not a number of threads`},
		{"run -duration 0s", exitUsage, `-duration 0s measures nothing`},
		{"run -duration -1s", exitUsage, `measures nothing`},
		{"run -duration soon", exitUsage, `invalid value "soon"`},
		{"run -slices -1", exitUsage, `give a positive number`},
		{"run -gc sometimes", exitUsage, `want off, ballast`},
		{"run -pinned=perhaps", exitUsage, `want true, false or both`},
		{"run -pinned false", exitUsage, `-flag=value`},
		{"run -pace fast", exitUsage, `such as 1x`},
		{"run -pace 0", exitUsage, `such as 1x`},
		{"run -duration 10", exitUsage, `give a number with a unit, such as 30s`},
		{"run -workload txn -pace 1x", exitUsage, `no trace is replayed; add -trace FILE`},
		{"-quick", exitUsage, `flags come after the command`},
		{"import pg-csvlog " + notLog + " -o " + dir + "/./x.csv", exitUsage, `would replace a log`},
		{"run -tread 1", exitUsage, `unknown flag "tread": did you mean "threads"\?`},
		{"run txn", exitUsage, `unexpected "txn"`},
		{"run -trace " + noTrace, exitUsage, `x\.trace.*not a trace file`},
		{"run -trace " + cut, exitUsage, `cut\.trace.*(cut off|damaged)`},
		{"run -trace " + filepath.Join(dir, "missing"), exitUsage, `no such file`},
		{"run -workload txn -o " + inFolder, exitEnvironment, `a-file.*choose another one with -o`},
		{"rnu", exitUsage, `unknown command "rnu": did you mean "run"\?`},
		{"", exitUsage, `no command: try run`},
		{"list all", exitUsage, `unexpected "all"`},
		{"help rnu", exitUsage, `did you mean "run"\?`},
		{"plot " + corrupt, exitUsage, `corrupt\.json is damaged`},
		{"plot " + future, exitUsage, `future\.json has schema 1000`},
		{"plot " + foreign, exitUsage, `not a result of xbench`},
		{"plot " + filepath.Join(dir, "missing.json"), exitUsage, `no such file`},
		{"import", exitUsage, `xbench import pg-csvlog FILE`},
		{"import pg-csvlg " + notLog, exitUsage, `did you mean "pg-csvlog"\?`},
		{"import pg-csvlog -o t.trace", exitUsage, `no files`},
		{"import pg-csvlog " + notLog, exitUsage, `add -o FILE.trace, or -dump`},
		{"import pg-csvlog " + notLog + " -o " + dir + "/t.trace", exitUsage, `x\.csv:1`},
		{"import pg-csvlog " + truncated + " -o " + dir + "/t.trace", exitUsage, `cut\.csv\.gz:\d+`},
		{"import pg-csvlog " + notLog + " -q", exitUsage, `-q`},
		{"import pg-csvlog " + logFile + " -o " + filepath.Join(inFolder, "t.trace"), exitEnvironment, `a-file`},
	} {
		args := strings.Fields(c.args)
		if len(args) > 0 && args[0] == "run" && !strings.Contains(c.args, "-o ") {
			args = append(args[:1:1], append([]string{"-o", results}, args[1:]...)...)
		}
		code, out, log := command(t, args...)
		if code != c.code || out != "" && args[0] != "import" || strings.Count(log, "\n") != 1 || !regexp.MustCompile(c.want).MatchString(log) {
			t.Errorf("xbench %s: exit code %d, output %q, log %q; want %d and a line with %s", c.args, code, out, log, c.code, c.want)
		}
	}
	for _, made := range []string{results, filepath.Join(dir, "t.trace")} {
		if _, err := os.Stat(made); err == nil {
			t.Errorf("%s was written in spite of the mistake", made)
		}
	}
	if content, err := os.ReadFile(corrupt); err != nil || !strings.HasPrefix(string(content), `{"schema"`) {
		t.Errorf("a file that could not be read was changed: %q, %v", content, err)
	}
}

func TestFutureTrace(t *testing.T) {
	tr, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	data := tr.Encode()
	refused := false
	for i := 0; i < 32 && !refused; i++ { // the version stands near the beginning
		later := bytes.Clone(data)
		later[i]++
		path := filepath.Join(t.TempDir(), "later.trace")
		if err := os.WriteFile(path, later, 0o666); err != nil {
			t.Fatal(err)
		}
		code, _, log := command(t, "run", "-o", t.TempDir(), "-trace", path)
		if code != exitUsage {
			t.Fatalf("byte %d changed: exit code %d, %s", i, code, log)
		}
		refused = strings.Contains(log, "newer version")
	}
	if !refused {
		t.Error("no change of the first bytes was taken for a later version")
	}
}

func TestList(t *testing.T) {
	code, out, _ := command(t, "list")
	if code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, v := range variants.All {
		if !strings.Contains(out, v.Name) || !strings.Contains(out, v.Summary) {
			t.Errorf("the list lacks %s", v.Name)
		}
	}
	for _, l := range slices.Concat(workload.All(), workload.Operations()) {
		if !strings.Contains(out, l.Name()) || !strings.Contains(out, l.Summary()) {
			t.Errorf("the list lacks %s", l.Name())
		}
	}
	if !strings.Contains(out, builtinTrace) {
		t.Errorf("the list lacks the built-in trace")
	}
}

func TestEnvAndVersion(t *testing.T) {
	code, out, _ := command(t, "env")
	for _, want := range []string{"fingerprint", "pinning", "governor", "clock of figures"} {
		if !strings.Contains(out, want) {
			t.Errorf("env does not tell %s", want)
		}
	}
	if code != exitOK {
		t.Errorf("env: exit code %d", code)
	}
	if code, out, _ := command(t, "version"); code != exitOK || !strings.Contains(out, "result schema") {
		t.Errorf("version: exit code %d, %q", code, out)
	}
}

func TestHelp(t *testing.T) {
	code, out, log := command(t, "help")
	if code != exitOK || log != "" {
		t.Errorf("help: exit code %d, log %q", code, log)
	}
	for _, name := range []string{"list", "env", "run", "import", "plot", "version"} {
		if !strings.Contains(out, name) {
			t.Errorf("help does not mention %s", name)
		}
		for _, args := range [][]string{{name, "-h"}, {name, "-help"}, {"help", name}} {
			code, out, log := command(t, args...)
			if code != exitOK || log != "" || !strings.Contains(out, "EXAMPLES") || !strings.Contains(out, "xbench "+name) {
				t.Errorf("%q: exit code %d, log %q, output %q; want help with examples", args, code, log, out)
			}
		}
	}
	for _, args := range [][]string{{"help"}, {"run", "-h"}, {"import", "-h"}, {"plot", "-h"}, {"list", "-h"}} {
		_, out, _ := command(t, args...)
		for _, line := range strings.Split(out, "\n") {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("%q: %d columns: %s", args, n, line)
			}
		}
	}
	if code, out, _ := command(t, "import", "pg-csvlog", "x.csv", "-h"); code != exitOK || !strings.Contains(out, "EXAMPLES") {
		t.Errorf("-h after a file: exit code %d, output %q", code, out)
	}
	if code, out, _ := command(t, "-h"); code != exitOK || !strings.Contains(out, "EXIT CODES") {
		t.Errorf("-h: exit code %d, output %q", code, out)
	}
}

func TestConfigure(t *testing.T) {
	top := pin.Topology{CPUs: []pin.CPU{
		{ID: 0, Core: 0}, {ID: 1, Core: 0}, {ID: 2, Core: 1}, {ID: 3, Core: 1}, {ID: 4, Core: 2}, {ID: 5, Core: 3},
	}}
	f := func(change func(*runFlags)) *runFlags {
		f := &runFlags{pace: "max", duration: 1, gc: "off", pinned: pinnedFalse, workload: "txn"}
		change(f)
		return f
	}
	cfg, _, err := configure(f(func(*runFlags) {}), top)
	if err != nil || len(cfg.Variants) != len(variants.All) {
		t.Fatalf("%v, %d variants", err, len(cfg.Variants))
	}
	if want := []int{1, 2, 4, 6}; !slices.Equal(cfg.Threads, want) {
		t.Errorf("threads %v, want %v", cfg.Threads, want)
	}
	cfg, notes, err := configure(f(func(f *runFlags) { f.cpus, f.threads = "1-3", "5,2,2" }), top)
	if err != nil || !slices.Equal(cfg.CPUs, []int{2, 1, 3}) || !slices.Equal(cfg.Threads, []int{2, 5}) {
		t.Errorf("%v: CPUs %v, threads %v; want other cores first, and numbers in order, once", err, cfg.CPUs, cfg.Threads)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "5 threads share 3 CPUs") {
		t.Errorf("notes %q do not say that threads share CPUs", notes)
	}
	// More threads than CPUs are goroutines, unless pins are asked for.
	cfg, notes, err = configure(f(func(f *runFlags) { f.pinned, f.threads = pinnedAuto, "1,7" }), top)
	if err != nil || len(cfg.Modes) != 1 || cfg.Modes[0].Pinned || len(notes) != 1 || !strings.Contains(notes[0], "7 threads share 6 CPUs") || !strings.Contains(notes[0], "measured unpinned") {
		t.Errorf("%v: modes %v, notes %q; want unpinned, and a note", err, cfg, notes)
	}
	cfg, _, err = configure(f(func(f *runFlags) { f.workload = "txn,txn-snapshot,txn, pgbench-mixed"; f.gc = "off,ballast,off" }), top)
	if err != nil || len(cfg.Loads) != 6 || len(cfg.Modes) != 2 {
		t.Errorf("%v: %d workloads, %d modes", err, len(cfg.Loads), len(cfg.Modes))
	}
	cfg, _, err = configure(f(func(f *runFlags) { f.workload = "" }), top)
	if err != nil || len(cfg.Loads) != len(workload.All())+1 {
		t.Errorf("%v: %d workloads; want all, and the built-in trace", err, len(cfg.Loads))
	}
	off, ballast := harness.Mode{GC: harness.GCOff}, harness.Mode{GC: harness.GCBallast}
	pinnedOff, pinnedBallast := off, ballast
	pinnedOff.Pinned, pinnedBallast.Pinned = true, true
	for _, c := range []struct {
		flags  runFlags
		pinned pinnedFlag
		want   []harness.Mode
	}{
		{runFlags{}, pinnedBoth, []harness.Mode{pinnedOff, off, pinnedBallast}},
		{runFlags{quick: true}, pinnedTrue, []harness.Mode{pinnedOff}},
		{runFlags{}, pinnedFalse, []harness.Mode{off}},
		{runFlags{gc: "off"}, pinnedBoth, []harness.Mode{pinnedOff, off}},
		{runFlags{gc: "ballast, off,off"}, pinnedTrue, []harness.Mode{pinnedBallast, pinnedOff}},
	} {
		if got, err := chosenModes(&c.flags, c.pinned); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("-gc %q, -quick %v, pinned %s: modes %v, %v; want %v", c.flags.gc, c.flags.quick, c.pinned, got, err, c.want)
		}
	}
	// A system that does not permit pinning: there are no such CPUs.
	far := pin.Topology{CPUs: []pin.CPU{{ID: 900}}}
	cfg, notes, err = configure(f(func(f *runFlags) { f.pinned = pinnedAuto }), far)
	if err != nil || len(cfg.Modes) != 1 || cfg.Modes[0].Pinned || len(notes) != 1 || !strings.Contains(notes[0], "everything is measured unpinned") {
		t.Errorf("%v: modes %v, notes %q; want unpinned, and a note", err, cfg, notes)
	}
	if _, _, err = configure(f(func(f *runFlags) { f.pinned = pinnedTrue }), far); exitCode(err) != exitEnvironment {
		t.Errorf("a pin that was asked for is refused with %v", err)
	}
}

func TestTraceName(t *testing.T) {
	for file, want := range map[string]string{
		"shop.trace":           "shop",
		"a b/c d=e.trace":      "c-d-e",
		"txn.trace":            "trace-txn",
		"pgbench-mixed.trace":  "trace-pgbench-mixed",
		"2026.trace":           "trace-2026",
		"dir/" + "x.tar.trace": "x.tar",
	} {
		if got := traceName(file); got != want {
			t.Errorf("traceName(%q) = %q, want %q", file, got, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{fmt.Errorf("a row: %w", harness.ErrBroken), exitFailed},
		{usageError(errors.New("x")), exitUsage},
		{fmt.Errorf("more: %w", environmentError(errors.New("x"))), exitEnvironment},
		{errors.New("something unforeseen"), exitEnvironment},
		{errors.Join(context.Canceled, environmentError(errors.New("x"))), exitInterrupted},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}
