package explore

import (
	"context"
	"strings"

	"xidlab/core"
	"xidlab/internal/sched"
)

// A minimiser makes a violation smaller: it drops operations as long as a
// search still finds a violation of the same kind, and then looks for a schedule
// with as few switches as will do, in which the calls are where the witness
// needs them.
type minimiser struct {
	ctx  context.Context
	open func() core.Manager
	cfg  sched.Config
	kind string
}

const (
	dropExecutions   = 20_000 // for each operation that might be dropped
	switchExecutions = 50_000 // for each number of switches
	mostSwitches     = 6
)

func (m *minimiser) minimise(s *script, schedule sched.Schedule) (*script, sched.Schedule) {
	search := m.cfg
	search.MaxExecutions, search.Part, search.Parts = dropExecutions, 0, 0
	for again := true; again; {
		again = false
		for _, smaller := range s.withoutOne() {
			if found := m.search(smaller, search, false); found != nil {
				s, schedule, again = smaller, found, true
				break
			}
		}
	}
	for bound := range mostSwitches + 1 {
		dfs := sched.Config{Strategy: sched.DFS, Bound: bound, MaxExecutions: switchExecutions, MaxSteps: m.cfg.MaxSteps}
		if found := m.search(s, dfs, true); found != nil {
			return s, found
		}
	}
	return s, schedule
}

func (m *minimiser) search(s *script, cfg sched.Config, literal bool) sched.Schedule {
	e := newExplorer(s, m.open)
	e.literal = literal
	if found := e.search(m.ctx, cfg); found != nil && found.kind == m.kind {
		return found.schedule
	}
	return nil
}

// withoutOne returns the scripts that lack one operation of s, and those that
// use its answer; the last operations first.
func (s *script) withoutOne() (smaller []*script) {
	total := len(s.setup) + len(s.stepsOfThreads()) + len(s.end)
	for i := total - 1; i >= 0; i-- {
		if w := s.without(i); w != nil {
			smaller = append(smaller, w)
		}
	}
	return smaller
}

// without returns s without its operation number n, in the order of the text;
// nil if nothing remains for a thread to do.
func (s *script) without(n int) *script {
	gone := map[int]bool{} // variables
	i := -1
	kept := func(steps []step) string {
		var texts []string
		for k := range steps {
			st := &steps[k]
			i++
			drop := i == n
			for a := range st.args {
				drop = drop || operations[st.op].takes(a) != key && st.args[a].v >= 0 && gone[st.args[a].v]
			}
			if !drop {
				texts = append(texts, s.text(st))
			} else if st.dst >= 0 {
				gone[st.dst] = true
			}
		}
		return strings.Join(texts, " ")
	}
	setup := kept(s.setup)
	var threads []string
	for _, t := range s.threads {
		if text := kept(t); text != "" {
			threads = append(threads, text)
		}
	}
	if len(threads) == 0 {
		return nil
	}
	w, err := parse(setup + ";" + strings.Join(threads, "||") + ";" + kept(s.end))
	if err != nil {
		panic("explore: a smaller script is none: " + err.Error())
	}
	return w
}
