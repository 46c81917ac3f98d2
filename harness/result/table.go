package result

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"xidlab/harness/pin"
)

// Marks of rows with a footnote.
const (
	markDoubtful      = "*"
	markNeverTogether = "†"
)

// WriteTables writes a table for each workload of r, reference rows first, under
// each the footnotes that it needs, and at the end what the columns mean. Rows
// without slices are left out. Lines have at most 100 columns unless names are
// very long.
func WriteTables(w io.Writer, r *Run) error {
	var b strings.Builder
	for _, rows := range r.workloads() {
		b.WriteString(r.table(rows) + "\n")
	}
	b.WriteString(`ns/op: time of a worker per op, median over slices; ±: far end of its 95 % interval (the range,
of fewer than 6 slices); ×ref: multiple of the padded fetch-add by as many threads.
`)
	if r.Partial {
		b.WriteString("\nThis run is partial: it was interrupted before everything was measured.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// workloads groups the rows that have slices: the reference rows into the first
// group, the others by workload, in order of appearance.
func (r *Run) workloads() [][]*Row {
	groups := [][]*Row{nil}
	index := map[string]int{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if len(row.Slices) == 0 {
			continue
		}
		if row.Variant == Reference {
			groups[0] = append(groups[0], row)
			continue
		}
		at, ok := index[row.Workload]
		if !ok {
			at = len(groups)
			index[row.Workload] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], row)
	}
	return slices.DeleteFunc(groups, func(g []*Row) bool { return len(g) == 0 })
}

// A column is one of those that a table may have.
type column struct {
	head  string
	align text.Align
	cell  func(row *Row, f Figures) string
}

func (r *Run) table(rows []*Row) string {
	reference := rows[0].Variant == Reference
	slices.SortStableFunc(rows, compareRows)
	columns := []column{
		{"thr", text.AlignRight, func(row *Row, _ Figures) string { return strconv.Itoa(row.Threads) }},
	}
	if varies(rows, (*Row).params) || rows[0].params() != "" {
		columns = append(columns, column{"params", text.AlignLeft, func(row *Row, _ Figures) string { return row.params() }})
	}
	title := "machine reference"
	if !reference {
		title = rows[0].Workload + " (op: " + or(rows[0].Unit, "op") + ")"
	}
	if varies(rows, (*Row).Mode) {
		columns = append(columns, column{"mode", text.AlignLeft, func(row *Row, _ Figures) string { return row.Mode() }})
	} else {
		title += ", " + rows[0].Mode()
	}
	if reference {
		columns = append(columns, column{"workload", text.AlignLeft, func(row *Row, _ Figures) string {
			return strings.TrimPrefix(row.Workload, "ref-")
		}})
	} else {
		columns = append(columns, column{"variant", text.AlignLeft, func(row *Row, _ Figures) string { return row.Variant }})
	}
	columns = append(columns,
		column{"ns/op", text.AlignRight, func(_ *Row, f Figures) string { return digits(f.NsPerOp.Median) }},
		column{"±", text.AlignRight, func(_ *Row, f Figures) string { return percent(f.NsPerOp.Spread()) }},
		column{"Mop/s", text.AlignRight, func(_ *Row, f Figures) string { return digits(f.Rate.Median / 1e6) }},
		column{"×ref", text.AlignRight, func(_ *Row, f Figures) string { return orDash(f.Multiple) }},
	)
	if !reference {
		columns = append(columns,
			column{"÷" + Baseline, text.AlignRight, func(_ *Row, f Figures) string {
				return orDash(f.Ratio.Median)
			}},
			column{"allocs/op", text.AlignRight, func(row *Row, _ Figures) string {
				if row.AllocsPerOp == pin.Unknown {
					return "?"
				}
				return digits(row.AllocsPerOp)
			}},
		)
	}
	columns = append(columns, column{"", text.AlignLeft, func(_ *Row, f Figures) string { return f.marks() }})

	t := newTable()
	head := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		head[i] = c.head
		configs[i] = table.ColumnConfig{Number: i + 1, Align: c.align, AlignHeader: c.align}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	notes := map[string]int{}
	for i, row := range rows {
		if i > 0 && !sameGroup(rows[i-1], row, reference) {
			t.AppendSeparator()
		}
		f := r.Figures(row)
		cells := make(table.Row, len(columns))
		for j, c := range columns {
			cells[j] = c.cell(row, f)
		}
		t.AppendRow(cells)
		for _, mark := range f.marks() {
			notes[string(mark)]++
		}
	}
	return title + "\n" + t.Render() + "\n" + footnotes(notes, len(rows))
}

// newTable returns a table with rules between groups of rows only.
func newTable() table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options.DrawBorder = false
	style.Options.SeparateColumns = false
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

func footnotes(notes map[string]int, rows int) string {
	var b strings.Builder
	if n := notes[markDoubtful]; n > 0 {
		fmt.Fprintf(&b, "%s %d of %d rows: half of the slices or more lost over %.0f %% of a CPU to others;\n  the figures are in doubt.\n", markDoubtful, n, rows, 100*tolerated)
	}
	if n := notes[markNeverTogether]; n > 0 {
		fmt.Fprintf(&b, "%s %d of %d rows: the threads may never have run at the same time; these are not\n  figures of contention.\n", markNeverTogether, n, rows)
	}
	return b.String()
}

func (f Figures) marks() string {
	marks := ""
	if f.Doubtful() {
		marks += markDoubtful
	}
	if f.NeverTogether() {
		marks += markNeverTogether
	}
	return marks
}

// compareRows sorts by parameters (numbers by value), mode and threads; within
// one group the order of measurement, which is that of the variants, stays.
func compareRows(a, b *Row) int {
	for i := range min(len(a.Params), len(b.Params)) {
		if c := compareNatural(a.Params[i].Value, b.Params[i].Value); c != 0 {
			return c
		}
	}
	if c := len(a.Params) - len(b.Params); c != 0 {
		return c
	}
	if c := a.Threads - b.Threads; c != 0 {
		return c
	}
	return strings.Compare(a.Mode(), b.Mode())
}

func compareNatural(a, b string) int {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err1 == nil && err2 == nil {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return strings.Compare(a, b)
}

func sameGroup(a, b *Row, reference bool) bool {
	return a.Threads == b.Threads && a.Mode() == b.Mode() && (reference || a.params() == b.params())
}

func (r *Row) params() string {
	parts := make([]string, len(r.Params))
	for i, p := range r.Params {
		parts[i] = p.Key + "=" + p.Value
	}
	return strings.Join(parts, " ")
}

// Mode says in words how the row was measured: "pinned, gc off".
func (r *Row) Mode() string {
	mode := "unpinned"
	if r.Pinned {
		mode = "pinned"
	}
	if r.GC != "" {
		mode += ", gc " + r.GC
	}
	return mode
}

func varies(rows []*Row, of func(*Row) string) bool {
	return slices.ContainsFunc(rows, func(row *Row) bool { return of(row) != of(rows[0]) })
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// digits writes about three significant digits without an exponent; 0 is "0",
// and what is too small to show says so.
func digits(x float64) string {
	decimals := 0
	switch {
	case x == 0:
		return "0"
	case math.Abs(x) < 0.0005:
		return "<0.001"
	case math.Abs(x) < 1:
		decimals = 3
	case math.Abs(x) < 10:
		decimals = 2
	case math.Abs(x) < 100:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// orDash writes the digits of a comparison, or a dash if there was nothing to
// compare with.
func orDash(x float64) string {
	if x == 0 {
		return "-"
	}
	return digits(x)
}

func percent(share float64) string {
	p := 100 * share
	if p < 10 {
		return strconv.FormatFloat(p, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + "%"
}
