package coretest

import (
	"runtime"
	"sync"
	"sync/atomic"

	"xidlab/core"
)

// A script is what one thread of a stress does.
type script = func(*worker)

// race returns a check that runs scripts at once on a manager, many rounds, and
// judges the history of each. It is bounded by rounds, not by time: where the
// processors are busy with something else and little overlaps, it does up to
// twice as many.
func race(rounds int, scripts ...script) func(*trial) {
	return func(t *trial) {
		const roundsOfOne = 8 // on one manager: young ones and used ones
		all, hit, old := 0, 0, 0
		enough := max(2*roundsOfOne, t.times(rounds))
		for round := 0; round < enough || round < 2*enough && hit < all/20; round += roundsOfOne {
			hs := make([]*history, roundsOfOne)
			m := t.open()
			for i := range hs {
				hs[i] = &history{m: m}
			}
			stop := perturb(uint64(round))
			runEach(hs, uint64(round), scripts...)
			stop()
			for i, h := range hs {
				objection, j := h.verdict()
				t.ops += len(h.events)
				if objection != "" {
					t.Fatalf("round %d: %s", round+i, objection)
				}
				all, hit, old = all+len(h.events), hit+h.overlaps(), old+j.old
			}
		}
		t.Logf("%d operations, %d of them while another thread's ran; %d snapshots too old to ask at the end", all, hit, old)
	}
}

// stresses run real threads. Those named after a case are its concurrent form.
var stresses = []check{
	{"case 2: old and new, among threads (PostgreSQL procarray)", 0, race(40, writes(32), writes(32), rereads(32), rereads(32))},
	{"case 4: counter before set (MariaDB)", 0, race(40, writes(40), writes(40), reads(80))},
	{"case 5: OldestActive while others begin (PostgreSQL)", 0, race(40, writes(40), overlappingWrites(40), func(w *worker) {
		for range 120 {
			w.oldestActive()
		}
	})},
	{"cases 6 to 8: commit number visible before the mark, a sentinel, clock before mark (OrioleDB, MariaDB, Hekaton)", 0,
		race(60, writes(48), finishes(48), reads(80))},
	{"case 9: inactive because it committed, yet not in a later snapshot (PostgreSQL)", 0, race(40, writes(48), writes(48), func(w *worker) {
		for range 60 {
			w.status(w.some())
			w.snapshot(core.None)
			w.oldestActive()
		}
	})},
	{"case 12: parent and savepoints", groupCommits, race(50, groupsCommit(24), groupsCommit(24), reads(60))},
	{"case 14: a horizon between capture and registration (Pebble, LMDB)", retains, race(60, writes(60), retainsReleases(32), horizons(60))},
	{"case 15: retain and release while the horizon is asked for (WiredTiger)", retains, race(40, writes(60), retainsReleases(40), retainsReleases(40), horizons(80))},
	{"case 17: a checkpoint's cutoff and guards (PostgreSQL)", retains | checkpoints, race(40, writes(48), retainsReleases(32), func(w *worker) {
		for range 48 {
			w.projection()
			w.required()
		}
	})},
	{"case 26: racing finishes have one winner (DuckDB)", 0, racingFinishes},
	{"case 29: a rollback during a checkpoint (OrioleDB)", checkpoints, race(50, finishes(48), func(w *worker) {
		for range 60 {
			w.excluded()
		}
	})},
	{"case 30: a checkpoint is one instant, without duplicates (PostgreSQL)", checkpoints, race(40, writes(48), writes(48), finishes(32), func(w *worker) {
		for range 48 {
			w.excluded()
			w.projection()
			w.snapshot(core.None)
		}
	})},
	{"case 31: unique-key admission admits one (PostgreSQL)", reserves, uniqueKeys},
	{"a unique-key answer is that of one instant", reserves, tornKeys},
	{"case 34: a forward cursor overrunning the allocator (OrioleDB)", 0, race(60, writes(80), overlappingWrites(40), func(w *worker) {
		for range 120 {
			w.oldestActive()
			w.peek()
		}
	})},
	{"a pin holds the horizon among threads", pins | retains, race(30, writes(48), horizons(80), func(w *worker) {
		for range 10 {
			x := w.begin()
			unpin := w.pin(x)
			w.commit(x)
			w.required()
			unpin()
		}
	})},
	{"everything at once is one history", 0, race(60, everything(100), everything(100), everything(100))},
	{"guards keep what prunes would forget", retains | prunes, pruning},
	{"each thread by itself sees the contract kept", 0, freeRunning},
}

