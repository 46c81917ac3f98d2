package result

import (
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"xidlab/harness/pin"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Summary
	}{
		{[]float64{5}, Summary{1, 5, 5, 5, 0}},
		{[]float64{3, 1, 2}, Summary{3, 2, 1, 3, 0.75}},
		{[]float64{4, 1, 3, 2}, Summary{4, 2.5, 1, 4, 0.875}},
	} {
		if got := Summarize(c.values); got != c.want {
			t.Errorf("%v: got %+v, want %+v", c.values, got, c.want)
		}
	}
	// Of 6 values the range is an interval of 1 - 2^-5.
	got := Summarize([]float64{6, 5, 4, 3, 2, 1})
	if got.Median != 3.5 || got.Lo != 1 || got.Hi != 6 || math.Abs(got.Confidence-31.0/32) > 1e-9 {
		t.Errorf("six values: %+v", got)
	}
	if s := (Summary{Median: 10, Lo: 9, Hi: 13}).Spread(); math.Abs(s-0.3) > 1e-12 {
		t.Errorf("spread %v", s)
	}
}

// row makes a row whose slices have those nanoseconds per op.
func row(workload, variant string, threads int, ns ...float64) Row {
	r := Row{Workload: workload, Variant: variant, Threads: threads, Pinned: true, GC: "off"}
	for _, x := range ns {
		const each = 1_000_000
		s := Slice{Seconds: x * each / 1e9, Ops: int64(threads * each), Contamination: Contamination{CoRun: 1}}
		for range threads {
			s.WorkerOps = append(s.WorkerOps, each)
		}
		r.Slices = append(r.Slices, s)
	}
	return r
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

func TestFigures(t *testing.T) {
	r := &Run{Rows: []Row{
		row(FetchAddPadded, Reference, 1, 5, 5, 5),
		row(FetchAddPadded, Reference, 2, 50, 40, 60),
		row("w", Baseline, 2, 100, 200, 400), // the machine slows down …
		row("w", "fast", 2, 50, 100, 200),    // … for both
		row("w", "fewer", 2, 100),
		row("w", "alone", 4, 10),
	}}
	f := r.Figures(&r.Rows[3])
	if !near(f.NsPerOp.Median, 100) || !near(f.Rate.Median, 2e7) {
		t.Errorf("%+v: want 100 ns per op of a worker, 20 million ops per second of both", f)
	}
	if !near(f.Multiple, 2) {
		t.Errorf("multiple %v, want 2 of the reference row of 2 threads", f.Multiple)
	}
	if f.Ratio.N != 3 || !near(f.Ratio.Lo, 0.5) || !near(f.Ratio.Hi, 0.5) {
		t.Errorf("ratio %+v: pairs should cancel the drift", f.Ratio)
	}
	if f := r.Figures(&r.Rows[4]); !near(f.Ratio.Median, 1) || f.Ratio.N != 1 {
		t.Errorf("unequal numbers of slices: ratio %+v, want that of the one pair", f.Ratio)
	}
	if f := r.Figures(&r.Rows[5]); f.Multiple != 0 || f.Ratio.N != 0 {
		t.Errorf("nothing to compare with: %+v", f)
	}
	// An unpinned row is measured by the pinned reference if there is no other.
	r.Rows[5].Threads, r.Rows[5].Pinned = 1, false
	r.Rows[5].Slices[0].WorkerOps = r.Rows[5].Slices[0].WorkerOps[:1]
	if f := r.Figures(&r.Rows[5]); f.Multiple == 0 {
		t.Error("no multiple for an unpinned row")
	}
}

func TestContaminated(t *testing.T) {
	clean := Contamination{CoRun: 0.99, RunDelay: time.Millisecond}
	for _, c := range []struct {
		name        string
		change      func(*Contamination)
		bad, aparts bool
	}{
		{"clean", func(*Contamination) {}, false, false},
		{"context switches alone", func(c *Contamination) { c.Involuntary = 100 }, false, false},
		{"waited for a CPU", func(c *Contamination) { c.CoRun, c.RunDelay = 0.9, 20*time.Millisecond }, true, false},
		{"had less than half", func(c *Contamination) { c.CoRun, c.RunDelay = 0.5, time.Second }, true, true},
		{"blocked, perhaps", func(c *Contamination) { c.CoRun, c.RunDelay = 0.9, pin.Unknown }, false, false},
		{"one tick of steal, perhaps from before", func(c *Contamination) { c.Steal = 10 * time.Millisecond }, false, false},
		{"stolen", func(c *Contamination) { c.Steal = 50 * time.Millisecond }, true, false},
		{"moved", func(c *Contamination) { c.Moved = true }, true, false},
		{"nothing is known", func(c *Contamination) {
			*c = Contamination{pin.Unknown, pin.Unknown, pin.Unknown, pin.Unknown, pin.Unknown, pin.Unknown, false}
		}, false, false},
	} {
		s := Slice{Seconds: 0.1, Ops: 20, WorkerOps: []int64{10, 10}, Contamination: clean}
		c.change(&s.Contamination)
		if got := s.Contaminated(); (got != "") != c.bad {
			t.Errorf("%s: contaminated: %q", c.name, got)
		}
		if got := s.Apart(); got != c.aparts {
			t.Errorf("%s: apart: %v", c.name, got)
		}
	}
}

func TestNewContamination(t *testing.T) {
	workers := []pin.Usage{
		{CPU: 90, RunDelay: 10, Voluntary: 1, Involuntary: 2},
		{CPU: 50, RunDelay: 50, Voluntary: 3, Involuntary: 4},
	}
	got := NewContamination(100, 2, workers, pin.Disturbance{Steal: 5, Pressure: pin.Unknown})
	want := Contamination{RunDelay: 60, Voluntary: 4, Involuntary: 6, Steal: 5, Pressure: pin.Unknown, CoRun: 0.5}
	if got != want {
		t.Errorf("pinned: %+v, want %+v", got, want)
	}
	process := []pin.Usage{{CPU: 150, RunDelay: pin.Unknown, Voluntary: 1, Involuntary: 2}}
	if got := NewContamination(100, 2, process, pin.Disturbance{}); got.CoRun != 0.75 || got.RunDelay != pin.Unknown {
		t.Errorf("unpinned: %+v, want 150 of 200 ns", got)
	}
	if got := NewContamination(100, 2, nil, pin.Disturbance{}); got.CoRun != pin.Unknown || got.Voluntary != pin.Unknown {
		t.Errorf("no usage: %+v", got)
	}
}

func TestNewLatency(t *testing.T) {
	h := hdrhistogram.New(1, 1<<40, 3)
	for i := range int64(2000) {
		if err := h.RecordValue(i + 1); err != nil {
			t.Fatal(err)
		}
	}
	l := NewLatency("commit", h, func(ticks int64) float64 { return float64(ticks) / 2 })
	if l.Op != "commit" || l.Count != 2000 || math.Abs(l.Max-1000) > 1 {
		t.Errorf("%+v", l)
	}
	for q, want := range map[float64]float64{0.5: 500, 0.9: 900, 0.99: 990} {
		if got, ok := l.At(q); !ok || math.Abs(got-want) > want/500 {
			t.Errorf("quantile %v: %v, %v; want %v", q, got, ok, want)
		}
	}
	if ns, ok := l.At(0.999); ok {
		t.Errorf("2 calls beyond the quantile .999, and yet it is %v", ns)
	}
	if l := NewLatency("commit", hdrhistogram.New(1, 10, 1), nil); l.Count != 0 || l.Quantiles != nil {
		t.Errorf("of nothing: %+v", l)
	}
}
