package coretest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"xidlab/core"
)

// A history is what some threads did to a manager, and when: each operation is
// stamped before its call and after its return by one counter, so that the
// order of the stamps is the order in real time, without error. (The counter
// also orders memory: a data race that it hides is for freeRunning to meet.)
type history struct {
	m      core.Manager
	ready  atomic.Int32
	clock  atomic.Uint64
	events []*event
	recent [16]atomic.Uint64 // some xids that were begun lately, to ask about
	latest atomic.Uint64
	crash  atomic.Pointer[string]
}

// An event is one operation, from its call to its return.
type event struct {
	kind      kind
	worker    int
	call, ret uint64

	x      core.Xid    // the transaction, or the answer where it is one
	xs     []core.Xid  // of a group
	ok     bool        // it succeeded; the answer's second part
	next   core.Xid    // of a checkpoint
	set    core.XidSet // of a checkpoint
	status core.Status
	snap   core.Snapshot
	probes []probe
	end    *event // the release of a guard, the unpin of a pin
}

// A probe is a question asked of a snapshot at once, while others still run.
type probe struct {
	x   core.Xid
	yes bool
}

type kind string

const (
	beginning kind = "Begin"
	allocated kind = "AllocateCommitted"
	commits   kind = "Commit"
	rollbacks kind = "Rollback"
	grouped   kind = "CommitGroup"
	snapped   kind = "Snapshot"
	retained  kind = "Retain"
	released  kind = "Release"
	asked     kind = "Status"
	oldest    kind = "OldestActive"
	horizon   kind = "OldestRequired"
	exclusion kind = "CheckpointExcluded"
	projected kind = "CheckpointProjection"
	peeked    kind = "PeekNext"
	pinning   kind = "Pin"
	unpinning kind = "Unpin"
)

func (e *event) String() string {
	switch e.kind {
	case asked:
		return fmt.Sprintf("Status(%s) = %v", name(e.x), e.status)
	case beginning, allocated, peeked:
		return fmt.Sprintf("%s() = %s", e.kind, name(e.x))
	case oldest, horizon:
		return fmt.Sprintf("%s() = %s, %v", e.kind, name(e.x), e.ok)
	case exclusion:
		return fmt.Sprintf("%s() = %s, %s", e.kind, name(e.next), nameAll(e.set))
	case projected:
		return fmt.Sprintf("%s() = %s, %s, %s", e.kind, name(e.next), nameAll(e.set), name(e.x))
	case grouped:
		return fmt.Sprintf("CommitGroup%s (accepted: %v)", nameAll(e.xs), e.ok)
	case commits, rollbacks:
		return fmt.Sprintf("%s(%s) (accepted: %v)", e.kind, name(e.x), e.ok)
	}
	return fmt.Sprintf("%s(%s)", e.kind, name(e.x))
}

// at returns the event with its place in the history.
func (e *event) at() string {
	return fmt.Sprintf("%v [thread %d, %d to %d]", e, e.worker, e.call, e.ret)
}

// A worker is one thread of a history.
type worker struct {
	*history
	id  int
	rng *rand.Rand
	log []*event
}

// run runs scripts at once, each on a thread of its own, and adds what they
// did to the history.
func (h *history) run(seed uint64, scripts ...func(*worker)) {
	runEach([]*history{h}, seed, scripts...)
}

// runEach runs scripts at once for one history after the other. The threads
// stay the same, because it takes long until a new one runs on a processor of
// its own, and they start each history together: or else nothing overlaps.
func runEach(hs []*history, seed uint64, scripts ...func(*worker)) {
	var wg sync.WaitGroup
	workers := make([][]*worker, len(hs))
	for i, h := range hs {
		for id := range scripts {
			rng := rand.New(rand.NewPCG(seed+uint64(i), uint64(id)))
			workers[i] = append(workers[i], &worker{history: h, id: id + 1, rng: rng})
		}
	}
	for id, script := range scripts {
		wg.Go(func() {
			for i, h := range hs {
				h.ready.Add(1)
				for spins := 0; h.ready.Load() < int32(len(scripts)); spins++ {
					if spins%1000 == 999 {
						runtime.Gosched()
					}
				}
				workers[i][id].guarded(script)
			}
		})
	}
	wg.Wait()
	for i, h := range hs {
		for _, w := range workers[i] {
			h.events = append(h.events, w.log...)
		}
	}
}

