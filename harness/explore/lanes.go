package explore

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	textWidth   = 100
	numberWidth = 4 // of the column with the numbers of the accesses
)

// WriteText shows the report in a terminal of at least 100 columns: what failed,
// why, the lanes, and how to see it again. Time runs downwards, each thread has a
// column. The frame of an operation to look at is drawn with heavy lines.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	if r.Failure == "" {
		paragraph(&b, "ok   ", r.title()+": nothing is wrong with this execution")
	} else {
		paragraph(&b, "FAIL ", r.title()+": "+r.Failure)
	}
	for _, line := range r.Witness {
		paragraph(&b, "", line)
	}
	b.WriteString("\n")
	paragraph(&b, "program   ", r.Text)
	if r.About != "" {
		paragraph(&b, "about     ", r.About)
	}
	if len(r.Before) > 0 {
		b.WriteString("\nfirst\n")
		listOps(&b, r.Before)
	}
	b.WriteString("\n")
	r.writeLanes(&b)
	if len(r.After) > 0 {
		b.WriteString("\nin the end\n")
		listOps(&b, r.After)
	}
	b.WriteString("\n")
	if r.Found != "" {
		paragraph(&b, "found by  ", fmt.Sprintf("%s; seed %d", r.Found, r.Seed))
	}
	fmt.Fprintf(&b, "schedule  %s\n", r.Schedule)
	if r.Replay != "" {
		fmt.Fprintf(&b, "replay    %s\n", r.Replay)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// paragraph writes what may be wrapped. (A command may not.)
func paragraph(b *strings.Builder, label, s string) {
	for _, line := range wrap(s, textWidth-len(label)) {
		fmt.Fprintf(b, "%s%s\n", label, line)
		label = strings.Repeat(" ", len(label))
	}
}

func listOps(b *strings.Builder, ops []ReportOp) {
	for i := range ops {
		mark := " "
		if ops[i].Failing {
			mark = "!"
		}
		paragraph(b, "  "+mark+" ", ops[i].Text+"  ->  "+ops[i].ending())
	}
}

// laneFrames are what stands left of the rows of an operation, and of one to look at.
var laneFrames = map[bool][5]string{
	false: {rowCall: "┌ ", rowAccess: "│ ", rowReturn: "└ ", rowHang: "╵ ", rowUncalled: "  "},
	true:  {rowCall: "┏ ", rowAccess: "┃ ", rowReturn: "┗ ", rowHang: "╹ ", rowUncalled: "  "},
}

func (r *Report) writeLanes(b *strings.Builder) {
	rows, n := r.rows(), r.threads()
	if n == 0 {
		return
	}
	width := (textWidth-numberWidth)/n - 1 // of a lane, without the space before it
	rail := make([]string, n)              // what stands in the lanes meanwhile
	for t := range rail {
		rail[t] = threadName(t)
	}
	line := func(number string) {
		s := fmt.Sprintf("%*s", numberWidth, number)
		for _, lane := range rail {
			s += " " + text.Pad(lane, width, ' ')
		}
		b.WriteString(strings.TrimRight(s, " ") + "\n")
	}
	line("")
	clear(rail)
	for _, row := range rows {
		frame := laneFrames[false]
		if row.op >= 0 {
			frame = laneFrames[r.Ops[row.op].Failing]
		}
		number := ""
		if row.kind == rowAccess {
			number = fmt.Sprint(row.event + 1)
		}
		left := frame[row.kind]
		if row.op < 0 {
			left = "  "
		}
		for i, s := range r.cell(row, width-2) {
			if i > 0 {
				number = ""
				left = frame[rowAccess]
				if row.kind >= rowReturn || row.op < 0 {
					left = "  "
				}
			}
			rail[row.thread] = left + s
			line(number)
		}
		rail[row.thread] = ""
		if row.op >= 0 && row.kind < rowReturn {
			rail[row.thread] = strings.TrimSpace(frame[rowAccess])
		}
	}
}

// cell returns the lines of a row in its lane.
func (r *Report) cell(row row, width int) []string {
	switch row.kind {
	case rowAccess:
		what, object, place := describe(&r.Events[row.event])
		lines := wrap(strings.TrimSpace(what+"  "+object), width)
		if place == "" {
			return lines
		}
		if end := len(lines) - 1; text.StringWidthWithoutEscSequences(lines[end]+" "+place) <= width {
			lines[end] = text.Pad(lines[end], width-len(place), ' ') + place
			return lines
		}
		return append(lines, wrap(strings.Repeat(" ", max(0, width-len(place)))+place, width)...)
	case rowCall:
		if r.Ops[row.op].Failing {
			return wrap(r.Ops[row.op].Text+"  (!)", width)
		}
		return wrap(r.Ops[row.op].Text, width)
	case rowUncalled:
		return wrap(r.Ops[row.op].Text+" "+r.Ops[row.op].ending(), width)
	}
	return wrap(r.Ops[row.op].ending(), width)
}

// wrap returns s as lines of at most width columns.
func wrap(s string, width int) []string {
	if text.StringWidthWithoutEscSequences(s) <= width {
		return []string{s}
	}
	var lines []string
	for line := range strings.Lines(text.WrapSoft(s, width)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}
