package sched

import (
	"runtime"
	"unsafe"
)

// Yield is for loops that wait for another thread: the current one goes on when
// something has changed that it has read since it last wrote, or yielded. If
// nobody is left to change it, that is a deadlock. So a loop that gives up after
// so many rounds must not say Yield: it would never be seen to. Outside an
// exploration it lets other goroutines run.
func Yield() {
	x := running.Load()
	switch {
	case x == nil:
		runtime.Gosched()
	case !x.unwinding && len(x.cur.seen) > 0:
		x.await(x.cur, x.cur.seen)
	}
}

// A wait that nobody has declared is found out when a thread has read the same
// values for the eighth time in a row. (Twice or three times would be wrong:
// operations exist that rightly look at one thing thrice.)
const (
	spinRounds = 8
	spinPeriod = 8 // reads of one round, at most
	spinLength = 2 * spinRounds
	seenLimit  = 1 << 12
)

// spin makes t wait if its reads are the same round again and again.
func (x *Execution) spin(t *thread) {
	if t.free || len(t.seen) > seenLimit {
		return
	}
	for period := 1; period <= spinPeriod && spinRounds*period <= len(t.seen); period++ {
		tail := t.seen[len(t.seen)-spinRounds*period:]
		same := true
		for i := period; i < len(tail) && same; i++ {
			same = tail[i] == tail[i-period]
		}
		if same {
			t.spun = true
			x.idle++
			x.await(t, tail[:period])
			t.spun = false
			return
		}
	}
}

// await makes t wait for a change of one of the sightings. The step that ends
// the wait is a read of all of them.
func (x *Execution) await(t *thread, seen []sighting) {
	t.waits = t.waits[:0]
	for _, s := range seen {
		if !contains(t.waits, s.obj) {
			t.waits = append(t.waits, s)
		}
	}
	t.seen = t.seen[:0]
	t.pending, t.on = await, nil
	if x.detailed {
		x.locate(t)
	}
	x.turn(t)

	set := append([]sighting(nil), t.waits...)
	x.sets = append(x.sets, set)
	x.events = append(x.events, event{thread: int8(t.id), op: t.op, kind: await, n: t.clk[t.id] + 1, node: x.node, set: int32(len(x.sets) - 1)})
	i := int32(len(x.events) - 1)
	e := &x.events[i]
	e.clk = t.clk
	e.clk[t.id]++
	for _, s := range set {
		e.clk.join(&s.obj.wrote)
	}
	x.strategy.before(x, e, &e.clk)
	t.clk = e.clk
	for _, s := range set {
		s.obj.read.join(&t.clk)
		s.obj.reads[t.id] = i
	}
	if x.detailed {
		x.note("")
	}
}

func contains(set []sighting, o *object) bool {
	for _, s := range set {
		if s.obj == o {
			return true
		}
	}
	return false
}

// letSpinnersGo ends the waits that were found out, not declared, when nobody
// is left to end them: a loop that only tries so many times goes on; one that
// never stops is a livelock.
func (x *Execution) letSpinnersGo() (enabled mask) {
	for i, t := range x.threads {
		if !t.done && t.pending == await && t.spun && !x.suspended(t) {
			t.free = true
			enabled |= bit(i)
		}
	}
	return enabled
}

// Choose returns a number below n: any of them, so far as the explorer is
// concerned. Outside an exploration it returns 0.
func Choose(n int) int {
	x := running.Load()
	if x == nil || x.unwinding || n < 2 {
		return 0
	}
	if n > maxChoices {
		panic("sched: too many choices")
	}
	c := x.strategy.choose(x, n)
	x.decisions = append(x.decisions, Decision{true, c})
	return c
}

const maxChoices = 1 << 15

// Local returns a place below n, a power of two, for the current thread to look
// first: any, so far as the explorer is concerned, and 0 while a program sets up
// or cleans up. Outside an exploration it tends to be the same for one goroutine
// and to differ between goroutines.
func Local(n int) int {
	if explorations.Load() > 0 {
		return Choose(n)
	}
	var here byte
	return int(uintptr(unsafe.Pointer(&here))>>11*0x9e37>>4) & (n - 1)
}
