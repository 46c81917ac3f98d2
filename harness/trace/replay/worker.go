package replay

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"xidlab/core"
	"xidlab/harness/trace"
	"xidlab/harness/workload"
)

const (
	batch       = 64  // operations in a Step
	vacuumEvery = 128 // finished transactions of a worker between its vacuums
)

// A worker replays the sessions that it owns, in recorded order. Nothing in a
// Step allocates.
type worker struct {
	*run
	m         core.Manager            // as this worker calls it
	allocator core.CommittedAllocator // these may be nil
	grouper   core.GroupCommitter
	retainer  core.Retainer
	pruner    core.Pruner

	tape
	next int   // the step to do
	lap  int64 // how often the tape has been played

	live     []session
	guarded  []uint32 // sessions with a guard
	writers  []writer
	latest   version // the xid drawn last
	versions []version
	group    []core.Xid // scratch of commit
	now      uint64     // the worker's instant
	finished int        // transactions since the last vacuum
	horizon  core.Xid   // the latest

	counts
	lag *hdrhistogram.Histogram
	err error // the first broken promise
	pace
}

// A session is the state of a session of this worker.
type session struct {
	iso     trace.Isolation
	has     bool // a snapshot
	snap    core.Snapshot
	taken   uint64 // when
	guard   core.Guard
	guarded bool
	floor   core.Xid // the smallest xid that the guard hides and this worker has committed
	witness core.Xid // somebody's xid that the snapshot was asked about first; None: nobody's
	saw     bool     // … and the answer
	xids    []held   // live, in order of drawing; the first is the transaction's
}

// held is a live xid of an open transaction.
type held struct {
	writer uint32
	level  uint16
}

func newWorker(r *run, m core.Manager, sessions []uint32) *worker {
	w := &worker{run: r, m: m, tape: compile(r.load.trace, sessions), lag: hdrhistogram.New(1, int64(core.MaxXid), 3)}
	w.allocator, _ = m.(core.CommittedAllocator)
	w.grouper, _ = m.(core.GroupCommitter)
	w.retainer, _ = m.(core.Retainer)
	w.pruner, _ = m.(core.Pruner)
	w.live = make([]session, w.tape.sessions)
	for i := range w.live {
		w.live[i].xids = make([]held, 0, w.maxLive)
	}
	w.guarded = make([]uint32, 0, w.tape.sessions)
	w.writers = make([]writer, w.draws)
	w.versions = make([]version, w.objects)
	w.group = make([]core.Xid, 0, w.maxLive)
	w.pace.factor = r.load.pace
	return w
}

// Step replays some operations: those that are due, at a pace. If none is, it
// sleeps, for half a millisecond at most.
func (w *worker) Step(s *workload.Sampler) (units int) {
	w.pace.start()
	for range batch {
		st := &w.steps[w.next]
		if w.pace.factor > 0 && !w.pace.due(w.lap, w.span, st.at) {
			break
		}
		if st.kind.Ends() {
			units++
		}
		w.do(st, s)
		if w.next++; w.next == len(w.steps) {
			w.next = 0
			w.lap++
		}
	}
	if w.finished += units; w.finished >= vacuumEvery {
		w.finished = 0
		w.vacuum(s)
	}
	return units
}

func (w *worker) tick() uint64 { w.now++; return w.now }

