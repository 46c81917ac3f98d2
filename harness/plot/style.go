package plot

import (
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A look is how one variant is drawn.
type look struct {
	color  color.RGBA
	dashes []vg.Length
	marker marker
}

// looks are assigned to the variants in order. The colours are from Okabe and
// Ito, "Color Universal Design" (2008), less yellow, which is too pale for lines
// on white; neighbours in the list differ in lightness, too.
var looks = []look{
	{rgb(0x0072B2), nil, circle},
	{rgb(0xE69F00), []vg.Length{7, 3}, square},
	{rgb(0x009E73), []vg.Length{2, 2}, triangle},
	{rgb(0x000000), []vg.Length{9, 3, 2, 3}, diamond},
	{rgb(0xCC79A7), []vg.Length{12, 4}, nabla},
	{rgb(0x56B4E9), []vg.Length{4, 2, 1, 2, 1, 2}, pentagon},
	{rgb(0xD55E00), []vg.Length{1, 3}, hexagon},
}

// lookOf returns the look of the i'th variant. Beyond the list colours repeat
// with other dashes, so that no two of the first 49 are alike.
func lookOf(i int) look {
	l := looks[i%len(looks)]
	other := looks[(i+i/len(looks))%len(looks)]
	l.dashes, l.marker = other.dashes, other.marker
	return l
}

var (
	ink      = rgb(0x222222) // text
	faint    = rgb(0x666666) // captions, axes
	hairline = rgb(0xE4E4E4) // grid
	pale     = rgb(0xA8A8A8) // leaders from lines to their labels
	paper    = rgb(0xFFFFFF)
)

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xFF}
}

// words returns the style of a text of that size.
func words(size vg.Length, c color.Color, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: c, Font: f, Handler: text.Plain{Fonts: font.DefaultCache}}
}

// A marker is a closed shape: points on the unit circle, or nearly so.
type marker []vg.Point

var (
	circle   = polygon(24, 0, 0.95)
	square   = polygon(4, math.Pi/4, 1.15)
	triangle = polygon(3, math.Pi/2, 1.25)
	diamond  = polygon(4, 0, 1.2)
	nabla    = polygon(3, -math.Pi/2, 1.25)
	pentagon = polygon(5, math.Pi/2, 1.1)
	hexagon  = polygon(6, 0, 1.05)
)

func polygon(corners int, turn, size float64) marker {
	m := make(marker, corners)
	for i := range m {
		sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(corners))
		m[i] = vg.Point{X: vg.Length(size * cos), Y: vg.Length(size * sin)}
	}
	return m
}

// draw draws the marker around a point, hollow or filled.
func (m marker) draw(c draw.Canvas, at vg.Point, radius vg.Length, col color.Color, hollow bool) {
	outline := make([]vg.Point, 0, len(m)+1)
	for _, p := range m {
		outline = append(outline, vg.Point{X: at.X + p.X*radius, Y: at.Y + p.Y*radius})
	}
	outline = append(outline, outline[0])
	fill := col
	if hollow {
		fill = paper
	}
	c.FillPolygon(fill, outline)
	c.StrokeLines(draw.LineStyle{Color: col, Width: vg.Points(1.1)}, outline)
}
