package sched

import (
	"fmt"
	"iter"
	"runtime/debug"
	"sync/atomic"
)

// running is the execution under way, if there is one: then every access of a
// scheduled type in the process belongs to it.
var running atomic.Pointer[Execution]

// explorations counts the calls of Explore and Replay under way: between
// executions, programs set up and clean up, and have to repeat themselves.
var explorations atomic.Int32

var serials atomic.Uint64

// An Execution is one run of a program under one schedule. It is valid during
// the call of visit that it is given to, and is used again after it.
type Execution struct {
	serial   uint64
	strategy strategy
	maxSteps int
	suspend  *Suspension
	detailed bool // collect what reports show
	flaws    flaws

	workers []*thread // as many as were ever needed
	threads []*thread // of this execution
	cur     *thread
	next    *thread

	starting  bool // threads run up to their first accesses
	over      bool // no more decisions
	unwinding bool // threads that have not ended are made to
	discarded bool // the strategy broke it off
	idle      int  // waits that nobody had declared (see spin)

	events    []event
	node      int32 // the strategy's, of the event that comes next
	decisions Schedule
	objects   []*object
	used      int
	sets      [][]sighting // of await events
	ops       [MaxOps]opRecord
	opCount   int
	failure   *Failure
	details   []detail // as events
	deviated  bool     // the replayed schedule did not fit
}

// An event is one access, as it happened.
type event struct {
	thread int8
	op     int8
	kind   kind
	free   bool // of a lock: it found no writer
	n      uint16
	node   int32
	set    int32 // of an await: in sets
	obj    *object
	clk    clock // dependence, the event included
}

// A thread is a coroutine that runs one body after the other.
type thread struct {
	id     int
	x      *Execution
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool

	body func()
	done bool
	op   int8 // the operation under way, or -1

	// The access that it will make when it is next picked.
	pending kind
	on      *object

	clk  clock // dependence
	sync clock // synchronization

	seen  []sighting // what it has read since it last wrote
	waits []sighting // what an await waits for
	spun  bool       // the wait was found out, not declared
	free  bool       // it was the last that could go on: no more waits for it

	where detail // of the pending access, if details are wanted
}

// A sighting is an object as a thread has read it.
type sighting struct {
	obj     *object
	version uint32
}

// A strategy decides.
type strategy interface {
	// begin starts an execution.
	begin(*Execution)
	// pick returns one of the enabled threads, or -1 to break off.
	pick(x *Execution, enabled mask) int
	// choose returns a number below n.
	choose(x *Execution, n int) int
	// before is told of an event that is about to be recorded. The thread's
	// clock does not know it yet; after is that clock when it does.
	before(x *Execution, e *event, after *clock)
	// end is told that no thread can go on.
	end(*Execution)
	// again prepares another execution; false if there is no more to do.
	again(*Execution) bool
}

type unwind struct{}

func newExecution(cfg *Config) *Execution {
	x := &Execution{maxSteps: cfg.MaxSteps, suspend: cfg.Suspend, flaws: cfg.flaws}
	if x.maxSteps <= 0 {
		x.maxSteps = defaultSteps
	}
	return x
}

// close ends the coroutines.
func (x *Execution) close() {
	for _, t := range x.workers {
		t.stop()
	}
}

// run executes program once.
func (x *Execution) run(program Program, s strategy) {
	x.serial = serials.Add(1)
	x.strategy = s
	x.used, x.opCount, x.idle = 0, 0, 0
	x.events, x.decisions, x.sets, x.details = x.events[:0], x.decisions[:0], x.sets[:0], x.details[:0]
	x.over, x.unwinding, x.discarded, x.failure, x.node = false, false, false, nil, -1
	bodies := x.start(program)
	for len(x.workers) < len(bodies) {
		x.workers = append(x.workers, x.worker(len(x.workers)))
	}
	x.threads = x.workers[:len(bodies)]
	s.begin(x)
	running.Store(x)
	x.starting = true
	for i, t := range x.threads {
		t.body, t.done, t.op, t.on = bodies[i], false, -1, nil
		t.clk, t.sync = clock{}, clock{}
		t.sync[i] = 1
		t.seen, t.waits, t.spun, t.free = t.seen[:0], t.waits[:0], false, false
	}
	for _, t := range x.threads {
		x.cur = t
		t.resume()
	}
	x.starting = false
	if !x.over { // a thread may have panicked before its first access
		x.decide()
	}
	for !x.over {
		x.cur = x.next
		x.cur.resume()
	}
	x.unwinding = true
	for _, t := range x.threads {
		if !t.done {
			x.cur = t
			t.resume()
		}
	}
	x.cur = nil
	running.Store(nil)
}

// start returns the bodies of the threads; none if the program panicked.
func (x *Execution) start(program Program) (bodies []func()) {
	defer func() {
		if p := recover(); p != nil {
			x.fail(Panic, nil, fmt.Sprintf("panic before the threads start: %v\n%s", p, debug.Stack()))
			x.over = true
		}
	}()
	if bodies = program(); len(bodies) > MaxThreads {
		panic(fmt.Sprintf("%d threads; at most %d are possible", len(bodies), MaxThreads))
	}
	return bodies
}

