package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"xidlab/harness"
	"xidlab/harness/record"
	"xidlab/harness/stress"
)

// writeCheck writes what was recorded and judged, and what it means.
func writeCheck(std streams, cfg *stress.Config, subjects []harness.Variant, reports []*stress.Report) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\trecordings\toperations\tanswers\toverlapped\tsnapshots\thorizons\traced\trefused\ttoo old\toutlasted\tchecked/s\t\n")
	var left int
	for i, r := range reports {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", subjects[i].Name, r.Cells,
			readable(r.Ops), readable(r.Answers), percent(r.Overlapped, r.Ops), readable(r.MetFinish), readable(r.MetGuard), readable(r.Raced),
			readable(r.Refused), readable(r.TooOld), readable(r.Outlasted), readable(int(float64(r.Ops)/max(r.Judging.Seconds(), 1e-9))))
		left += r.Left
	}
	if err := w.Flush(); err != nil {
		return err
	}
	b.WriteString(`
answers     of snapshots, each about one xid
overlapped  operations during which another worker was in one
snapshots   that were taken while another worker's transaction finished
horizons    that were asked for while another worker's guard came or went
raced       finishes of one transaction by two workers at once
too old     snapshots that could not be asked, or retained, any more
outlasted   guards that lived while the horizon moved
checked/s   operations judged in a second of judging

`)
	for _, c := range cfg.Clocks {
		switch c.Widening() {
		case 0:
			fmt.Fprintf(&b, "stamps by the %s are exact\n", c.Name())
		default:
			fmt.Fprintf(&b, "stamps by the %s: operations are widened by %.0f ns at either end, as the CPUs may disagree by twice that\n", c.Name(), c.Widening())
		}
	}
	memory := 0
	for i, r := range reports {
		memory = max(memory, r.Memory)
		fmt.Fprintf(&b, "%s: recorded for %v, judged for %v\n", subjects[i].Name, r.Recording.Round(10*time.Millisecond), r.Judging.Round(10*time.Millisecond))
		if r.Undecided > 0 {
			fmt.Fprintf(&b, "%s: %d answers got the benefit of the doubt: they allow several orders, and the one that was built does not explain them\n", subjects[i].Name, r.Undecided)
		}
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "note: %s\n", n)
		}
	}
	fmt.Fprintf(&b, "an operation takes %d bytes while it is recorded, and %d for each xid of a set and each answer of a snapshot: %.1f MB at most\n", record.BytesPerOp, record.BytesPerXid, float64(memory)/1e6)
	if left > 0 {
		fmt.Fprintf(&b, "note: there was no time for %d recordings of the first round: give it a longer -duration\n", left)
	}
	_, err := std.out.Write([]byte(b.String()))
	return err
}

// readable is a number to be read: 1.2M.
func readable(n int) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.0fM", float64(n)/1e6)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 100_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

func percent(part, all int) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(all))
}