func (w *worker) do(st *step, s *workload.Sampler) {
	ss := &w.live[st.session]
	switch st.kind {
	case trace.Begin:
		ss.iso, ss.has, ss.xids = st.iso, false, ss.xids[:0]
		if st.iso == trace.Serializable {
			w.serializable++
		}
	case trace.Snapshot:
		w.capture(st.session, ss, s)
	case trace.Draw:
		w.draw(ss, st, s)
	case trace.Read:
		w.look(ss, st.slot, s)
	case trace.Write:
		w.look(ss, st.slot, s)
		h := ss.xids[len(ss.xids)-1]
		w.versions[st.slot] = version{w.writers[h.writer].xid, h.writer}
	case trace.Release:
		for i := range ss.xids {
			ss.xids[i].level = min(ss.xids[i].level, st.level-1)
		}
	case trace.RollbackTo:
		// Levels never fall along xids: a level draws after those below it.
		for n := len(ss.xids); n > 0 && ss.xids[n-1].level >= st.level; n-- {
			w.rollback(ss.xids[n-1].writer, s)
			ss.xids = ss.xids[:n-1]
		}
	case trace.Commit:
		w.commit(ss, s)
		w.leave(st.session, ss, s)
	case trace.Rollback:
		for n := len(ss.xids); n > 0; n-- {
			w.rollback(ss.xids[n-1].writer, s)
		}
		ss.xids = ss.xids[:0]
		w.leave(st.session, ss, s)
	case trace.AllocateCommitted:
		if w.allocator == nil {
			w.allocatedByBegin++
		}
		t := w.timer(s)
		x := core.AllocateCommitted(w.m)
		w.record(s, workload.OpAllocateCommitted, t)
		w.writers[st.writer] = writer{x, w.tick(), committedBy}
		w.committed(x)
		w.versions[st.slot] = version{x, st.writer}
		w.latest = w.versions[st.slot]
	}
}

// top returns the transaction's xid, or None.
func (w *worker) top(ss *session) core.Xid {
	if len(ss.xids) == 0 {
		return core.None
	}
	return w.writers[ss.xids[0].writer].xid
}

func (w *worker) capture(i uint32, ss *session, s *workload.Sampler) {
	ss.has, ss.witness = true, core.None
	if ss.iso == trace.ReadCommitted || w.retainer == nil {
		if ss.iso != trace.ReadCommitted {
			w.unguarded++
		}
		t := w.timer(s)
		ss.snap = w.m.Snapshot(w.top(ss))
		w.record(s, workload.OpSnapshot, t)
		ss.taken = w.tick()
	} else {
		w.leave(i, ss, s) // a trace may take it anew
		t := w.timer(s)
		ss.guard = w.retainer.Retain(w.top(ss))
		w.record(s, workload.OpRetain, t)
		ss.snap, ss.taken, ss.has = ss.guard.Snapshot, w.tick(), true
		ss.guarded, ss.floor = true, core.MaxXid+1
		w.guarded = append(w.guarded, i)
	}
	if ss.iso != trace.ReadCommitted && ss.snap.Bound() > 1 {
		x := ss.snap.Bound() - 1 // the latest of anybody: likely to be in progress
		if in, ok := w.ask(ss, x, s); ok {
			ss.witness, ss.saw = x, in
		}
	}
}

// leave lets go of the session's snapshot.
func (w *worker) leave(i uint32, ss *session, s *workload.Sampler) {
	ss.has = false
	if !ss.guarded {
		return
	}
	ss.guarded = false
	for k := range w.guarded {
		if w.guarded[k] == i {
			w.guarded[k] = w.guarded[len(w.guarded)-1]
			w.guarded = w.guarded[:len(w.guarded)-1]
			break
		}
	}
	t := w.timer(s)
	ok := ss.guard.Release()
	w.record(s, workload.OpRelease, t)
	if !ok {
		w.broken("a guard was gone before its release")
	}
}

func (w *worker) draw(ss *session, st *step, s *workload.Sampler) {
	if st.level > 0 && w.grouper == nil {
		w.sharedSavepoints++
		return
	}
	t := w.timer(s)
	x := w.m.Begin()
	w.record(s, workload.OpBegin, t)
	w.writers[st.slot] = writer{xid: x}
	w.latest = version{x, st.slot}
	w.tick()
	ss.xids = append(ss.xids, held{st.slot, st.level})
	if st.level == 0 && ss.has {
		ss.snap = ss.snap.WithOwner(x)
	}
}