func writes(n int) script {
	return func(w *worker) {
		for range n {
			w.commit(w.begin())
		}
	}
}

// overlappingWrites leaves transactions open while later ones finish.
func overlappingWrites(n int) script {
	return func(w *worker) {
		a := w.begin()
		for range n {
			b := w.begin()
			w.commit(a)
			a = b
		}
		w.rollback(a)
	}
}

func finishes(n int) script {
	return func(w *worker) {
		for range n {
			if x := w.begin(); w.rng.IntN(2) == 0 {
				w.rollback(x)
			} else {
				w.commit(x)
			}
		}
	}
}

func reads(n int) script {
	return func(w *worker) {
		for range n {
			w.snapshot(core.None)
		}
	}
}

// rereads is a transaction that refreshes its snapshot, statement by statement.
func rereads(n int) script {
	return func(w *worker) {
		for range n {
			x := w.begin()
			w.snapshot(x)
			w.snapshot(x)
			w.commit(x)
		}
	}
}

func groupsCommit(n int) script {
	return func(w *worker) {
		for range n {
			parent, sub, sub2 := w.begin(), w.begin(), w.begin()
			w.group(sub2, parent, sub)
		}
	}
}

func retainsReleases(n int) script {
	return func(w *worker) {
		for range n {
			release := w.retain(core.None)
			w.commit(w.begin())
			release()
		}
	}
}

func horizons(n int) script {
	return func(w *worker) {
		for range n {
			w.required()
		}
	}
}

// everything does a bit of all, and leaves nothing open.
func everything(n int) script {
	return func(w *worker) {
		have := capabilitiesOf(w.m)
		var open []core.Xid
		var undo []func()
		take := func() core.Xid {
			i := w.rng.IntN(len(open))
			x := open[i]
			open = append(open[:i], open[i+1:]...)
			return x
		}
		for range n {
			switch c := w.rng.IntN(14); {
			case c < 3 || len(open) == 0:
				open = append(open, w.begin())
			case c < 5:
				w.commit(take())
			case c == 5:
				w.rollback(take())
			case c == 6:
				w.allocate()
			case c == 7:
				w.snapshot(core.None)
			case c == 8:
				w.snapshot(open[0])
			case c == 9:
				w.status(w.some())
				w.oldestActive()
			case c == 10 && have.all(retains):
				undo = append(undo, w.retain(open[0]))
			case c == 11 && have.all(retains):
				w.required()
			case c == 12 && have.all(checkpoints):
				w.projection()
			case c == 13 && have.all(groupCommits) && len(open) > 1:
				w.group(take(), take())
			case len(undo) > 0:
				undo[0]()
				undo = undo[1:]
			}
		}
		for _, x := range open {
			w.commit(x)
		}
		for _, f := range undo {
			f()
		}
	}
}

// racingFinishes lets two threads finish the same transactions.
func racingFinishes(t *trial) {
	for round := range t.times(200) {
		m := t.open()
		h := &history{m: m}
		var xs []core.Xid
		h.run(uint64(round), func(w *worker) {
			for range 24 {
				xs = append(xs, w.begin())
			}
		})
		stop := perturb(uint64(round))
		h.run(uint64(round), func(w *worker) {
			for _, x := range xs {
				w.commit(x)
			}
		}, func(w *worker) {
			for _, x := range xs {
				w.rollback(x)
				w.snapshot(core.None)
			}
		})
		stop()
		t.ops += len(h.events)
		if objection, _ := h.verdict(); objection != "" {
			t.Fatalf("round %d: %s", round, objection)
		}
	}
}

