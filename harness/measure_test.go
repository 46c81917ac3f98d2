package harness

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"xidlab/core"
	"xidlab/harness/pin"
	"xidlab/harness/result"
	"xidlab/harness/workload"
	"xidlab/variants/rwmutex"
)

// clock is calibrated once for all tests.
var clock = sync.OnceValue(pin.NewClock)

func good() Variant {
	return Variant{"rwmutex", "", func() core.Manager { return rwmutex.New() }}
}

func loads(t *testing.T, names ...string) (loads []workload.Load) {
	t.Helper()
	for _, n := range names {
		found, err := workload.Find(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range found {
			loads = append(loads, l)
		}
	}
	return loads
}

// small is a configuration that takes a fraction of a second.
func small(t *testing.T, variants []Variant, names ...string) Config {
	return Config{
		Variants: variants, Loads: loads(t, names...), Threads: []int{1, 2}, Modes: []Mode{{GC: GCOff}},
		Seed: 1, Budget: time.Millisecond, Slices: 3, Clock: clock(), patience: 10 * time.Second,
	}
}

func measure(t *testing.T, ctx context.Context, cfg Config) (*result.Run, []string, error) {
	t.Helper()
	rec, err := result.Create(t.TempDir(), result.Run{Env: result.ReadEnv(pin.ReadTopology(), cfg.Clock)})
	if err != nil {
		t.Fatal(err)
	}
	notes, err := Measure(ctx, cfg, rec)
	saved, loadErr := result.Load(rec.JSONPath())
	if loadErr != nil {
		t.Fatalf("the file that Measure left cannot be read: %v", loadErr)
	}
	if !saved.Partial {
		t.Error("Measure finished the file; that is its caller's to do")
	}
	return saved, notes, err
}

func rowOf(r *result.Run, workload, variant string, threads int) *result.Row {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Workload == workload && row.Variant == variant && row.Threads == threads {
			return row
		}
	}
	return nil
}

func TestMeasure(t *testing.T) {
	second := good()
	second.Name = "second"
	cfg := small(t, []Variant{good(), second}, "txn", "txn-snapshot/active=3", "retain")
	done := -1
	cfg.Progress = func(p Progress) {
		if p.Done != done+1 || p.Total < p.Done || p.Row == "" {
			t.Errorf("progress went from %d to %+v", done, p)
		}
		done = p.Done
	}
	r, notes, err := measure(t, t.Context(), cfg)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v, notes %q", err, notes)
	}
	for _, threads := range cfg.Threads {
		for _, want := range [][2]string{
			{"txn", "rwmutex"}, {"txn", "second"}, {"txn-snapshot", "rwmutex"}, {"txn-snapshot", "second"}, {"retain", "rwmutex"}, {"retain", "second"},
			{result.EmptyLoop, result.Reference}, {result.FetchAdd, result.Reference}, {result.FetchAddPadded, result.Reference},
		} {
			row := rowOf(r, want[0], want[1], threads)
			if row == nil {
				t.Errorf("no row for %v, %d threads", want, threads)
				continue
			}
			if len(row.Slices) != 3 {
				t.Errorf("%s: %d slices, want 3", row.Name(), len(row.Slices))
			}
			if row.Unit == "" || row.GC != "off" {
				t.Errorf("%s: unit %q, gc %q", row.Name(), row.Unit, row.GC)
			}
			if sampled := len(row.Latencies) > 0; sampled != (row.Variant != result.Reference) {
				t.Errorf("%s: latencies: %v", row.Name(), sampled)
			} else if sampled != (row.Sampled != nil) {
				t.Errorf("%s: the slice of the latencies is %+v", row.Name(), row.Sampled)
			}
		}
	}
	if (rowOf(r, result.PingPong, result.Reference, 2) == nil) != (rowOf(r, result.PingPong, result.Reference, 1) != nil) {
		t.Error("ping-pong is for two threads")
	}
	if row := rowOf(r, "txn-snapshot", "rwmutex", 1); row != nil {
		if v, ok := row.Param("active"); !ok || v != "3" {
			t.Errorf("params %v, want active=3", row.Params)
		}
	}
	row := rowOf(r, "retain", "rwmutex", 2)
	for _, name := range []string{"horizon-lag-xids", retainedMetric} {
		if !slices.ContainsFunc(row.Metrics, func(m result.Metric) bool { return m.Name == name }) {
			t.Errorf("%s: no metric %s in %v", row.Name(), name, row.Metrics)
		}
	}
}

// TestAllocations: what the harness does itself is not charged to a manager.
func TestAllocations(t *testing.T) {
	r, _, err := measure(t, t.Context(), small(t, []Variant{good(), {"leaky", "", func() core.Manager { return &leaky{Manager: rwmutex.New()} }}}, "txn"))
	if err != nil {
		t.Fatal(err)
	}
	if row := rowOf(r, "txn", "rwmutex", 1); row.AllocsPerOp > 0.01 {
		t.Errorf("a transaction of rwmutex allocates %v times", row.AllocsPerOp)
	}
	if row := rowOf(r, "txn", "leaky", 1); row.AllocsPerOp < 0.99 || row.BytesPerOp < 64 {
		t.Errorf("one allocation of 64 bytes a transaction is reported as %v, %v bytes", row.AllocsPerOp, row.BytesPerOp)
	}
}

