package coretest

import (
	"errors"

	"xidlab/core"
)

// cases are faults that other systems of this kind had, each turned into a
// sequence of operations. Those that need several threads are in stresses.
var cases = []check{
	// Snapshot atomicity
	{"case 1: empty-snapshot shortcut and off by one (WiredTiger)", 0, func(t *trial) {
		s := t.snapshot(core.None)
		w := t.begin()
		t.hides(s, w)
		t.commit(w)
		t.hides(s, w)
		s = t.snapshot(core.None) // the same with something before it
		w = t.begin()
		t.hides(s, w)
		t.commit(w)
		t.hides(s, w)
	}},
	{"case 2: old and new (PostgreSQL procarray)", 0, func(t *trial) {
		for _, newFirst := range []bool{true, false} {
			o, r, n := t.begin(), t.begin(), t.begin()
			first, second := o, n
			if newFirst {
				first, second = n, o
			}
			snaps := []snap{t.snapshot(r)}
			t.commit(first)
			snaps = append(snaps, t.snapshot(r))
			t.commit(second)
			snaps = append(snaps, t.snapshot(r))
			for i, s := range snaps {
				t.lookup(s, first, i >= 1)
				t.lookup(s, second, i >= 2)
			}
			t.commit(r)
		}
	}},
	{"case 2: a snapshot that includes x includes what x saw", 0, func(t *trial) {
		r := t.begin()
		y := t.begin()
		t.commit(y)
		x := t.begin()
		t.includes(t.snapshot(x), y)
		t.commit(x)
		s := t.snapshot(r)
		t.includes(s, x)
		t.includes(s, y)
		t.includes(s, r)
	}},
	{"case 3: the next xid as owner", 0, func(t *trial) {
		for range 70 { // across the blocks of a manager that allocates in blocks
			h := t.m.PeekNext()
			s := t.snapshot(h)
			a, b := t.begin(), t.begin()
			for _, x := range []core.Xid{h, a, b} {
				t.hides(s, x)
			}
			t.commit(a)
			t.rollback(b)
			for _, x := range []core.Xid{h, a, b} {
				t.hides(s, x)
			}
			t.forget()
		}
	}},
	{"case 10: watermark past a pending earlier commit (Badger)", 0, func(t *trial) {
		a, b := t.begin(), t.begin()
		t.commit(b)
		s := t.snapshot(core.None)
		t.includes(s, b)
		t.hides(s, a)
		t.commit(a)
		t.hides(s, a)
		t.includes(t.snapshot(core.None), a)
	}},
	{"case 11: a cached snapshot reused after what must invalidate it (PostgreSQL)", 0, func(t *trial) {
		// Each makes an xid, and says whether a snapshot taken then includes it.
		events := []func() (core.Xid, bool){
			func() (core.Xid, bool) { x := t.begin(); t.snapshot(core.None); t.commit(x); return x, true },
			func() (core.Xid, bool) { x := t.begin(); t.snapshot(x); t.commit(x); return x, true },
			func() (core.Xid, bool) { x := t.begin(); t.snapshot(x); t.rollback(x); return x, false },
			func() (core.Xid, bool) { t.snapshot(core.None); return t.allocate(), true },
		}
		if t.have.all(recovers) {
			events = append(events, func() (core.Xid, bool) {
				t.snapshot(core.None)
				x := t.m.PeekNext() + 2
				t.observe(x)
				return x, true
			})
		}
		if t.have.all(groupCommits) {
			events = append(events, func() (core.Xid, bool) {
				x, y := t.begin(), t.begin()
				t.snapshot(core.None)
				t.group(x, y)
				return y, true
			})
		}
		if t.have.all(prunes) {
			events = append(events, func() (core.Xid, bool) {
				x := t.begin()
				t.m.(core.Pruner).PruneAborted(x)
				t.rollback(x)
				t.snapshot(core.None)
				t.prune(x+1, 1)
				return x, true
			})
		}
		for range 3 {
			for _, event := range events {
				old := t.snapshot(core.None)
				x, visible := event()
				t.lookup(t.snapshot(core.None), x, visible)
				t.lookup(t.snapshot(core.None), x, visible)
				if ok, err := old.Lookup(x); ok || err != nil && !errors.Is(err, core.ErrTooOld) {
					t.fail("%s includes %s: %v, %v, want false", old.name, name(x), ok, err)
				}
			}
		}
	}},
	{"case 13: a pool below a reader (TiKV)", allocates, func(t *trial) {
		for range 150 {
			x := t.allocate()
			r := t.begin()
			s := t.snapshot(r)
			y := t.allocate()
			t.includes(s, x)
			t.hides(s, y)
			if !core.Visible(s.Snapshot, core.None, y) {
				t.fail("%s does not see a row that %s deleted later", s.name, name(y))
			}
			t.includes(t.snapshot(r), y)
			t.commit(r)
			t.forget()
		}
	}},

	// Retention
	{"case 16: snapshot reused after its protection ended (PostgreSQL, Percona)", retains, func(t *trial) {
		d := t.begin()
		g := t.retain(core.None)
		t.commit(d)
		t.required(d)
		t.release(g, true)
		t.commit(t.begin())
		t.required(core.None) // passes d
		t.tooOld(g.snap())
		t.tooOld(t.withOwner(g.snap(), t.begin()))
	}},
	{"case 17: one class of snapshot forgotten by the horizon (PostgreSQL)", retains, func(t *trial) {
		r := t.m.(core.Retainer)
		classes := []struct {
			name    string
			capture func() guard
		}{
			{"Retain(None)", func() guard { return t.retain(core.None) }},
			{"Retain(owner)", func() guard { return t.retain(t.begin()) }},
			{"Retain(finished)", func() guard { x := t.begin(); t.commit(x); return t.retain(x) }},
			{"Retain(next)", func() guard { return t.retain(t.m.PeekNext()) }},
			{"RetainSnapshot(None's)", func() guard { return t.retainSnapshot(t.snapshot(core.None)) }},
			{"RetainSnapshot(an owner's)", func() guard { return t.retainSnapshot(t.snapshot(t.begin())) }},
			{"RetainSnapshot(WithOwner)", func() guard {
				s := t.snapshot(core.None)
				return t.retainSnapshot(t.withOwner(s, t.begin()))
			}},
			{"RetainSnapshot(a guard's)", func() guard {
				g := t.retain(core.None)
				h := t.retainSnapshot(g.snap())
				t.release(g, true)
				return h
			}},
			{"RetainSnapshot(a released guard's)", func() guard {
				g := t.retain(core.None)
				t.release(g, true)
				return t.retainSnapshot(g.snap())
			}},
		}
		for _, class := range classes {
			t.forget()
			d := t.begin()
			g := class.capture()
			t.commit(d)
			for x, ok := t.m.OldestActive(); ok; x, ok = t.m.OldestActive() {
				t.commit(x) // the owners: from here on the guard is alone
			}
			x := t.allocate()
			if h, _ := r.OldestRequired(); h > d || h > x {
				t.fail("%s hides %s and %s, which have committed, but OldestRequired() = %s", class.name, name(d), name(x), name(h))
			}
			if t.have.all(checkpoints) {
				if _, _, cutoff := t.m.(core.Checkpointer).CheckpointProjection(); cutoff > d {
					t.fail("%s hides %s, which has committed, but the checkpoint's cutoff is %s", class.name, name(d), name(cutoff))
				}
			}
			t.hides(g.snap(), d)
			t.release(g, true)
			t.required(core.None)
		}
	}},
	{"case 18: registering below the watermark is an error (Badger)", retains, func(t *trial) {
		d := t.begin()
		s := t.snapshot(core.None)
		t.commit(d)
		e := t.begin()
		t.required(e)
		t.tooOld(s)
		t.required(e) // not a regress
		t.commit(e)
		t.tooOld(s)
		t.required(core.None)
	}},
	{"case 19: the horizon never moves backwards (PostgreSQL)", retains, func(t *trial) {
		r := t.m.(core.Retainer)
		last := core.None
		var gs []guard
		var open []core.Xid
		for i := range 300 {
			switch i % 7 {
			case 0, 3:
				open = append(open, t.begin())
			case 1:
				gs = append(gs, t.retain(core.None))
			case 2:
				t.allocate()
			case 4:
				if len(open) > 3 {
					t.commit(open[1])
					open = append(open[:1], open[2:]...)
				}
			case 5:
				if len(gs) > 2 {
					t.release(gs[0], true)
					gs = gs[1:]
				}
			case 6:
				t.rollback(open[0])
				open = open[1:]
			}
			h, ok := r.OldestRequired()
			t.say("OldestRequired() = %s, %v", name(h), ok)
			if h < last {
				t.fail("before it was %s, and nothing is pinned", name(last))
			}
			last = h
		}
	}},
	{"case 20: two snapshots with equal numbers, one released (RocksDB)", retains, func(t *trial) {
		d := t.begin()
		g, h, i := t.retain(core.None), t.retain(core.None), t.retain(core.None)
		t.commit(d)
		t.release(h, true)
		t.required(d)
		t.release(g, true)
		t.required(d)
		t.hides(i.snap(), d)
		t.release(h, false)
		t.required(d)
		t.release(i, true)
		t.required(core.None)
	}},
	{"case 21: boundary < or <= (RocksDB)", retains, func(t *trial) {
		for range 40 {
			d := t.begin()
			t.commit(d) // just before
			g := t.retain(core.None)
			e := t.begin()
			t.commit(e) // just after
			t.includes(g.snap(), d)
			t.hides(g.snap(), e)
			t.required(e) // a deleter exactly at the cutoff
			if !core.Visible(g.Snapshot, d, e) {
				t.fail("%s does not see a row that %s deleted after it", g.name, name(e))
			}
			t.release(g, true)
			t.required(core.None)
			t.forget()
		}
	}},
	{"case 22: empty transactions never marked done (Badger)", retains, func(t *trial) {
		for i := range 200 {
			x := t.begin()
			t.required(x)
			if i%3 == 0 {
				t.rollback(x)
			} else {
				t.commit(x)
			}
			t.required(core.None)
			t.forget()
		}
	}},
	{"case 23: a leaked or doubly released guard (Bolt)", retains, func(t *trial) {
		d := t.begin()
		var g guard
		func() {
			defer func() { _ = recover() }()
			g = t.retain(core.None)
			defer g.Release()
			t.commit(d)
			panic("the reader fails")
		}()
		t.release(g, false)
		t.required(core.None)

		e := t.begin()
		g, h := t.retain(core.None), t.retain(core.None)
		t.commit(e)
		t.release(g, true)
		t.release(g, false) // must not count for h
		t.required(e)
		t.release(h, true)
		t.required(core.None)
	}},
	{"case 24: log truncated by the oldest active instead of the oldest required (openGauss)", retains, func(t *trial) {
		a, c, r := t.begin(), t.begin(), t.begin()
		t.commit(c)
		g := t.retain(core.None)
		t.rollback(r)
		t.commit(a)
		t.release(t.retain(core.None), true)
		for i := range t.times(20_000) {
			x := t.m.Begin()
			finish := t.m.Commit
			if i%5 == 0 {
				finish = t.m.Rollback
			}
			if err := finish(x); err != nil {
				t.fail("finishing %s answers %q", name(x), err)
			}
			if i%1000 == 0 {
				t.ops += 1000
				t.required(a)
				if t.have.all(prunes) {
					t.prune(t.m.PeekNext(), 0)
				}
			}
		}
		t.oldestActive(core.None)
		t.required(a)
		t.hides(g.snap(), a)
		t.includes(g.snap(), c)
		t.hides(g.snap(), r)
		t.hides(g.snap(), t.m.PeekNext()-1)
		t.release(g, true)
		t.required(core.None)
	}},
	{"case 25: collecting by the oldest active transaction", retains, func(t *trial) {
		d, r := t.begin(), t.begin()
		g := t.retain(r)
		t.commit(d)
		t.required(d)
		t.commit(r)
		t.required(d)
		t.hides(g.snap(), d)
		t.release(g, true)
	}},

	// Outcomes, checkpoint, unique keys
	{"case 26: double finish (DuckDB)", 0, func(t *trial) {
		a, b := t.begin(), t.begin()
		before := t.snapshot(core.None)
		t.rollback(a)
		t.refused("Commit again", t.m.Commit(a), a, core.Aborted, core.ErrNotActive)
		t.refused("Rollback again", t.m.Rollback(a), a, core.Aborted, core.ErrNotActive)
		t.commit(b)
		t.refused("Rollback again", t.m.Rollback(b), b, core.Committed, core.ErrNotActive)
		t.refused("Commit again", t.m.Commit(b), b, core.Committed, core.ErrNotActive)
		t.is(a, core.Aborted)
		t.is(b, core.Committed)
		t.hides(before, a)
		t.hides(before, b)
		after := t.snapshot(core.None)
		t.hides(after, a)
		t.includes(after, b)
	}},
	{"case 27: a failed commit leaves the transaction able to roll back (RocksDB)", groupCommits, func(t *trial) {
		x, sub, done := t.begin(), t.begin(), t.begin()
		t.commit(done)
		t.refused("CommitGroup(x, sub, done)", t.m.(core.GroupCommitter).CommitGroup(x, sub, done), done, core.Committed, core.ErrNotActive)
		t.is(x, core.Active)
		t.oldestActive(min(x, sub))
		t.rollback(sub)
		t.rollback(x)
		s := t.snapshot(core.None)
		t.hides(s, x)
		t.hides(s, sub)
		t.oldestActive(core.None)
		if t.have.all(retains) {
			t.required(core.None)
		}
	}},
	{"case 28: in progress taken for aborted and forgotten (PostgreSQL)", prunes | retains, func(t *trial) {
		x, y := t.begin(), t.begin()
		g := t.retain(core.None)
		t.prune(t.m.PeekNext(), 0)
		t.rollback(y)
		t.prune(t.m.PeekNext(), 0)
		t.is(x, core.Active)
		t.hides(g.snap(), x)
		t.hides(g.snap(), y)
		t.commit(x)
		t.hides(g.snap(), x)
		t.release(g, true)
		t.is(x, core.Committed)
		t.is(y, core.Committed) // forgotten
	}},

	// Xids
	{"case 32: the end of the xids (OrioleDB)", recovers, func(t *trial) {
		r := t.m.(core.Recoverer)
		t.refused("ObserveCommitted(2^64-1)", r.ObserveCommitted(^core.Xid(0)), ^core.Xid(0), core.Unallocated, core.ErrXidRange)
		const left = 300
		early := t.begin()
		t.observe(core.MaxXid - left)
		seen := map[core.Xid]bool{early: true}
		ends := 0
		for i := 0; ends < 3; i++ {
			allocate := t.m.Begin
			if i%2 == 1 || ends > 0 {
				allocate = func() core.Xid { return core.AllocateCommitted(t.m) }
			}
			if ends == 2 {
				allocate = t.m.Begin
			}
			x, ended := exhausted(allocate)
			if ended {
				t.say("panics with ErrExhausted")
				ends++
				continue
			}
			t.say("xid %s", name(x))
			if x == core.None || x > core.MaxXid || seen[x] || x < core.MaxXid && x > early && x <= core.MaxXid-left && t.m.Ordered() {
				t.fail("it was handed out or observed before, or is none")
			}
			seen[x] = true
			if len(seen) > 1<<20 {
				t.fail("the xids do not end")
			}
		}
		if n := t.m.PeekNext(); n != core.MaxXid+1 {
			t.fail("PeekNext() = %s, want MaxXid+1", name(n))
		}
		s := t.snapshot(early)
		t.hides(s, core.MaxXid+1)
		t.includes(s, early)
		t.commit(early)
		t.hides(s, ^core.Xid(0))
		t.is(core.MaxXid+1, core.Unallocated)
	}},
	{"case 32: the largest xid can be observed", recovers, func(t *trial) {
		before := t.snapshot(core.None)
		t.observe(core.MaxXid)
		t.observe(core.MaxXid)
		s := t.snapshot(core.None)
		for _, x := range []core.Xid{1 << 59, core.MaxXid - 1, core.MaxXid} {
			t.is(x, core.Committed)
			t.includes(s, x)
			t.hides(before, x)
		}
		t.hides(s, core.MaxXid+1)
		for range 3 {
			if x, ended := exhausted(t.m.Begin); !ended && t.m.Ordered() {
				t.fail("Begin() = %s, want a panic with ErrExhausted", name(x))
			}
		}
	}},
	{"case 33: an observed xid and older snapshots", recovers, func(t *trial) {
		s := t.snapshot(core.None)
		t.observe(100)
		t.hides(s, 100)
		t.hides(s, 50)
		after := t.snapshot(core.None)
		t.includes(after, 100)
		t.includes(after, 50)
		x := t.begin()
		if t.m.Ordered() && x <= 100 {
			t.fail("want an xid above 100")
		}
		t.commit(x)
		t.hides(after, x)
		t.includes(after, 100)
		t.hides(s, 100)
		t.includes(t.snapshot(core.None), x)
	}},
}
