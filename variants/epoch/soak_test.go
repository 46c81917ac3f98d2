package epoch

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"xidlab/core"
	"xidlab/internal/sched"
)

var soak = flag.Duration("soak", time.Second, "how long TestSoak takes")

// soaked are sizes at which what is rare happens all the time.
var soaked = []Options{
	{Segment: 2, Block: 1, Fan: 2},
	{Segment: 16, Block: 1, Reclaim: Recycle},
	{Segment: 4, Block: 2, Cursors: 1, Fan: 2, Reclaim: Recycle},
	{Segment: 8, Block: 4, Cursors: 2, Fan: 4},
	{Segment: 64, Block: 16, Cursors: 4, Reclaim: Recycle},
	{Segment: 16, Block: 2, Cursors: 8, Fan: 2, Reclaim: Recycle},
}

// TestSoak lets goroutines do everything that a manager offers, at random, for as
// long as -soak says, and checks what each can know for certain while the others
// go on:
//
//   - No snapshot changes its mind. One without a guard may become too old.
//   - A snapshot includes what was known to have committed before it was asked for,
//     whoever committed it, and nothing that was known to be unfinished; and all
//     that an earlier one of the same goroutine includes.
//   - No horizon passes an active transaction, a pin, or what a live guard hides and
//     has committed since; none falls, unless something is pinned.
//   - Nothing is forgotten that is pinned, or under a guard that knew it.
//   - Each xid is handed out once.
//   - When all is over nothing is required, and hardly anything is kept.
//
// It sees no order among the goroutines beyond that; the stress of the kit does.
// With -race, or the invariants tag, the manager's own checks are compiled in; with
// the sim tag real threads are made to run into each other at each access.
func TestSoak(t *testing.T) {
	began := time.Now()
	for i, o := range soaked {
		end := began.Add(*soak * time.Duration(i+1) / time.Duration(len(soaked)))
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			rounds, ops := 0, 0
			for seed := uint64(i); rounds == 0 || time.Now().Before(end); seed += uint64(len(soaked)) {
				n, err := soakRound(o, seed, end)
				if err != nil {
					t.Fatalf("round %d, seed %d: %v", rounds, seed, err)
				}
				ops += n
				rounds++
			}
			t.Logf("%d operations in %d rounds", ops, rounds)
		})
	}
}

// soakers is how many goroutines there are: more than the processors that tests
// mostly have, so that some stop in the middle of an operation.
const soakers = 4

// soakLeast is how many operations a goroutine does, at least.
const soakLeast = 200

// soakRound is the life of one manager, cut short at the end of the time. It returns
// how many operations it had, and the first thing that went wrong.
func soakRound(o Options, seed uint64, end time.Time) (ops int, err error) {
	defer sched.Perturb(seed)()
	rng := rand.New(rand.NewPCG(seed, 1))
	steps := soakLeast << rng.IntN(6)
	all := &soakState{m: With(o)}
	var wg sync.WaitGroup
	var workers [soakers]*soaker
	for i := range workers {
		w := &soaker{soakState: all, index: i, rng: rand.New(rand.NewPCG(seed, uint64(i)+2))}
		workers[i] = w
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					w.fail("panic: %v\n%s", p, debug.Stack())
				}
			}()
			for w.steps < steps && (w.steps%64 != 0 || w.steps < soakLeast || time.Now().Before(end)) {
				if all.failure.Load() != nil {
					return
				}
				w.step()
				w.steps++
			}
			w.end()
		})
	}
	wg.Wait()
	if f := all.failure.Load(); f != nil {
		return 0, *f
	}
	var xids []core.Xid
	for _, w := range workers {
		xids = append(xids, w.mine...)
		ops += w.steps
	}
	slices.Sort(xids)
	for i, x := range xids[1:] {
		if x == xids[i] {
			return 0, fmt.Errorf("xid %d was handed out twice", x)
		}
	}
	return ops, soakEnds(all.m, soakers*soakGuards)
}

