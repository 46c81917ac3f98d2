package plot

import (
	"math/rand/v2"
	"strconv"
	"time"

	"xidlab/harness/result"
)

// sampleRun is a run with made-up figures on the given numbers of threads.
func sampleRun(threads ...int) *result.Run {
	r := &result.Run{
		Schema: result.Schema, Xbench: "v0", Seed: 1,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Env: result.Env{
			OS: "linux", Arch: "amd64", CPU: "AMD EPYC 7R13 Processor", Online: "0-1", Allowed: "0-1",
			Kernel: "6.1.0", Go: "go1.26.0", GOMAXPROCS: 2,
		},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	add := func(workload, variant string, threads int, pinned bool, ns float64, params ...result.Param) *result.Row {
		row := result.Row{Workload: workload, Variant: variant, Threads: threads, Pinned: pinned, GC: "off", Unit: "transaction", Params: params}
		for range 7 {
			s := result.Slice{Seconds: 0.1, Contamination: result.Contamination{CoRun: 1}}
			for range threads {
				ops := int64(0.1e9/ns*(0.9+0.2*rng.Float64())) + 1
				s.WorkerOps = append(s.WorkerOps, ops)
				s.Ops += ops
			}
			row.Slices = append(row.Slices, s)
		}
		r.Rows = append(r.Rows, row)
		return &r.Rows[len(r.Rows)-1]
	}
	variants := []string{"rwmutex", "sharded", "epoch-ordered"}
	for _, n := range threads {
		add(result.FetchAdd, result.Reference, n, true, 5*float64(n))
		for i, v := range variants {
			scale := []float64{1.3, 0.8, 0.35}[i]*float64(n-1) + 1
			row := add("short-transactions", v, n, true, []float64{120, 130, 118}[i]*scale)
			if n == 2 && v == "sharded" {
				for j := range row.Slices {
					row.Slices[j].Contamination.CoRun = 0.4
				}
			}
			for k, op := range []string{"begin", "snapshot", "commit"} {
				lat := result.Latency{Op: op, Count: 100000, Max: 1e6}
				for _, q := range []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999} {
					lat.Quantiles = append(lat.Quantiles, result.Quantile{Q: q, Nanoseconds: float64(20+10*i+5*k) * nines(q) / (1 + nines(q)/400)})
				}
				row.Latencies = append(row.Latencies, lat)
			}
			sampled := row.Slices[0]
			sampled.Contamination = result.Contamination{CoRun: 1}
			if n == 4 && v == "epoch-ordered" {
				sampled.Contamination.CoRun = 0.4
			}
			row.Sampled = &sampled
			for _, active := range []int{0, 16, 256, 4096} {
				ns := []float64{110 + 2*float64(active), 200, 62}[i] * scale
				p := result.Param{Key: "active", Value: strconv.Itoa(active)}
				add("idle-active", v, n, true, ns, p)
				add("idle-active", v, n, false, ns*1.2, p)
			}
		}
	}
	return r
}
