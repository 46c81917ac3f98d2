package sched

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// traces returns the traces that a search completes, each with how often, and
// the failures by kind.
func traces(t testing.TB, cfg Config, p Program) (map[uint64]int, Stats, map[string]int) {
	t.Helper()
	seen, failures := map[uint64]int{}, map[string]int{}
	stats := Explore(context.Background(), cfg, p, func(x *Execution) bool {
		seen[x.Trace()]++
		if f := x.Failure(); f != nil {
			failures[f.Kind.String()]++
		}
		return true
	})
	return seen, stats, failures
}

// differ reports how DPOR differs from a search of everything: the sets of
// traces must be equal, and none may be completed twice.
func differ(t testing.TB, p Program, fl flaws) string {
	t.Helper()
	all, dfs, bad := traces(t, Config{Strategy: DFS, Bound: -1, MaxExecutions: limit()}, p)
	if !dfs.Exhausted {
		return "" // too large to compare
	}
	got, stats, bad2 := traces(t, Config{Strategy: DPOR, flaws: fl, MaxExecutions: limit()}, p)
	var b strings.Builder
	for id := range all {
		if got[id] == 0 {
			fmt.Fprintf(&b, "of %d traces (%d schedules) %d are found\n", len(all), dfs.Executions, len(got))
			break
		}
	}
	for id, n := range got {
		if all[id] == 0 {
			fmt.Fprintf(&b, "a trace that no schedule has\n")
		}
		if n > 1 {
			fmt.Fprintf(&b, "a trace is completed %d times\n", n)
			break
		}
	}
	if !stats.Exhausted {
		b.WriteString("not exhausted\n")
	}
	for k := range bad {
		if bad2[k] == 0 {
			fmt.Fprintf(&b, "no %s found\n", k)
		}
	}
	return b.String()
}

// A step is an instruction of a random program.
type step struct{ what, where int }

func (s step) String() string {
	return fmt.Sprintf("%s%d", [...]string{"load", "store", "add", "cas", "loop", "lock", "try", "rlock", "wlock", "tryr", "tryw", "once", "await", "choose", "cell"}[s.what], s.where)
}

// randomProgram returns a program of a few threads, and its text.
func randomProgram(seed uint64, kinds []int) (Program, string) {
	return programOf(randomThreads(seed, kinds))
}

func randomThreads(seed uint64, kinds []int) [][]step {
	r := rand.New(rand.NewPCG(seed, 1))
	threads := make([][]step, 2+r.IntN(2))
	for i := range threads {
		for range 1 + r.IntN(4-len(threads)/3) {
			threads[i] = append(threads[i], step{kinds[r.IntN(len(kinds))], r.IntN(2)})
		}
	}
	return threads
}

func programOf(threads [][]step) (Program, string) {
	return func() []func() {
		var a [2]Uint64
		var mu [2]Mutex
		var rw [2]RWMutex
		var bodies []func()
		for id, steps := range threads {
			bodies = append(bodies, func() {
				for _, s := range steps {
					v := &a[s.where]
					switch s.what {
					case 0:
						v.Load()
					case 1:
						v.Store(uint64(id))
					case 2:
						v.Add(1)
					case 3:
						v.CompareAndSwap(0, uint64(id+1))
					case 4:
						for {
							old := v.Load()
							if v.CompareAndSwap(old, old+1) {
								break
							}
						}
					case 5:
						mu[s.where].Lock()
						a[0].Load()
						mu[s.where].Unlock()
					case 6:
						if mu[s.where].TryLock() {
							mu[s.where].Unlock()
						}
					case 7:
						rw[s.where].RLock()
						a[1].Load()
						rw[s.where].RUnlock()
					case 8:
						rw[s.where].Lock()
						rw[s.where].Unlock()
					case 9:
						if rw[s.where].TryRLock() {
							rw[s.where].RUnlock()
						}
					case 10:
						if rw[s.where].TryLock() {
							rw[s.where].Unlock()
						}
					case 11: // both locks, in an order of its own
						mu[s.where].Lock()
						mu[1-s.where].Lock()
						mu[1-s.where].Unlock()
						mu[s.where].Unlock()
					case 12:
						for a[0].Load()+a[1].Load() == 0 {
							Yield()
						}
					case 13:
						if Choose(2) == 1 {
							v.Add(1)
						}
					}
				}
			})
		}
		return bodies
	}, fmt.Sprint(threads)
}

var families = map[string][]int{
	"atomics": {0, 1, 2, 3, 4},
	"locks":   {0, 1, 5, 6, 11},
	"rwlocks": {1, 7, 8, 9, 10},
	"waits":   {0, 1, 2, 12},
	"mixed":   {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
}

var programs = flag.Int("programs", 40, "random programs of each kind, for TestSameTraces; with more, larger ones are compared too")

// limit is how many schedules a program may have, to be compared.
func limit() int {
	if *programs > 40 {
		return 20_000
	}
	return 3000
}

// TestSameTraces: source-DPOR completes exactly the traces that a search of
// everything finds, each once.
func TestSameTraces(t *testing.T) {
	n := *programs
	for name, kinds := range families {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(n) {
				p, text := randomProgram(seed, kinds)
				if diff := differ(t, p, flaws{}); diff != "" {
					t.Fatalf("seed %d: %s\n%s", seed, text, diff)
				}
			}
		})
	}
}

// BenchmarkExecutions is of a program of ten accesses in two threads.
func BenchmarkExecutions(b *testing.B) {
	program := func() []func() {
		var v [2]Uint64
		body := func(i int) func() {
			return func() {
				for range 2 {
					v[i].Load()
					v[1-i].Add(1)
				}
				v[i].Load()
			}
		}
		return []func(){body(0), body(1)}
	}
	for _, cfg := range []Config{{Strategy: DPOR}, {Strategy: DFS, Bound: -1}, {Strategy: PCT, Bound: 3}, {Strategy: Random}} {
		b.Run(cfg.Strategy.String(), func(b *testing.B) {
			n := 0
			for n < b.N {
				cfg.MaxExecutions = b.N - n
				s := Explore(context.Background(), cfg, program, func(*Execution) bool { return true })
				n += s.Executions + s.Redundant
			}
		})
	}
}
