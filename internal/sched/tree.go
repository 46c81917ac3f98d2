package sched

// A tree is a depth-first search over schedules. It keeps the path of the latest
// execution; the next one follows that path to the last node where something is
// left to try.
//
// With reduce it is source-DPOR (Abdulla, Aronsson, Jonsson, Sagonas, POPL 2014,
// J. ACM 2017): of all schedules with the same order of dependent accesses it
// completes one. A node starts with one thread. Whenever two accesses turn out
// to be in a race, that is dependent, unordered otherwise and the later one
// possible in the place of the earlier one, the node of the earlier one is made
// to try a thread that leads to the other order (before). A thread that was
// tried sleeps in the other branches until something happens that its access
// depends on: what would wake nobody has been seen.
//
// Waiting: an access that waits is in a race only with one in whose place it
// could have been made. Of a lock, that is the access that took it last, not the
// one that gave it back.
//
// Without reduce the search tries everything, with at most bound preemptions in
// an execution if bound is not negative (Musuvathi, Qadeer, PLDI 2007).
type tree struct {
	nodes  []node
	depth  int
	fresh  int // nodes from here on have not been executed before
	reduce bool
	bound  int

	limited bool // the bound has kept it from trying something

	// A search in parts tries everything in the nodes above the split, which
	// takes no knowledge of what lies below them, and shares out what does.
	part, parts int
	branches    int // seen at the split

	flaws flaws
}

// splitDepth is the depth at which a search in parts is shared out.
const splitDepth = 6

// A node is a decision of the path.
type node struct {
	enabled     mask
	backtrack   mask  // to be tried, or tried
	sleep       mask  // tried, or known to be tried elsewhere
	sleepWrites mask  // of these, whose access writes
	chosen      int8  // the thread
	last        int8  // whose access came before, or -1
	preemptions int16 // on the path to here
	event       int32 // the index of the event that was chosen
	choice      int16
	choices     int16 // not 0: a choice, not a thread
}

// flaws are mistakes of the search, and of the detection of data races, that can
// be switched on, for the tests that find them.
type flaws struct {
	noSleepers   bool // sleepers are never woken
	readsCommute bool // a failed compare-and-swap is independent of writes
	lastRaceOnly bool // of several races only the latest is reversed
	noLockRaces  bool // locks that were given back are in no race
	anyInitial   bool // any thread of the other order will do
	noStuckRaces bool // an access that is never made is in no race
	noAwaitRaces bool // the end of a wait is in no race

	// Of the detection of data races.
	deafLoads    bool // a load learns nothing from the store that it observes
	deafWriters  bool // a writer learns nothing from the readers that have left
	readsUnseen  bool // reading plain memory is not noted
	writesUnseen bool // writing it is not
}

func (t *tree) begin(*Execution) {
	t.depth = 0
	t.fresh = max(0, len(t.nodes)-1)
}

func (t *tree) pick(x *Execution, enabled mask) int {
	if t.depth < len(t.nodes) {
		n := &t.nodes[t.depth]
		if n.enabled != enabled || n.choices != 0 || int(n.event) != len(x.events) {
			x.fail(Uncontrolled, nil, "the same schedule led to another state: the program depends on something that is not controlled")
			return -1
		}
		x.node = int32(t.depth)
		t.depth++
		return int(n.chosen)
	}
	n := node{enabled: enabled, last: -1, event: int32(len(x.events))}
	available := enabled
	if i := len(x.events) - 1; i >= 0 {
		last := &x.events[i]
		parent := &t.nodes[last.node]
		n.last = last.thread
		n.preemptions = parent.preemptions
		if parent.last >= 0 && parent.chosen != parent.last && parent.enabled&bit(int(parent.last)) != 0 {
			n.preemptions++
		}
		if t.reduce {
			n.sleep, n.sleepWrites = t.sleepers(x, parent, last)
			available &^= n.sleep
		} else if t.bound >= 0 && int(n.preemptions) >= t.bound && enabled&bit(int(n.last)) != 0 {
			t.limited = t.limited || available != bit(int(n.last))
			available = bit(int(n.last))
		}
	}
	if available == 0 {
		t.end(x)
		return -1 // whatever follows has been seen
	}
	if t.parts > 1 && t.depth == splitDepth {
		t.branches++
		if t.branches%t.parts != t.part {
			return -1
		}
	}
	n.chosen = n.last
	if n.last < 0 || available&bit(int(n.last)) == 0 {
		n.chosen = lowest(available)
	}
	n.backtrack = available
	if t.reduce && !(t.parts > 1 && t.depth < splitDepth) {
		n.backtrack = bit(int(n.chosen))
	}
	t.nodes = append(t.nodes, n)
	x.node = int32(t.depth)
	t.depth++
	return int(n.chosen)
}

// sleepers returns those that sleep in parent and do not wake at e.
func (t *tree) sleepers(x *Execution, parent *node, e *event) (asleep, writes mask) {
	asleep = parent.sleep &^ bit(int(e.thread))
	for q, rest := 0, asleep; rest != 0; q, rest = q+1, rest&^bit(q) {
		if rest&bit(q) != 0 && x.dependent(e, x.threads[q], parent.sleepWrites&bit(q) != 0) && !t.flaws.noSleepers {
			asleep &^= bit(q)
		}
	}
	return asleep, parent.sleepWrites & asleep
}

// dependent reports whether e and the pending access of q, which writes or does
// not, are dependent.
func (x *Execution) dependent(e *event, q *thread, writes bool) bool {
	switch {
	case e.kind == await:
		return q.pending != await && writes && contains(x.sets[e.set], q.on)
	case q.pending == await:
		return e.kind.writes() && contains(q.waits, e.obj)
	}
	return e.obj == q.on && (writes || e.kind.writes())
}

