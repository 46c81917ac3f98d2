package replay_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"xidlab/core"
	"xidlab/core/spec"
	"xidlab/harness/trace"
	"xidlab/harness/trace/replay"
	"xidlab/harness/workload"
)

// drive runs a load until its workers have done so many units together.
func drive(t testing.TB, l *replay.Load, m core.Manager, workers, units int, s func() *workload.Sampler) (map[string]float64, error) {
	t.Helper()
	run, err := l.Start(m, workers, 7)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			w, smp := run.Worker(i), s()
			for n := 0; n < (units+workers-1)/workers; {
				n += w.Step(smp)
			}
		})
	}
	wg.Wait()
	metrics, err := run.Finish()
	out := map[string]float64{}
	for _, m := range metrics {
		if _, dup := out[m.Name]; dup || strings.ContainsAny(m.Name, " \t") {
			t.Errorf("metric %q is there twice, or is no unit", m.Name)
		}
		out[m.Name] = m.Value
	}
	return out, err
}

func noSampler() *workload.Sampler { return nil }

func load(t testing.TB, tr *trace.Trace, pace float64) *replay.Load {
	l, err := replay.NewLoad("trace", tr, pace)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLoadKeepsPromises: a manager that is right passes all checks, with any
// number of workers, more than there are sessions included.
func TestLoadKeepsPromises(t *testing.T) {
	tr := part(t)
	st := tr.Stats()
	if _, err := drive(t, load(t, released(), 0), newLocked(), 2, 2000, noSampler); err != nil {
		t.Error(err)
	}
	for _, workers := range []int{1, 2, 3, 25} {
		got, err := drive(t, load(t, tr, 0), newLocked(), workers, 2*st.Transactions, noSampler)
		if err != nil {
			t.Errorf("%d workers: %v", workers, err)
		}
		if got["horizon-samples"] < 5 || got["visibility-checks"] < 1000 || got["horizon-lag-max-xids"] < 1 {
			t.Errorf("%d workers: too little was checked: %v", workers, got)
		}
		for _, name := range []string{"savepoints-with-parent-xid", "allocate-committed-by-begin-and-commit", "transaction-snapshots-unguarded"} {
			if got[name] != 0 {
				t.Errorf("%d workers: %s = %v with every capability", workers, name, got[name])
			}
		}
	}
}

// TestLoadSubstitutes: what a manager does not offer is replaced and counted.
func TestLoadSubstitutes(t *testing.T) {
	tr := part(t)
	st := tr.Stats()
	got, err := drive(t, load(t, tr, 0), bare{spec.New()}, 1, st.Transactions, noSampler)
	if err != nil {
		t.Fatal(err)
	}
	savepointWrites := 0.0
	for _, op := range tr.Ops {
		if op.Kind == trace.Draw && op.Level > 0 {
			savepointWrites++
		}
	}
	for name, want := range map[string]float64{
		"savepoints-with-parent-xid":                  savepointWrites,
		"allocate-committed-by-begin-and-commit":      float64(st.Allocated),
		"serializable-as-snapshot-isolation-sessions": float64(st.SerializableSessions),
		"serializable-as-snapshot-isolation-txns":     float64(st.ByIsolation[trace.Serializable]),
	} {
		// The last step may begin another lap.
		if got[name] < want || got[name] > want+64 || want == 0 {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	if got["transaction-snapshots-unguarded"] == 0 {
		t.Error("unguarded snapshots are not counted")
	}
}

// TestLoadNoticesWrongManagers: each broken promise is the error of Finish.
func TestLoadNoticesWrongManagers(t *testing.T) {
	for name, c := range mutants() {
		l := load(t, part(t), 0)
		if c.m.splitsGroup {
			l = load(t, released(), 0)
		}
		_, err := drive(t, l, c.m, 1, 3000, noSampler)
		if err == nil || !strings.Contains(err.Error(), c.concurrent) {
			t.Errorf("%s: got %v, want %q", name, err, c.concurrent)
		}
	}
}

// TestLoadOverlaps: the long reader stays open while its worker goes on, and
// holds the horizon back.
func TestLoadOverlaps(t *testing.T) {
	tr := &trace.Trace{
		Sessions: []string{"reader", "writer"},
		Objects:  []trace.Object{{Table: "t"}},
		Ops: []trace.Op{
			{Kind: trace.Begin, Isolation: trace.RepeatableRead},
			{Kind: trace.Snapshot},
		},
	}
	const writes = 1000
	for i := range uint32(writes) {
		tr.Ops = append(tr.Ops, trace.Op{Kind: trace.AllocateCommitted, Session: 1, Tx: i + 1})
	}
	tr.Ops = append(tr.Ops, trace.Op{Kind: trace.Read}, trace.Op{Kind: trace.Commit})
	got, err := drive(t, load(t, tr, 0), newLocked(), 1, 3*writes, noSampler)
	if err != nil {
		t.Fatal(err)
	}
	if lag := got["horizon-lag-max-xids"]; lag < writes-200 || lag > writes+1 {
		t.Errorf("the horizon lags by %v xids behind a reader that overlaps %d writes", lag, writes)
	}
}

// TestStepAllocatesNothing, beyond what the manager does.
func TestStepAllocatesNothing(t *testing.T) {
	run, err := load(t, part(t), 0).Start(newQuick(1<<21), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := run.Worker(0)
	clock := int64(0)
	s := workload.NewSampler(3, func() int64 { clock += 5; return clock }, 1)
	if n := testing.AllocsPerRun(2000, func() { w.Step(s) }); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
	if _, err := run.Finish(); err != nil {
		t.Error(err)
	}
	for _, op := range []workload.Op{workload.OpBegin, workload.OpSnapshot, workload.OpIncludes, workload.OpCommit, workload.OpRollback, workload.OpAllocateCommitted, workload.OpOldestActive} {
		if s.Histogram(op).TotalCount() == 0 {
			t.Errorf("%v is not timed", op)
		}
	}
}

// TestLoadTimesEverything: with all capabilities, every kind of call is timed. (No
// trace asks for a status.)
func TestLoadTimesEverything(t *testing.T) {
	clock := int64(0)
	s := workload.NewSampler(1, func() int64 { clock += 5; return clock }, 1)
	if _, err := drive(t, load(t, part(t), 0), newLocked(), 1, 2500, func() *workload.Sampler { return s }); err != nil {
		t.Fatal(err)
	}
	for op := range workload.NumOps {
		if h := s.Histogram(op); op != workload.OpStatus && (h.TotalCount() == 0 || h.Max() != 4) {
			t.Errorf("%v: %d samples, at most %d ticks, want some of 4", op, h.TotalCount(), h.Max())
		}
	}
}

// TestPace: at a pace nothing starts early, and latency counts from the intended
// start, so that a stall is charged to what it delays.
func TestPace(t *testing.T) {
	tr := &trace.Trace{Sessions: []string{"a"}, Objects: []trace.Object{{Table: "t"}}}
	for i := range uint32(100) {
		tr.Ops = append(tr.Ops, trace.Op{Kind: trace.AllocateCommitted, Tx: i, At: time.Duration(i) * time.Millisecond})
	}
	const factor = 2
	run, err := load(t, tr, factor).Start(newLocked(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := run.Worker(0)
	began := time.Now()
	s := workload.NewSampler(1, func() int64 { return int64(time.Since(began)) * 3 }, 0) // ticks of a third of a nanosecond
	const stall = 20 * time.Millisecond
	for n, stalled := 0, false; n < 99; {
		n += w.Step(s)
		if !stalled && n > 30 {
			stalled = true
			time.Sleep(stall)
		}
		// n have started, so the n-1st was due; the first when Step was first called.
		if due := time.Duration(n-1) * time.Millisecond / factor; n > 0 && time.Since(began) < due {
			t.Fatalf("%d operations after %v: early", n, time.Since(began))
		}
	}
	metrics, err := run.Finish()
	if err != nil {
		t.Error(err)
	}
	h := s.Histogram(workload.OpAllocateCommitted)
	if max := h.Max() / 3; max < int64(stall)/2 {
		t.Errorf("the largest latency is %v, after a stall of %v", time.Duration(max), stall)
	}
	if last := metrics[len(metrics)-1]; last.Name != "behind-max-ns" || last.Value < float64(stall)/2 {
		t.Errorf("%v, after a stall of %v", last, stall)
	}
}

func TestLoadBadInput(t *testing.T) {
	tr := part(t)
	for want, make := range map[string]func() (*replay.Load, error){
		"no operations":   func() (*replay.Load, error) { return replay.NewLoad("x", &trace.Trace{}, 0) },
		"a pace of -1":    func() (*replay.Load, error) { return replay.NewLoad("x", tr, -1) },
		"no such session": func() (*replay.Load, error) { return replay.NewLoad("x", &trace.Trace{Ops: tr.Ops}, 0) },
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	l := load(t, tr, 0)
	if _, err := l.Start(newLocked(), 0, 0); err == nil || l.Name() != "trace" {
		t.Errorf("0 workers: %v; name %q", err, l.Name())
	}
}

func ExampleLoad() {
	tr, err := trace.Pgbench()
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := replay.NewLoad("trace", tr, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := l.Start(newLocked(), 1, 42)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, transactions := run.Worker(0), 0
	for transactions < 1000 {
		transactions += w.Step(nil)
	}
	metrics, err := run.Finish()
	fmt.Println(err, metrics[0].Name)
	// Output:
	// <nil> horizon-lag-median-xids
}

// counted counts the begins of each worker.
type counted struct {
	*locked
	begins []int // the last one is for whoever prepares
	worker int
}

func (c counted) Begin() core.Xid {
	c.begins[c.worker]++
	return c.locked.Begin()
}

func (c counted) Worker(i int) core.Manager { return counted{c.locked, c.begins, i} }

// TestPerWorker: a worker calls its own manager, if the load is given one for each.
func TestPerWorker(t *testing.T) {
	m := counted{newLocked(), make([]int, 3), 2}
	run, err := load(t, part(t), 0).Start(m, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 500; {
		n += run.Worker(1).Step(nil)
	}
	if m.begins[0] != 0 || m.begins[1] == 0 || m.begins[2] != 0 {
		t.Errorf("worker 1 steps, and begins are counted for %v", m.begins)
	}
	if _, err := run.Finish(); err != nil {
		t.Error(err)
	}
}