func (w *worker) commit(ss *session, s *workload.Sampler) {
	if ss.has && ss.iso != trace.ReadCommitted {
		w.recall(ss, s)
	}
	if len(ss.xids) == 0 {
		return
	}
	var err error
	t := w.timer(s)
	if len(ss.xids) == 1 {
		err = w.m.Commit(w.top(ss))
	} else {
		w.group = w.group[:0]
		for _, h := range ss.xids {
			w.group = append(w.group, w.writers[h.writer].xid)
		}
		err = w.grouper.CommitGroup(w.group...)
	}
	w.record(s, workload.OpCommit, t)
	if err != nil {
		w.broken("commit: %w", err)
	}
	at := w.tick()
	for _, h := range ss.xids {
		wr := &w.writers[h.writer]
		wr.fate, wr.ended = committedBy, at
		w.committed(wr.xid)
	}
	ss.xids = ss.xids[:0]
}

// committed lowers the floors of the guards that hide x, as it commits now.
func (w *worker) committed(x core.Xid) {
	for _, i := range w.guarded {
		w.live[i].floor = min(w.live[i].floor, x)
	}
}

func (w *worker) rollback(i uint32, s *workload.Sampler) {
	t := w.timer(s)
	err := w.m.Rollback(w.writers[i].xid)
	w.record(s, workload.OpRollback, t)
	if err != nil {
		w.broken("rollback: %w", err)
	}
	w.tick()
	w.writers[i].fate = abortedBy
}

// look is a read of an object: the snapshot is asked about its latest version,
// about the xid drawn last by anybody on this worker, and about its owner.
func (w *worker) look(ss *session, object uint32, s *workload.Sampler) {
	if !ss.has {
		return
	}
	w.check(ss, w.versions[object], s)
	w.check(ss, w.latest, s)
	if len(ss.xids) > 0 {
		w.check(ss, version{w.top(ss), ss.xids[0].writer}, s)
	}
	if ss.iso != trace.ReadCommitted {
		w.recall(ss, s)
	}
}

// check asks the snapshot about a version, and knows the answer.
func (w *worker) check(ss *session, v version, s *workload.Sampler) {
	if v.xid == core.None {
		return
	}
	wr := &w.writers[v.writer]
	if wr.xid != v.xid {
		return
	}
	in, ok := w.ask(ss, v.xid, s)
	if !ok {
		return
	}
	own := v.xid == w.top(ss)
	switch want := own || wr.fate == committedBy && wr.ended < ss.taken; {
	case in == want:
	case in && wr.fate == abortedBy && uint64(v.xid) < w.pruned.Load():
		// forgotten: it counts as committed
	case own:
		w.broken("a snapshot does not include its owner %d", v.xid)
	default:
		w.broken("a snapshot includes xid %d: %v; it was taken at instant %d, the xid is %v at %d",
			v.xid, in, ss.taken, wr.fate, wr.ended)
	}
}

// recall asks the snapshot what it was asked first.
func (w *worker) recall(ss *session, s *workload.Sampler) {
	if ss.witness == core.None || ss.witness == w.top(ss) {
		return
	}
	if in, ok := w.ask(ss, ss.witness, s); ok && in != ss.saw {
		w.broken("a snapshot changed its mind about xid %d: included %v, then %v", ss.witness, ss.saw, in)
	}
}

// ask asks the snapshot; ok is false if it does not know, as one without a guard
// may not.
func (w *worker) ask(ss *session, x core.Xid, s *workload.Sampler) (in, ok bool) {
	w.checks++
	t := w.timer(s)
	in, err := ss.snap.Lookup(x)
	w.record(s, workload.OpIncludes, t)
	if err != nil {
		if ss.guarded || !errors.Is(err, core.ErrTooOld) {
			w.broken("a snapshot was asked about xid %d: %w", x, err)
		}
		w.tooOld++
		return false, false
	}
	return in, true
}