// soakEnds checks what is left of a manager when nobody wants anything of it, and
// at most so many guards were held at a time.
func soakEnds(m *Manager, guards uint64) error {
	m.PruneAborted(m.PeekNext())
	for range 4 * (1 << m.shift) { // so that segments are made, and others collected
		if err := m.Commit(m.Begin()); err != nil {
			return err
		}
	}
	if x, ok := m.OldestActive(); ok {
		return fmt.Errorf("at the end %d is active", x)
	}
	if x, ok := m.OldestRequired(); ok || x != m.PeekNext() {
		return fmt.Errorf("at the end the horizon is %d, %v; the bound is %d", x, ok, m.PeekNext())
	}
	if _, excluded := m.CheckpointExcluded(); slices.ContainsFunc(excluded, func(x core.Xid) bool { return m.Status(x) != core.Reserved }) {
		return fmt.Errorf("at the end a checkpoint leaves out %v", excluded)
	}
	for _, c := range m.Counters() {
		most, bounded := map[string]uint64{
			"segments-held": 4, "outcomes-held": 4, "gaps": 20, "prunes-waiting": 0, "guard-slots": 2*guards + 2*slotsPerChunk,
		}[c.Name]
		if bounded && c.Value > most {
			return fmt.Errorf("at the end %s is %d, want %d at most", c.Name, c.Value, most)
		}
	}
	return nil
}

// soakState is what the goroutines of a round share.
type soakState struct {
	m       *Manager
	failure atomic.Pointer[error] // the first
	pins    atomic.Uint64         // that were ever added

	// By goroutine. What is there is so from before it is written until after it
	// is cleared; an xid is not written twice.
	committed [soakers]atomic.Uint64 // stays so
	active    [soakers]atomic.Uint64 // or 0
}

// A soaker is one of the goroutines, with all that it knows for certain.
type soaker struct {
	*soakState
	index int
	rng   *rand.Rand
	steps int

	mine    []core.Xid // all that it got
	open    []core.Xid
	aborted []core.Xid // the latest
	views   []*soakView
	guards  []*soakView
	pinned  []soakPin
	horizon core.Xid
	pinsAt  uint64 // pins, before horizon was asked for
}

// A soakView is a snapshot, guarded or not, with what it has answered.
type soakView struct {
	core.Snapshot
	guard   core.Guard
	guarded bool // it is not released
	answers map[core.Xid]bool
	needs   core.Xid   // the smallest that it hides and that has committed since, or 0
	keeps   []core.Xid // rolled back since it is guarded, so not forgotten as long as it is
}

// A soakPin is a pin of an xid; if it was found aborted since, it stays so.
type soakPin struct {
	xid     core.Xid
	aborted bool
}

const (
	soakOpen   = 12 // transactions that a goroutine has open, at most
	soakViews  = 8
	soakGuards = 4
)

func (w *soaker) fail(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	w.failure.CompareAndSwap(nil, &err)
}

// pick takes an element out of list.
func pick[T any](rng *rand.Rand, list *[]T) T {
	i := rng.IntN(len(*list))
	x := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return x
}

func (w *soaker) step() {
	if w.rng.IntN(16) == 0 {
		runtime.Gosched()
	}
	switch k := w.rng.IntN(32); {
	case k < 8:
		w.begin()
	case k < 14:
		w.finish()
	case k < 16:
		w.got(w.m.AllocateCommitted(), true)
	case k < 19:
		w.snapshot()
	case k < 21:
		w.retain()
	case k < 25:
		w.askAgain()
	case k < 26:
		w.release()
	case k < 27:
		w.pinOrUnpin()
	case k < 28:
		w.prune()
	case k < 30:
		w.horizons()
	case k < 31:
		w.statuses()
	default:
		w.rarely()
	}
}

// got notes an xid that the goroutine was given.
func (w *soaker) got(x core.Xid, committed bool) {
	if x == core.None || x >= w.m.PeekNext() {
		w.fail("xid %d was handed out, the bound is %d", x, w.m.PeekNext())
	}
	w.mine = append(w.mine, x)
	if committed {
		w.hasCommitted(x)
	}
}

func (w *soaker) begin() {
	if len(w.open) == soakOpen {
		w.finish()
	}
	x := w.m.Begin()
	w.open = append(w.open, x)
	w.got(x, false)
	if w.active[w.index].Load() == 0 {
		w.active[w.index].Store(uint64(x))
	}
	for _, v := range w.kept() {
		if w.rng.IntN(2) == 0 {
			w.answer(v, x, false, "it began after it")
		}
		if o := v.WithOwner(x); w.rng.IntN(4) == 0 && !o.Includes(x) {
			w.fail("%d does not see its own writes through a snapshot from before it", x)
		}
	}
}

