package check

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed violation.html
var page string

var pageTemplate = template.Must(template.New("violation").Parse(page))

// WriteHTML shows the violation as one HTML page that needs nothing else: no
// other file, no script. Time runs downwards, each worker has a lane; the
// operations that prove the violation stand out from those around them. It
// follows the reader's choice of light or dark, and prints.
func (v *Violation) WriteHTML(w io.Writer) error { return pageTemplate.Execute(w, v.page()) }

// pageData is the page's grid: the first row names the workers, the first column
// shows stamps.
type pageData struct {
	*Violation
	Lanes  []pageLane
	Stamps []pageStamp
	Boxes  []pageBox
}

type pageLane struct {
	Worker, Column int
}

type pageStamp struct {
	Row  int
	Text string
}

type pageBox struct {
	Operation
	From, To, Column int
	Proof, Open      bool
}

func (v *Violation) page() pageData {
	p := pageData{Violation: v}
	all := slices.Concat(v.Ops, v.Around)
	var workers []int
	var stamps []int64
	for i := range all {
		workers = append(workers, all[i].Worker)
		stamps = append(stamps, all[i].Call)
		if r := all[i].Return; r != nil {
			stamps = append(stamps, *r)
		}
	}
	slices.Sort(workers)
	workers = slices.Compact(workers)
	slices.Sort(stamps)
	stamps = slices.Compact(stamps)
	for i, w := range workers {
		p.Lanes = append(p.Lanes, pageLane{w, i + 2})
	}
	for i, t := range stamps {
		p.Stamps = append(p.Stamps, pageStamp{i + 2, v.stamp(t - stamps[0])})
	}
	row := func(t int64) int {
		i, _ := slices.BinarySearch(stamps, t)
		return i + 2
	}
	for i, o := range all {
		column, _ := slices.BinarySearch(workers, o.Worker)
		b := pageBox{Operation: o, From: row(o.Call), Column: column + 2, Proof: i < len(v.Ops), Open: o.Return == nil}
		if b.To = len(stamps) + 3; !b.Open {
			b.To = row(*o.Return) + 1
		}
		p.Boxes = append(p.Boxes, b)
	}
	p.clip()
	return p
}

// clip ends boxes of a lane where the next one begins: what a worker did came one
// after the other, though stamps that are widened overlap.
func (p *pageData) clip() {
	next := map[int]int{} // by column, the row where the box below begins
	for _, i := range p.fromBelow() {
		b := &p.Boxes[i]
		if from, ok := next[b.Column]; ok && from < b.To && from > b.From {
			b.To = from
		}
		next[b.Column] = b.From
	}
}

// fromBelow returns the boxes' indices, the last operation first.
func (p *pageData) fromBelow() []int {
	order := make([]int, len(p.Boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.Boxes[b].Index, p.Boxes[a].Index) })
	return order
}

// stamp is a time since the first one shown.
func (v *Violation) stamp(t int64) string {
	if v.Clock == "ns" {
		return time.Duration(t).String()
	}
	return fmt.Sprint(t)
}
