package explore

import (
	"path"
	"strconv"

	"xidlab/internal/sched"
)

// A Report is an execution in words, one that fails as a rule: what a person needs
// to see the mistake and to see it again. It knows nothing of the search that found it.
// WriteText and WriteHTML show it.
type Report struct {
	Variant string   // of the manager
	Program string   // its name, "" if it has none
	About   string   // what the program is there to find
	Text    string   // the program, minimised
	Failure string   // what went wrong, in one line; "" if nothing did
	Witness []string // why that is wrong, in words; a line each

	Before, After []ReportOp // the setup and the end, one after the other
	Ops           []ReportOp // of the threads, by the number that events give
	Events        []sched.Event

	Found    string // how: the strategy, the bound, after how many executions; "" if by nobody
	Seed     uint64
	Schedule string // as sched.ParseSchedule reads it
	Replay   string // the command that shows this execution again
}

// A ReportOp is an operation of a Report.
type ReportOp struct {
	Thread           int    // from 0; people see A, B, ...
	Text             string // such as "s=Snapshot"
	Answer           string // such as "bound 3, hides {1}"; or what it waits for
	Called, Returned bool
	Failing          bool // this is the one to look at
}

// A row is one line of the lanes: one thread does one thing.
type row struct {
	kind   rowKind
	thread int
	op     int // -1 outside operations
	event  int // index of an access
	from   int // the thread that was interrupted for this row, or -1
}

type rowKind int

const (
	rowCall     rowKind = iota // the operation is called
	rowAccess                  // it makes an access
	rowReturn                  // it returns
	rowHang                    // it does not return; after everything else
	rowUncalled                // it is not called; after everything else
)

// rows puts calls and returns between the accesses: a call immediately before
// the first access of the operation, a return immediately after the last, which
// is where the threads made them.
func (r *Report) rows() []row {
	last := make([]int, len(r.Ops)) // event
	for i := range last {
		last[i] = -1
	}
	for i, e := range r.Events {
		if e.Op >= 0 {
			last[e.Op] = i
		}
	}
	var rows []row
	add := func(k rowKind, thread, op, event int) {
		from := -1
		if n := len(rows); n > 0 && rows[n-1].thread != thread && k <= rowReturn {
			from = rows[n-1].thread
		}
		rows = append(rows, row{k, thread, op, event, from})
	}
	open := make([]bool, len(r.Ops))
	// begin calls the operations of a thread before the end, in order: all but
	// the last have made no access, or theirs have been.
	begin := func(thread, end int) {
		for op := range end {
			if o := &r.Ops[op]; o.Thread == thread && o.Called && !open[op] {
				open[op] = true
				add(rowCall, thread, op, -1)
				if last[op] < 0 && o.Returned {
					add(rowReturn, thread, op, -1)
				}
			}
		}
	}
	for i, e := range r.Events {
		begin(e.Thread, e.Op+1)
		add(rowAccess, e.Thread, e.Op, i)
		if e.Op >= 0 && i == last[e.Op] && r.Ops[e.Op].Returned {
			add(rowReturn, e.Thread, e.Op, i)
		}
	}
	for t := range r.threads() {
		begin(t, len(r.Ops))
	}
	for op, o := range r.Ops {
		switch {
		case !o.Called:
			add(rowUncalled, o.Thread, op, -1)
		case !o.Returned:
			add(rowHang, o.Thread, op, -1)
		}
	}
	return rows
}

// threads returns the number of lanes.
func (r *Report) threads() int {
	n := 0
	for _, o := range r.Ops {
		n = max(n, o.Thread+1)
	}
	for _, e := range r.Events {
		n = max(n, e.Thread+1)
	}
	return n
}

// title says in a few words what failed where.
func (r *Report) title() string {
	switch {
	case r.Program == "":
		return r.Variant
	case r.Variant == "":
		return r.Program
	}
	return r.Program + " on " + r.Variant
}

// threadName is that of a schedule's text.
func threadName(t int) string { return string(rune('A' + t)) }

// describe says what an event does, to what, and where; the last two may be empty.
func describe(e *sched.Event) (what, object, place string) {
	what = e.Detail
	if what == "" {
		what = e.Kind
	}
	if e.File != "" {
		place = path.Base(e.File) + ":" + strconv.Itoa(e.Line)
	}
	return what, e.Object, place
}

// ending says how an operation ended: its answer, or that there is none.
func (o *ReportOp) ending() string {
	switch {
	case !o.Called:
		return "is not called"
	case o.Returned && o.Answer == "":
		return "returns"
	case o.Returned:
		return o.Answer
	case o.Answer == "":
		return "does not return"
	}
	return "does not return: " + o.Answer
}
