// Package coretest checks implementations of [core.Manager], and of the
// capabilities beside it, against the contract in package core.
//
// A test of a manager is one line, and a fuzz target another:
//
//	func TestManager(t *testing.T) { coretest.TestManager(t, func() core.Manager { return New() }) }
//	func FuzzManager(f *testing.F) { coretest.FuzzManager(f, func() core.Manager { return New() }) }
//
// The kit has five layers. Promises are sentences of the contract, each with a
// few operations that would break it. Cases are faults that other systems had.
// Misuse is answered with the documented error and changes nothing. Matching
// runs seeded random programs in lockstep with the sequential specification
// and shrinks one that differs. Stress runs real threads, records when each
// operation was called and returned, and judges the history (see history).
//
// What the kit cannot show: that no interleaving is wrong. The stress sees the
// interleavings that the machine happens to produce; under the sim build tag
// it perturbs the scheduler, to see more of them.
package coretest

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"xidlab/core"
	"xidlab/internal/sched"
)

// TestManager checks that the managers that newManager returns keep the
// promises of [core.Manager] and of every capability they implement; it logs
// which those are. Each call of newManager returns a new manager, unrelated to
// the others. With -short, and under -race, it does a tenth of the random work.
func TestManager(t *testing.T, newManager func() core.Manager) {
	testManager(t, newManager, testing.Short() || raceEnabled)
}

func testManager(t *testing.T, newManager func() core.Manager, short bool) {
	have := capabilitiesOf(newManager())
	t.Logf("capabilities: %v", have)
	for _, layer := range layers {
		t.Run(layer.name, func(t *testing.T) {
			if layer.parallel {
				t.Parallel()
			}
			for _, c := range layer.checks {
				if !have.all(c.needs) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					c.run(newTrial(t, newManager, short))
				})
			}
		})
	}
}

// Check does what TestManager does with -short, and yields what it finds
// instead of failing a test: for testing the kit itself, on managers that are
// known to be wrong. It goes no further than the caller asks.
func Check(newManager func() core.Manager) iter.Seq[Failure] {
	return func(yield func(Failure) bool) {
		have := capabilitiesOf(newManager())
		for _, layer := range layers {
			for _, c := range layer.checks {
				if !have.all(c.needs) {
					continue
				}
				for _, f := range record(layer.name+"/"+c.name, c, newManager) {
					if !yield(f) {
						return
					}
				}
			}
		}
	}
}

// A Failure is a broken promise.
type Failure struct {
	Check string // the layer and the name of the check that failed
	Ops   int    // operations of the manager that the check had made by then
	Text  string // the operations, and the sentence that they contradict
}

func (f Failure) Error() string {
	return fmt.Sprintf("%s: after %d operations: %s", f.Check, f.Ops, f.Text)
}

// layers are the layers of the kit, in the order in which they run: the quick
// and sharp ones first.
var layers = []struct {
	name     string
	checks   []check
	parallel bool // the check is one thread's work
}{
	{"Promises", promises, true},
	{"Cases", cases, true},
	{"Misuse", misuses, true},
	{"Specification", matching, true},
	{"Stress", stresses, false}, // needs the processors for itself
}

// A check is one named property. It is run with a manager of its own.
type check struct {
	name  string // a sentence
	needs capabilities
	run   func(*trial)
}

// capabilities is the set of interfaces that a manager offers, or that a check
// needs, beside core.Manager.
type capabilities uint

const (
	allocates capabilities = 1 << iota
	retains
	pins
	prunes
	recovers
	checkpoints
	reserves
	groupCommits
)

var capabilityNames = []string{
	"CommittedAllocator", "Retainer", "Pinner", "Pruner",
	"Recoverer", "Checkpointer", "KeyReserver", "GroupCommitter",
}

func (c capabilities) all(needs capabilities) bool { return c&needs == needs }

func (c capabilities) String() string {
	var names []string
	for i, name := range capabilityNames {
		if c.all(1 << i) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func capabilitiesOf(m core.Manager) (c capabilities) {
	is := func(bit capabilities, ok bool) {
		if ok {
			c |= bit
		}
	}
	_, ok := m.(core.CommittedAllocator)
	is(allocates, ok)
	_, ok = m.(core.Retainer)
	is(retains, ok)
	_, ok = m.(core.Pinner)
	is(pins, ok)
	_, ok = m.(core.Pruner)
	is(prunes, ok)
	_, ok = m.(core.Recoverer)
	is(recovers, ok)
	_, ok = m.(core.Checkpointer)
	is(checkpoints, ok)
	_, ok = m.(core.KeyReserver)
	is(reserves, ok)
	_, ok = m.(core.GroupCommitter)
	is(groupCommits, ok)
	return c
}

// A reporter is the part of *testing.T that checks use. A recorder stands in
// for it where a failure is what the test wants to see.
type reporter interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A recorder collects failures. It is safe for concurrent use; Fatalf, as that
// of testing.T, only from the goroutine of the check.
type recorder struct {
	mu   sync.Mutex
	text []string
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// record runs c in a goroutine of its own, so that Fatalf can end it, and turns
// a panic into a failure.
func record(name string, c check, newManager func() core.Manager) (found []Failure) {
	var r recorder
	var t *trial
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		t = newTrial(&r, newManager, true)
		c.run(t)
	}()
	<-done
	for _, text := range slices.Compact(r.text) {
		ops := 0
		if t != nil {
			ops = t.ops
		}
		found = append(found, Failure{name, ops, text})
	}
	return found
}

// perturb makes rare interleavings common while a stress runs, in builds that
// have scheduling points.
func perturb(seed uint64) (stop func()) { return sched.Perturb(seed) }