// kept returns the snapshots that the goroutine holds, guarded or not.
func (w *soaker) kept() []*soakView { return slices.Concat(w.views, w.guards) }

// finish commits a transaction or more, or rolls one back.
func (w *soaker) finish() {
	if len(w.open) == 0 {
		return
	}
	w.active[w.index].Store(0)
	x := pick(w.rng, &w.open)
	g, groups := core.Manager(w.m).(core.GroupCommitter)
	switch k := w.rng.IntN(8); {
	case k == 0:
		w.check(w.m.Rollback(x), "rollback", x)
		w.aborted = append(w.aborted, x)
		if len(w.aborted) > 8 {
			w.aborted = w.aborted[1:]
		}
		for _, v := range w.kept() {
			w.answer(v, x, false, "it has rolled back since")
		}
		for _, v := range w.guards {
			v.keeps = append(v.keeps, x) // a prune that covers it is called later than that
		}
	case k < 3 && groups && len(w.open) > 1:
		xs := []core.Xid{x, pick(w.rng, &w.open), pick(w.rng, &w.open)}
		w.check(g.CommitGroup(xs...), "group commit", x)
		for _, x := range xs {
			w.hasCommitted(x)
		}
	default:
		w.check(w.m.Commit(x), "commit", x)
		w.hasCommitted(x)
	}
	if err := w.m.Commit(x); !errors.Is(err, core.ErrNotActive) {
		w.fail("a second finish of %d: %v", x, err)
	}
	if len(w.open) > 0 {
		w.active[w.index].Store(uint64(slices.Min(w.open)))
	}
}

func (w *soaker) check(err error, what string, x core.Xid) {
	if err != nil {
		w.fail("%s of %d: %v", what, x, err)
	}
}

// hasCommitted notes that x has, and tells everybody.
func (w *soaker) hasCommitted(x core.Xid) {
	for _, v := range w.kept() {
		// It was active, or not there, when these were taken.
		w.answer(v, x, false, "it has committed since")
		if v.needs == 0 || x < v.needs {
			v.needs = x
		}
	}
	w.committed[w.index].Store(uint64(x))
}

// snapshot takes one without a guard.
func (w *soaker) snapshot() {
	known, self := w.before(), core.None
	if len(w.open) > 0 && w.rng.IntN(2) == 0 {
		self = w.open[w.rng.IntN(len(w.open))]
	}
	w.views = append(w.views, w.viewOf(core.Guard{Snapshot: w.m.Snapshot(self)}, false, known, self))
	if len(w.views) > soakViews {
		pick(w.rng, &w.views)
	}
}

// before returns what has committed before the call.
func (w *soaker) before() (known []core.Xid) {
	for i := range w.committed {
		if x := core.Xid(w.committed[i].Load()); x != core.None {
			known = append(known, x)
		}
	}
	return known
}

// viewOf checks a new snapshot, whether guarded or not.
func (w *soaker) viewOf(g core.Guard, guarded bool, known []core.Xid, self core.Xid) *soakView {
	v := &soakView{Snapshot: g.Snapshot, guard: g, guarded: guarded, answers: map[core.Xid]bool{}}
	for _, x := range known {
		w.answer(v, x, true, "it had committed before the snapshot was asked for")
	}
	for _, x := range w.open {
		if x == self {
			if !v.Includes(x) {
				w.fail("the snapshot of %d does not include its own writes", x)
			}
			continue
		}
		w.answer(v, x, false, "it was active")
	}
	if n := len(w.views); n > 0 {
		last := w.views[n-1]
		for x, was := range last.answers {
			if was && x != self {
				w.answer(v, x, true, "an earlier snapshot includes it")
			}
		}
	}
	for range 4 {
		w.ask(v, core.Xid(w.rng.Uint64N(uint64(w.m.PeekNext())+2)))
	}
	return v
}

// retain guards the present, or a snapshot that is held.
func (w *soaker) retain() {
	if len(w.guards) == soakGuards {
		w.release()
	}
	var v *soakView
	if len(w.views) > 0 && w.rng.IntN(3) == 0 {
		old := w.views[w.rng.IntN(len(w.views))]
		g, err := w.m.RetainSnapshot(old.Snapshot)
		if err != nil {
			if !errors.Is(err, core.ErrTooOld) {
				w.fail("RetainSnapshot: %v", err)
			}
			return
		}
		v = old // its answers hold, and more is known of it from now on
		w.views = slices.DeleteFunc(w.views, func(o *soakView) bool { return o == old })
		v.guard, v.guarded = g, true
	} else {
		known, self := w.before(), core.None
		if len(w.open) > 0 && w.rng.IntN(2) == 0 {
			self = w.open[w.rng.IntN(len(w.open))]
		}
		g := w.m.Retain(self)
		v = w.viewOf(g, true, known, self)
	}
	w.guards = append(w.guards, v)
}

