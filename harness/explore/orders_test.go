package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"xidlab/core"
	"xidlab/core/spec"
)

func newSpec() core.Manager { return spec.New() }

// A made history is a random program, run on the specification in one order of
// instants, with a random order of accesses around them.
type made struct {
	c        *client
	owner    []int // thread, by operation
	spans    [][2]int
	accesses []reference // in the order of one execution
	called   []uint64    // before each operation returns
}

// A reference is one step of an operation, with the accesses that it depends on.
type reference struct {
	op    int
	after []int // indices of earlier accesses: of its thread, and dependent ones
}

var sequences = []string{
	"x%d=Begin Commit(x%d)", "Commit(a)", "Rollback(a)", "Rollback(b)", "Commit(b)", "Snapshot", "Retain", "Status(a)", "OldestActive",
	"OldestRequired", "AllocateCommitted", "PeekNext", "PruneAborted", "Release(g)", "CheckpointProjection", "CheckpointExcluded",
	"RetainSnapshot(s)", "Pin(a)", "Unpin(a)", "ObserveCommitted(9)", "CommitGroup(a, b)", "Snapshot(a)", "Insert(k, a)", "Insert(k, b)",
	"ReservesUniqueKey(a, b)", "OldestRequired OldestRequired", "Includes(s, a)", "InProgress(s)", "Begin", "PinCount(a)", "OldestPinned",
}

// horizons are for histories in which it matters whether something runs alone.
var horizons = []string{"OldestRequired", "Commit(a)", "Commit(b)", "Begin", "OldestRequired", "Snapshot"}

var setups = []string{"a=Begin b=Begin s=Snapshot g=Retain Release(g)", "a=Begin b=Begin s=Snapshot g=Retain", "a=Begin b=Begin g=Retain s=Snapshot Commit(a)", "a=Begin b=Begin Rollback(a) s=Snapshot(b) g=Retain"}

func makeHistory(t *testing.T, rng *rand.Rand) *made {
	var threads []string
	count, choice := 2+rng.IntN(2), sequences
	if rng.IntN(2) == 0 {
		count, choice = 3, horizons
	}
	for i := range count {
		text := choice[rng.IntN(len(choice))]
		if strings.Contains(text, "%d") {
			text = fmt.Sprintf(text, i, i)
		} else if rng.IntN(3) == 0 {
			text += " " + strings.Fields(sequences[1+rng.IntN(len(sequences)-1)])[0]
			if strings.Count(text, "(") != strings.Count(text, ")") { // cut at a space of its arguments
				text += " b)"
			}
		}
		threads = append(threads, text)
	}
	text := setups[rng.IntN(len(setups))] + "; " + strings.Join(threads, " || ") + "; OldestRequired"
	s, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	h := &made{c: newClient(s, newSpec)}

	// Accesses: 1 to 3 of each operation, in a random order that keeps threads.
	var perThread [][]reference
	op := 0
	for ti, steps := range s.threads {
		perThread = append(perThread, nil)
		for range steps {
			h.owner = append(h.owner, ti)
			for range 1 + rng.IntN(2) {
				perThread[ti] = append(perThread[ti], reference{op: op})
			}
			op++
		}
	}
	for {
		var left []int
		for ti := range perThread {
			if len(perThread[ti]) > 0 {
				left = append(left, ti)
			}
		}
		if len(left) == 0 {
			break
		}
		ti := left[rng.IntN(len(left))]
		a := perThread[ti][0]
		perThread[ti] = perThread[ti][1:]
		for i, b := range h.accesses {
			if h.owner[b.op] == ti || rng.IntN(3) == 0 {
				a.after = append(a.after, i)
			}
		}
		h.accesses = append(h.accesses, a)
	}
	h.called = h.maskFrom()

	// The instants, each at one of the operation's accesses.
	at := make([]int, op)
	for p := range at {
		var mine []int
		for i, a := range h.accesses {
			if a.op == p {
				mine = append(mine, i)
			}
		}
		h.spans = append(h.spans, [2]int{mine[0], mine[len(mine)-1]})
		at[p] = mine[rng.IntN(len(mine))]
	}
	order := make([]int, op)
	for p := range order {
		order[p] = p
	}
	slices.SortFunc(order, func(p, q int) int { return at[p] - at[q] })
	h.run(order)
	return h
}

// run runs the operations one after the other.
func (h *made) run(order []int) {
	h.c.start()
	steps := h.c.stepsOfThreads()
	for _, p := range order {
		h.c.do(steps[p], &h.c.threads[p])
	}
	h.c.finish()
}

// spoil changes an answer.
func (h *made) spoil(rng *rand.Rand) {
	p := rng.IntN(len(h.c.threads))
	a := &h.c.threads[p]
	if h.c.stepsOfThreads()[p].op == opOldestRequired && rng.IntN(4) > 0 {
		a.x, a.yes = 1, true // perhaps too small, perhaps only late
		return
	}
	switch rng.IntN(5) {
	case 0:
		a.yes = !a.yes
	case 1:
		a.x += core.Xid(rng.IntN(3)) - 1
	case 2:
		a.status = core.Status(rng.IntN(5))
	case 3:
		if len(a.set) > 0 {
			a.set = slices.Delete(slices.Clone(a.set), 0, 1)
		} else {
			a.set = core.XidSet{1}
		}
	case 4:
		if len(h.c.final) > 0 {
			h.c.final[rng.IntN(len(h.c.final))] ^= 1
		}
	}
}

