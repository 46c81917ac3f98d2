package plot

import (
	"cmp"
	"slices"
	"strings"

	gonum "gonum.org/v1/plot"

	"xidlab/harness/result"
)

// latency draws the time of manager calls against the percentile, which is
// spaced by its number of nines, a panel for each kind of call. It shows the
// most threads, pinned if they were, and of the parameters the last; nil if
// nothing was sampled often enough.
func (d *drawing) latency(workload string, rows []*result.Row) *Chart {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row *result.Row) bool { return len(row.Latencies) == 0 })
	if len(rows) == 0 {
		return nil
	}
	// One set of conditions, the same for all variants.
	slices.SortStableFunc(rows, func(a, b *result.Row) int {
		return cmp.Or(cmp.Compare(a.Threads, b.Threads), boolCompare(a.Pinned, b.Pinned))
	})
	best := rows[len(rows)-1]
	conditions := join(threads(best.Threads), params(best, ""), best.Mode())
	c := &Chart{
		Name:     "latency-" + fileName(workload),
		title:    workload + ": latency of manager calls",
		subtitle: "time within which that share of the calls returned; lower is better (" + conditions + ")",
		xLabel:   "percentile",
		yLabel:   "time of a call",
		xLog:     true,
		yTime:    true,
	}
	hollow, short := false, false
	for _, row := range rows {
		if join(threads(row.Threads), params(row, ""), row.Mode()) != conditions {
			continue
		}
		doubtful := row.DoubtfulLatencies()
		for _, lat := range row.Latencies {
			var points []point
			for _, q := range lat.Quantiles {
				if q.Q < 0.5 {
					continue // the axis begins at the median
				}
				// No clock tells less; decades below would be drama.
				y := q.Nanoseconds
				if y < 1 {
					y, short = 1, true
				}
				points = append(points, point{x: nines(q.Q), y: y, lo: y, hi: y, hollow: doubtful})
			}
			if len(points) == 0 {
				continue
			}
			hollow = hollow || doubtful
			c.line(lat.Op, row.Variant, d.looks[row.Variant]).points = points
		}
	}
	// A kind of call that was sampled too rarely has a median at most.
	var rare []string
	c.panels = slices.DeleteFunc(c.panels, func(p panel) bool {
		seldom := !slices.ContainsFunc(p.lines, func(l line) bool { return len(l.points) >= enough })
		if seldom {
			rare = append(rare, p.title)
		}
		return seldom
	})
	if len(c.panels) == 0 {
		return nil
	}
	title := c.subtitle
	c.arrange()
	if len(c.panels) > 1 {
		c.subtitle = title // the names of calls have nothing in common
	}
	_, top, _, _ := dataRange(c.panels)
	for _, t := range []struct {
		q     float64
		label string
	}{{0.5, "50"}, {0.9, "90"}, {0.99, "99"}, {0.999, "99.9"}, {0.9999, "99.99"}, {0.99999, "99.999"}, {0.999999, "99.9999"}} {
		if nines(t.q) <= top*1.001 {
			c.xTicks = append(c.xTicks, gonum.Tick{Value: nines(t.q), Label: t.label})
		}
	}
	note := "From a sample of the calls, less the cost of reading the clock."
	if short {
		note += " 1 ns stands for what is too short to tell."
	}
	if len(rare) > 0 {
		note += " Sampled too rarely: " + strings.Join(rare, ", ") + "."
	}
	if hollow {
		note += " Hollow: in doubt, other work disturbed the slice that they were sampled in."
	}
	c.caption = []string{note, d.machine()}
	return c
}

// enough quantiles, from the median on, make a distribution: up to the 90th
// percentile, of at least 100 calls.
const enough = 3

// nines spaces quantiles: on a logarithmic axis each further nine is as wide as
// the one before.
func nines(q float64) float64 { return 1 / (1 - q) }
