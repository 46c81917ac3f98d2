package result

import (
	"math/rand/v2"
	"time"

	"xidlab/harness/pin"
)

// sampleRun is a small run with made-up figures: 2 threads, three variants, a
// workload with a parameter, and every kind of blemish.
func sampleRun() Run {
	r := Run{
		Schema: Schema, Xbench: "v0.1.0", Command: []string{"xbench", "run", "-quick"}, Seed: 7,
		Started:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Finished: time.Date(2026, 1, 2, 3, 5, 5, 0, time.UTC),
		Env: Env{
			OS: "linux", Arch: "amd64", CPU: "AMD EPYC 7R13 Processor", Online: "0-1", Allowed: "0-1", SMT: "off", Nodes: 1,
			Caches: "L1d 32K, L2 512K, L3 32768K", Governor: unknown, Turbo: unknown, Hypervisor: "kvm", Kernel: "6.1.0",
			Mitigations: "none needed", Quota: "none", Go: "go1.26.0", GOMAXPROCS: 2, ClockSource: "tsc", Clock: "tsc",
		},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	add := func(workload, variant string, threads int, ns, allocs float64, params ...Param) *Row {
		row := Row{Workload: workload, Variant: variant, Threads: threads, Pinned: true, GC: "off", Unit: "transaction",
			Params: params, AllocsPerOp: allocs, BytesPerOp: allocs * 16, GCPause: 0}
		for range 7 {
			s := Slice{Seconds: 0.1, Contamination: Contamination{Involuntary: 1, Steal: 0, CoRun: 0.99, RunDelay: time.Millisecond}}
			for range threads {
				ops := int64(0.1e9 / ns * (1 + 0.04*rng.Float64()))
				s.WorkerOps = append(s.WorkerOps, ops)
				s.Ops += ops
			}
			row.Slices = append(row.Slices, s)
		}
		r.Rows = append(r.Rows, row)
		return &r.Rows[len(r.Rows)-1]
	}
	add(FetchAdd, Reference, 1, 4.2, 0)
	add(FetchAdd, Reference, 2, 40, 0)
	add(FetchAddPadded, Reference, 1, 4.2, 0)
	add(FetchAddPadded, Reference, 2, 4.2, 0)
	for _, active := range []string{"0", "4096"} {
		for threads := 1; threads <= 2; threads++ {
			for i, variant := range []string{"rwmutex", "sharded", "epoch"} {
				ns := []float64{120, 200, 61}[i] * float64(threads)
				if variant == "rwmutex" && active == "4096" {
					ns *= 80
				}
				add("idle-active", variant, threads, ns, []float64{1.5, 3, 0}[i], Param{Key: "active", Value: active})
			}
		}
	}
	short := add("short-transactions", "epoch", 2, 90, 0.001)
	short.Metrics = []Metric{{"horizon-lag-xids", 12.5}}
	short.Counters = []Counter{{Name: "pushes", Meaning: "a reader left a trace", Value: 1.5}, {Name: "gaps", Meaning: "in the log", Value: 2, Gauge: true}}
	short.Latencies = []Latency{{Op: "commit", Count: 5000, Max: 90000, Quantiles: []Quantile{{0.5, 40}, {0.9, 55}, {0.99, 210}}}}
	short.Sampled = &Slice{Ops: 2e6, Seconds: 0.1, WorkerOps: []int64{1e6, 1e6}, Contamination: Contamination{CoRun: 0.99}}
	for i := range short.Slices {
		short.Slices[i].Contamination = Contamination{RunDelay: 150 * time.Millisecond, Voluntary: pin.Unknown, Involuntary: pin.Unknown, Steal: pin.Unknown, Pressure: pin.Unknown, CoRun: 0.4}
	}
	return r
}