// A version of a row with a unique key.
type version struct{ xmin, xmax core.Xid }

// uniqueKeys lets threads insert into and delete from one key, as a store does
// that asks ReservesUniqueKey under its own lock. In the end one live row at
// most has the key.
func uniqueKeys(t *trial) {
	for round := range t.times(200) {
		m := t.open()
		keys := m.(core.KeyReserver)
		h := &history{m: m}
		var mu sync.Mutex
		var rows []version
		admitted := 0
		insertDelete := func(w *worker) {
			for range 12 {
				x := w.begin()
				own := core.NewXidSet(x)
				mu.Lock()
				taken := false
				for i := range rows {
					taken = taken || keys.ReservesUniqueKey(rows[i].xmin, rows[i].xmax, own)
				}
				if !taken {
					rows = append(rows, version{x, core.None})
					admitted++
				} else if i := len(rows) - 1; rows[i].xmax == core.None && m.Snapshot(x).Includes(rows[i].xmin) {
					rows[i].xmax = x // delete the row that one sees
				}
				mu.Unlock()
				if w.rng.IntN(3) == 0 {
					w.rollback(x)
				} else {
					w.commit(x)
				}
				mu.Lock()
				if i := len(rows) - 1; i >= 0 && rows[i].xmax == x && core.IsAborted(m, x) {
					rows[i].xmax = core.None // undo
				}
				mu.Unlock()
			}
		}
		stop := perturb(uint64(round))
		h.run(uint64(round), insertDelete, insertDelete, insertDelete)
		stop()
		t.ops += len(h.events)
		if objection, _ := h.verdict(); objection != "" {
			t.Fatalf("round %d: %s", round, objection)
		}
		live := 0
		for _, r := range rows {
			if m.Status(r.xmin) == core.Committed && (r.xmax == core.None || m.Status(r.xmax) != core.Committed) {
				live++
			}
		}
		if live > 1 {
			t.Fatalf("round %d: %d live rows have one unique key: %v", round, live, rows)
		}
		if admitted == 0 {
			t.Fatalf("round %d: no row was ever admitted", round)
		}
	}
}

// tornKeys asks about a creator and an own deleter that roll back one after the
// other. Before, between and after, the key is free; only an answer that mixes
// two instants (the creator still active, the deleter already gone) differs.
func tornKeys(t *trial) {
	for round := range t.times(1500) {
		if round%16 == 0 {
			t.m = t.open()
		}
		keys := t.m.(core.KeyReserver)
		stop := perturb(uint64(round))
		creator, deleter := t.m.Begin(), t.m.Begin()
		own := core.NewXidSet(deleter)
		var started, finished atomic.Bool
		wrong, asks := 0, 0
		h := &history{m: t.m}
		h.run(uint64(round), func(w *worker) {
			for done := false; !done; done = finished.Load() {
				started.Store(true)
				asks++
				if keys.ReservesUniqueKey(creator, deleter, own) {
					wrong++
				}
			}
		}, func(w *worker) {
			defer finished.Store(true)
			for !started.Load() {
				runtime.Gosched()
			}
			w.rollback(creator)
			w.rollback(deleter)
		})
		stop()
		t.ops += asks
		if c := h.crash.Load(); c != nil {
			t.Fatalf("%s", *c)
		}
		if wrong > 0 {
			t.Fatalf("round %d: ReservesUniqueKey(%s, %s, own) = true, which was right at no instant: "+
				"the deleter is one's own and rolls back after the creator", round, name(creator), name(deleter))
		}
	}
}
