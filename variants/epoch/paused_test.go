package epoch

import (
	"runtime"
	"testing"

	"xidlab/core"
)

// These tests stop one operation between two of its steps and run another to
// its end: the interleavings that a stress meets once in a million. They do by
// hand, for the steps that the argument rests on, what the explorer will do for
// all.

// TestPausedCommit: a commit that has drawn its number is held up; somebody
// answers "not yet"; the commit must not be published with that number (I1).
func TestPausedCommit(t *testing.T) {
	for name, answer := range map[string]func(*testing.T, *Manager, core.Xid){
		"Includes": func(t *testing.T, m *Manager, x core.Xid) {
			if m.Snapshot(core.None).Includes(x) {
				t.Error("included")
			}
		},
		"InProgress": func(t *testing.T, m *Manager, x core.Xid) {
			if set, err := m.Snapshot(core.None).InProgress(); err != nil || !set.Has(x) {
				t.Errorf("InProgress() = %v, %v", set, err)
			}
		},
		"Status": func(t *testing.T, m *Manager, x core.Xid) {
			m.Snapshot(core.None)
			if s := m.Status(x); s != core.Active {
				t.Errorf("Status = %v", s)
			}
		},
		"OldestActive": func(t *testing.T, m *Manager, x core.Xid) {
			m.Snapshot(core.None)
			if y, ok := m.OldestActive(); !ok || y != x {
				t.Errorf("OldestActive() = %d, %v", y, ok)
			}
		},
		"CheckpointExcluded": func(t *testing.T, m *Manager, x core.Xid) {
			if _, set := m.CheckpointExcluded(); !set.Has(x) {
				t.Errorf("CheckpointExcluded() = %v", set)
			}
		},
		"owner not rolled back": func(t *testing.T, m *Manager, x core.Xid) {
			if !m.Snapshot(x).Includes(x) {
				t.Error("not included")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(3)
			x := m.Begin()
			c := m.dir.Load().cell(x)
			w := word(c.Load())
			n := m.clock.draw()
			answer(t, m, x)
			if c.CompareAndSwap(uint64(w), uint64(newWord(committed, n))) {
				t.Error("a number drawn before the answer was published after it")
			}
		})
	}
}

// TestBoundNeverFalls: I2.
func TestBoundNeverFalls(t *testing.T) {
	m := newManager(3)
	x := m.Begin()
	c := m.dir.Load().cell(x)
	if !raise(c, word(c.Load()), 9) || !raise(c, word(c.Load()), 7) {
		t.Fatal("raise failed though nobody interfered")
	}
	if b := word(c.Load()).number(); b != 9 {
		t.Errorf("the bound is %d after pushes of 9 and of 7", b)
	}
}

// TestPausedPrune: a prune that has drawn its number is held up; a snapshot
// from after that number says "not included"; the prune must draw again (I10).
func TestPausedPrune(t *testing.T) {
	m := newManager(3)
	x := m.Begin()
	if err := m.Rollback(x); err != nil {
		t.Fatal(err)
	}
	r := m.roundUp(m.PeekNext())
	if !r.condemn(m.clock.fence()) {
		t.Fatal("found nothing to condemn")
	}
	w, at := r.prune.word.Load(), m.clock.fence()
	s := m.Snapshot(core.None)
	if s.Includes(x) || m.Status(x) != core.Aborted {
		t.Fatal("forgotten before the prune took effect")
	}
	if r.execute(w, at) {
		t.Error("a number drawn before the answer took effect after it")
	}
	if !r.execute(r.prune.word.Load(), m.clock.fence()) {
		t.Error("the prune failed though nobody interfered")
	}
	if s.Includes(x) || !m.Snapshot(core.None).Includes(x) || m.Status(x) != core.Committed {
		t.Error("after the prune: the old snapshot includes x, or a new one does not")
	}
}