type leaky struct {
	*rwmutex.Manager
	last atomic.Pointer[[64]byte]
}

func (m *leaky) Begin() core.Xid {
	m.last.Store(new([64]byte))
	return m.Manager.Begin()
}

func TestPinnedSlices(t *testing.T) {
	top := pin.ReadTopology()
	cfg := small(t, []Variant{good()}, "txn")
	cfg.CPUs, cfg.Modes = top.Order(), []Mode{{Pinned: true, GC: GCBallast}, {GC: "50"}}
	r, _, err := measure(t, t.Context(), cfg)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrPermission) {
		t.Skipf("this system does not pin: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, row := range r.Rows {
		seen[row.Mode()] += len(row.Slices)
		for _, s := range row.Slices {
			if row.Pinned && s.Contamination.Moved {
				t.Errorf("%s: a worker left its CPU", row.Name())
			}
		}
	}
	if seen["pinned, gc ballast"] == 0 || seen["unpinned, gc 50"] == 0 || len(seen) != 2 {
		t.Errorf("slices by mode: %v", seen)
	}
}

// hasty commits nothing.
type hasty struct{ *rwmutex.Manager }

func (hasty) Commit(core.Xid) error { return nil }

// moody panics now and then.
type moody struct {
	*rwmutex.Manager
	n *atomic.Int64
}

func (m moody) Begin() core.Xid {
	if m.n.Add(1) == 5000 {
		panic("moody")
	}
	return m.Manager.Begin()
}

// bare offers no capability.
type bare struct{ core.Manager }

func TestBrokenPromises(t *testing.T) {
	n := new(atomic.Int64)
	r, notes, err := measure(t, t.Context(), small(t, []Variant{
		good(),
		{"hasty", "", func() core.Manager { return hasty{rwmutex.New()} }},
		{"moody", "", func() core.Manager { return moody{rwmutex.New(), n} }},
		{"bare", "", func() core.Manager { return bare{rwmutex.New()} }},
	}, "txn", "rollback"))
	if !errors.Is(err, ErrBroken) {
		t.Fatalf("got %v, want ErrBroken", err)
	}
	for _, want := range []string{"Txn/variant=hasty/threads=1/", "Txn/variant=hasty/threads=2/", "does not include xid", "moody", "panic: moody"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error:\n%v", want, err)
		}
	}
	if !slices.ContainsFunc(notes, func(n string) bool {
		return strings.Contains(n, "bare does not run rollback: workload rollback: core.Pruner")
	}) {
		t.Errorf("notes %q do not say what bare lacks", notes)
	}
	if row := rowOf(r, "txn", "hasty", 1); row != nil {
		t.Errorf("%s is in the results though its answers are wrong", row.Name())
	}
	for _, v := range []string{"rwmutex", "bare"} {
		if row := rowOf(r, "txn", v, 2); row == nil || len(row.Slices) != 3 {
			t.Errorf("the row of %s, which is right, was lost", v)
		}
	}
}

// TestBrokenLater: a row that was saved before its variant broke a promise keeps
// no slices.
func TestBrokenLater(t *testing.T) {
	made := 0
	late := Variant{"late", "", func() core.Manager {
		if made++; made > 2 {
			return hasty{rwmutex.New()}
		}
		return rwmutex.New()
	}}
	cfg := small(t, []Variant{late}, "txn")
	cfg.Threads = []int{1}
	r, _, err := measure(t, t.Context(), cfg)
	if !errors.Is(err, ErrBroken) {
		t.Fatalf("got %v, want ErrBroken", err)
	}
	if row := rowOf(r, "txn", "late", 1); row == nil || len(row.Slices) != 0 {
		t.Errorf("row %+v, want one without slices", row)
	}
}

// TestSharedCPUs: workers that take turns on the CPUs do no more, together, than
// the CPUs can.
func TestSharedCPUs(t *testing.T) {
	rate := func(threads int) float64 {
		ref := references(threads)[0]
		r := &sliceRun{load: ref, threads: threads, clock: clock(), patience: 10 * time.Second, ramp: time.Millisecond, window: 5 * time.Millisecond}
		out, err := r.do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return out.slice.Rate()
	}
	one := 0.0
	for range 5 { // the best: others may have been disturbed
		one = max(one, rate(1))
	}
	procs := runtime.GOMAXPROCS(0)
	if many := rate(16 * procs); many > 3*float64(procs)*one {
		t.Errorf("%d workers on %d CPUs do %.3g iterations per second, one alone does %.3g", 16*procs, procs, many, one)
	}
}

// TestTurnsEnd: a worker that has left its window makes way for those that wait
// for a CPU, or a slice would last until each has had its turn among spinners.
func TestTurnsEnd(t *testing.T) {
	r := &sliceRun{load: references(1)[0], threads: 8 * runtime.GOMAXPROCS(0), clock: clock(), patience: 10 * time.Second, window: 5 * time.Millisecond}
	out, err := r.do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out.units != out.slice.Ops {
		t.Errorf("%d iterations outside of the windows, without a ramp", out.units-out.slice.Ops)
	}
}

