package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"xidlab/harness/result"
)

// writeExplanation writes what the variants themselves have counted, and at the end
// what that means. Variants may mean different things by one name.
func writeExplanation(out io.Writer, r *result.Run) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nWhy: what the variants counted per 1000 ops, and (=) how many there were at the end.\n")
	groups, variants := largest(r)
	type meaning struct {
		name, text string
		variants   []string
	}
	var meanings []*meaning
	for _, g := range groups {
		s := newSheet(g, variants)
		for _, row := range g.rows {
			for _, c := range row.Counters {
				name := c.Name
				if c.Gauge {
					name = "= " + name
				}
				s.put(name, row.Variant, count(c.Value))
				i := slices.IndexFunc(meanings, func(m *meaning) bool { return m.name == name && m.text == c.Meaning })
				if i < 0 {
					i = len(meanings)
					meanings = append(meanings, &meaning{name: name, text: c.Meaning})
				}
				if m := meanings[i]; !slices.Contains(m.variants, row.Variant) {
					m.variants = append(m.variants, row.Variant)
				}
			}
		}
		s.write(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(meanings) == 0 {
		_, err := io.WriteString(out, "Nothing: these variants count nothing, or what they count did not happen.\n")
		return err
	}
	var b strings.Builder
	b.WriteString("\n")
	for i, m := range meanings {
		of := ""
		if slices.ContainsFunc(meanings, func(o *meaning) bool { return o != meanings[i] && o.name == m.name }) {
			of = " (" + strings.Join(m.variants, ", ") + ")"
		}
		wrap(&b, m.name+of+": "+m.text, 100)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// count writes about three digits of what is not 0.
func count(x float64) string {
	switch {
	case x < 0.001:
		return "<0.001"
	case x < 100:
		return fmt.Sprintf("%.3g", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// wrap writes a paragraph in lines of at most so many columns, those after the first
// indented.
func wrap(b *strings.Builder, text string, columns int) {
	at := 0
	for i, word := range strings.Fields(text) {
		switch n := len([]rune(word)); {
		case i == 0:
			at = n
		case at+1+n > columns:
			b.WriteString("\n    ")
			at = 4 + n
		default:
			b.WriteString(" ")
			at += 1 + n
		}
		b.WriteString(word)
	}
	b.WriteString("\n")
}