// TestPausedCollector: a collector has read the slots and is held up; a snapshot
// is retained; what the collector publishes must not pass it (I8).
func TestPausedCollector(t *testing.T) {
	m := newManager(3)
	x := m.Begin()
	s := m.Snapshot(core.None)
	if err := m.Commit(x); err != nil {
		t.Fatal(err)
	}
	h := m.horizon.Load()
	reached := m.walkHorizon(*h, m.PeekNext(), m.guards.oldest(m.clock.now()))
	if reached.xid != x+1 {
		t.Fatalf("the collector got to %d, want %d", reached.xid, x+1)
	}
	if _, err := m.RetainSnapshot(s); err != nil {
		t.Fatal(err)
	}
	if m.publish(h, reached) {
		t.Error("the horizon passed a snapshot that had just been retained")
	}
	if h, ok := m.OldestRequired(); !ok || h != x {
		t.Errorf("OldestRequired() = %d, %v, want %d", h, ok, x)
	}
}

// TestPausedObservation: the allocator has jumped over a gap, and the observer
// is held up before it numbers the gap; a snapshot that sees the jump includes
// the gap, a horizon agrees (I9).
func TestPausedObservation(t *testing.T) {
	m := newManager(3)
	before := m.Retain(core.None)
	m.announceGap(100)
	if s := m.Snapshot(core.None); s.Bound() != 1 || s.Includes(1) || m.Status(1) != core.Unallocated {
		t.Error("a gap counts before the allocator has jumped")
	}
	m.next.Store(101 | parity)
	after := m.Snapshot(core.None)
	set, err := after.InProgress()
	if !after.Includes(100) || !after.Includes(1) || err != nil || len(set) != 0 || m.Status(50) != core.Committed {
		t.Errorf("after the jump: Includes(100) = %v, InProgress() = %v, Status(50) = %v", after.Includes(100), set, m.Status(50))
	}
	if before.Includes(100) {
		t.Error("a snapshot from before the jump includes the gap")
	}
	if h, ok := m.OldestRequired(); !ok || h != 1 {
		t.Errorf("OldestRequired() = %d, %v, want the gap that the guard hides", h, ok)
	}
	before.Release()
	if h, ok := m.OldestRequired(); ok || h != 101 {
		t.Errorf("OldestRequired() = %d, %v after the release", h, ok)
	}
}

// TestPausedBegin: an xid is drawn and its Begin held up before its segment is
// made, its word marked. It is active for everybody; no answer about it waits.
func TestPausedBegin(t *testing.T) {
	m := newManager(1)
	for range 4 {
		if err := m.Commit(m.Begin()); err != nil {
			t.Fatal(err)
		}
	}
	x := core.Xid(m.next.Add(8) - 1) // the segments of the last ones are not made
	if m.dir.Load().covers(x) {
		t.Fatal("the segment is there")
	}
	s := m.Snapshot(core.None)
	set, err := s.InProgress()
	if s.Includes(x) || err != nil || !set.Has(x) || m.Status(x) != core.Active {
		t.Errorf("Includes = %v, InProgress = %v, Status = %v", s.Includes(x), set, m.Status(x))
	}
	if y, ok := m.OldestActive(); !ok || y != x-7 {
		t.Errorf("OldestActive() = %d, %v, want %d", y, ok, x-7)
	}
	if _, excluded := m.CheckpointExcluded(); len(excluded) != 8 {
		t.Errorf("CheckpointExcluded() = %v, want the 8 that are beginning", excluded)
	}
	if err := m.Commit(x); err != nil { // somebody guessed it
		t.Errorf("Commit(%d) = %v", x, err)
	}
	if s.Includes(x) {
		t.Error("the snapshot changed its mind")
	}
}

// TestPausedFailedObservation: begins walk past a gap that was announced, and
// the observer is held up before it notices that it cannot jump. What they began
// is active, not observed (I9).
func TestPausedFailedObservation(t *testing.T) {
	m := newManager(1)
	m.announceGap(2)
	for range 5 {
		m.Begin()
	}
	for x := core.Xid(1); x <= 5; x++ {
		if s := m.Status(x); s != core.Active {
			t.Errorf("Status(%d) = %v, want active", x, s)
		}
		if m.Snapshot(core.None).Includes(x) {
			t.Errorf("a snapshot includes %d, which is active", x)
		}
	}
}

