package costs

import (
	"fmt"
	"strings"

	"xidlab/harness/pin"
	"xidlab/harness/result"
)

// A Verdict is what becomes of an aim.
type Verdict string

const (
	Pass    Verdict = "pass"
	Miss    Verdict = "miss"
	Unknown Verdict = "unknown" // the figure says nothing; see Line.Reason
	Shown   Verdict = "no aim"  // there is nothing to judge by
)

// A Line is an operation of a variant with a number of threads, and how it fared.
// Figures that there are none of are 0.
type Line struct {
	Variant   string  `json:"variant"`
	Operation string  `json:"operation"`
	Threads   int     `json:"threads"`
	NsPerOp   float64 `json:"ns_per_op"`     // of a worker, median
	Spread    float64 `json:"spread"`        // far end of its interval, as a share of it; see result.Summary
	Multiple  float64 `json:"multiple"`      // of F1, median over rounds
	Bytes     float64 `json:"bytes_per_op"`  // allocated; -1 if unknown
	Aim       string  `json:"aim,omitempty"` // see [Bound]
	OfAim     float64 `json:"of_aim"`        // the figure as a multiple of the aim, median over rounds
	Rounds    int     `json:"rounds"`        // that the verdict is from
	Verdict   Verdict `json:"verdict"`
	Reason    string  `json:"reason,omitempty"` // why it is unknown
}

// enough is how many undisturbed rounds a verdict takes.
const enough = 5

// noBytes is below what an allocation in every operation comes to, and above what
// the Go runtime and the preparations of a manager do in a slice.
const noBytes = 0.5

// memory is the label of the lines about bytes allocated.
const memory = "bytes allocated, most of all lines"

// Judge returns the lines of the variants, in the order of the table, as r has
// them. cpus is how many CPUs there were to measure on. A variant that is not in
// the build has no rows: known says which are.
func Judge(r *result.Run, variants []string, known func(variant string) bool, cpus int) (lines []Line) {
	j := judge{r, cpus}
	for _, v := range variants {
		first := len(lines)
		for _, a := range aimsOf(v) {
			for i, n := range threads {
				line := Line{Variant: v, Operation: a.label, Threads: n, Bytes: pin.Unknown, Aim: a.bounds[i].String(), Verdict: Shown}
				if known(v) {
					j.line(&line, a, a.bounds[i])
				} else {
					line.unknown("there is no variant %s in this build", v)
				}
				lines = append(lines, line)
			}
		}
		lines = append(lines, memoryLines(lines[first:])...)
	}
	return lines
}

func (l *Line) unknown(format string, args ...any) {
	l.Verdict, l.Reason = Unknown, fmt.Sprintf(format, args...)
}

// memoryLines returns the lines about what was allocated in those of a variant.
// Bytes are counted: whoever disturbed the timing did not disturb them.
func memoryLines(of []Line) (lines []Line) {
	for _, n := range threads {
		line := Line{Variant: of[0].Variant, Operation: memory, Threads: n, Bytes: pin.Unknown, Verdict: Shown}
		aimed, missing := false, ""
		for _, l := range of {
			if l.Threads != n {
				continue
			}
			aimed = aimed || l.Aim != ""
			line.Bytes = max(line.Bytes, l.Bytes)
			if l.Bytes == pin.Unknown && missing == "" {
				missing = l.Reason
			}
		}
		switch {
		case !aimed:
		case missing != "":
			line.unknown("%s", missing)
		case line.Bytes < noBytes:
			line.Verdict = Pass
		default:
			line.Verdict = Miss
		}
		if aimed {
			line.Aim = "0 B"
		}
		lines = append(lines, line)
	}
	return lines
}

type judge struct {
	run  *result.Run
	cpus int
}

