package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"xidlab/harness/result"
)

// A group is the rows of a workload at its largest number of threads, in the first
// of its modes.
type group struct {
	name    string
	threads int
	mode    string
	rows    []*result.Row
}

// largest returns a group for each workload, in order of appearance, and the names
// of all variants, likewise.
func largest(r *result.Run) (groups []group, variants []string) {
	at := map[string]int{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Variant == result.Reference || len(row.Slices) == 0 {
			continue
		}
		if !slices.Contains(variants, row.Variant) {
			variants = append(variants, row.Variant)
		}
		name := fullName(row)
		k, ok := at[name]
		if !ok {
			k, at[name] = len(groups), len(groups)
			groups = append(groups, group{name: name, threads: row.Threads, mode: row.Mode()})
		}
		switch g := &groups[k]; {
		case row.Mode() != g.mode || row.Threads < g.threads:
		case row.Threads > g.threads:
			g.threads, g.rows = row.Threads, []*result.Row{row}
		default:
			g.rows = append(g.rows, row)
		}
	}
	return groups, variants
}

// A sheet is what is told of a group, a line for each thing with a cell for each
// variant.
type sheet struct {
	group
	variants []string
	whats    []string // in order of appearance
	cells    map[string][]string
}

func newSheet(g group, variants []string) *sheet {
	return &sheet{group: g, variants: variants, cells: map[string][]string{}}
}

func (s *sheet) put(what, variant, cell string) {
	if s.cells[what] == nil {
		s.cells[what] = make([]string, len(s.variants))
		s.whats = append(s.whats, what)
	}
	s.cells[what][slices.Index(s.variants, variant)] = cell
}

// write writes the sheet if there is anything on it.
func (s *sheet) write(w io.Writer) {
	if len(s.whats) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s, threads %d, %s\n\t%s\n", s.name, s.threads, s.mode, strings.Join(s.variants, "\t"))
	for _, what := range s.whats {
		fmt.Fprintf(w, "  %s\t%s\n", what, strings.Join(s.cells[what], "\t"))
	}
}

// writeDetails writes what the tables do not: the latencies of single calls, those
// in doubt marked, and what the runs have to say beside speed. What is 0 for all
// variants is left out.
func writeDetails(out io.Writer, r *result.Run) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	groups, variants := largest(r)
	if len(groups) == 0 {
		return nil
	}
	doubtful := false
	longest := ""
	if slices.ContainsFunc(groups, func(g group) bool { return crowded(r, g.threads) }) {
		longest = "\n(< the longest, and all timed, where threads outnumber CPUs)"
	}
	fmt.Fprintf(w, "\nIn detail: latencies of single calls (one in many timed) as p50, p99, p99.9 in ns%s, and metrics.\n", longest)
	for _, g := range groups {
		s := newSheet(g, variants)
		for _, row := range g.rows {
			mark := ""
			if row.DoubtfulLatencies() {
				mark, doubtful = " *", true
			}
			for _, l := range row.Latencies {
				cell := quantiles(l)
				if crowded(r, row.Threads) {
					cell += fmt.Sprintf(" < %.0f", l.Max)
				}
				s.put(l.Op, row.Variant, cell+mark)
			}
			for _, m := range row.Metrics {
				if m.Value != 0 {
					s.put(m.Name, row.Variant, fmt.Sprintf("%.4g", m.Value))
				}
			}
		}
		s.write(w)
	}
	if doubtful {
		fmt.Fprintf(w, "\n* Other work disturbed the one slice that these were sampled in: they are in doubt.\n")
	}
	return w.Flush()
}

// crowded reports whether so many threads take turns. Then the tail of latencies
// matters: who waits for one that has no CPU waits for a turn of others.
func crowded(r *result.Run, threads int) bool { return threads > r.Env.GOMAXPROCS }

// quantiles writes those that the sample was large enough for.
func quantiles(l result.Latency) string {
	var parts []string
	for _, q := range []float64{.5, .99, .999} {
		if ns, ok := l.At(q); ok {
			if ns < 1 { // too short to tell, see [workload.Sampler.Record]
				parts = append(parts, "<1")
				continue
			}
			parts = append(parts, fmt.Sprintf("%.0f", ns))
		}
	}
	return strings.Join(parts, " ")
}

// fullName is the workload as on the command line.
func fullName(row *result.Row) string {
	name := row.Workload
	for _, p := range row.Params {
		name += "/" + p.Key + "=" + p.Value
	}
	return name
}