// TestPausedOldestActive: OldestActive is held up with a directory of before x
// had a segment; x commits, and then an older one. x is not active by the time
// that everything below it has finished.
func TestPausedOldestActive(t *testing.T) {
	m := newManager(1)
	older := m.Begin()
	d := m.dir.Load()
	var x core.Xid
	for d.covers(x) {
		x = m.Begin()
		if err := m.Commit(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Commit(older); err != nil {
		t.Fatal(err)
	}
	if y, active := m.skipFinished(d, older, m.PeekNext()); active {
		t.Errorf("%d is called active; all have committed", y)
	}
	if y, ok := m.OldestActive(); ok {
		t.Errorf("OldestActive() = %d; all have committed", y)
	}
}

// TestPausedRetain: a Retain that is held up before it announces its number
// protects everything; still no answer falls below an earlier one, where that
// one is the end of a gap that has grown since, or a pin inside a gap (I8).
func TestPausedRetain(t *testing.T) {
	for _, pin := range []core.Xid{core.None, 15} {
		m := newManager(3)
		if err := m.ObserveCommitted(20); err != nil {
			t.Fatal(err)
		}
		if err := m.Pin(pin); err != nil {
			t.Fatal(err)
		}
		before, _ := m.OldestRequired()
		if err := m.ObserveCommitted(30); err != nil {
			t.Fatal(err)
		}
		m.Unpin(pin)
		m.guards.acquire(m)
		if h, _ := m.OldestRequired(); h < before {
			t.Errorf("OldestRequired falls from %d to %d", before, h)
		}
	}
}

// TestPausedPruneMeetsRollback: a prune has read the clock; y rolls back; x, which
// the prune covers, is seen aborted after that, in any of its states. So the
// prune comes later than the rollback, and must cover it too (I10).
func TestPausedPruneMeetsRollback(t *testing.T) {
	t.Run("before it condemns", func(t *testing.T) {
		m := newManager(3)
		x, y := m.Begin(), m.Begin()
		rollback(t, m, x)
		at := m.clock.fence()
		rollback(t, m, y)
		if s := m.Status(x); s != core.Aborted {
			t.Fatalf("Status = %v", s)
		}
		r := m.roundUp(m.PeekNext())
		if r.condemn(at); !r.open {
			t.Error("the prune believes that it has all")
		}
	})
	t.Run("of an xid that begins meanwhile", func(t *testing.T) {
		m := newManager(1)
		m.Begin()
		at := m.clock.fence()
		r := m.roundUp(core.MaxXid)
		rollback(t, m, 1)
		if r.condemn(m.clock.fence()); !r.open {
			t.Error("the prune believes that no more can begin below its bound")
		}
		m.next.Add(8) // these have no segment yet
		r.below = m.PeekNext()
		if r.condemn(at); !r.open {
			t.Error("the prune believes that what is beginning cannot abort")
		}
	})
	t.Run("after it has drawn", func(t *testing.T) {
		m := newManager(3)
		x, y := m.Begin(), m.Begin()
		rollback(t, m, x)
		r := m.roundUp(m.PeekNext())
		r.condemn(m.clock.fence())
		m.Snapshot(core.None)
		m.Status(x) // the prune's bound is as high as the clock
		w, at := r.prune.word.Load(), m.clock.fence()
		rollback(t, m, y)
		if s := m.Status(x); s != core.Aborted {
			t.Fatalf("Status = %v", s)
		}
		if r.execute(w, at) {
			t.Error("the prune takes effect without the rollback")
		}
	})
}

// TestPausedSentence: a prune has taken effect, and is held up before it has
// rewritten all words. What it covers is forgotten at one instant.
func TestPausedSentence(t *testing.T) {
	m := newManager(3)
	x, y := m.Begin(), m.Begin()
	rollback(t, m, x)
	rollback(t, m, y)
	r := m.roundUp(m.PeekNext())
	r.condemn(m.clock.fence())
	r.cells = r.cells[:1]
	if !r.execute(r.prune.word.Load(), m.clock.fence()) {
		t.Fatal("the prune failed though nobody interfered")
	}
	if a, b := m.Status(x), m.Status(y); a != core.Committed || b != core.Committed {
		t.Errorf("they are %v and %v, want both forgotten", a, b)
	}
}

// TestPausedPardon: a prune has failed, and is held up before it has restored
// the words. Nobody waits for it.
func TestPausedPardon(t *testing.T) {
	m := newManager(3)
	x := m.Begin()
	rollback(t, m, x)
	r := m.roundUp(m.PeekNext())
	r.condemn(m.clock.fence())
	cells := r.cells
	r.cells = nil
	r.pardon()
	if s := m.Snapshot(core.None); s.Includes(x) || m.Status(x) != core.Aborted {
		t.Errorf("Includes = %v, Status = %v", s.Includes(x), m.Status(x))
	}
	r.cells = cells
	r.pardon()
	if n := m.PruneAborted(m.PeekNext()); n != 1 || m.Status(x) != core.Committed {
		t.Errorf("the next prune forgets %d, Status = %v", n, m.Status(x))
	}
}

// TestPausedRelease: a Release is held up before it lets the waiting prune go on.
// That prune is the release's: the next one does not count what it has forgotten.
// And the horizon does not move before: the release is one instant.
func TestPausedRelease(t *testing.T) {
	m := newManager(3)
	x, y, z := m.Begin(), m.Begin(), m.Begin()
	rollback(t, m, x)
	s := m.guards.acquire(m)
	s.announce(m.Snapshot(core.None))
	if err := m.Commit(z); err != nil {
		t.Fatal(err)
	}
	if n := m.PruneAborted(m.PeekNext()); n != 0 {
		t.Fatalf("PruneAborted forgets %d under a guard", n)
	}
	rollback(t, m, y)
	s.uses.Add(1)
	s.number.Store(s.number.Load() | leaving)
	if h, _ := m.OldestRequired(); h != z || m.Status(x) != core.Aborted {
		t.Errorf("OldestRequired() = %d, want %d as long as the abort is remembered (it is %v)", h, z, m.Status(x))
	}
	if n := m.PruneAborted(m.PeekNext()); n != 1 || m.Status(x) != core.Committed {
		t.Errorf("PruneAborted forgets %d, want 1; the other one is %v", n, m.Status(x))
	}
	s.number.Store(free)
	if h, ok := m.OldestRequired(); ok {
		t.Errorf("OldestRequired() = %d after the release", h)
	}
}

// TestReleaseIsOneInstant: a real Release waits for its turn. As long as the abort
// that its guard kept is remembered, the horizon does not move.
func TestReleaseIsOneInstant(t *testing.T) {
	m := newManager(3)
	x, z := m.Begin(), m.Begin()
	rollback(t, m, x)
	g := m.Retain(core.None)
	if err := m.Commit(z); err != nil {
		t.Fatal(err)
	}
	m.PruneAborted(m.PeekNext()) // waits for g
	m.turn.Lock()
	done := make(chan bool)
	go func() { done <- g.Release() }()
	for m.guarded(m.clock.now()) { // for a prune the guard has ended
		runtime.Gosched()
	}
	if h, _ := m.OldestRequired(); h != z || m.Status(x) != core.Aborted {
		t.Errorf("OldestRequired() = %d, want %d as long as %d is %v", h, z, x, m.Status(x))
	}
	m.turn.Unlock()
	if !<-done {
		t.Error("Release() = false")
	}
	if h, ok := m.OldestRequired(); ok || m.Status(x) != core.Committed {
		t.Errorf("after the release: OldestRequired() = %d, %v, and %d is %v", h, ok, x, m.Status(x))
	}
}

func rollback(t *testing.T, m *Manager, x core.Xid) {
	t.Helper()
	if err := m.Rollback(x); err != nil {
		t.Fatal(err)
	}
}
