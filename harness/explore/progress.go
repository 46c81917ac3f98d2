package explore

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"xidlab/core"
	"xidlab/internal/sched"
)

// An OpProgress is what the executions of one program show of the progress of
// one operation, whether or not a thread was stopped for ever.
type OpProgress struct {
	Program  string
	Op       string // its name, as in package core
	Steps    int    // the most accesses that one call made, of those that returned
	Blocked  string // how it waited for ever while another thread stood still, or ""
	On       string // what for: a lock, or another variable
	Measured bool   // the program is a rung of this operation's ladder,
	Rounds   int    // this one

	Executions int
	Complete   bool // nothing was left out
}

// ProgressExecutions bounds each of the searches of a Progress well enough for
// programs of two short threads to be complete.
const ProgressExecutions = 3000

// progressSteps bounds their executions: an operation that makes more accesses
// than this does not end.
const progressSteps = 1000

// Progress runs a program, and then again with each thread stopped for ever after
// each number of its accesses: the others have to finish. It returns what it has
// seen of each operation of the manager, in the order of the notation's list;
// nothing if the manager lacks an interface that the program needs. Each of these
// searches ends after so many executions.
//
// Three things can be told apart. An operation blocks if it ever waits for a
// thread that stands still. Otherwise it is lock-free: somebody always finishes.
// It is wait-free, so far as these programs show, if the number of its accesses
// has a bound however much others interfere; see Ladders.
func Progress(ctx context.Context, open func() core.Manager, p Program, executions int) ([]OpProgress, error) {
	s, err := parse(p.Text)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", p.Name, err)
	}
	if len(capabilitiesOf(open()).lacks(s.needs)) > 0 {
		return nil, nil
	}
	g := &progress{c: newClient(s, open), ops: map[opcode]*OpProgress{}, most: executions, complete: true}
	for _, st := range s.stepsOfThreads() {
		if st.op != opInsert && st.op != opDelete { // the client's own, with a lock
			name := operations[st.op].name
			g.ops[st.op] = &OpProgress{Program: p.Name, Op: name, Measured: name == p.Measures, Rounds: p.Rounds}
		}
	}
	longest := g.search(ctx, nil)
	for t, steps := range longest {
		for after := range steps {
			g.search(ctx, &sched.Suspension{Thread: t, After: after})
		}
	}
	var list []OpProgress
	for op := range opcodes {
		if o := g.ops[op]; o != nil {
			o.Executions, o.Complete = g.executions, g.complete
			list = append(list, *o)
		}
	}
	return list, ctx.Err()
}

type progress struct {
	c          *client
	ops        map[opcode]*OpProgress
	most       int // executions of one search
	executions int
	complete   bool
	buf        []sched.Op
}

// search explores with a thread suspended, and returns how many accesses each
// thread made at most.
func (g *progress) search(ctx context.Context, suspend *sched.Suspension) []int {
	longest := make([]int, len(g.c.script.threads))
	steps := g.c.stepsOfThreads()
	type stuck struct {
		op       opcode
		schedule sched.Schedule
	}
	var found []stuck
	cfg := sched.Config{MaxExecutions: g.most, MaxSteps: progressSteps, Suspend: suspend}
	stats := sched.Explore(ctx, cfg, g.c.start, func(x *sched.Execution) bool {
		for t := range longest {
			longest[t] = max(longest[t], x.ThreadSteps(t))
		}
		g.buf = x.Ops(g.buf[:0])
		for i, op := range g.buf {
			if o := g.ops[steps[i].op]; o != nil && op.Returned {
				o.Steps = max(o.Steps, op.Steps)
			}
		}
		if f := x.Failure(); f != nil && suspend != nil {
			for _, op := range stuckIn(f) {
				if o := g.ops[steps[op].op]; o != nil && o.Blocked == "" {
					o.Blocked = f.Error()
					found = append(found, stuck{steps[op].op, x.Schedule()})
				}
			}
		}
		return true
	})
	g.executions += stats.Executions
	g.complete = g.complete && stats.Complete
	for _, s := range found {
		o := g.ops[s.op]
		o.On, o.Blocked = g.explain(s.op, s.schedule, suspend)
	}
	return longest
}

// stuckIn returns the operations that do not end.
func stuckIn(f *sched.Failure) (ops []int) {
	if f.Kind == sched.Livelock && f.Op >= 0 {
		ops = append(ops, f.Op)
	}
	for _, w := range f.Waiting {
		if w.Op >= 0 {
			ops = append(ops, w.Op)
		}
	}
	return ops
}