// line completes l, of a variant that there is.
func (j judge) line(l *Line, a aim, b Bound) {
	own := j.series(a.variant, a.load, l.Threads, a.first)
	switch {
	case l.Threads > j.cpus:
		l.unknown("it takes %d CPUs, and there is %d", l.Threads, j.cpus)
		return
	case own == nil:
		l.unknown("%s with %d threads was not measured: see the notes", a.load, l.Threads)
		return
	}
	l.Bytes = own.row.BytesPerOp
	f1 := j.series(result.Reference, result.FetchAddPadded, 1, false)
	ns := result.Summarize(own.values(own.undisturbed()))
	l.NsPerOp, l.Spread = ns.Median, ns.Spread()
	if f1 != nil {
		l.Multiple = result.Summarize(ratios(own, []term{{1, f1}})).Median
	}
	if b == (Bound{}) {
		l.Rounds = len(own.row.Slices)
		return
	}
	var terms []term
	for _, t := range []struct {
		times float64
		of    func() *series
		what  string
	}{
		{b.F1, func() *series { return f1 }, "F1"},
		{b.L, func() *series { return j.series(result.Reference, result.PingPong, 2, false) }, "L"},
		{b.Alone, func() *series { return j.series(a.variant, a.load, 1, a.first) }, "the figure with one thread"},
		{b.Idle, func() *series { return j.series(a.variant, a.idle, l.Threads, a.first) }, "the figure with none active"},
	} {
		if t.times == 0 {
			continue
		}
		s := t.of()
		if s == nil {
			l.unknown("%s was not measured", t.what)
			return
		}
		terms = append(terms, term{t.times, s})
	}
	all, clean, apart := rounds(own, terms)
	l.Rounds = len(clean)
	if len(all) > 0 {
		l.OfAim = result.Summarize(ratios(own, terms)).Median
	}
	switch {
	case len(all) < enough:
		l.unknown("%d repetitions, a verdict takes %d", len(all), enough)
	case len(clean) < enough && 2*apart >= len(all):
		l.unknown("in %d of %d repetitions the threads may never have run at the same time", apart, len(all))
	case len(clean) < enough:
		l.unknown("only %d of %d repetitions were undisturbed", len(clean), len(all))
	case l.OfAim <= 1:
		l.Verdict = Pass
	default:
		l.Verdict = Miss
	}
}

// A series is a row as a figure a round.
type series struct {
	row   *result.Row
	first bool // the first worker's only
}

func (j judge) series(variant, load string, threads int, first bool) *series {
	for i := range j.run.Rows {
		row := &j.run.Rows[i]
		if row.Variant == variant && row.Threads == threads && len(row.Slices) > 0 && loadOf(row) == load {
			return &series{row, first}
		}
	}
	return nil
}

// loadOf is the name of the workload that the row is of.
func loadOf(row *result.Row) string {
	var b strings.Builder
	b.WriteString(row.Workload)
	for _, p := range row.Params {
		b.WriteString("/" + p.Key + "=" + p.Value)
	}
	return b.String()
}

// at is the time per op of round i, in nanoseconds.
func (s *series) at(i int) float64 {
	slice := s.row.Slices[i]
	if s.first {
		return slice.Seconds * 1e9 / float64(max(slice.WorkerOps[0], 1))
	}
	return slice.NsPerOp()
}

func (s *series) clean(i int) bool { return s.row.Slices[i].Contaminated() == "" && !s.apart(i) }
func (s *series) apart(i int) bool { return s.row.Slices[i].Apart() }

// undisturbed returns the rounds in which nothing is known to have disturbed s,
// or all if there are none such.
func (s *series) undisturbed() []int {
	all, clean, _ := rounds(s, nil)
	if len(clean) == 0 {
		return all
	}
	return clean
}

func (s *series) values(rounds []int) []float64 {
	values := make([]float64, len(rounds))
	for k, i := range rounds {
		values[k] = s.at(i)
	}
	return values
}

// A term is a multiple of a figure.
type term struct {
	times float64
	of    *series
}

// rounds returns the rounds that all have, those of them in which nothing
// disturbed any, and in how many threads of one may have taken turns.
func rounds(own *series, terms []term) (all, clean []int, apart int) {
	n := len(own.row.Slices)
	for _, t := range terms {
		n = min(n, len(t.of.row.Slices))
	}
	for i := range n {
		ok, turns := own.clean(i), own.apart(i)
		for _, t := range terms {
			ok, turns = ok && t.of.clean(i), turns || t.of.apart(i)
		}
		all = append(all, i)
		if ok {
			clean = append(clean, i)
		}
		if turns {
			apart++
		}
	}
	return all, clean, apart
}

// ratios returns own over the sum of the terms, of each round in which nothing
// disturbed any of them; of all if there are none such.
func ratios(own *series, terms []term) (ratios []float64) {
	all, clean, _ := rounds(own, terms)
	if len(clean) == 0 {
		clean = all
	}
	for _, i := range clean {
		sum := 0.0
		for _, t := range terms {
			sum += t.times * t.of.at(i)
		}
		ratios = append(ratios, own.at(i)/sum)
	}
	return ratios
}
