package variants

import (
	"testing"

	"xidlab/core"
	"xidlab/core/coretest"
	"xidlab/core/spec"
	"xidlab/harness/trace"
	"xidlab/harness/trace/replay"
)

func TestManagers(t *testing.T) {
	for _, v := range All {
		t.Run(v.Name, func(t *testing.T) { coretest.TestManager(t, v.New) })
	}
}

// One fuzz target a variant: go test -fuzz cannot choose among subtests.

func FuzzRWMutex(f *testing.F) { coretest.FuzzManager(f, variant(f, "rwmutex").New) }
func FuzzSharded(f *testing.F) { coretest.FuzzManager(f, variant(f, "sharded").New) }
func FuzzEpoch(f *testing.F)   { coretest.FuzzManager(f, variant(f, "epoch").New) }

func variant(t testing.TB, name string) Variant {
	for _, v := range All {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no variant %s", name)
	panic("unreachable")
}

// TestTraceAgreement plays the recorded PostgreSQL workload in its one global
// order. Every commit, every rollback and every sampled visibility probe at
// every snapshot has the specification's answer.
func TestTraceAgreement(t *testing.T) {
	tr, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	probes := replay.Probes{PerUse: 8, HorizonEvery: 200, Seed: 1}
	want, err := replay.Serial(spec.New(), tr, probes)
	if err != nil {
		t.Fatal(err)
	}
	commits, rollbacks, yes, no := want.Count()
	if commits < 1000 || rollbacks < 50 || yes < 1000 || no < 1000 {
		t.Fatalf("%d commits, %d rollbacks, %d probes included, %d not: too little to agree on", commits, rollbacks, yes, no)
	}
	for _, v := range All {
		t.Run(v.Name, func(t *testing.T) {
			got, err := replay.Serial(v.New(), tr, probes)
			if err != nil {
				t.Fatal(err)
			}
			if d := replay.Diff(got, want); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestConcurrentReplay plays it from several workers at once, over and over;
// the workers check their own invariants (own writes seen, later ones not, the
// horizon at or below what they hold).
func TestConcurrentReplay(t *testing.T) {
	tr, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	const workers = 4
	transactions := 40_000
	if testing.Short() {
		transactions = 8_000
	}
	for _, v := range All {
		t.Run(v.Name, func(t *testing.T) {
			load, err := replay.NewLoad("pgbench-mixed", tr, 0)
			if err != nil {
				t.Fatal(err)
			}
			run, err := load.Start(v.New(), workers, 1)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan int)
			for i := range workers {
				go func() {
					n := 0
					for w := run.Worker(i); n < transactions/workers; {
						n += w.Step(nil)
					}
					done <- n
				}()
			}
			total := 0
			for range workers {
				total += <-done
			}
			metrics, err := run.Finish()
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d transactions; %v", total, metrics)
		})
	}
}

// TestEpochSnapshotIsFlat: a snapshot of epoch allocates nothing, whatever is
// active. That it costs the same is for BenchmarkSnapshot to show.
func TestEpochSnapshotIsFlat(t *testing.T) {
	for _, active := range []int{0, 4096} {
		m := withActive(variant(t, "epoch"), active)
		if n := testing.AllocsPerRun(1000, func() { sink = m.Snapshot(core.None) }); n != 0 {
			t.Errorf("with %d active transactions a snapshot allocates %v times", active, n)
		}
	}
}

var sink core.Snapshot

func withActive(v Variant, active int) core.Manager {
	m := v.New()
	for range active {
		m.Begin()
	}
	return m
}