// guarded runs script and notes a panic.
func (w *worker) guarded(script func(*worker)) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("thread %d panicked: %v", w.id, p)
			w.crash.Store(&text)
		}
	}()
	script(w)
}

// do stamps an operation.
func (w *worker) do(k kind, x core.Xid, f func(*event)) *event {
	e := &event{kind: k, worker: w.id, x: x}
	w.log = append(w.log, e)
	e.call = w.clock.Add(1)
	f(e)
	e.ret = w.clock.Add(1)
	return e
}

func (w *worker) begin() core.Xid {
	x := w.do(beginning, 0, func(e *event) { e.x = w.m.Begin() }).x
	w.publish(x)
	return x
}

// publish lets other threads ask about x.
func (w *worker) publish(x core.Xid) {
	w.recent[w.latest.Add(1)%uint64(len(w.recent))].Store(uint64(x))
}

// some returns an xid that some thread began lately, None before there is one.
func (w *worker) some() core.Xid {
	return core.Xid(w.recent[w.rng.IntN(len(w.recent))].Load())
}

func (w *worker) allocate() {
	w.publish(w.do(allocated, 0, func(e *event) { e.x = core.AllocateCommitted(w.m) }).x)
}

func (w *worker) commit(x core.Xid) {
	w.do(commits, x, func(e *event) { e.ok = w.m.Commit(x) == nil })
}

func (w *worker) rollback(x core.Xid) {
	w.do(rollbacks, x, func(e *event) { e.ok = w.m.Rollback(x) == nil })
}

func (w *worker) group(xs ...core.Xid) {
	w.do(grouped, 0, func(e *event) {
		e.xs = xs
		e.ok = w.m.(core.GroupCommitter).CommitGroup(xs...) == nil
	})
}

func (w *worker) snapshot(self core.Xid) {
	w.probe(w.do(snapped, self, func(e *event) { e.snap = w.m.Snapshot(self) }))
}

func (w *worker) retain(self core.Xid) (release func()) {
	var g core.Guard
	e := w.do(retained, self, func(e *event) {
		g = w.m.(core.Retainer).Retain(self)
		e.snap = g.Snapshot
	})
	w.probe(e)
	return func() {
		e.end = w.do(released, self, func(end *event) { end.ok = g.Release() })
	}
}

// probe asks the new snapshot about recent transactions at once: some of them
// are just now committing.
func (w *worker) probe(e *event) {
	for range 2 {
		for i := range w.recent {
			if x := core.Xid(w.recent[i].Load()); x != core.None {
				if yes, err := e.snap.Lookup(x); err == nil {
					e.probes = append(e.probes, probe{x, yes})
				}
			}
		}
	}
}

func (w *worker) status(x core.Xid) {
	w.do(asked, x, func(e *event) { e.status = w.m.Status(x) })
}

func (w *worker) oldestActive() {
	w.do(oldest, 0, func(e *event) { e.x, e.ok = w.m.OldestActive() })
}

func (w *worker) peek() { w.do(peeked, 0, func(e *event) { e.x = w.m.PeekNext() }) }

func (w *worker) required() {
	w.do(horizon, 0, func(e *event) { e.x, e.ok = w.m.(core.Retainer).OldestRequired() })
}

func (w *worker) excluded() {
	w.do(exclusion, 0, func(e *event) { e.next, e.set = w.m.(core.Checkpointer).CheckpointExcluded() })
}

func (w *worker) projection() {
	w.do(projected, 0, func(e *event) { e.next, e.set, e.x = w.m.(core.Checkpointer).CheckpointProjection() })
}

func (w *worker) pin(x core.Xid) (unpin func()) {
	e := w.do(pinning, x, func(e *event) { e.ok = w.m.(core.Pinner).Pin(x) == nil })
	return func() {
		e.end = w.do(unpinning, x, func(*event) { w.m.(core.Pinner).Unpin(x) })
	}
}

// overlaps returns how many operations ran while another thread's did: a
// history without any has tested nothing that one thread would not.
func (h *history) overlaps() int {
	byCall := slices.SortedFunc(slices.Values(h.events), func(a, b *event) int { return int(a.call) - int(b.call) })
	hit := map[*event]bool{}
	for i, e := range byCall {
		for _, o := range byCall[i+1:] {
			if o.call > e.ret {
				break
			}
			if o.worker != e.worker {
				hit[e], hit[o] = true, true
			}
		}
	}
	return len(hit)
}
