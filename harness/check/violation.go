package check

import (
	"encoding/json"
	"io"
	"slices"

	"xidlab/harness/history"
)

// A Violation is a proof that a history breaks the contract, from few of its
// operations.
type Violation struct {
	Manager string `json:"manager,omitempty"`
	Clock   string `json:"clock"` // what stamps count: "ns" or "steps"

	// Text is all of it in one sentence.
	Text string `json:"text"`

	// Because are the parts of it: each says that one operation came before
	// another, and why; together they are a circle. Empty where one operation
	// is wrong by itself.
	Because []string `json:"because,omitempty"`

	// Ops are the operations that prove it, mostly 2 to 4, in the order of
	// their calls.
	Ops []Operation `json:"operations"`

	// Around are others that overlapped these, for the picture.
	Around []Operation `json:"around,omitempty"`
}

// An Operation is one of a history, as a violation shows it.
type Operation struct {
	Index  int    `json:"index"` // in the history, from 0
	Worker int    `json:"worker"`
	Call   int64  `json:"call"`
	Return *int64 `json:"return"` // nil if it never returned
	Text   string `json:"text"`
}

func (v *Violation) String() string { return v.Text }

// WriteJSON writes the violation as JSON.
func (v *Violation) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// around is how many neighbours a violation keeps.
const around = 40

func (c *checker) violation(text string, because []string, ops []int) *Violation {
	v := &Violation{Manager: c.h.Manager, Clock: c.h.Clock.String(), Text: text, Because: because}
	slices.Sort(ops)
	ops = slices.Compact(ops)
	from, to := history.Pending, int64(first)
	for _, i := range ops {
		v.Ops = append(v.Ops, c.operation(i))
		o := &c.ops[i]
		from, to = min(from, o.Call), max(to, o.Call)
		if !o.IsPending() {
			to = max(to, o.Return)
		}
	}
	// The neighbours whose calls come closest before the end of the witness.
	end, _ := slices.BinarySearchFunc(c.ops, to, func(o history.Op, t int64) int {
		if o.Call <= t {
			return -1
		}
		return 1
	})
	for i := end - 1; i >= 0 && len(v.Around) < around; i-- {
		if o := &c.ops[i]; o.Return >= from && !slices.Contains(ops, i) {
			v.Around = append(v.Around, c.operation(i))
		}
		if end-i > 100*around {
			break
		}
	}
	slices.Reverse(v.Around)
	return v
}

func (c *checker) operation(i int) Operation {
	o := &c.ops[i]
	place := i
	if c.places != nil {
		place = c.places[i]
	}
	op := Operation{Index: place, Worker: int(o.Worker), Call: o.Call, Text: brief(o)}
	if !o.IsPending() {
		op.Return = &o.Return
	}
	return op
}
