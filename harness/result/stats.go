package result

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// confidence of the intervals, where there are slices enough.
const confidence = 0.95

// A Summary is a median and an interval for it that assumes nothing about the
// distribution, only that the values are independent. Slices that follow one
// another on a shared machine are not quite, so the true confidence is lower.
type Summary struct {
	N          int     // of values
	Median     float64 // in the unit of the values, as are Lo and Hi
	Lo, Hi     float64 // ends of the interval
	Confidence float64 // that the true median lies between Lo and Hi
}

// Summarize returns the summary of at least one value. With fewer than six
// values an interval of 95 % confidence would be infinite; then it is the range
// of the values, which holds the median with confidence 1 - 2^(1-n).
func Summarize(values []float64) Summary {
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	b := benchmath.AssumeNothing.Summary(sample, confidence)
	s := Summary{N: len(values), Median: b.Center, Lo: b.Lo, Hi: b.Hi, Confidence: b.Confidence}
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		s.Lo, s.Hi = slices.Min(values), slices.Max(values)
		s.Confidence = 1 - math.Exp2(float64(1-len(values)))
	}
	return s
}

// Spread is the farther end of the interval, as a share of the median.
func (s Summary) Spread() float64 { return max(s.Hi-s.Median, s.Median-s.Lo) / s.Median }

// Figures are what a table says about a row.
type Figures struct {
	NsPerOp Summary // see [Slice.NsPerOp]
	Rate    Summary // see [Slice.Rate]

	// Multiple is the time per op as a multiple of that of [FetchAddPadded] at
	// the same number of threads in the same run; 0 if there is none.
	Multiple float64

	// Ratio is the time per op over that of [Baseline] in the same conditions;
	// its N is 0 if there is none. It is the median over pairs of slices that
	// were measured next to one another, which the slow noise of a shared
	// machine hits alike; in a run that was interrupted one may lack its pair.
	Ratio Summary

	Contaminated int // slices, see [Slice.Contaminated]
	Apart        int // slices, see [Slice.Apart]
}

// Figures returns the figures of a row of r that has at least one slice.
func (r *Run) Figures(row *Row) Figures {
	f := Figures{NsPerOp: Summarize(row.nsPerOp()), Rate: Summarize(row.rates())}
	for _, s := range row.Slices {
		if s.Contaminated() != "" {
			f.Contaminated++
		}
		if s.Apart() {
			f.Apart++
		}
	}
	if ref := r.yardstick(row); ref != nil {
		f.Multiple = f.NsPerOp.Median / Summarize(ref.nsPerOp()).Median
	}
	if base := r.baseline(row); base != nil {
		f.Ratio = ratio(row.nsPerOp(), base.nsPerOp())
	}
	return f
}

// Doubtful reports whether half of the slices or more are contaminated, so that
// the median may be too.
func (f Figures) Doubtful() bool { return 2*f.Contaminated >= f.NsPerOp.N }

// NeverTogether reports whether in half of the slices or more the workers may
// have taken turns instead of running at the same time.
func (f Figures) NeverTogether() bool { return 2*f.Apart >= f.NsPerOp.N }

func ratio(row, base []float64) Summary {
	pairs := make([]float64, min(len(row), len(base)))
	for i := range pairs {
		pairs[i] = row[i] / base[i]
	}
	return Summarize(pairs)
}

// yardstick returns the FetchAddPadded row to measure row by: as many threads, and
// pinned as row is if there is one, otherwise pinned at least.
func (r *Run) yardstick(row *Row) (ref *Row) {
	for i := range r.Rows {
		c := &r.Rows[i]
		if c.Workload == FetchAddPadded && c.Variant == Reference && c.Threads == row.Threads && len(c.Slices) > 0 {
			if c.Pinned == row.Pinned {
				return c
			}
			if c.Pinned {
				ref = c
			}
		}
	}
	return ref
}

// baseline returns the Baseline row that differs from row in the variant only.
func (r *Run) baseline(row *Row) *Row {
	want := *row
	want.Variant = Baseline
	name := want.Name()
	for i := range r.Rows {
		if c := &r.Rows[i]; c.Variant == Baseline && len(c.Slices) > 0 && c.Name() == name {
			return c
		}
	}
	return nil
}

func (r *Row) nsPerOp() []float64 { return r.each(Slice.NsPerOp) }
func (r *Row) rates() []float64   { return r.each(Slice.Rate) }

func (r *Row) each(figure func(Slice) float64) []float64 {
	values := make([]float64, len(r.Slices))
	for i, s := range r.Slices {
		values[i] = figure(s)
	}
	return values
}