// maskFrom computes what the engine reports: from the closure of the
// dependences.
func (h *made) maskFrom() []uint64 {
	n := len(h.accesses)
	before := make([][]bool, n)
	last := map[int]int{}
	firstOf := map[int]int{}
	for i, a := range h.accesses {
		before[i] = make([]bool, n)
		for _, j := range a.after {
			before[i][j] = true
			for k := range n {
				before[i][k] = before[i][k] || before[j][k]
			}
		}
		before[i][i] = true
		if _, ok := firstOf[a.op]; !ok {
			firstOf[a.op] = i
		}
		last[a.op] = i
	}
	masks := make([]uint64, len(h.owner))
	for p := range masks {
		for q := range masks {
			if before[last[p]][firstOf[q]] {
				masks[p] |= 1 << q
			}
		}
	}
	return masks
}

// bruteForce decides by trying everything: every order of accesses, and for its
// real-time order every sequence of instants.
func (h *made) bruteForce() bool {
	n := len(h.accesses)
	place := make([]int, n)
	verdicts := map[string]bool{}
	var extend func(done uint32, at int) bool
	extend = func(done uint32, at int) bool {
		if at == n {
			return h.realTimeOrder(place, verdicts)
		}
		for i, a := range h.accesses {
			ready := done>>i&1 == 0
			for _, j := range a.after {
				ready = ready && done>>j&1 != 0
			}
			if ready {
				place[i] = at
				if !extend(done|1<<i, at+1) {
					return false
				}
			}
		}
		return true
	}
	return extend(0, 0)
}

func (h *made) realTimeOrder(place []int, verdicts map[string]bool) bool {
	ops := len(h.owner)
	precedes := make([][]bool, ops)
	alone := make([]bool, ops)
	key := make([]byte, 0, ops*ops)
	for p := range ops {
		precedes[p] = make([]bool, ops)
		alone[p] = true
		for q := range ops {
			precedes[p][q] = p != q && place[h.spans[p][1]] < place[h.spans[q][0]]
			if precedes[p][q] {
				key = append(key, byte(p), byte(q))
			}
			alone[p] = alone[p] && (p == q || precedes[p][q] || place[h.spans[q][1]] < place[h.spans[p][0]])
		}
	}
	if ok, known := verdicts[string(key)]; known {
		return ok
	}
	ok := h.someSequence(precedes, alone)
	verdicts[string(key)] = ok
	return ok
}

// someSequence tries the sequences of instants, each from the start.
func (h *made) someSequence(precedes [][]bool, alone []bool) bool {
	steps := h.c.stepsOfThreads()
	var path []int // operations; one with two phases occurs twice
	var try func() bool
	follow := func(end bool) bool {
		f := newFollower(h.c.script, h.c.traits, h.c.xids, h.c.known)
		if !f.sequence(h.c.script.setup, h.c.setup, h.c.setupNext) {
			return false
		}
		count := make([]int, len(steps))
		for _, p := range path {
			if !f.step(steps[p], &h.c.threads[p], phases(steps[p].op)[count[p]], alone[p]) {
				return false
			}
			count[p]++
		}
		return !end || f.sequence(h.c.script.end, h.c.end, h.c.endNext) && f.ends(h.c.final)
	}
	times := func(p int) (n int) {
		for _, q := range path {
			if p == q {
				n++
			}
		}
		return n
	}
	try = func() bool {
		complete := true
		for p := range steps {
			if times(p) == len(phases(steps[p].op)) {
				continue
			}
			complete = false
			ready := true
			for q := range steps {
				ready = ready && (!precedes[q][p] || times(q) == len(phases(steps[q].op)))
			}
			if !ready {
				continue
			}
			path = append(path, p)
			if follow(false) && try() {
				return true
			}
			path = path[:len(path)-1]
		}
		return complete && follow(true)
	}
	return try()
}

// TestOrdersAgainstBruteForce compares the search of orders with one that tries
// every interleaving and every sequence of instants.
func TestOrdersAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	right, wrong := 0, 0
	for i := range rounds {
		h := makeHistory(t, rng)
		if rng.IntN(2) == 0 {
			h.spoil(rng)
		}
		want := h.bruteForce()
		j := newJudge(h.c)
		got := j.setupWrong == ""
		if got {
			got, _ = j.linearizable(h.called)
		}
		if got != want {
			t.Fatalf("history %d, %s: linearizable is %v, want %v", i, h.c.script, got, want)
		}
		if want {
			right++
		} else {
			wrong++
		}
	}
	if right < rounds/5 || wrong < rounds/5 {
		t.Errorf("%d right histories and %d wrong ones: too few of one sort to compare anything", right, wrong)
	}
	t.Logf("%d right, %d wrong", right, wrong)
}
