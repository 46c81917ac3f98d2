package costs

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"xidlab/harness/pin"
	"xidlab/harness/result"
)

// Write writes the figures of the machine and the lines, a block for each
// variant, with the reasons of what is unknown below.
func Write(w io.Writer, r *result.Run, lines []Line) error {
	var b strings.Builder
	machine(&b, r)
	var reasons []string
	counts := map[Verdict]int{}
	for i, l := range lines {
		if i == 0 || lines[i-1].Variant != l.Variant {
			head := fmt.Sprintf("%-36s thr     ns     ±    ×F1  B/op", l.Variant)
			if slices.Contains(Variants(), l.Variant) {
				head += "  aim, at most     of it"
			}
			b.WriteString("\n" + head + "\n")
		}
		name := l.Operation
		if i > 0 && lines[i-1].Operation == name && lines[i-1].Variant == l.Variant {
			name = ""
		}
		verdict := string(l.Verdict)
		switch l.Verdict {
		case Shown:
			verdict = ""
		case Unknown:
			at := slices.Index(reasons, l.Reason)
			if at < 0 {
				at, reasons = len(reasons), append(reasons, l.Reason)
			}
			verdict += fmt.Sprintf(" %d", at+1)
		}
		row := fmt.Sprintf("%-36s %3d %6s %5s %6s %5s  %-15s %5s  %s", name, l.Threads,
			orDash(l.NsPerOp), spread(l), orDash(l.Multiple), bytes(l.Bytes), l.Aim, orDash(l.OfAim), verdict)
		b.WriteString(strings.TrimRight(row, " ") + "\n")
		if l.Aim != "" {
			counts[l.Verdict]++
		}
	}
	if judged := counts[Pass] + counts[Miss] + counts[Unknown]; judged > 0 {
		fmt.Fprintf(&b, "\n%d lines with an aim: %d pass, %d miss, %d unknown\n", judged, counts[Pass], counts[Miss], counts[Unknown])
	}
	for i, reason := range reasons {
		fmt.Fprintf(&b, "unknown %d: %s\n", i+1, reason)
	}
	b.WriteString(`
ns: time of a worker per operation, median of the undisturbed repetitions, through the interface
core.Manager and with the loop around it; ±: far end of its 95 % interval; ×F1, of it: multiples of
F1 and of the aim, medians over repetitions in which both were measured, seconds apart, undisturbed.
`)
	if r.Partial {
		b.WriteString("\nThis run is partial: it was interrupted before everything was measured.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// machine writes the figures that aims are multiples of, and two to read them by.
func machine(b *strings.Builder, r *result.Run) {
	fmt.Fprintf(b, "%-36s thr     ns     ±\n", "machine")
	j := judge{run: r}
	for _, ref := range []struct {
		name, workload string
		threads        int
	}{
		{"F1, fetch-add, uncontended", result.FetchAddPadded, 1},
		{"F2, fetch-add, contended", result.FetchAdd, 2},
		{"L, transfer of a line between CPUs", result.PingPong, 2},
		{"the loop alone", result.EmptyLoop, 1},
	} {
		l := Line{}
		if s := j.series(result.Reference, ref.workload, ref.threads, false); s != nil {
			ns := result.Summarize(s.values(s.undisturbed()))
			l.NsPerOp, l.Spread = ns.Median, ns.Spread()
		}
		fmt.Fprintf(b, "%-36s %3d %6s %5s\n", ref.name, ref.threads, orDash(l.NsPerOp), spread(l))
	}
}

// orDash writes about three significant digits, and a dash for what there is no
// figure of.
func orDash(x float64) string {
	decimals := 0
	switch {
	case x == 0:
		return "-"
	case x < 10:
		decimals = 2
	case x < 100:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

func spread(l Line) string {
	if l.NsPerOp == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*l.Spread, 'f', 0, 64) + "%"
}

func bytes(x float64) string {
	switch {
	case x == pin.Unknown:
		return "?"
	case x < 0.05:
		return "0"
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
