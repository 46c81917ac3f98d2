package check

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var runMutants = flag.Bool("mutants", false, "run the tests against each mutant of the checker; takes some minutes")

// A mutant is a mistake in the checker.
type mutant struct{ name, file, from, to string }

var mutants = []mutant{
	{"real time: equal stamps are an order", "schedule.go", "s.c.call[s.byCall[0]] <= limit", "s.c.call[s.byCall[0]] < limit"},
	{"real time is not kept", "schedule.go", "limit := history.Pending\n\tif len(s.byReturn) > 0", "limit := history.Pending\n\tif false"},
	{"begins do not wait for finishes", "check.go", "c.roles[i] = roleBegin\n", "c.roles[i] = roleFinish\n"},
	{"not active: may have been active", "schedule.go", "s.wait[q]++ // and", "s.wait[q] += 0 // and"},
	{"nothing active: some may be", "schedule.go", "return s.active == 0", "return true"},
	{"the oldest: any will do", "schedule.go", "s.youngest[0] != k {", "false {"},
	{"either: both are needed", "graph.go", "g.any = append(g.any, v)", "_ = v"},
	{"a fork by the sets", "cuts.go", "\t\t\t\tlost = k", "\t\t\t\t_ = k"},
	{"a cut's class comes after its finishes only", "cuts.go", "c.edge(out[j-1], n, why, int32(k))", "_ = n"},
	{"finishes come before a cut's class, not", "cuts.go", "c.edge(n, in[j], why, int32(k))", "_ = n"},
	{"what is not named was not set aside", "cuts.go", "!t.born && !(t.vague && c.pendingBorn) &&", "t.x != core.None &&"},
	{"what was set aside is not given up", "index.go", "t.vague, t.given, call = true, true, first", "_ = first"},
	{"what was set aside is never named", "cuts.go", "c.edge(u.node, event(&c.txns[k]), why, k)", "_ = u"},
	{"what is not named may be active", "facts.go", "c.unnamed(q)", "_ = q"},
	{"included does not mean committed before", "facts.go", "c.edge(c.txns[k].commit, q, becauseHas, k)", "_ = q"},
	{"not included does not mean committed after", "facts.go", "c.edge(s, c.txns[k].commit, becauseLacks, k)", "_ = s"},
	{"active does not mean begun", "facts.go", "c.edge(t.begin, q, becauseActive, k)", "_ = t"},
	{"active does not mean unfinished", "facts.go", "c.edge(q, t.finish, becauseStill, k)", "_ = t"},
	{"not forgotten yet", "facts.go", "c.edge(q, c.txns[k].commit, becauseLacks, k) // not forgotten yet", ""},
	{"a bound is above what it is not", "allocator.go", "func (c *checker) atMost(q int32, v core.Xid) {", "func (c *checker) atMost(q int32, v core.Xid) {\n\tv++"},
	{"a bound is below what it is not", "allocator.go", "func (c *checker) atLeast(q int32, v core.Xid) {", "func (c *checker) atLeast(q int32, v core.Xid) {\n\tv--"},
	{"set-aside xids are in order", "index.go", "t.begin != none && !t.born && !t.vague }", "t.begin != none && !t.vague }"},
	{"horizons pass guards", "guards.go", "c.edge(g.release, j, becauseGuard, g.hides)", "_ = j"},
	{"horizons pass what is active", "guards.go", "c.edge(t.finish, j, becausePrefix, int32(k))", "_ = j"},
	{"horizons move back", "guards.go", "c.edge(hs[k].q, j, becauseMonotone, none)", "_ = j"},
	{"a pin is no excuse", "pins.go", "== none {\n\t\t\tc.bad(fmt.Sprintf(\"%s, below what", "!= -2 {\n\t\t\tc.bad(fmt.Sprintf(\"%s, below what"},
	{"an Unpin ends what others hold", "pins.go", "case n == 0 && e.n == -1 && open:", "case e.n == -1 && open:"},
	{"guards do not keep what prunes forget", "prune.go", "earliest[p], holders[p] = latest, holder", "_ = holder"},
	{"pins do not keep what prunes forget", "prune.go", "call, held = s.to, append(held, s.op)", "held = append(held, s.op)"},
	{"a hung finish has taken effect", "check.go", "c.call[i], c.ret[i] = o.Call, o.Return", "c.call[i], c.ret[i] = o.Call, min(o.Return, o.Call+1)"},
	{"a hung Begin began last", "index.go", "b := begins[0]", "b := begins[len(begins)-1]"},
	{"of hung finishes the last", "index.go", "call = min(call, c.ops[i].Call)\n\t\t\t}\n\t\t\tnode", "call = c.ops[i].Call\n\t\t\t}\n\t\t\tnode"},
	{"what looks like a choice is one", "schedule.go", "visit(later[n-1])", "_ = visit"},
	{"the past forgets what was set aside", "past.go", "p.setFate(t.x, bornFate)", "p.setFate(t.x, committedFate)"},
	{"the first claim is the one to name", "index.go", "{sightAsked, sightAborted, sightActive, sightCommitted}", "{sightCommitted, sightAsked, sightAborted, sightActive}"},
	{"a proof leaves out why something had begun", "begun.go", "todo = append(todo, p.txn)", "_ = p.txn"},
	{"two releases", "guards.go", "case len(granted) > 1:", "case len(granted) > 99:"},
	{"one worker's order is that of its stamps", "facts.go", "c.edge(l, c.start(int32(i)), becauseWorker, none)\n\t\t\tc.edge(l, int32(i), becauseWorker, none)", "_ = l"},
	{"the past forgets who finished", "past.go", "p.setFate(t.x, committedFate)", "_ = committedFate"},
	{"the past forgets the bound", "past.go", "p.bound = max(p.bound, t.x+1)", "_ = t.x"},
	{"the past forgets the horizon", "past.go", "p.horizon = max(p.horizon, o.Xid)\n\t\tcase history.PruneAborted", "_ = o.Xid\n\t\tcase history.PruneAborted"},
	{"the past knows what hung calls did", "past.go", "if e := &c.edges[i]; open[e.from] &&", "if e := &c.edges[i]; open[e.to] && func() bool { settled[e.to] = true; return true }() && open[e.from] &&"},
}