// stillAborted returns what has rolled back and is not forgotten yet.
func (w *soaker) stillAborted() (xs []core.Xid) {
	for _, x := range w.aborted {
		switch s := w.m.Status(x); s {
		case core.Aborted:
			xs = append(xs, x)
		case core.Committed:
		default:
			w.fail("%d, which has rolled back, is %v", x, s)
		}
	}
	return xs
}

func (w *soaker) release() {
	if len(w.guards) == 0 {
		return
	}
	v := pick(w.rng, &w.guards)
	w.agrees(v)
	if !v.guard.Release() || v.guard.Release() {
		w.fail("a guard did not end, or ended twice")
	}
	if w.rng.IntN(2) == 0 {
		v.guarded, v.keeps = false, nil
		w.views = append(w.views, v) // it may be asked on, until it is too old
	}
}

// ask asks v about x, and remembers.
func (w *soaker) ask(v *soakView, x core.Xid) {
	_, owner, _, _, _ := v.Parts()
	if x == owner {
		return
	}
	got, err := v.Lookup(x)
	if err != nil {
		if !errors.Is(err, core.ErrTooOld) || v.guarded {
			w.fail("asked about %d a snapshot (guarded: %v) says %v", x, v.guarded, err)
		}
		return
	}
	was, asked := v.answers[x]
	if asked && got != was {
		w.fail("a snapshot (guarded: %v) said %v of %d, and now says %v; status %v", v.guarded, was, x, got, w.m.Status(x))
	}
	if len(v.answers) < 64 || asked {
		v.answers[x] = got
	}
}

// answer asks v about x and knows what it must say, if it says anything.
func (w *soaker) answer(v *soakView, x core.Xid, want bool, why string) {
	_, owner, _, _, _ := v.Parts()
	if x == owner {
		return
	}
	w.ask(v, x)
	if got, asked := v.answers[x]; asked && got != want {
		w.fail("a snapshot (guarded: %v) says %v of %d, but %s; status %v", v.guarded, got, x, why, w.m.Status(x))
	}
}

// askAgain asks about what is known, and about something new.
func (w *soaker) askAgain() {
	held := w.kept()
	if len(held) == 0 {
		return
	}
	v := held[w.rng.IntN(len(held))]
	if w.rng.IntN(4) == 0 {
		w.agrees(v)
	}
	w.ask(v, core.Xid(w.rng.Uint64N(uint64(w.m.PeekNext())+2)))
	if len(w.mine) > 0 {
		w.ask(v, w.mine[w.rng.IntN(len(w.mine))])
	}
}

// agrees asks v everything again.
func (w *soaker) agrees(v *soakView) {
	for x := range v.answers {
		w.ask(v, x)
	}
	for _, x := range v.keeps {
		if s := w.m.Status(x); s != core.Aborted {
			w.fail("%d is %v, under a guard that knew it as aborted", x, s)
		}
	}
	set, err := v.InProgress()
	if err != nil {
		if !errors.Is(err, core.ErrTooOld) || v.guarded {
			w.fail("InProgress of a snapshot (guarded: %v): %v", v.guarded, err)
		}
		return
	}
	_, owner, _, _, _ := v.Parts()
	for _, x := range set {
		if x != owner && v.answers[x] {
			w.fail("a snapshot includes %d, and says that it was in progress", x)
		}
	}
}

func (w *soaker) pinOrUnpin() {
	if len(w.pinned) > 3 || len(w.pinned) > 0 && w.rng.IntN(2) == 0 {
		p := pick(w.rng, &w.pinned)
		if p.aborted && w.m.Status(p.xid) != core.Aborted {
			w.fail("%d was forgotten while it was pinned", p.xid)
		}
		w.m.Unpin(p.xid)
		return
	}
	if len(w.mine) == 0 {
		return
	}
	p := soakPin{xid: w.mine[len(w.mine)-1-w.rng.IntN(min(len(w.mine), 8))]}
	w.check(w.m.Pin(p.xid), "pin", p.xid)
	w.soakState.pins.Add(1)
	p.aborted = w.m.Status(p.xid) == core.Aborted
	if w.m.PinCount(p.xid) == 0 {
		w.fail("%d is pinned, and has no pins", p.xid)
	}
	w.pinned = append(w.pinned, p)
}