func (t *tree) choose(x *Execution, n int) int {
	if t.depth < len(t.nodes) {
		c := &t.nodes[t.depth]
		t.depth++
		if int(c.choices) != n {
			x.fail(Uncontrolled, nil, "the same schedule led to another choice: the program depends on something that is not controlled")
			return 0
		}
		return int(c.choice)
	}
	t.nodes = append(t.nodes, node{choices: int16(n)})
	t.depth++
	return 0
}

// before looks for the races of e, which is about to be recorded.
func (t *tree) before(x *Execution, e *event, after *clock) {
	if !t.reduce || int(x.node) < t.fresh {
		return // in an earlier execution they were looked for
	}
	if e.kind != await {
		t.races(x, e, e.obj, after)
		return
	}
	for _, s := range x.sets[e.set] {
		if !t.flaws.noAwaitRaces {
			t.races(x, e, s.obj, after)
		}
	}
}

// ends reports whether f is part of what an access of kind k has to wait for: it
// cannot be made in the place of f.
func ends(f *event, k kind) bool {
	switch k {
	case lock, rlock, announce:
		return f.kind == unlock || f.kind == acquire || !f.free
	case acquire:
		return f.kind == runlock
	}
	return false
}

// races reverses the races between e and earlier accesses of o.
func (t *tree) races(x *Execution, e *event, o *object, after *clock) {
	self := x.threads[e.thread]
	var found [MaxThreads + 1]int32
	n := 0
	add := func(i int32) {
		if i < 0 {
			return
		}
		f := &x.events[i]
		if f.thread == e.thread || f.n <= self.clk[f.thread] || ends(f, e.kind) {
			return
		}
		found[n] = i
		n++
	}
	if e.kind.writes() {
		for q := range x.threads {
			add(o.reads[q])
		}
	}
	if last := o.lastWrite; last >= 0 {
		f := &x.events[last]
		switch {
		case t.flaws.readsCommute && e.kind == read && f.kind == update:
		case ends(f, e.kind) && !t.flaws.noLockRaces:
			add(o.lastTaken)
		default:
			add(last)
		}
	}
	for a := range n {
		f := &x.events[found[a]]
		direct := true
		for b := range n {
			if g := &x.events[found[b]]; a != b && g.clk[f.thread] >= f.n {
				direct = false // g lies between
			}
			if t.flaws.lastRaceOnly && found[b] > found[a] {
				direct = false
			}
		}
		if direct {
			t.reverse(x, found[a], e, after)
		}
	}
}

// reverse makes sure that the node of event i tries a thread that leads to e
// coming before it. What has to come before e, and not after i, is the sequence
// of those later events that do not depend on i, and e; a thread whose first
// event there depends on none of the others is a way to begin it.
func (t *tree) reverse(x *Execution, i int32, e *event, after *clock) {
	race := &x.events[i]
	n := &t.nodes[race.node]
	tried := n.backtrack | n.sleep
	if n.enabled&^tried == 0 {
		return
	}
	var first clock // of each thread in the sequence
	var initials mask
	enter := func(thread int8, number uint16, clk *clock) {
		if first[thread] != 0 {
			return
		}
		for q := range x.threads {
			if first[q] != 0 && clk[q] >= first[q] {
				first[thread] = number
				return
			}
		}
		first[thread] = number
		initials |= bit(int(thread))
	}
	for j := int(i) + 1; j < len(x.events); j++ {
		f := &x.events[j]
		if f != e && f.clk[race.thread] < race.n {
			enter(f.thread, f.n, &f.clk)
		}
	}
	enter(e.thread, e.n, after)
	if t.flaws.anyInitial {
		initials = n.enabled
	}
	initials &= n.enabled // one that waited there can only have been cut short
	if initials&tried == 0 && initials != 0 {
		n.backtrack |= bit(int(lowest(initials)))
	}
}

// end looks for the races of accesses that are not made any more, because they
// wait for what this execution does not come to: in the other order they might
// not.
func (t *tree) end(x *Execution) {
	if !t.reduce || t.flaws.noStuckRaces {
		return
	}
	for _, q := range x.threads {
		if q.done || q.ready() || q.on == nil || x.suspended(q) {
			continue
		}
		e := event{thread: int8(q.id), kind: q.pending, n: q.clk[q.id] + 1, obj: q.on}
		after := q.clk
		after[q.id]++
		after.join(&q.on.wrote)
		if e.kind.writes() {
			after.join(&q.on.read)
		}
		t.races(x, &e, q.on, &after)
	}
}

func (t *tree) again(x *Execution) bool {
	for len(t.nodes) > 0 {
		n := &t.nodes[len(t.nodes)-1]
		if n.choices > 0 {
			if n.choice+1 < n.choices {
				n.choice++
				return true
			}
			t.nodes = t.nodes[:len(t.nodes)-1]
			continue
		}
		n.sleep |= bit(int(n.chosen))
		if int(n.event) < len(x.events) && x.events[n.event].kind.writes() {
			n.sleepWrites |= bit(int(n.chosen))
		}
		if left := n.backtrack &^ n.sleep; left != 0 {
			n.chosen = lowest(left)
			return true
		}
		t.nodes = t.nodes[:len(t.nodes)-1]
	}
	return false
}

func lowest(m mask) int8 {
	var t int8
	for ; m&1 == 0; m >>= 1 {
		t++
	}
	return t
}
