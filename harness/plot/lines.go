package plot

import (
	"cmp"
	"math"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A line is one variant in one panel.
type line struct {
	name   string
	look   look
	points []point // ascending by x
}

// A point is a figure, its interval, and whether it is in doubt.
type point struct {
	x, y   float64
	lo, hi float64 // equal to y where there is no interval
	hollow bool
	apart  bool // stands alone: not joined to the next point
}

// A panel is the lines measured under one set of conditions, of which its title
// tells. It is a gonum Plotter that takes care of the room for its labels and
// title: gonum's own titles and labels are no part of what it aligns.
type panel struct {
	title string
	lines []line
}

const (
	labelSize = vg.Length(9)
	labelGap  = vg.Length(10) // from the right end of the data to the labels
	radius    = vg.Length(3.2)
	titleGap  = vg.Length(5) // from the data to the title of the panel
)

// dataRange returns the range of all points with their intervals.
func dataRange(panels []panel) (xmin, xmax, ymin, ymax float64) {
	xmin, ymin = math.Inf(1), math.Inf(1)
	xmax, ymax = math.Inf(-1), math.Inf(-1)
	for _, panel := range panels {
		for _, l := range panel.lines {
			for _, p := range l.points {
				xmin, xmax = min(xmin, p.x), max(xmax, p.x)
				ymin, ymax = min(ymin, p.lo), max(ymax, p.hi)
			}
		}
	}
	return xmin, xmax, ymin, ymax
}

// GlyphBoxes implements gonum's GlyphBoxer: room for the labels right of the
// data, and for the title above.
func (pn panel) GlyphBoxes(*gonum.Plot) []gonum.GlyphBox {
	var boxes []gonum.GlyphBox
	for _, l := range pn.lines {
		width := labelGap + words(labelSize, ink, false).Width(l.name)
		boxes = append(boxes, gonum.GlyphBox{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: width}}})
	}
	if pn.title != "" {
		height := titleGap + words(axisSize, ink, true).FontExtents().Height
		boxes = append(boxes, gonum.GlyphBox{X: 0.5, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: height}}})
	}
	return boxes
}

// Plot implements gonum's Plotter. Markers are drawn after all lines and
// whiskers, so that none is hidden by a line.
func (pn panel) Plot(c draw.Canvas, p *gonum.Plot) {
	toX, toY := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() && t.Value > p.Y.Min {
			c.StrokeLine2(draw.LineStyle{Color: hairline, Width: vg.Points(0.6)}, c.Min.X, toY(t.Value), c.Max.X, toY(t.Value))
		}
	}
	title := words(axisSize, ink, true)
	title.XAlign, title.YAlign = draw.XCenter, draw.YBottom
	c.FillText(title, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Max.Y + titleGap}, pn.title)

	for i, l := range pn.lines {
		var path []vg.Point
		for _, pt := range l.points {
			path = append(path, vg.Point{X: toX(pt.x) + pn.dodge(i), Y: toY(pt.y)})
			if pt.apart {
				path = nil
			}
		}
		if len(path) > 1 {
			c.StrokeLines(draw.LineStyle{Color: l.look.color, Width: vg.Points(1.6), Dashes: l.look.dashes}, path)
		}
		for _, pt := range l.points {
			if pt.hi > pt.lo {
				whisker(c, l.look, toX(pt.x)+pn.dodge(i), toY(pt.lo), toY(pt.hi))
			}
		}
	}
	for i, l := range pn.lines {
		for _, pt := range l.points {
			l.look.marker.draw(c, vg.Point{X: toX(pt.x) + pn.dodge(i), Y: toY(pt.y)}, radius, l.look.color, pt.hollow)
		}
	}
	pn.label(c, toX, toY)
}

// dodge shifts the i'th line aside, by less than a marker, so that whiskers at
// the same place do not merge. Lines without any stay where they are.
func (pn panel) dodge(i int) vg.Length {
	for _, l := range pn.lines {
		if slices.ContainsFunc(l.points, func(pt point) bool { return pt.hi > pt.lo }) {
			return 3 * (vg.Length(i) - vg.Length(len(pn.lines)-1)/2)
		}
	}
	return 0
}

func whisker(c draw.Canvas, l look, x, lo, hi vg.Length) {
	const cap = vg.Length(2.5)
	style := draw.LineStyle{Color: l.color, Width: vg.Points(0.9)}
	c.StrokeLine2(style, x, lo, x, hi)
	c.StrokeLine2(style, x-cap, lo, x+cap, lo)
	c.StrokeLine2(style, x-cap, hi, x+cap, hi)
}

// label writes the names in a column right of the data, each as near to the end
// of its line as the others allow, and joins a name to a line's end that is not
// beside it.
func (pn panel) label(c draw.Canvas, toX, toY func(float64) vg.Length) {
	ends := make([]vg.Point, len(pn.lines))
	wish := make([]float64, len(pn.lines))
	for i, l := range pn.lines {
		last := l.points[len(l.points)-1]
		ends[i] = vg.Point{X: toX(last.x) + pn.dodge(i), Y: toY(last.y)}
		wish[i] = float64(ends[i].Y)
	}
	style := words(labelSize, ink, false)
	height := float64(style.FontExtents().Height)
	ys := spread(wish, height*1.05, float64(c.Min.Y)+height/2, float64(c.Max.Y)-height/2)
	style.YAlign = draw.YCenter
	raise := style.FontExtents().Descent * 0.6 // the middle of small letters, not of the line
	x := c.Max.X + labelGap
	leader := draw.LineStyle{Color: pale, Width: vg.Points(0.6)} // not to be taken for data
	for i, l := range pn.lines {
		y := vg.Length(ys[i])
		c.StrokeLine2(leader, ends[i].X+radius+1.5, ends[i].Y, x-2, y)
		c.FillText(style, vg.Point{X: x, Y: y + raise}, l.name)
	}
}

// spread moves positions as little as it can, in the sense of least squares,
// until neighbours are gap apart and all lie between lo and hi (or, if there is
// no room, start at lo). It keeps their order and returns them in the order of
// wish. This is isotonic regression on wish[i] - i*gap, by pooling adjacent
// violators (Barlow et al. 1972).
func spread(wish []float64, gap, lo, hi float64) []float64 {
	order := make([]int, len(wish))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(wish[a], wish[b]) })
	type block struct {
		sum float64
		n   int
	}
	mean := func(b block) float64 { return b.sum / float64(b.n) }
	var blocks []block
	for rank, i := range order {
		blocks = append(blocks, block{wish[i] - float64(rank)*gap, 1})
		for n := len(blocks); n > 1 && mean(blocks[n-2]) > mean(blocks[n-1]); n-- {
			blocks[n-2].sum += blocks[n-1].sum
			blocks[n-2].n += blocks[n-1].n
			blocks = blocks[:n-1]
		}
	}
	top := hi - float64(len(wish)-1)*gap // what the last one's shifted position may be
	at := make([]float64, len(wish))
	rank := 0
	for _, b := range blocks {
		for range b.n {
			at[order[rank]] = max(min(mean(b), top), lo) + float64(rank)*gap
			rank++
		}
	}
	return at
}
