package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"xidlab/harness/result"
)

// writeDetails writes what the tables do not, with a column for each variant:
// for each workload, at its largest number of threads and in the first mode, the
// latencies of single calls, those in doubt marked, and what the runs have to say
// beside speed. What is 0 for all variants is left out.
func writeDetails(out io.Writer, r *result.Run) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var variants, workloads []string
	most := map[string]*result.Row{} // by workload: the first of its rows to show
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Variant == result.Reference || len(row.Slices) == 0 {
			continue
		}
		name := fullName(row)
		if first := most[name]; first == nil {
			workloads = append(workloads, name)
			most[name] = row
		} else if row.Threads > first.Threads && row.Mode() == first.Mode() {
			most[name] = row
		}
		if !slices.Contains(variants, row.Variant) {
			variants = append(variants, row.Variant)
		}
	}
	if len(workloads) == 0 {
		return nil
	}
	doubtful := false
	fmt.Fprintf(w, "\nIn detail: latencies of single calls (one in many timed) as p50, p99, p99.9 in ns, and metrics.\n")
	for _, name := range workloads {
		at := most[name]
		cells := map[string][]string{} // by what they tell, a cell for each variant
		var rows []string
		put := func(what string, v int, cell string) {
			if cells[what] == nil {
				cells[what] = make([]string, len(variants))
				rows = append(rows, what)
			}
			cells[what][v] = cell
		}
		for i := range r.Rows {
			row := &r.Rows[i]
			v := slices.Index(variants, row.Variant)
			if v < 0 || fullName(row) != name || row.Threads != at.Threads || row.Mode() != at.Mode() {
				continue
			}
			mark := ""
			if row.DoubtfulLatencies() {
				mark, doubtful = " *", true
			}
			for _, l := range row.Latencies {
				put(l.Op, v, quantiles(l)+mark)
			}
			for _, m := range row.Metrics {
				if m.Value != 0 {
					put(m.Name, v, fmt.Sprintf("%.4g", m.Value))
				}
			}
		}
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s, threads %d, %s\n\t%s\n", name, at.Threads, at.Mode(), strings.Join(variants, "\t"))
		for _, what := range rows {
			fmt.Fprintf(w, "  %s\t%s\n", what, strings.Join(cells[what], "\t"))
		}
	}
	if doubtful {
		fmt.Fprintf(w, "\n* Other work disturbed the one slice that these were sampled in: they are in doubt.\n")
	}
	return w.Flush()
}

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
