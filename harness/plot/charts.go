package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	gonum "gonum.org/v1/plot"

	"xidlab/harness/result"
)

// Charts returns the pictures of a run: throughput against threads for every
// workload, cost against the number of active transactions for the workloads
// that vary it, and latencies for the workloads that were sampled. Rows without
// slices are left out; a run without any has no pictures.
func Charts(r *result.Run) []*Chart {
	d := &drawing{run: r, looks: map[string]look{}}
	var workloads []string
	for i := range r.Rows {
		row := &r.Rows[i]
		if len(row.Slices) == 0 || row.Variant == result.Reference {
			continue
		}
		if _, ok := d.looks[row.Variant]; !ok {
			d.looks[row.Variant] = lookOf(len(d.looks))
		}
		if !slices.Contains(workloads, row.Workload) {
			workloads = append(workloads, row.Workload)
		}
	}
	var charts []*Chart
	for _, w := range workloads {
		var rows []*result.Row
		for i := range r.Rows {
			if row := &r.Rows[i]; row.Workload == w && row.Variant != result.Reference && len(row.Slices) > 0 {
				rows = append(rows, row)
			}
		}
		for _, c := range []*Chart{d.throughput(w, rows), d.cost(w, rows), d.latency(w, rows)} {
			if c != nil {
				charts = append(charts, c)
			}
		}
	}
	return charts
}

// active is the parameter of a workload that says how many transactions are
// active but idle.
const active = "active"

type drawing struct {
	run   *result.Run
	looks map[string]look // by variant
}

// throughput draws the ops per second against threads, a panel for each mode and
// parameters.
func (d *drawing) throughput(workload string, rows []*result.Row) *Chart {
	c := &Chart{
		Name:     "throughput-" + fileName(workload),
		title:    workload + ": throughput",
		subtitle: "million " + unit(rows[0]) + "s per second, all threads together; higher is better",
		xLabel:   "threads",
		yLabel:   "million per second",
	}
	d.fill(c, rows, func(row *result.Row) string { return join(params(row, ""), row.Mode()) },
		func(row *result.Row, f result.Figures) point {
			const mega = 1e6
			return point{x: float64(row.Threads), y: f.Rate.Median / mega, lo: f.Rate.Lo / mega, hi: f.Rate.Hi / mega}
		})
	if least, most, _, _ := dataRange(c.panels); most/least >= 16 {
		c.xLog = true // so that the small counts are not crowded
	}
	c.ticksAtPoints(func(x float64) string { return strconv.Itoa(int(x)) })
	return c
}

// cost draws the time per op against the number of active transactions, for the
// fewest and the most threads, a panel for each of these and mode; nil if that
// number does not vary.
func (d *drawing) cost(workload string, rows []*result.Row) *Chart {
	seen := map[string]bool{}
	least := 0.0 // positive one
	for _, row := range rows {
		n, ok := activeOf(row)
		if !ok {
			return nil
		}
		seen[strconv.FormatFloat(n, 'g', -1, 64)] = true
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if len(seen) < 2 {
		return nil
	}
	c := &Chart{
		Name:     "cost-" + fileName(workload),
		title:    workload + ": cost against active transactions",
		subtitle: "time of a thread per " + unit(rows[0]) + ", both axes logarithmic; lower is better",
		xLabel:   "idle active transactions",
		yLabel:   "time per " + unit(rows[0]),
		xLog:     true,
		yTime:    true,
	}
	// There is no zero on a logarithmic axis: it stands apart, left of the rest.
	zero := least / 6
	byThreads := func(a, b *result.Row) int { return cmp.Compare(a.Threads, b.Threads) }
	few, many := slices.MinFunc(rows, byThreads).Threads, slices.MaxFunc(rows, byThreads).Threads
	rows = slices.DeleteFunc(slices.Clone(rows), func(row *result.Row) bool { return row.Threads != few && row.Threads != many })
	d.fill(c, rows, func(row *result.Row) string { return join(threads(row.Threads), params(row, active), row.Mode()) },
		func(row *result.Row, f result.Figures) point {
			n, _ := activeOf(row)
			p := point{x: n, y: f.NsPerOp.Median, lo: f.NsPerOp.Lo, hi: f.NsPerOp.Hi}
			if n == 0 {
				p.x, p.apart = zero, true
			}
			return p
		})
	if seen["0"] {
		c.caption[0] += " 0 has no place on a logarithmic axis and stands apart."
	}
	c.ticksAtPoints(func(x float64) string {
		if x == zero {
			return "0"
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	})
	return c
}

// fill makes the panels of c: one for each value of condition, in each a line
// for each variant, with the point of each row.
func (d *drawing) fill(c *Chart, rows []*result.Row, condition func(*result.Row) string, at func(*result.Row, result.Figures) point) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b *result.Row) int {
		return cmp.Or(-boolCompare(a.Pinned, b.Pinned), strings.Compare(a.GC, b.GC))
	})
	doubtful := false
	least, most := 0, 0
	for _, row := range rows {
		f := d.run.Figures(row)
		p := at(row, f)
		p.hollow = f.Doubtful() || f.NeverTogether()
		doubtful = doubtful || p.hollow
		if n := f.NsPerOp.N; least == 0 || n < least {
			least = n
		}
		most = max(most, f.NsPerOp.N)
		l := c.line(condition(row), row.Variant, d.looks[row.Variant])
		l.points = append(l.points, p)
	}
	c.arrange()
	count := strconv.Itoa(most)
	if least < most {
		count = fmt.Sprintf("%d to %d", least, most)
	}
	whiskers := "its 95 % interval"
	switch {
	case most < 6:
		whiskers = "their range"
	case least < 6:
		whiskers += ", or the range of fewer than 6"
	}
	note := "Median of " + count + " slices; whiskers: " + whiskers + "."
	if doubtful {
		note += " Hollow: in doubt, half of the slices or more were disturbed by other work."
	}
	c.caption = []string{note, d.machine()}
}

