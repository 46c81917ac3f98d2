package sched

//lint:file-ignore SA2001 critical sections are what the programs here are about, whatever is in them

import (
	"context"
	"strings"
	"testing"
)

// TestFlaws: each mistake that the search could make is found by the comparison
// with a search of everything, on programs of the same kinds.
func TestFlaws(t *testing.T) {
	for _, c := range []struct {
		name  string
		flaws flaws
	}{
		{"sleepers are never woken", flaws{noSleepers: true}},
		{"a failed compare-and-swap commutes with updates", flaws{readsCommute: true}},
		{"of several races only the latest is reversed", flaws{lastRaceOnly: true}},
		{"locks that were given back are in no race", flaws{noLockRaces: true}},
		{"any thread of the other order will do", flaws{anyInitial: true}},
		{"an access that is never made is in no race", flaws{noStuckRaces: true}},
		{"the end of a wait is in no race", flaws{noAwaitRaces: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(400) {
				for name, kinds := range families {
					p, text := randomProgram(seed, kinds)
					if diff := differ(t, p, c.flaws); diff != "" {
						t.Logf("%s, seed %d: %s\n%s", name, seed, text, diff)
						return
					}
				}
			}
			t.Error("survived")
		})
	}
}

// TestFailures: what needs no judge is found, by every strategy.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		kind    FailureKind
		want    string
		program Program
	}{
		{Deadlock, "A waits for ", func() []func() {
			var a, b Mutex
			both := func(a, b *Mutex) func() {
				return func() { a.Lock(); b.Lock(); b.Unlock(); a.Unlock() }
			}
			return []func(){both(&a, &b), both(&b, &a)}
		}},
		{Deadlock, "which B holds", func() []func() { // a reader that reads again behind a writer
			var rw RWMutex
			return []func(){
				func() { rw.RLock(); rw.RLock(); rw.RUnlock(); rw.RUnlock() },
				func() { rw.Lock(); rw.Unlock() },
			}
		}},
		{Deadlock, "(change)", func() []func() { // a wait that nobody ends
			var a Uint64
			return []func(){func() {
				for a.Load() == 0 {
					Yield()
				}
			}, func() { a.CompareAndSwap(1, 2) }}
		}},
		{Livelock, "accesses", func() []func() { // the same, undeclared
			var a Bool
			return []func(){func() {
				for !a.Load() {
				}
			}, func() { a.CompareAndSwap(true, false) }}
		}},
		{Panic, "index out of range", func() []func() {
			var a Uint64
			two := make([]int, 2)
			add := func() { two[a.Add(1)-1]++ }
			return []func(){add, func() { a.Add(1); add() }}
		}},
		{Panic, "before the threads start", func() []func() { panic("no") }},
		{LeakedLock, "RWMutex #", func() []func() {
			var rw RWMutex
			var a Uint64
			return []func(){
				func() { a.Store(1) },
				func() {
					rw.RLock()
					if a.Load() == 0 {
						rw.RUnlock()
					}
				},
			}
		}},
		{BadUnlock, "nobody holds", func() []func() {
			var mu Mutex
			var a Uint64
			return []func(){func() { a.Store(1) }, func() {
				mu.Lock()
				mu.Unlock()
				if a.Load() == 1 {
					mu.Unlock()
				}
			}}
		}},
		{DataRace, "writes plain memory that", func() []func() { // published too early
			var ready Bool
			var c Cell[int]
			return []func(){
				func() { ready.Store(true); *c.Write() = 1 },
				func() {
					if ready.Load() {
						*c.Write() = 2
					}
				},
			}
		}},
		{DataRace, "plain memory that", func() []func() { // written under a read lock
			var rw RWMutex
			var c Cell[int]
			f := func() { rw.RLock(); *c.Write()++; rw.RUnlock() }
			return []func(){f, f}
		}},
		{Uncontrolled, "same schedule", func() func() []func() {
			runs := 0
			return func() []func() {
				var a Uint64
				runs++
				return []func(){func() {
					for range runs {
						a.Load()
					}
				}, func() { a.Store(1) }}
			}
		}()},
	} {
		for _, cfg := range []Config{{Strategy: DPOR}, {Strategy: DFS, Bound: 2}, {Strategy: PCT, Bound: 3}, {Strategy: Random}} {
			t.Run(c.kind.String()+"/"+cfg.Strategy.String(), func(t *testing.T) {
				cfg.MaxExecutions, cfg.MaxSteps = 500, 200
				var found *Failure
				var schedule Schedule
				Explore(context.Background(), cfg, c.program, func(x *Execution) bool {
					found, schedule = x.Failure(), x.Schedule()
					return found == nil
				})
				if found == nil || found.Kind != c.kind || !strings.Contains(found.Error(), c.want) {
					t.Fatalf("found %v, want a %v: %q", found, c.kind, c.want)
				}
				if c.kind == Uncontrolled || c.kind == Livelock {
					return // the one does not repeat; the other takes the limit of steps
				}
				if x := Replay(c.program, schedule, nil); x.Failure() == nil || x.Failure().Kind != c.kind || x.Deviated() {
					t.Errorf("replayed, schedule %v: %v, deviated %v", schedule, x.Failure(), x.Deviated())
				}
			})
		}
	}
}