// vacuum asks for the horizons, as what removes old versions would, and forgets
// what has aborted below.
func (w *worker) vacuum(s *workload.Sampler) {
	oldest, guarded := core.MaxXid+1, core.MaxXid+1 // what this worker knows
	for i := range w.live {
		for _, h := range w.live[i].xids {
			oldest = min(oldest, w.writers[h.writer].xid)
		}
		if w.live[i].guarded {
			guarded = min(guarded, w.live[i].floor)
		}
	}
	t := w.timer(s)
	x, any := w.m.OldestActive()
	w.record(s, workload.OpOldestActive, t)
	if oldest <= core.MaxXid && (!any || x > oldest) {
		w.broken("OldestActive = %d, %v, but xid %d is active", x, any, oldest)
	}
	if w.retainer == nil {
		if next := w.m.PeekNext(); any {
			w.lagging(next - min(x, next))
		} else {
			w.lagging(0)
		}
		return
	}
	t = w.timer(s)
	h, _ := w.retainer.OldestRequired()
	w.record(s, workload.OpOldestRequired, t)
	next := w.m.PeekNext()
	switch {
	case h > oldest:
		w.broken("OldestRequired = %d, but xid %d is active", h, oldest)
	case h > guarded:
		w.broken("OldestRequired = %d, but a guard hides xid %d, which has committed since", h, guarded)
	case h < w.horizon:
		w.broken("OldestRequired moved backwards from %d to %d", w.horizon, h)
	case h > next:
		w.broken("OldestRequired = %d is above PeekNext = %d", h, next)
	}
	w.horizon = h
	w.lagging(next - min(h, next))
	if w.pruner == nil {
		return
	}
	for {
		old := w.pruned.Load()
		if old >= uint64(h) || w.pruned.CompareAndSwap(old, uint64(h)) {
			break
		}
	}
	t = w.timer(s)
	w.forgotten += w.pruner.PruneAborted(h)
	w.record(s, workload.OpPruneAborted, t)
}

func (w *worker) lagging(xids core.Xid) { _ = w.lag.RecordValue(int64(xids) + 1) } // in range by MaxXid

// broken keeps the first broken promise.
func (w *worker) broken(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("step %d of lap %d: "+format, append([]any{w.next, w.lap}, args...)...)
	}
}

// notTimed is the start of a call that is not timed.
const notTimed = math.MinInt64

// timer returns when the call that follows starts, for record: at a pace, when
// it was intended to start.
func (w *worker) timer(s *workload.Sampler) int64 {
	if !s.Due() {
		return notTimed
	}
	if w.pace.factor > 0 {
		return w.pace.intended(s.Now())
	}
	return s.Now()
}

func (w *worker) record(s *workload.Sampler, op workload.Op, start int64) {
	if start != notTimed {
		s.Record(op, start)
	}
}

// A pace says when steps are due.
type pace struct {
	factor  float64 // 0: at once
	began   time.Time
	elapsed time.Duration // when Step began
	at      time.Duration // when the current step was due
	behind  int64         // the largest delay, in nanoseconds

	// The sampler's clock has ticks of its own. They are compared with
	// nanoseconds from the first sample on.
	ticks, nanos int64
	comparing    bool
}

func (p *pace) start() {
	if p.factor > 0 {
		if p.began.IsZero() {
			p.began = time.Now()
		}
		p.elapsed = time.Since(p.began)
	}
}

// due reports whether the step that was recorded at the given time is due in
// this lap, and sleeps a little if it is not.
func (p *pace) due(lap int64, span, at time.Duration) bool {
	p.at = time.Duration((float64(lap)*float64(span) + float64(at)) / p.factor)
	if wait := p.at - p.elapsed; wait > 0 {
		time.Sleep(min(wait, 500*time.Microsecond))
		return false
	}
	p.behind = max(p.behind, int64(p.elapsed-p.at))
	return true
}

// intended returns when the current step was due, in ticks of the sampler's
// clock, which shows now. For the first millisecond it cannot know.
func (p *pace) intended(now int64) int64 {
	nanos := int64(time.Since(p.began))
	if !p.comparing {
		p.comparing, p.ticks, p.nanos = true, now, nanos
	}
	if nanos-p.nanos < int64(time.Millisecond) {
		return notTimed
	}
	rate := float64(now-p.ticks) / float64(nanos-p.nanos)
	return now - int64(float64(nanos-int64(p.at))*rate)
}
