package explore

import (
	"context"
	"fmt"
	"strings"

	"xidlab/core"
	"xidlab/internal/sched"
)

// A Result is what a search of one program on one manager has found.
type Result struct {
	Stats     sched.Stats
	Histories int // different answers, or orders of calls, that were judged

	// Lacks names the interfaces that the program needs and the manager does not
	// have. Then nothing was run.
	Lacks []string

	Violation *Violation // the first, or nil
}

// A Violation is an execution that the contract does not allow.
type Violation struct {
	Kind       string // NotLinearizable, or a failure of the execution itself
	Executions int    // that it took to find it
	Program    Program
	Schedule   sched.Schedule // of Program
	Report     *Report        // Variant, Found, Seed and Replay are the caller's
}

// NotLinearizable is the kind of a violation whose answers are wrong.
const NotLinearizable = "not linearizable"

// Run explores a program on managers that open makes, as cfg says, until it
// finds a violation, which it minimises. Without the sim tag, managers share no
// memory that the explorer sees, and there is one execution.
//
// An execution is judged for all interleavings that have the same order of
// accesses. Its managers have to be alike, and to do the same when used in the
// same way. One Run at a time: see package sched.
func Run(ctx context.Context, open func() core.Manager, p Program, cfg sched.Config) (*Result, error) {
	s, err := parse(p.Text)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", p.Name, err)
	}
	r := &Result{Lacks: capabilitiesOf(open()).lacks(s.needs)}
	if len(r.Lacks) > 0 {
		return r, nil
	}
	e := newExplorer(s, open)
	found := e.search(ctx, cfg)
	r.Stats, r.Histories = e.stats, e.histories
	if found != nil {
		m := minimiser{ctx: ctx, open: open, cfg: cfg, kind: found.kind}
		s, schedule := m.minimise(s, found.schedule)
		r.Violation = &Violation{
			Kind: found.kind, Executions: r.Stats.Executions,
			Program:  Program{Name: p.Name, Text: s.String(), About: p.About, Large: p.Large},
			Schedule: schedule,
		}
		r.Violation.Report = replay(open, r.Violation.Program, s, schedule)
	}
	return r, nil
}

// Replay runs one schedule of a program. The report's Failure is empty if
// nothing is wrong.
func Replay(open func() core.Manager, p Program, schedule sched.Schedule) (*Report, error) {
	s, err := parse(p.Text)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", p.Name, err)
	}
	if lacks := capabilitiesOf(open()).lacks(s.needs); len(lacks) > 0 {
		return nil, fmt.Errorf("program %s needs %v, which the manager does not have", p.Name, lacks)
	}
	return replay(open, p, s, schedule), nil
}

// An explorer searches one script.
type explorer struct {
	*checker
	stats sched.Stats
}

func newExplorer(s *script, open func() core.Manager) *explorer {
	return &explorer{checker: newChecker(newClient(s, open))}
}

// A finding is a wrong execution.
type finding struct {
	kind     string
	schedule sched.Schedule
}

// search returns the first finding, or nil.
func (e *explorer) search(ctx context.Context, cfg sched.Config) (found *finding) {
	e.stats = sched.Explore(ctx, cfg, e.c.start, func(x *sched.Execution) bool {
		if kind := e.judgeExecution(x); kind != "" {
			found = &finding{kind, x.Schedule()}
		}
		return found == nil
	})
	return found
}

// judgeExecution returns what kind of violation x is, or "".
func (e *explorer) judgeExecution(x *sched.Execution) string {
	if f := x.Failure(); f != nil {
		return f.Kind.String()
	}
	if p := e.c.finish(); p != nil {
		return sched.Panic.String()
	}
	if !e.check(x) {
		return NotLinearizable
	}
	return ""
}

// replay runs one schedule and describes it.
func replay(open func() core.Manager, p Program, s *script, schedule sched.Schedule) *Report {
	e := newExplorer(s, open)
	x := sched.Replay(e.c.start, schedule, nil)
	r := &Report{
		Program: p.Name, About: p.About, Text: p.Text,
		Schedule: schedule.String(), Events: x.Events(),
	}
	failing := -1
	var after any
	switch f := x.Failure(); {
	case x.Deviated():
		r.Failure = "the schedule does not fit this program on this manager"
	case f != nil:
		text, stack, _ := strings.Cut(f.Error(), "\n")
		r.Failure, failing = text, f.Op
		if stack != "" {
			r.Witness = strings.Split(strings.TrimSpace(stack), "\n")
		}
	default:
		if after = e.c.finish(); after != nil {
			r.Failure = fmt.Sprintf("panic after the threads have ended: %v", after)
		} else if !e.check(x) {
			r.Failure = NotLinearizable
			e.literal = true
			if e.check(x) { // it is another order of calls that is wrong
				e.literal = false
			}
			r.Witness, failing = e.witness(x)
		}
	}
	r.Before = sequential(s, s.setup, e.c.setup)
	for i, op := range x.Ops(nil) {
		r.Ops = append(r.Ops, ReportOp{
			Thread: op.Thread, Text: s.text(s.stepsOfThreads()[i]), Answer: e.answerOf(x, i, op),
			Called: op.Called, Returned: op.Returned, Failing: i == failing,
		})
	}
	if x.Failure() == nil && after == nil {
		r.After = sequential(s, s.end, e.c.end)
	}
	return r
}

func sequential(s *script, steps []step, answers []answer) (ops []ReportOp) {
	for i := range steps {
		ops = append(ops, ReportOp{Text: s.text(&steps[i]), Answer: answers[i].text(steps[i].op), Called: true, Returned: true})
	}
	return ops
}

// answerOf returns the answer of operation i, or what it waits for.
func (e *explorer) answerOf(x *sched.Execution, i int, op sched.Op) string {
	if op.Returned {
		return e.c.threads[i].text(e.c.stepsOfThreads()[i].op)
	}
	if f := x.Failure(); f != nil {
		for _, w := range f.Waiting {
			if w.Op == i {
				return fmt.Sprintf("waits for %s (%s)", w.Object, w.For)
			}
		}
	}
	return ""
}