func (x *Execution) worker(id int) *thread {
	t := &thread{id: id, x: x}
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		for {
			t.run()
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return t
}

// run runs the body to its end, and decides who goes on.
func (t *thread) run() {
	x := t.x
	if t.body == nil {
		return // stopped before its first body
	}
	defer func() {
		t.done = true
		if p := recover(); p != nil && !x.unwinding {
			if _, ok := p.(unwind); !ok {
				x.fail(Panic, t, fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
				x.over = true
			}
		}
		if !x.starting && !x.over {
			x.decide()
		}
	}()
	t.body()
}

// decide settles which thread makes the next access, or that none does.
func (x *Execution) decide() {
	if len(x.events) >= x.maxSteps {
		x.fail(Livelock, x.cur, fmt.Sprintf("not finished after %d accesses", len(x.events)))
		x.over = true
		return
	}
	enabled := x.enabled()
	if enabled == 0 {
		enabled = x.letSpinnersGo()
	}
	if enabled == 0 {
		x.over = true
		x.settle()
		x.strategy.end(x)
		return
	}
	t := x.strategy.pick(x, enabled)
	if t < 0 {
		x.over, x.discarded = true, true
		return
	}
	x.decisions = append(x.decisions, Decision{N: t})
	x.next = x.threads[t]
}

// enabled returns the threads whose access can be made now.
func (x *Execution) enabled() (m mask) {
	for i, t := range x.threads {
		if !t.done && t.ready() && !x.suspended(t) {
			m |= bit(i)
		}
	}
	return m
}

func (x *Execution) suspended(t *thread) bool {
	return x.suspend != nil && x.suspend.Thread == t.id && int(t.clk[t.id]) >= x.suspend.After
}

func (t *thread) ready() bool {
	switch t.pending {
	case lock, rlock, announce, acquire:
		return t.on.opens(t.pending)
	case await:
		for _, s := range t.waits {
			if s.obj.version != s.version {
				return true
			}
		}
		return false
	}
	return true
}

// step makes the current thread wait for its turn to access h.
func (x *Execution) step(k kind, h *header, what string) *object {
	t := x.cur
	if len(t.seen) >= spinLength {
		x.spin(t)
	}
	o := x.of(h, what)
	t.pending, t.on = k, o
	if x.detailed {
		x.locate(t)
	}
	x.turn(t)
	return o
}

func (x *Execution) turn(t *thread) {
	if !x.starting {
		x.decide()
		if !x.over && x.next == t {
			return
		}
	}
	t.yield(struct{}{})
	if x.unwinding {
		panic(unwind{})
	}
}

// record enters what the current thread has just done, or is about to: nothing
// comes between. It returns the event, for details.
func (x *Execution) record(o *object, k kind) {
	t := x.cur
	x.events = append(x.events, event{thread: int8(t.id), op: t.op, kind: k, free: o.writer < 0, n: t.clk[t.id] + 1, node: x.node, set: -1, obj: o})
	i := int32(len(x.events) - 1)
	e := &x.events[i]
	after := &e.clk
	*after = t.clk
	after[t.id]++
	after.join(&o.wrote)
	if k.writes() {
		after.join(&o.read)
	}
	x.strategy.before(x, e, after)
	t.clk = *after
	if k.writes() {
		o.wrote, o.read = t.clk, clock{}
		for j := range x.threads {
			o.reads[j] = -1
		}
		o.lastWrite = i
		o.version++
		t.seen = t.seen[:0]
	} else {
		o.read.join(&t.clk)
		o.reads[t.id] = i
		if k == read || k == miss {
			t.seen = append(t.seen, sighting{o, o.version})
		}
	}
	x.synchronize(t, o, k)
}

// synchronize hands on what threads know of plain memory, as the Go memory model
// says: an access that observes another knows what that one's thread knew.
func (x *Execution) synchronize(t *thread, o *object, k kind) {
	switch k {
	case read, lock, take, rlock, rtake:
		if !x.flaws.deafLoads {
			t.sync.join(&o.released)
		}
	case acquire:
		t.sync.join(&o.released)
		if !x.flaws.deafWriters {
			t.sync.join(&o.rreleased)
		}
	case update:
		t.sync.join(&o.released)
		o.released = t.sync
		t.sync[t.id]++
	case write, unlock:
		o.released = t.sync
		t.sync[t.id]++
	case runlock:
		o.rreleased.join(&t.sync)
		t.sync[t.id]++
	}
}

// settle says how an execution ended in which no thread can go on.
func (x *Execution) settle() {
	var stuck []Waiting
	for _, t := range x.threads {
		if !t.done && !x.suspended(t) {
			stuck = append(stuck, t.waiting())
		}
	}
	if len(stuck) > 0 {
		x.fail(Deadlock, nil, "")
		x.failure.Waiting = stuck
		return
	}
	if x.suspend != nil {
		return // who is suspended may hold what it likes
	}
	for _, o := range x.objects[:x.used] {
		if o.isLock && (o.writer >= 0 || o.readers != 0) {
			x.fail(LeakedLock, nil, fmt.Sprintf("%s is held at the end", o.name()))
		}
	}
}

func (t *thread) waiting() Waiting {
	w := Waiting{Thread: t.id, Op: int(t.op), For: kindNames[t.pending], Holder: -1, on: t.on}
	switch {
	case t.pending == await && len(t.waits) > 0:
		w.on = t.waits[0].obj
	case t.on != nil:
		w.Holder = int(t.on.writer)
	}
	if w.on != nil {
		w.Object = w.on.name()
	}
	return w
}

// fail keeps the first failure.
func (x *Execution) fail(k FailureKind, t *thread, text string) {
	if x.failure != nil {
		return
	}
	x.failure = &Failure{Kind: k, Text: text, Thread: -1, Op: -1}
	if t != nil {
		x.failure.Thread, x.failure.Op = t.id, int(t.op)
	}
}
