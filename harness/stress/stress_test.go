package stress

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"xidlab/core"
	"xidlab/harness/history"
	"xidlab/harness/pin"
	"xidlab/harness/record"
	"xidlab/harness/trace"
	"xidlab/harness/trace/replay"
	"xidlab/harness/workload"
	"xidlab/variants/rwmutex"
)

func sound() core.Manager { return rwmutex.New() }

// modes are all kinds of modes that this machine has.
func modes(t testing.TB) []Mode {
	modes := []Mode{{Workers: 2}, {Workers: 2, Pressure: true}, {Workers: 8}}
	cpus := pin.ReadTopology().Order()
	if len(cpus) < 2 {
		return modes
	}
	pinned := make(chan bool)
	go func() {
		_, err := pin.Thread(cpus[0])
		pinned <- err == nil
	}()
	if <-pinned {
		modes = append(modes, Mode{Workers: 2, CPUs: cpus})
	}
	return modes
}

func clocks(t testing.TB) []*record.Clock {
	clocks := []*record.Clock{record.NewCounter()}
	if tsc, err := record.NewTSC(pin.ReadTopology().Order()); err == nil {
		clocks = append(clocks, tsc)
	}
	return clocks
}

func scripts() (loads []workload.Load) {
	for _, s := range Scripts() {
		loads = append(loads, s)
	}
	return loads
}

// TestEveryKind: one script alone makes every kind of operation.
func TestEveryKind(t *testing.T) {
	all := scripts()
	kinds := map[history.Kind]int{}
	rep, err := Run(context.Background(), Config{
		Manager: sound, Loads: all[len(all)-1:], Modes: modes(t), Clocks: clocks(t), Budget: 500 * time.Millisecond,
		Recorded: func(_ Cell, h *history.History) error {
			for _, o := range h.Ops {
				kinds[o.Kind]++
			}
			return nil
		},
	})
	if err != nil || rep.Violation != nil {
		t.Fatalf("%v, %+v", err, rep.Violation)
	}
	for k := history.Begin; k <= history.ReservesUniqueKey; k++ {
		if kinds[k] == 0 && k != history.IsActive { // which is Status
			t.Errorf("no %v was recorded", k)
		}
	}
}

