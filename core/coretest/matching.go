package coretest

import (
	"fmt"
	"strings"
	"testing"

	"xidlab/core"
)

// matching is the layer of random programs.
var matching = []check{{"every answer of a random program is the specification's", 0, func(t *trial) {
	for seed := range uint64(t.times(1500)) {
		prog := generate(seed)
		found := runProgram(t.open, prog)
		if found == nil {
			t.ops += len(prog)
			continue
		}
		t.ops += found.step
		t.Fatalf("seed %d: %s", seed, explain(t.open, prog))
	}
}}}

// explain shrinks a program that fails and describes what is left of it.
func explain(open func() core.Manager, prog []op) string {
	short := shrink(prog, func(p []op) bool { return runProgram(open, p) != nil })
	found := runProgram(open, short)
	if found == nil {
		return "a failure that comes and goes, though one thread runs: " + fmt.Sprint(runProgram(open, prog))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", found)
	fmt.Fprintf(&b, "shrunk from %d operations to %d; as a fuzz input: []byte(%q)", len(prog), len(short), encode(short))
	return b.String()
}

// FuzzManager is a native fuzz target: it reads the fuzzer's bytes as a program
// (four bytes an operation), runs it in lockstep with the specification, and
// shrinks one that differs. The seed corpus is a few generated programs. Use:
//
//	func FuzzX(f *testing.F) { coretest.FuzzManager(f, func() core.Manager { return x.New() }) }
func FuzzManager(f *testing.F, newManager func() core.Manager) {
	for seed := range uint64(12) {
		f.Add(encode(generate(1_000_000 + seed)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if prog := decode(data); runProgram(newManager, prog) != nil {
			t.Fatal(explain(newManager, prog))
		}
	})
}