// explain says on what op waits in an execution, and who holds that.
func (g *progress) explain(op opcode, schedule sched.Schedule, suspend *sched.Suspension) (on, how string) {
	x := sched.Replay(g.c.start, schedule, suspend)
	f := x.Failure()
	if f == nil {
		return "", "it does not when the schedule is run again"
	}
	steps := g.c.stepsOfThreads()
	events := x.Events()
	if f.Kind == sched.Livelock {
		last := events[len(events)-1]
		return unnumbered(last.Object), "it reads the same again and again: " + last.Where
	}
	for _, w := range f.Waiting {
		if w.Op < 0 || steps[w.Op].op != op {
			continue
		}
		how = w.For
		// The holder's last access to it is where it was taken.
		for i, e := range slices.Backward(events) {
			if e.Thread == w.Holder && e.Object == w.Object {
				if e.Op >= 0 {
					how += ", held by " + operations[steps[e.Op].op].name
				}
				if where := events[i].Where; where != "" {
					how += ": " + where
				}
				break
			}
		}
		return unnumbered(w.Object), how
	}
	return "", ""
}

// unnumbered returns the name of an object without the number that it has in one
// execution.
func unnumbered(object string) string {
	name, _, _ := strings.Cut(object, " #")
	return name
}

// A verdict sums up what is known of one operation of one manager.
type verdict struct {
	seen     bool
	steps    int
	measured bool
	rungs    [rungs + 1]int // the most accesses on each
	partial  bool           // some executions on a rung were left out
	blocked  *OpProgress
}

// verdictOn reads all that is known of op.
func verdictOn(op string, list []OpProgress) (v verdict) {
	var searched [rungs + 1]bool
	for _, o := range list {
		if o.Op != op {
			continue
		}
		v.seen = true
		v.steps = max(v.steps, o.Steps)
		if o.Measured && o.Rounds <= rungs {
			v.measured, v.partial = true, v.partial || !o.Complete
			v.rungs[o.Rounds] = max(v.rungs[o.Rounds], o.Steps)
			searched[o.Rounds] = true
		}
		if v.blocked == nil && o.Blocked != "" {
			v.blocked = &o
		}
	}
	// Of a ladder without all its rungs nothing can be said: an interrupt came.
	v.measured = v.measured && !slices.Contains(searched[:], false)
	return v
}

func (v *verdict) String() string {
	unsure := ""
	if v.partial {
		unsure = "?"
	}
	switch {
	case !v.seen:
		return "-"
	case v.blocked != nil:
		return "blocks"
	case v.measured && v.rungs[rungs] > v.rungs[rungs-1]:
		texts := make([]string, len(v.rungs))
		for i, n := range v.rungs {
			texts[i] = fmt.Sprint(n)
		}
		return "lock-free: " + strings.Join(texts, ", ")
	case v.measured:
		text := fmt.Sprintf("wait-free: %d%s", slices.Max(v.rungs[:]), unsure)
		if v.steps > slices.Max(v.rungs[:]) {
			text += fmt.Sprintf(", seldom %d", v.steps)
		}
		return text
	}
	return fmt.Sprintf("at most %d", v.steps)
}

// WriteProgress writes, for each operation and each of the managers, whether it
// is wait-free, lock-free or blocks, and then on what.
func WriteProgress(w io.Writer, managers []string, of map[string][]OpProgress) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "operation\t%s\n", strings.Join(managers, "\t"))
	type wait struct{ manager, on string }
	var waits []wait
	waiting := map[wait][]string{} // the operations
	example := map[wait]string{}
	for op := range opcodes {
		name := operations[op].name
		row := []string{name}
		unknown := true
		for _, m := range managers {
			v := verdictOn(name, of[m])
			row = append(row, v.String())
			unknown = unknown && !v.seen
			if v.blocked != nil {
				k := wait{m, v.blocked.On}
				if waiting[k] == nil {
					waits = append(waits, k)
					example[k] = name + ": " + v.blocked.Blocked
				}
				waiting[k] = append(waiting[k], name)
			}
		}
		if !unknown {
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, `
wait-free: k    at most k accesses of its own, however much others interfered
                (k?: among the executions that were tried, which are not all;
                seldom n: more where a program meets what is rare, such as the end
                of a segment; that part is not measured for a bound)
lock-free: ...  the most accesses beside 0, 1, 2, 3 rounds of interference; they grow
blocks          it waits for a thread that was stopped
at most k       not measured beside more and more interference
`)
	for _, m := range managers { // in this order
		for _, k := range waits {
			if k.manager != m {
				continue
			}
			text := fmt.Sprintf("%s waits for %s: %s", m, k.on, strings.Join(waiting[k], ", "))
			if _, err := fmt.Fprintf(w, "\n%s\n  as %s\n", strings.Join(wrap(text, 84), "\n  "), example[k]); err != nil {
				return err
			}
		}
	}
	return nil
}