// TestEverything: scripts, workloads and a trace, in all modes, give valid
// histories and no violation.
func TestEverything(t *testing.T) {
	loads := scripts()
	for _, m := range workload.All() {
		loads = append(loads, m)
	}
	tr, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	l, err := replay.NewLoad("trace", tr, 0)
	if err != nil {
		t.Fatal(err)
	}
	loads = append(loads, l)
	seen, progress := map[string]bool{}, 0.0
	rep, err := Run(context.Background(), Config{
		Name: "rwmutex", Manager: sound, Loads: loads, Modes: modes(t), Clocks: clocks(t), Budget: 1500 * time.Millisecond, Seed: 1,
		Recorded: func(c Cell, h *history.History) error {
			seen[c.Load] = true
			if h.Manager != "rwmutex" {
				t.Errorf("a history of %q", h.Manager)
			}
			return h.Validate()
		},
		Progress: func(done float64, _ string) {
			if done < progress || done > 1 {
				t.Errorf("progress goes from %v to %v", progress, done)
			}
			progress = done
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := rep.Violation; v != nil {
		t.Fatalf("%v: %s", v.Cell, v.Proof)
	}
	if rep.Ops == 0 || rep.Answers == 0 || rep.Recording <= 0 || rep.Judging <= 0 || rep.Memory <= 0 || rep.Cells+rep.Left < len(loads) {
		t.Errorf("report %+v", rep)
	}
	t.Logf("%d recordings of %d loads, %d left: %+v", rep.Cells, len(seen), rep.Left, rep.Coverage)
}

// A blocking manager lets one Commit in a hundred wait for ever.
type blocking struct {
	*rwmutex.Manager
	commits atomic.Int32
	hung    chan struct{}
}

func (b *blocking) Commit(x core.Xid) error {
	if b.commits.Add(1) == 100 {
		<-b.hung
	}
	return b.Manager.Commit(x)
}

// TestBlocks: a worker that does not come back is a violation, which names the
// operation; the history has it as one that never returned.
func TestBlocks(t *testing.T) {
	m := &blocking{Manager: rwmutex.New(), hung: make(chan struct{})}
	defer close(m.hung)
	rep, err := Run(context.Background(), Config{
		Manager: func() core.Manager { return m }, Loads: scripts()[:1], Modes: []Mode{{Workers: 2}}, Clocks: clocks(t)[:1],
		Budget: 20 * time.Second, patience: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	v := rep.Violation
	if v == nil || len(v.Proof.Ops) == 0 || !strings.Contains(v.Proof.Text, "has not come back") || !strings.Contains(v.Proof.Text, "has not returned from Commit(") {
		t.Fatalf("got %+v", v)
	}
	if err := v.History.Validate(); err != nil {
		t.Error(err)
	}
}

// A panicking manager panics, or loses a lock, once.
type panicking struct {
	*rwmutex.Manager
	commits atomic.Int32
}

func (p *panicking) Commit(x core.Xid) error {
	if p.commits.Add(1) == 100 {
		panic("out of luck")
	}
	return p.Manager.Commit(x)
}

func TestPanics(t *testing.T) {
	rep, err := Run(context.Background(), Config{
		Manager: func() core.Manager { return &panicking{Manager: rwmutex.New()} }, Loads: scripts()[:1], Modes: []Mode{{Workers: 2}}, Clocks: clocks(t)[:1],
		Budget: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	v := rep.Violation
	if v == nil || !strings.Contains(v.Proof.Text, "panicked: out of luck") || !strings.Contains(v.Proof.Text, "stress_test.go") || !strings.Contains(v.Proof.Text, "has not returned from Commit(") {
		t.Fatalf("got %+v", v)
	}
}

// A noticing load finds at the end that a promise was broken.
type noticing struct{ m core.Manager }

func (noticing) Name() string { return "noticing" }
func (noticing) Start(m core.Manager, _ int, _ uint64) (workload.Run, error) {
	return noticing{m}, nil
}
func (n noticing) Worker(i int) workload.Worker { return noticingWorker{workload.For(n.m, i)} }
func (noticing) Finish() ([]workload.Metric, error) {
	return nil, errors.New("a row was lost\nand another one")
}

type noticingWorker struct{ core.Manager }

func (w noticingWorker) Step(*workload.Sampler) int {
	_ = w.Commit(w.Begin())
	return 1
}

// TestLoadNotices: what a load notices itself is a violation, though the history
// shows none.
func TestLoadNotices(t *testing.T) {
	rep, err := Run(context.Background(), Config{
		Manager: sound, Loads: []workload.Load{noticing{}}, Modes: []Mode{{Workers: 2}}, Clocks: clocks(t)[:1], Budget: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := rep.Violation; v == nil || v.Proof.Text != "a row was lost; and another one" || rep.Ops == 0 {
		t.Errorf("got %+v, %+v", v, rep.Coverage)
	}
}

// TestInterrupt: an end of the context ends the stress within a moment, and what
// was done is reported.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	recordings := 0
	began := time.Now()
	rep, err := Run(ctx, Config{
		Manager: sound, Loads: scripts(), Modes: modes(t), Clocks: clocks(t)[:1], Budget: time.Hour,
		Recorded: func(Cell, *history.History) error {
			if recordings++; recordings == 2 {
				cancel()
			}
			return nil
		},
	})
	if !errors.Is(err, context.Canceled) || rep == nil || rep.Ops == 0 || time.Since(began) > time.Minute {
		t.Errorf("after %v: %v, %+v", time.Since(began), err, rep)
	}
}

// TestSaveFails: an error of who keeps recordings ends the stress.
func TestSaveFails(t *testing.T) {
	full := errors.New("the disk is full")
	_, err := Run(context.Background(), Config{
		Manager: sound, Loads: scripts(), Modes: modes(t), Clocks: clocks(t)[:1], Budget: time.Hour,
		Recorded: func(Cell, *history.History) error { return full },
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// TestCapabilitiesMissing: a manager without capabilities is stressed with what it
// has, and the rest is named.
func TestCapabilitiesMissing(t *testing.T) {
	kinds := map[history.Kind]int{}
	run := func(budget time.Duration, names ...string) *Report {
		loads := scripts()
		for _, m := range workload.All() {
			loads = append(loads, m)
		}
		loads = slices.DeleteFunc(loads, func(l workload.Load) bool { return !slices.Contains(names, l.Name()) })
		rep, err := Run(context.Background(), Config{
			Name: "plain", Manager: func() core.Manager { return struct{ core.Manager }{rwmutex.New()} },
			Loads: loads, Modes: []Mode{{Workers: 2}}, Clocks: clocks(t), Budget: budget,
			Recorded: func(_ Cell, h *history.History) error {
				for _, o := range h.Ops {
					kinds[o.Kind]++
				}
				return nil
			},
		})
		if err != nil || rep.Violation != nil || len(loads) != len(names) {
			t.Fatalf("%d loads, %v, %+v", len(loads), err, rep.Violation)
		}
		return rep
	}
	lack := []string{"retain", "stress/pins", "stress/keys"}
	notes := strings.Join(run(time.Hour, lack...).Notes, "\n") // it ends when nothing is left to do
	for _, name := range lack {
		if !strings.Contains(notes, "plain does not run "+name+": ") {
			t.Errorf("notes\n%s\nnot about %s", notes, name)
		}
	}
	if rep := run(300*time.Millisecond, "txn", "stress/everything"); len(rep.Notes) > 0 || kinds[history.Begin] == 0 || kinds[history.Retain] > 0 {
		t.Errorf("notes %q, recorded %v", rep.Notes, kinds)
	}
}

func TestScriptNeedsRecorder(t *testing.T) {
	if _, err := Scripts()[0].Start(sound(), 2, 1); !errors.Is(err, errNotRecorded) {
		t.Errorf("got %v", err)
	}
}
