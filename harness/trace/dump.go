package trace

import (
	"bufio"
	"fmt"
	"io"
)

// Dump writes t as text for people, one operation a line: time in seconds,
// session, transaction, operation.
func (t *Trace) Dump(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s, %d sessions, %d operations\n", t.Source, len(t.Sessions), len(t.Ops))
	for _, op := range t.Ops {
		fmt.Fprintf(b, "%.6f %s tx%d %v", op.At.Seconds(), t.Sessions[op.Session], op.Tx, op.Kind)
		switch {
		case op.Kind.hasObject():
			fmt.Fprintf(b, " %v", t.Objects[op.Object])
		case op.Kind.hasLevel():
			fmt.Fprintf(b, " %d", op.Level)
		case op.Kind == Begin:
			fmt.Fprintf(b, " %v", op.Isolation)
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}
