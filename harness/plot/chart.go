package plot

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Chart is one picture: panels side by side with common axes.
type Chart struct {
	// Name tells the chart from the others of its run and is fit for a
	// file's name, such as "throughput-short-transactions".
	Name string

	title, subtitle string
	caption         []string
	xLabel, yLabel  string
	xTicks          []gonum.Tick // at the places that were measured
	xLog            bool
	yTime           bool // logarithmic, in nanoseconds; otherwise linear from 0
	panels          []panel
	columns         int
}

// formats are the formats that [Chart.Encode] knows.
var formats = []string{"svg", "png"}

// Encode draws the chart in the format "svg" or "png". Equal charts give equal
// bytes.
func (c *Chart) Encode(format string) ([]byte, error) {
	w, h := c.size()
	var canvas vg.CanvasWriterTo
	switch format {
	case "svg":
		canvas = vgsvg.New(w, h)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(150))}
	default:
		return nil, fmt.Errorf("draw %s: unknown format %q; there are %s", c.Name, format, strings.Join(formats, " and "))
	}
	c.draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s: %w", c.Name, err)
	}
	if format == "svg" {
		// The text is measured in Liberation Sans; where a reader lacks it,
		// these have the same widths.
		return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
	}
	return out.Bytes(), nil
}

const (
	margin       = vg.Length(12)
	titleSize    = vg.Length(13)
	subtitleSize = vg.Length(9.5)
	axisSize     = vg.Length(9.5)
	tickSize     = vg.Length(8.5)
	captionSize  = vg.Length(7.5)
)

func (c *Chart) size() (w, h vg.Length) {
	if len(c.panels) == 1 {
		return 460, 340
	}
	return 60 + 230*vg.Length(c.columns), 110 + 190*vg.Length(c.rows())
}

func (c *Chart) rows() int { return (len(c.panels) + c.columns - 1) / c.columns }

func (c *Chart) draw(dc draw.Canvas) {
	dc.SetColor(paper)
	dc.Fill(dc.Rectangle.Path())
	dc = draw.Crop(dc, margin, -margin, margin, -margin)

	y := dc.Max.Y
	above := func(s string, size vg.Length, bold bool) {
		style := words(size, ink, bold)
		style.YAlign = draw.YTop
		for _, l := range wrap(s, size, dc.Max.X-dc.Min.X) {
			dc.FillText(style, vg.Point{X: dc.Min.X, Y: y}, l)
			y -= style.FontExtents().Height
		}
	}
	above(c.title, titleSize, true)
	y -= 3
	above(c.subtitle, subtitleSize, false)

	style := words(captionSize, faint, false)
	var caption []string
	for _, l := range c.caption {
		caption = append(caption, wrap(l, captionSize, dc.Max.X-dc.Min.X)...)
	}
	bottom := dc.Min.Y + style.FontExtents().Descent
	for _, l := range slices.Backward(caption) {
		dc.FillText(style, vg.Point{X: dc.Min.X, Y: bottom}, l)
		bottom += style.FontExtents().Height
	}
	c.drawPanels(draw.Crop(dc, 0, 0, bottom+4-dc.Min.Y, y-8-dc.Max.Y))
}

func (c *Chart) drawPanels(dc draw.Canvas) {
	label := words(axisSize, ink, false)
	label.Rotation = math.Pi / 2
	label.XAlign, label.YAlign = draw.XCenter, draw.YTop
	dc.FillText(label, vg.Point{X: dc.Min.X, Y: (dc.Min.Y + dc.Max.Y) / 2}, c.yLabel)
	dc = draw.Crop(dc, label.FontExtents().Height+4, 0, 0, 0)

	xmin, xmax, ymin, ymax := c.ranges()
	plots := make([][]*gonum.Plot, c.rows())
	for i := range plots {
		plots[i] = make([]*gonum.Plot, c.columns)
	}
	for i, panel := range c.panels {
		p := gonum.New()
		p.BackgroundColor = nil
		axis(&p.X)
		axis(&p.Y)
		p.X.Tick.Marker = gonum.ConstantTicks(c.xTicks)
		if c.xLog {
			p.X.Scale = gonum.LogScale{}
		}
		p.Y.Tick.Marker = linearTicks{}
		if c.yTime {
			p.Y.Scale, p.Y.Tick.Marker = gonum.LogScale{}, timeTicks{}
		}
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
		p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = draw.XRight, draw.YCenter
		p.X.Label.TextStyle.XAlign, p.X.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
		if i+c.columns >= len(c.panels) { // nothing below
			p.X.Label.Text = c.xLabel
		}
		if len(c.panels) == 1 {
			panel.title = "" // the subtitle has it
		}
		p.Add(panel)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = xmin, xmax, ymin, ymax
		plots[i/c.columns][i%c.columns] = p
	}
	tiles := draw.Tiles{Rows: c.rows(), Cols: c.columns, PadX: 10, PadY: 10}
	canvases := gonum.Align(plots, tiles, dc)
	for row := range plots {
		for col, p := range plots[row] {
			if p != nil {
				p.Draw(canvases[row][col])
			}
		}
	}
}

func axis(a *gonum.Axis) {
	a.Padding = 0
	a.LineStyle = draw.LineStyle{Color: faint, Width: vg.Points(0.7)}
	a.Tick.LineStyle = a.LineStyle
	a.Tick.Length = 4
	a.Tick.Label = words(tickSize, ink, false)
	a.Label.TextStyle = words(axisSize, ink, false)
	a.Label.Padding = 4
}

// ranges returns the ranges that the axes of all panels have in common.
func (c *Chart) ranges() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = dataRange(c.panels)
	if c.xLog {
		pad := math.Pow(max(xmax/xmin, 10), 0.05)
		xmin, xmax = xmin/pad, xmax*pad
	} else {
		pad := max(0.08*(xmax-xmin), 0.15)
		xmin, xmax = xmin-pad, xmax+pad
	}
	if c.yTime {
		pad := math.Pow(ymax/ymin, 0.06)
		ymin, ymax = ymin/pad, ymax*pad
		if short := 8 / (ymax / ymin); short > 1 { // a range of few per cent would look like drama
			ymin, ymax = ymin/math.Sqrt(short), ymax*math.Sqrt(short)
		}
	} else {
		ymin, ymax = 0, ymax*1.06
	}
	return xmin, xmax, ymin, ymax
}

// wrap breaks a text into lines of at most width.
func wrap(s string, size, width vg.Length) []string {
	style := words(size, ink, true) // the widest that it may be drawn in
	var out []string
	current := ""
	for word := range strings.FieldsSeq(s) {
		longer := word
		if current != "" {
			longer = current + " " + word
		}
		if current != "" && style.Width(longer) > width {
			out = append(out, current)
			longer = word
		}
		current = longer
	}
	if current != "" {
		out = append(out, current)
	}
	return out
}
