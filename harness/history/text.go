package history

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"xidlab/core"
)

const textMagic = "xidlab history 1"

// WriteText writes the history in the text form. It must be valid.
func (h *History) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(h.Header.text())
	for i := range h.Ops {
		b.WriteString(h.Ops[i].Line())
		b.WriteByte('\n')
	}
	return b.Flush()
}

func (h *Header) text() string {
	var b strings.Builder
	b.WriteString(textMagic + "\n")
	if h.Manager != "" {
		b.WriteString("manager " + h.Manager + "\n")
	}
	fmt.Fprintf(&b, "xids %s\nstamps %v\n", map[bool]string{true: "ordered", false: "unordered"}[h.Ordered], h.Clock)
	if h.Skew != 0 {
		fmt.Fprintf(&b, "skew %d\n", h.Skew)
	}
	b.WriteByte('\n')
	return b.String()
}

// Line returns the operation as a line of the text form.
func (o *Op) Line() string {
	ret := "-"
	if !o.IsPending() {
		ret = strconv.FormatInt(o.Return, 10)
	}
	return fmt.Sprintf("%d %d %s %v", o.Worker, o.Call, ret, o)
}

// String returns the operation without worker and stamps:
// "Commit(3) = not-active aborted".
func (o *Op) String() string {
	if o.Kind == 0 || o.Kind >= numKinds {
		return o.Kind.String()
	}
	s := &shapes[o.Kind]
	b := []byte(s.name + "(")
	for i, p := range s.args {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = o.append(b, p)
	}
	b = append(b, ')')
	if o.IsPending() {
		return string(b)
	}
	b = append(b, " ="...)
	if o.Result != OK {
		b = append(append(b, ' '), o.Result.String()...)
		if s.refused != 0 {
			b = o.append(append(b, ' '), s.refused)
		}
		if s.found && (o.Result == NotActive || o.Result == NotCommitted) {
			b = append(append(b, ' '), o.Status.String()...)
		}
		return string(b)
	}
	for _, p := range s.answers {
		b = o.append(append(b, ' '), p)
	}
	return string(b)
}

func (o *Op) append(b []byte, p part) []byte {
	switch p {
	case partXid:
		return appendXid(b, o.Xid)
	case partOther:
		return appendXid(b, o.Other)
	case partNext:
		return appendXid(b, o.Next)
	case partSet:
		return appendSet(b, o.Set)
	case partList:
		for i, x := range o.Set {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendXid(b, x)
		}
	case partOf:
		return appendSnap(b, o.Of)
	case partSnap:
		return appendSnap(b, o.Snap)
	case partYes:
		return strconv.AppendBool(b, o.Yes)
	case partStatus:
		return append(b, o.Status.String()...)
	case partCount:
		return strconv.AppendInt(b, int64(o.Count), 10)
	case partView:
		return o.appendView(b)
	case partNothing:
		return append(b, "ok"...)
	}
	return b
}

// appendView writes what a snapshot saw, clause by clause.
func (o *Op) appendView(b []byte) []byte {
	if o.Other != core.None {
		b = appendXid(append(b, "owner "...), o.Other)
		b = append(b, ' ')
	}
	if o.Next != core.None {
		b = appendXid(append(b, "bound "...), o.Next)
		b = append(b, ' ')
	}
	if o.Full {
		b = appendSet(append(b, "hides "...), o.Set)
		b = append(b, ' ')
	}
	for _, yes := range []bool{true, false} {
		var set core.XidSet
		for _, p := range o.Probes {
			if p.Yes == yes {
				set = append(set, p.Xid)
			}
		}
		if len(set) > 0 {
			b = append(b, map[bool]string{true: "has ", false: "lacks "}[yes]...)
			b = append(appendSet(b, set), ' ')
		}
	}
	return b[:len(b)-1] // a clause's space, or the one before the view
}

func appendXid(b []byte, x core.Xid) []byte { return strconv.AppendUint(b, uint64(x), 10) }

func appendSnap(b []byte, n uint64) []byte {
	if n == 0 {
		return append(b, "foreign"...)
	}
	return strconv.AppendUint(append(b, 's'), n, 10)
}

func appendSet(b []byte, set []core.Xid) []byte {
	b = append(b, '{')
	for i, x := range set {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendXid(b, x)
	}
	return append(b, '}')
}