// TestMutants: the tests kill each of the checker's mutants, which an overlay puts
// in the place of a source file. Without -mutants it makes sure only that each
// would change something.
func TestMutants(t *testing.T) {
	if len(mutants) < 15 {
		t.Errorf("only %d mutants", len(mutants))
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			source, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.from); n != 1 {
				t.Fatalf("%q stands %d times in %s", m.from, n, m.file)
			}
			if !*runMutants {
				return
			}
			dir := t.TempDir()
			path, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			wrong := filepath.Join(dir, m.file)
			if err := os.WriteFile(wrong, []byte(strings.Replace(string(source), m.from, m.to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: wrong}})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "overlay.json")
			if err := os.WriteFile(file, overlay, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("go", "test", "-vet=off", "-overlay", file, "-failfast", "-timeout", "60s",
				"-run", "^(TestCases|TestAgreement|TestStream.*)$", ".").CombinedOutput()
			switch {
			case err == nil:
				t.Error("the tests do not notice it")
			case strings.Contains(string(out), "panic: "):
				t.Log("killed: it crashes")
			case !strings.Contains(string(out), "--- FAIL"):
				t.Errorf("it was not run: %s", out)
			default:
				for line := range strings.Lines(string(out)) {
					if strings.Contains(line, "--- FAIL") && !strings.HasPrefix(line, "---") {
						t.Logf("killed by %s", strings.Fields(line)[2])
						return
					}
				}
				t.Log("killed")
			}
		})
	}
}
