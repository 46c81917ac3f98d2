package explore

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

//go:embed report.html
var reportPage string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"ending": func(o ReportOp) string { return o.ending() },
}).Parse(reportPage))

// WriteHTML shows the report as one HTML page that needs nothing else: no other
// file, no script. It follows the reader's choice of light or dark, and prints.
func (r *Report) WriteHTML(w io.Writer) error {
	p := pageData{Report: r, Title: r.title()}
	for t := range r.threads() {
		p.Lanes = append(p.Lanes, gridLane{threadName(t), t + 2})
	}
	rows := r.rows()
	boxes := make([]int, len(r.Ops)) // of the operations that were called
	for i, row := range rows {
		place := gridPlace{Row: i + 2, Column: row.thread + 2}
		c := gridCell{gridPlace: place, Kind: rowKinds[row.kind]}
		if row.op >= 0 {
			o := &r.Ops[row.op]
			c.Failing = o.Failing
			switch row.kind {
			case rowCall:
				c.What = o.Text
				boxes[row.op] = len(p.Boxes)
				p.Boxes = append(p.Boxes, gridBox{gridPlace: place, Failing: o.Failing})
			case rowUncalled:
				c.What = o.Text + " " + o.ending()
			default:
				c.What = o.ending()
			}
			if row.kind != rowUncalled {
				p.Boxes[boxes[row.op]].End = place.Row + 1
				p.Boxes[boxes[row.op]].Open = row.kind == rowHang
			}
		}
		if row.kind == rowAccess {
			e := &r.Events[row.event]
			c.Number = row.event + 1
			c.What, c.Object, c.Place = describe(e)
			c.Title = strings.TrimSpace(e.Kind + "  " + e.Where)
			if e.Kind == "write" || e.Kind == "update" {
				c.Kind += " changes"
			}
		}
		p.Cells = append(p.Cells, c)
		if row.from >= 0 {
			from, to := row.from+2, row.thread+2
			s := gridSwitch{Row: place.Row, From: min(from, to), To: max(from, to) + 1, Rightwards: from < to}
			s.Span = s.To - s.From
			p.Switches = append(p.Switches, s)
		}
	}
	return reportTemplate.Execute(w, p)
}

// pageData is what the page shows. Its lanes are a grid: the first row holds the
// names of the threads, the first column the numbers of the accesses.
type pageData struct {
	*Report
	Title    string
	Lanes    []gridLane
	Boxes    []gridBox
	Switches []gridSwitch
	Cells    []gridCell
}

type gridLane struct {
	Name   string
	Column int
}

type gridPlace struct{ Row, Column int }

// A gridBox is the frame of an operation, down to the row before End.
type gridBox struct {
	gridPlace
	End           int
	Failing, Open bool
}

// A gridSwitch leads from one lane to another.
type gridSwitch struct {
	Row, From, To, Span int // columns From to To-1
	Rightwards          bool
}

type gridCell struct {
	gridPlace
	Kind                string // classes
	Failing             bool
	Number              int // of an access, else 0
	What, Object, Place string
	Title               string // shown when the pointer rests on it
}

// rowKinds are the classes of the page's style sheet.
var rowKinds = [...]string{rowCall: "call", rowAccess: "access", rowReturn: "return", rowHang: "hang", rowUncalled: "uncalled"}