// TestUnsaved: where the results folder has vanished, Measure says so once, and
// what was measured is still in the recorder.
func TestUnsaved(t *testing.T) {
	dir := t.TempDir()
	cfg := small(t, []Variant{good()}, "txn")
	rec, err := result.Create(dir, result.Run{Env: result.ReadEnv(pin.ReadTopology(), cfg.Clock)})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Progress = func(Progress) { os.RemoveAll(dir) }
	_, err = Measure(t.Context(), cfg, rec)
	if err == nil || strings.Count(err.Error(), "unchanged") != 1 {
		t.Errorf("got %v, want one complaint", err)
	}
	if len(rec.Run().Rows) == 0 {
		t.Error("what was measured is lost")
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := small(t, []Variant{good()}, "txn")
	cfg.Slices, cfg.Budget = 1000, time.Hour // windows of 250 ms
	slicesBegun := 0
	var interrupted time.Time
	cfg.Progress = func(p Progress) {
		if slicesBegun++; slicesBegun == 4 {
			time.AfterFunc(20*time.Millisecond, func() { interrupted = time.Now(); cancel() })
		}
	}
	r, _, err := measure(t, ctx, cfg)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	if took := time.Since(interrupted); took > 5*time.Second {
		t.Errorf("it went on for %v", took)
	}
	if len(r.Rows) != 3 {
		t.Errorf("%d rows, want the 3 that were measured", len(r.Rows))
	}
}

// stuck never returns from Commit.
type stuck struct{ *rwmutex.Manager }

func (stuck) Commit(core.Xid) error { select {} }

func TestStuckWorkers(t *testing.T) {
	cfg := small(t, []Variant{{"stuck", "", func() core.Manager { return stuck{rwmutex.New()} }}}, "txn")
	cfg.patience = 2 * time.Second // others may keep a busy machine from us for long
	_, _, err := measure(t, t.Context(), cfg)
	if !errors.Is(err, ErrBroken) || !errors.Is(err, errStuck) || !strings.Contains(err.Error(), "variant=stuck") {
		t.Errorf("got %v, want that workers of the variant make no progress", err)
	}
}

// idle finishes no unit of work.
type idle struct{}

func (idle) Name() string { return "idle" }
func (idle) Start(core.Manager, int, uint64) (workload.Run, error) {
	return referenceRun{idle{}, idle{}}, nil
}
func (idle) Step(*workload.Sampler) int { return 0 }

func TestNothingFinished(t *testing.T) {
	cfg := small(t, []Variant{good()})
	cfg.Loads = []workload.Load{idle{}}
	r, notes, err := measure(t, t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if rowOf(r, "idle", "rwmutex", 1) != nil || len(notes) != 2 || !strings.Contains(notes[0], "finished no transaction") {
		t.Errorf("notes %q; want one for each number of threads, and no row", notes)
	}
}

func TestPaced(t *testing.T) {
	cfg := small(t, []Variant{good()}, "txn")
	cfg.Threads, cfg.Slices, cfg.Paced = []int{1}, 0, true
	r, _, err := measure(t, t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	row := rowOf(r, "txn", "rwmutex", 1)
	if len(row.Slices) != minSlices {
		t.Errorf("%d slices, want %d", len(row.Slices), minSlices)
	}
	timed := map[string]int64{}
	for _, l := range row.Latencies {
		timed[l.Op] = l.Count
	}
	if timed["begin"] == 0 || timed["begin"]%32 != 0 || timed["commit"] != timed["begin"] {
		t.Errorf("timed calls %v; want all of every step, which has 32 of each", timed)
	}

	now := time.Unix(0, 0)
	cfg.Budget = time.Hour
	s := newSchedule(&cfg, plan(&cfg), now)
	if s.plan(now, true); s.window < time.Minute {
		t.Errorf("a window of %v: a pace needs all there is", s.window)
	}
	if s.plan(now, false); s.window != maxWindow {
		t.Errorf("a window of %v for a reference, want %v", s.window, maxWindow)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, spoil := range map[string]func(*Config){
		"no variants":      func(c *Config) { c.Variants = nil },
		"no workloads":     func(c *Config) { c.Loads = nil },
		"no numbers":       func(c *Config) { c.Threads = nil },
		"at least 1":       func(c *Config) { c.Threads = []int{0} },
		"no modes":         func(c *Config) { c.Modes = nil },
		"no CPUs to pin":   func(c *Config) { c.Modes = []Mode{{Pinned: true}} },
		"measures nothing": func(c *Config) { c.Budget = 0 },
		"no clock":         func(c *Config) { c.Clock = nil },
		"-1 slices":        func(c *Config) { c.Slices = -1 },
	} {
		cfg := small(t, []Variant{good()}, "txn")
		spoil(&cfg)
		if _, err := Measure(t.Context(), cfg, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