// line returns the line of a variant in the panel of that title, new if need be.
func (c *Chart) line(title, variant string, look look) *line {
	i := slices.IndexFunc(c.panels, func(p panel) bool { return p.title == title })
	if i < 0 {
		i = len(c.panels)
		c.panels = append(c.panels, panel{title: title})
	}
	p := &c.panels[i]
	j := slices.IndexFunc(p.lines, func(l line) bool { return l.name == variant })
	if j < 0 {
		j = len(p.lines)
		p.lines = append(p.lines, line{name: variant, look: look})
	}
	return &p.lines[j]
}

// arrange puts points in order, drops from the panels' titles what all have in
// common, and chooses the number of columns.
func (c *Chart) arrange() {
	for _, p := range c.panels {
		for _, l := range p.lines {
			slices.SortStableFunc(l.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
		}
	}
	if len(c.panels) == 1 {
		if t := c.panels[0].title; t != "" {
			c.subtitle += " (" + t + ")"
		}
	} else {
		c.subtitle += c.common()
	}
	switch n := len(c.panels); {
	case n <= 3:
		c.columns = n
	case n == 4:
		c.columns = 2
	case n%3 != 0 && n%4 == 0 || n == 7:
		c.columns = 4
	default:
		c.columns = 3
	}
}

// common moves the parts that all titles share out of them.
func (c *Chart) common() string {
	var shared []string
	for _, part := range strings.Split(c.panels[0].title, separator) {
		everywhere := !slices.ContainsFunc(c.panels, func(p panel) bool {
			return !slices.Contains(strings.Split(p.title, separator), part)
		})
		if everywhere {
			shared = append(shared, part)
		}
	}
	for i := range c.panels {
		parts := slices.DeleteFunc(strings.Split(c.panels[i].title, separator), func(part string) bool {
			return slices.Contains(shared, part)
		})
		c.panels[i].title = strings.Join(parts, separator)
	}
	if len(shared) == 0 {
		return ""
	}
	return " (" + strings.Join(shared, separator) + ")"
}

// ticksAtPoints puts a tick at each x that was measured, with a label where
// there is room.
func (c *Chart) ticksAtPoints(label func(x float64) string) {
	var xs []float64
	for _, p := range c.panels {
		for _, l := range p.lines {
			for _, pt := range l.points {
				xs = append(xs, pt.x)
			}
		}
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	place := func(x float64) float64 { return (x - xs[0]) / (xs[len(xs)-1] - xs[0]) }
	if c.xLog {
		place = func(x float64) float64 { return math.Log(x/xs[0]) / math.Log(xs[len(xs)-1]/xs[0]) }
	}
	room := 0.08 // of the width
	if len(c.panels) > 1 {
		room = 0.16
	}
	free := math.Inf(-1)
	for _, x := range xs {
		tick := gonum.Tick{Value: x}
		if at := place(x); len(xs) < 2 || !(at < free) {
			tick.Label = label(x)
			free = at + room
		}
		c.xTicks = append(c.xTicks, tick)
	}
}

// machine says where and when the run was made, and that it is partial if so.
func (d *drawing) machine() string {
	e := d.run.Env
	s := fmt.Sprintf("%s, %d CPUs, %s %s, %s, on %s; %s", e.CPU, e.CPUs(), e.OS, e.Kernel, e.Go,
		d.run.Started.UTC().Format("2006-01-02"), e.Fingerprint())
	if d.run.Partial {
		s += "; partial run"
	}
	return s + "."
}

const separator = ", "

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

// params writes the parameters of a row, less one.
func params(row *result.Row, without string) string {
	var parts []string
	for _, p := range row.Params {
		if p.Key != without {
			parts = append(parts, p.Key+"="+p.Value)
		}
	}
	return join(parts...)
}

func activeOf(row *result.Row) (float64, bool) {
	v, ok := row.Param(active)
	n, err := strconv.ParseFloat(v, 64)
	return n, ok && err == nil && n >= 0
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return strconv.Itoa(n) + " threads"
}

// unit is what one op of the row is.
func unit(row *result.Row) string { return cmp.Or(row.Unit, "op") }

// fileName keeps of a workload's name what is harmless in a file's.
func fileName(workload string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, workload)
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