// ordered are programs whose plain memory locks and atomics order.
var ordered = map[string]Program{
	"mutex": func() []func() {
		var mu Mutex
		var c Cell[int]
		f := func() { mu.Lock(); *c.Write()++; mu.Unlock() }
		return []func(){f, f, f}
	},
	"rwmutex": func() []func() {
		var rw RWMutex
		var c Cell[int]
		r := func() { rw.RLock(); _ = *c.Read(); rw.RUnlock() }
		return []func(){r, r, func() { rw.Lock(); *c.Write()++; rw.Unlock() }, func() {
			if rw.TryLock() {
				*c.Write()++
				rw.Unlock()
			}
		}}
	},
	"published": func() []func() {
		var ready Bool
		var c Cell[int]
		return []func(){
			func() { *c.Write() = 1; ready.Store(true) },
			func() {
				if ready.Load() {
					*c.Write() = 2
				}
			},
		}
	},
	"once": func() []func() {
		var o Once
		var c Cell[int]
		f := func() { o.Do(func() { *c.Write() = 1 }); _ = *c.Read() }
		return []func(){f, f, f}
	},
	"pool": func() []func() {
		p := &Pool{New: func() any { return new(Cell[int]) }}
		f := func() { c := p.Get().(*Cell[int]); *c.Write()++; p.Put(c) }
		return []func(){f, f, f}
	},
}

// racy are programs with a data race each.
var racy = map[string]Program{
	"published too early": func() []func() {
		var ready Bool
		var c Cell[int]
		return []func(){
			func() { ready.Store(true); *c.Write() = 1 },
			func() {
				if ready.Load() {
					*c.Write() = 2
				}
			},
		}
	},
	"written under a read lock": func() []func() {
		var rw RWMutex
		var c Cell[int]
		f := func() { rw.RLock(); *c.Write()++; rw.RUnlock() }
		return []func(){f, f}
	},
	"read on after the lock": func() []func() {
		var mu Mutex
		var c Cell[int]
		return []func(){
			func() { mu.Lock(); p := c.Read(); mu.Unlock(); _ = *p; c.Read() },
			func() { mu.Lock(); *c.Write() = 1; mu.Unlock() },
		}
	},
	"a store that nobody observed": func() []func() {
		var a Uint64
		var c Cell[int]
		f := func() { a.Store(1); *c.Write() = 1 }
		return []func(){f, f}
	},
	"a failed try that says who has the lock": func() []func() {
		var mu, k Mutex
		var c Cell[int]
		return []func(){
			func() {
				*c.Write() = 1
				mu.Lock()
				c.Read()
				mu.Unlock()
				k.Lock()
				mu.Lock()
				c.Read()
				mu.Unlock()
				k.Unlock()
			},
			func() {
				if !k.TryLock() && !mu.TryLock() {
					c.Read()
				}
			},
		}
	},
	"read before a write that a flag announces": func() []func() {
		var done Bool
		var c Cell[int]
		return []func(){
			func() { done.Store(true); _ = *c.Read() },
			func() {
				if done.Load() {
					*c.Write() = 1
				}
			},
		}
	},
}

// raceVerdicts returns the programs that are judged wrongly.
func raceVerdicts(t *testing.T, fl flaws) (wrong []string) {
	for name, p := range ordered {
		if _, stats, failures := traces(t, Config{flaws: fl}, p); len(failures) > 0 || !stats.Complete {
			wrong = append(wrong, name)
		}
	}
	for name, p := range racy {
		if _, _, failures := traces(t, Config{flaws: fl}, p); failures["data race"] == 0 {
			wrong = append(wrong, name)
		}
	}
	return wrong
}

// TestDataRaces: plain memory is in a race exactly if nothing orders its accesses;
// and each mistake of the detection gets some program wrong.
func TestDataRaces(t *testing.T) {
	if wrong := raceVerdicts(t, flaws{}); len(wrong) > 0 {
		t.Errorf("judged wrongly: %q", wrong)
	}
	for name, fl := range map[string]flaws{
		"a load learns nothing from the store that it observes":   {deafLoads: true},
		"a writer learns nothing from the readers that have left": {deafWriters: true},
		"reading plain memory is not noted":                       {readsUnseen: true},
		"writing it is not":                                       {writesUnseen: true},
	} {
		if wrong := raceVerdicts(t, fl); len(wrong) == 0 {
			t.Errorf("%s: survived", name)
		} else {
			t.Logf("%s: gets %q wrong", name, wrong)
		}
	}
}