// prune forgets what is the goroutine's own, or everybody's.
func (w *soaker) prune() {
	if w.rng.IntN(2) == 0 && len(w.aborted) > 0 {
		w.m.PruneAborted(w.aborted[w.rng.IntN(len(w.aborted))] + 1)
		return
	}
	w.m.PruneAborted(w.m.PeekNext())
}

// horizons asks for all of them, and compares them with what must not be passed.
func (w *soaker) horizons() {
	var active [soakers]uint64
	for i := range active {
		active[i] = w.active[i].Load()
	}
	checkpoint := w.rng.IntN(4) == 0
	pins := w.soakState.pins.Load()
	var required core.Xid
	if checkpoint {
		next, excluded, cutoff := w.m.CheckpointProjection()
		for _, x := range w.open {
			if x >= next || !excluded.Has(x) {
				w.fail("a checkpoint does not leave out %d, which is active: %v", x, excluded)
			}
		}
		required = cutoff
	} else {
		required, _ = w.m.OldestRequired()
	}
	oldest, any := w.m.OldestActive()
	if !any {
		oldest = core.MaxXid
	}
	for i := range active {
		x := core.Xid(active[i])
		if active[i] == 0 || active[i] != w.active[i].Load() {
			continue
		}
		if oldest > x || required > x {
			w.fail("%d is active; the oldest active is %d (%v), the horizon %d", x, oldest, any, required)
		}
	}
	for _, v := range w.guards {
		if v.needs != 0 && required > v.needs {
			w.fail("a guard hides %d, which has committed; the horizon is %d", v.needs, required)
		}
	}
	for _, p := range w.pinned {
		if required > p.xid {
			w.fail("%d is pinned; the horizon is %d", p.xid, required)
		}
	}
	if required < w.horizon && w.soakState.pins.Load() == w.pinsAt {
		w.fail("the horizon was %d, and is %d; nothing was pinned in between", w.horizon, required)
	}
	w.horizon, w.pinsAt = required, pins
}

// statuses asks what has become of one's own, and of others'.
func (w *soaker) statuses() {
	for _, x := range w.open {
		if s := w.m.Status(x); s != core.Active {
			w.fail("%d is open, and %v", x, s)
		}
	}
	for i := range w.committed {
		x := core.Xid(w.committed[i].Load())
		if s := w.m.Status(x); s != core.Committed {
			w.fail("%d has committed, and is %v", x, s)
		}
		if w.m.ReservesUniqueKey(core.None, x, nil) && x != core.None {
			w.fail("a row that %d deleted, which has committed, holds its key", x)
		}
	}
	for _, x := range w.stillAborted() {
		if w.m.ReservesUniqueKey(x, core.None, nil) && w.m.Status(x) == core.Aborted {
			w.fail("a row of %d, which has aborted, holds its key", x)
		}
	}
	if next := w.m.PeekNext(); w.m.Status(core.MaxXid) != core.Unallocated || len(w.mine) > 0 && slices.Max(w.mine) >= next {
		w.fail("the bound is %d", next)
	}
}

// rarely does what costs the others most: it observes commits beyond the bound.
func (w *soaker) rarely() {
	if w.rng.IntN(8) != 0 {
		return
	}
	x := w.m.PeekNext() + core.Xid(w.rng.IntN(1<<w.rng.IntN(8)))
	if err := w.m.ObserveCommitted(x); err != nil {
		if !errors.Is(err, core.ErrNotCommitted) { // others have begun it
			w.fail("observe %d: %v", x, err)
		}
		return
	}
	if s := w.m.Status(x); s != core.Committed {
		w.fail("%d was observed as committed, and is %v", x, s)
	}
	w.committed[w.index].Store(uint64(x))
}

// end gives back everything.
func (w *soaker) end() {
	for _, v := range w.kept() {
		w.agrees(v)
	}
	for len(w.open) > 0 {
		w.finish()
	}
	for len(w.guards) > 0 {
		w.release()
	}
	for _, p := range w.pinned {
		w.m.Unpin(p.xid)
	}
}
