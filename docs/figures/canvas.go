package main

import (
	"fmt"
	"html"
	"strings"
)

// A canvas collects the elements of one SVG, which is as large as what is on it.
// Coordinates are pixels, from the top left.
type canvas struct {
	title         string
	body          strings.Builder
	width, height int
}

// Styles of boxes and lines; the colours are those of style.
const (
	plain     = "plain"     // a thing
	open      = "open"      // in progress
	done      = "done"      // committed
	gone      = "gone"      // aborted, sealed, retired
	reserved  = "reserved"  // set aside
	highlight = "highlight" // what the figure is about
)

const style = `
  .bg { fill: #fff } text { font: 13px system-ui, sans-serif; fill: #222 }
  .small { font-size: 11.5px } .head { font-weight: 600 } .mono { font: 12px ui-monospace, monospace }
  rect { stroke: #444; stroke-width: 1; fill: #fff; rx: 3 }
  .open { fill: #ffe3b3 } .done { fill: #cfe8d5 } .gone { fill: #e3e3e6; stroke-dasharray: 3 2 }
  .reserved { fill: #fff; stroke-dasharray: 3 2 } .highlight { fill: #cfe0fb }
  path { stroke: #444; stroke-width: 1.2; fill: none } .faint { stroke: #999; stroke-dasharray: 3 3 }
  path.highlight { stroke: #1f5fbf; stroke-width: 2; fill: none } #tip { fill: #444; stroke: none }
  @media (prefers-color-scheme: dark) {
    .bg { fill: #16181c } text { fill: #e3e3e3 } rect { stroke: #aaa; fill: #16181c }
    .open { fill: #5a4213 } .done { fill: #1f4a2c } .gone { fill: #33343a } .reserved { fill: #16181c }
    .highlight { fill: #1d3a66 } path { stroke: #aaa } .faint { stroke: #666 }
    path.highlight { stroke: #7aa7f0 } #tip { fill: #aaa }
  }
`

const margin = 8

// svg returns the finished picture.
func (c *canvas) svg() string {
	w, h := c.width+2*margin, c.height+2*margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s">
<!-- made by go run ./docs/figures -->
<style>%[4]s</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path id="tip" d="M0 0L8 4L0 8z"/></marker></defs>
<rect class="bg" x="0" y="0" width="%[1]d" height="%[2]d" style="stroke:none"/>
<g transform="translate(%[6]d %[6]d)">
%[5]s</g>
</svg>
`, w, h, html.EscapeString(c.title), style, c.body.String(), margin)
}

func (c *canvas) grow(x, y int) { c.width, c.height = max(c.width, x), max(c.height, y) }

// text writes a line whose baseline is at y; class may be empty, and anchor
// start, middle or end.
func (c *canvas) text(x, y int, class, anchor, s string) {
	c.grow(x, y+4)
	if anchor == "start" {
		c.grow(x+len([]rune(s))*7, y)
	}
	fmt.Fprintf(&c.body, `<text x="%d" y="%d" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(s))
}

// note writes lines of small text.
func (c *canvas) note(x, y int, lines ...string) {
	for i, s := range lines {
		c.text(x, y+16*i, "small", "start", s)
	}
}

// box draws a box with lines of text in its middle.
func (c *canvas) box(x, y, w, h int, class string, lines ...string) {
	c.grow(x+w, y+h)
	fmt.Fprintf(&c.body, `<rect x="%d" y="%d" width="%d" height="%d" class="%s"/>`+"\n", x, y, w, h, class)
	for i, s := range lines {
		c.text(x+w/2, y+h/2+5+16*i-8*(len(lines)-1), "small", "middle", s)
	}
}

// arrow draws a line with a head, and line one without, through pairs of x and y.
func (c *canvas) arrow(class string, points ...int) {
	c.path(class, ` marker-end="url(#head)"`, points)
}
func (c *canvas) line(class string, points ...int) { c.path(class, "", points) }

func (c *canvas) path(class, end string, points []int) {
	fmt.Fprintf(&c.body, `<path class="%s"%s d="`, class, end)
	for i := 0; i < len(points); i += 2 {
		c.grow(points[i], points[i+1])
		fmt.Fprintf(&c.body, "%c%d %d", "ML"[min(i, 1)], points[i], points[i+1])
	}
	c.body.WriteString(`"/>` + "\n")
}
