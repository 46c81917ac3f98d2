package costs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"xidlab/harness/workload"
)

// A Bound is the most that an operation is meant to cost: a sum of multiples of
// other figures of the same run. The zero Bound is none.
type Bound struct {
	F1    float64 // of an uncontended fetch-add with one thread
	L     float64 // of the transfer of a cache line between two CPUs: half of a ping-pong
	Alone float64 // of the same operation with one thread
	Idle  float64 // of the same operation with as many threads and no other transaction open
}

// String is such as "8 F1 + 0.5 L"; "" for the zero Bound.
func (b Bound) String() string {
	var terms []string
	for _, t := range []struct {
		times float64
		of    string
	}{{b.F1, "F1"}, {b.L, "L"}, {b.Alone, "x 1 thread"}, {b.Idle, "x 0 active"}} {
		if t.times > 0 {
			terms = append(terms, strconv.FormatFloat(t.times, 'g', -1, 64)+" "+t.of)
		}
	}
	return strings.Join(terms, " + ")
}

// An aim is a line of the table of costs.
type aim struct {
	variant string
	label   string
	load    string // see workload.Find
	idle    string // the load that Bound.Idle speaks of
	first   bool   // the figure is the first worker's, as the others do something else
	bounds  [2]Bound
}

// The variants that the aims are of. The second has blocks of one xid, ordered
// in real time.
const (
	blocks  = "epoch"
	ordered = "epoch-ordered"
)

// threads are those of a line, in the order of aim.bounds.
var threads = [2]int{1, 2}

// unchanged is a bound for what must not become slower with a second thread; the
// rest is left to noise.
var unchanged = Bound{Alone: 1.25}

// aims is the table of docs/epoch.md, "Costs to aim at", where the reasons are.
func aims() []aim {
	lines := []aim{
		{variant: blocks, label: "Begin, Commit", load: "txn", bounds: [2]Bound{{F1: 5.5}, unchanged}},
	}
	lines = append(lines, beside(blocks, Bound{F1: 7.5}, Bound{F1: 8, L: 0.5})...)
	lines = append(lines, beside(ordered, Bound{F1: 7.5}, Bound{F1: 6, L: 1.5})...)
	for _, l := range []aim{
		{label: "fresh Snapshot(None), 0 active", load: "fresh-snapshot/active=0", bounds: [2]Bound{{F1: 0.5}, {Alone: 1.2}}},
		{label: "fresh Snapshot(None), 4096 active", load: "fresh-snapshot/active=4096", bounds: [2]Bound{{F1: 0.5}, {Alone: 1.2}}},
		{label: "Includes, on the log, 4096 xids", load: "includes-log", bounds: [2]Bound{{F1: 0.8}, unchanged}},
		{label: "Includes, in progress, again", load: "includes-active", bounds: [2]Bound{{F1: 0.6}, unchanged}},
		{label: "Includes, below all unfinished", load: "includes-old", bounds: [2]Bound{{F1: 0.3}, unchanged}},
		{label: "Status, decided", load: "status", bounds: [2]Bound{{F1: 0.6}, unchanged}},
		{label: "AllocateCommitted, write-only", load: "autocommit", bounds: [2]Bound{{F1: 3}, unchanged}},
		{label: "Begin, Rollback, pruned every 1024", load: "rollback", bounds: [2]Bound{{F1: 6}, {Alone: 1.5}}},
		{label: "writer beside a reader", load: "writer-reader", first: true, bounds: [2]Bound{{}, {Alone: 2.5}}},
		{label: "reader beside a writer", load: "reader-writer", first: true, bounds: [2]Bound{{}, {Alone: 2.5}}},
		{label: "OldestActive, 4096 active", load: "oldest-active", bounds: [2]Bound{{F1: 3}, {F1: 3}}},
		{label: "Retain, Release", load: "guard", bounds: [2]Bound{{F1: 5}, unchanged}},
	} {
		l.variant = blocks
		lines = append(lines, l)
	}
	return lines
}

// beside returns the lines of a transaction beside others that are open.
func beside(variant string, one, two Bound) (lines []aim) {
	const idle = "txn-snapshot/active=0"
	for _, active := range []int{0, 16, 256, 4096} {
		l := aim{
			variant: variant, idle: idle,
			label:  fmt.Sprintf("Begin, Snapshot, Commit, %d active", active),
			load:   fmt.Sprintf("txn-snapshot/active=%d", active),
			bounds: [2]Bound{{Idle: 1.25}, {Idle: 1.25}},
		}
		if active == 0 {
			l.bounds = [2]Bound{one, two}
		}
		lines = append(lines, l)
	}
	return lines
}

// aimsOf returns the lines of a variant. One that there are no aims for has the
// lines of the first, without bounds.
func aimsOf(variant string) (lines []aim) {
	as := variant
	if !slices.Contains(Variants(), variant) {
		as = blocks
	}
	for _, l := range aims() {
		if l.variant != as {
			continue
		}
		if as != variant {
			l.variant, l.bounds = variant, [2]Bound{}
		}
		lines = append(lines, l)
	}
	return lines
}

// Variants returns the names of the variants that there are aims for.
func Variants() []string { return []string{blocks, ordered} }

// Loads returns the workloads of all lines, each once.
func Loads() (loads []workload.Load) {
	var names []string
	for _, l := range aims() {
		if slices.Contains(names, l.load) {
			continue
		}
		names = append(names, l.load)
		found, err := workload.Find(l.load)
		if err != nil {
			panic(err) // the table and the workloads are one program
		}
		loads = append(loads, found[0])
	}
	return loads
}

// Threads returns the numbers of threads of the lines that can be measured on so
// many CPUs, at least one.
func Threads(cpus int) []int {
	return slices.DeleteFunc(slices.Clone(threads[:]), func(n int) bool { return n > max(cpus, 1) })
}

// Wanted reports whether a line of the variant needs the row, as Config.Wanted of
// package harness asks.
func Wanted(variant, load string, _ int) bool {
	return slices.ContainsFunc(aimsOf(variant), func(l aim) bool { return l.load == load })
}
