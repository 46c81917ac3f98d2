package coretest

import (
	"fmt"

	"xidlab/core"
)

// promises are sentences of the contract, in the order of package core: each
// with the few operations that would break it.
var promises = []check{
	// Manager
	{"an xid is never handed out twice and is never None", 0, func(t *trial) {
		seen := map[core.Xid]bool{core.None: true}
		for i := range 500 {
			x := t.begin()
			if i%3 == 0 {
				t.commit(x)
				x = t.allocate()
			}
			if seen[x] || x > core.MaxXid {
				t.fail("xid %s was handed out before, or is none", name(x))
			}
			seen[x] = true
		}
	}},
	{"the xids of an ordered manager's Begin increase", 0, func(t *trial) {
		if !t.m.Ordered() {
			return // it promises nothing
		}
		last := core.None
		for i := range 300 {
			x := t.begin()
			if x <= last {
				t.fail("want more than %s", name(last))
			}
			if last = x; i%4 == 0 {
				t.allocate()
			}
		}
	}},
	{"a transaction is active from Begin until it finishes", 0, func(t *trial) {
		a, b := t.begin(), t.begin()
		t.is(a, core.Active)
		t.commit(a)
		t.rollback(b)
		t.is(a, core.Committed)
		t.is(b, core.Aborted)
	}},
	{"every xid handed out is below PeekNext, and what is above is not allocated", 0, func(t *trial) {
		for range 200 {
			x, y := t.begin(), t.allocate()
			next := t.m.PeekNext()
			if x >= next || y >= next {
				t.fail("PeekNext() = %s", name(next))
			}
			t.is(next, core.Unallocated)
			t.is(next+1000, core.Unallocated)
		}
	}},
	{"a snapshot never includes a transaction that begins later", 0, func(t *trial) {
		s := t.snapshot(core.None)
		x, y, z := t.begin(), t.begin(), t.allocate()
		for _, later := range []core.Xid{x, y, z} {
			t.hides(s, later)
		}
		t.commit(x)
		t.rollback(y)
		for _, later := range []core.Xid{x, y, z} {
			t.hides(s, later)
		}
	}},
	{"a snapshot never includes a transaction that was active at its instant", 0, func(t *trial) {
		a, b := t.begin(), t.begin()
		s := t.snapshot(core.None)
		t.hides(s, a)
		t.commit(a)
		t.commit(b)
		t.hides(s, a)
		t.hides(s, b)
	}},
	{"a snapshot includes what committed before it, in whatever order", 0, func(t *trial) {
		var xs []core.Xid
		for range 8 {
			xs = append(xs, t.begin())
		}
		done := map[core.Xid]bool{}
		for _, i := range []int{3, 7, 0, 1, 6, 2, 5, 4} {
			t.commit(xs[i])
			done[xs[i]] = true
			s := t.snapshot(core.None)
			for _, x := range xs {
				t.lookup(s, x, done[x])
			}
		}
	}},
	{"no snapshot includes what rolled back", 0, func(t *trial) {
		x := t.begin()
		before := t.snapshot(core.None)
		t.rollback(x)
		t.hides(before, x)
		t.hides(t.snapshot(core.None), x)
		t.commit(t.begin())
		t.hides(t.snapshot(t.begin()), x)
	}},
	{"a snapshot includes its owner until it rolls back", 0, func(t *trial) {
		x, y := t.begin(), t.begin()
		sx, sy := t.snapshot(x), t.snapshot(y)
		t.includes(sx, x)
		t.hides(sx, y)
		t.hides(sy, x)
		t.commit(x)
		t.includes(sx, x)
		t.rollback(y)
		t.hides(sy, y)
	}},
	{"taking a snapshot again sees what committed in between, larger xids too", 0, func(t *trial) {
		r := t.begin()
		first := t.snapshot(r)
		w := t.begin()
		t.commit(w)
		second := t.snapshot(r)
		t.hides(first, w)
		t.includes(second, w)
		t.includes(second, r)
	}},
	{"only an active owner counts", 0, func(t *trial) {
		c, a := t.begin(), t.begin()
		t.commit(c)
		t.rollback(a)
		t.includes(t.snapshot(c), c)
		t.hides(t.snapshot(a), a)
		h := t.m.PeekNext()
		t.hides(t.snapshot(h), h)
		t.hides(t.snapshot(core.MaxXid), core.MaxXid)
		t.hides(t.snapshot(^core.Xid(0)), ^core.Xid(0))
	}},
	{"None counts as committed before everything", 0, func(t *trial) {
		t.is(core.None, core.Committed)
		t.includes(t.snapshot(core.None), core.None)
		x := t.begin()
		t.includes(t.snapshot(x), core.None)
		t.rollback(x)
		t.includes(t.snapshot(core.None), core.None)
	}},
	{"OldestActive is the smallest unfinished xid", 0, func(t *trial) {
		t.oldestActive(core.None)
		a, b, c := t.begin(), t.begin(), t.begin()
		lowest := min(a, b, c)
		t.oldestActive(lowest)
		for _, x := range core.NewXidSet(a, b, c)[1:] {
			t.oldestActive(lowest)
			t.commit(x)
		}
		t.oldestActive(lowest)
		t.rollback(lowest)
		t.oldestActive(core.None)
		t.allocate()
		t.oldestActive(core.None)
	}},
	{"Snapshot.Bound is the allocator's bound", 0, func(t *trial) {
		for range 100 {
			x := t.begin()
			s := t.snapshot(x)
			if s.Bound() != t.m.PeekNext() || s.Bound() <= x {
				t.fail("%s.Bound() = %s, want %s", s.name, name(s.Bound()), name(t.m.PeekNext()))
			}
			t.commit(x)
		}
	}},
	{"Snapshot.InProgress is what had begun and not finished", 0, func(t *trial) {
		a, b, c, d := t.begin(), t.begin(), t.begin(), t.begin()
		t.commit(b)
		t.rollback(c)
		t.allocate()
		s := t.snapshot(a)
		t.inProgress(s, a, d)
		t.commit(a)
		t.rollback(d)
		t.inProgress(s, a, d)
		t.inProgress(t.snapshot(core.None))
	}},
	{"WithOwner adds an xid drawn after the snapshot", 0, func(t *trial) {
		old := t.begin()
		s := t.snapshot(old)
		x := t.begin()
		o := t.withOwner(s, x)
		t.includes(o, x)
		t.hides(o, old)
		t.hides(s, x)
		t.commit(old)
		t.hides(o, old)
		t.rollback(x)
		t.hides(o, x)
	}},
	{"the seven rules of visibility", 0, func(t *trial) {
		committed, aborted, active := t.begin(), t.begin(), t.begin()
		t.commit(committed)
		t.rollback(aborted)
		s := t.snapshot(core.None)
		future := t.begin()
		t.commit(future)
		for _, rule := range []struct {
			why        string
			xmin, xmax core.Xid
			want       bool
		}{
			{"a row older than MVCC is visible", core.None, core.None, true},
			{"a committed creator shows a row", committed, core.None, true},
			{"a future creator hides a row", future, core.None, false},
			{"a creator in progress hides a row", active, core.None, false},
			{"an aborted creator hides a row", aborted, core.None, false},
			{"a committed deleter hides a row", core.None, committed, false},
			{"a future deleter does not", committed, future, true},
			{"a deleter in progress does not", committed, active, true},
			{"an aborted deleter does not", committed, aborted, true},
		} {
			if got := core.Visible(s.Snapshot, rule.xmin, rule.xmax); got != rule.want {
				t.fail("%s: Visible(%s, %s, %s) = %v", rule.why, s.name, name(rule.xmin), name(rule.xmax), got)
			}
		}
	}},
	{"a snapshot never changes its mind", 0, func(t *trial) {
		var xs []core.Xid
		for range 12 {
			xs = append(xs, t.begin())
		}
		if core.Collapses(t.m) {
			defer t.retain(core.None).Release() // the snapshots are younger
		}
		var snaps []snap
		var sets [][]bool
		for i, x := range xs {
			if i%3 == 0 {
				t.rollback(x)
			} else {
				t.commit(x)
			}
			t.allocate()
			s := t.snapshot(core.None)
			var set []bool
			for _, y := range xs {
				set = append(set, s.Includes(y))
			}
			snaps, sets = append(snaps, s), append(sets, set)
		}
		for i, s := range snaps {
			for j, x := range xs {
				t.lookup(s, x, sets[i][j])
			}
		}
	}},

	// CommittedAllocator
	{"a born-committed xid is in later snapshots and in no earlier one", allocates, func(t *trial) {
		for range 150 {
			before := t.snapshot(core.None)
			guarded := before
			if t.have.all(retains) {
				g := t.retain(core.None)
				guarded = g.snap()
				defer g.Release()
			}
			x := t.allocate()
			t.hides(before, x)
			t.hides(guarded, x)
			t.includes(t.snapshot(core.None), x)
			t.forget()
		}
	}},
	{"a born-committed xid is finished", allocates, func(t *trial) {
		x := t.allocate()
		t.refused(fmt.Sprintf("Commit(%s)", name(x)), t.m.Commit(x), x, core.Committed, core.ErrNotActive)
		t.refused(fmt.Sprintf("Rollback(%s)", name(x)), t.m.Rollback(x), x, core.Committed, core.ErrNotActive)
		t.includes(t.snapshot(x), x)
	}},

	// Retainer
	{"nothing is required when nothing is active, pinned or guarded", retains, func(t *trial) {
		t.required(core.None)
		x := t.begin()
		t.required(x)
		t.commit(x)
		t.required(core.None)
		t.allocate()
		t.required(core.None)
	}},
	{"a guard holds back what it hides and what has committed since", retains, func(t *trial) {
		d := t.begin()
		g := t.retain(core.None)
		t.commit(d)
		for range 50 {
			t.commit(t.begin())
		}
		t.required(d)
		t.hides(g.snap(), d)
		t.release(g, true)
		t.required(core.None)
	}},
	{"a guard does not hold back what it includes, nor what rolled back", retains, func(t *trial) {
		c, r := t.begin(), t.begin()
		t.commit(c)
		g := t.retain(core.None)
		t.rollback(r)
		t.required(core.None)
		t.allocate()
		x := t.begin()
		t.commit(x)
		if h, ok := t.m.(core.Retainer).OldestRequired(); !ok || h <= min(c, r) {
			t.fail("OldestRequired() = %s, %v, held back by %s, which the guard includes, or by %s, which rolled back", name(h), ok, name(c), name(r))
		}
		t.release(g, true)
	}},
	{"a guard ends once, whichever copy is released", retains, func(t *trial) {
		d := t.begin()
		g := t.retain(core.None)
		other := t.retain(core.None)
		t.commit(d)
		copied := g
		t.release(copied, true)
		t.release(g, false)
		t.release(copied, false)
		t.required(d)
		t.release(other, true)
		t.release(g, false)
		t.required(core.None)
	}},
	{"a guard's end is not undone by the next guard", retains, func(t *trial) {
		for range 200 {
			g := t.retain(core.None)
			t.release(g, true)
			d := t.begin()
			next := t.retain(core.None)
			t.commit(d)
			t.release(g, false) // must not end next
			t.required(d)
			t.release(next, true)
			t.forget()
		}
	}},
	{"RetainSnapshot prolongs what another guard protected", retains, func(t *trial) {
		d := t.begin()
		g := t.retain(core.None)
		t.commit(d)
		t.required(d)
		again := t.retainSnapshot(g.snap())
		t.release(g, true)
		t.required(d)
		t.hides(again.snap(), d)
		t.release(again, true)
		t.required(core.None)
	}},
	{"RetainSnapshot is granted while no horizon has passed the snapshot", retains, func(t *trial) {
		d := t.begin()
		s := t.snapshot(core.None)
		g := t.retainSnapshot(s)
		t.commit(d)
		t.required(d)
		h := t.retainSnapshot(s)
		t.release(g, true)
		t.required(d)
		t.release(h, true)
		t.required(core.None)
	}},
	{"many guards may live, and each holds for itself", retains, func(t *trial) {
		var ds []core.Xid
		var gs []guard
		for range 100 {
			d := t.begin()
			gs = append(gs, t.retain(core.None))
			t.commit(d)
			ds = append(ds, d)
		}
		t.forget()
		for i, g := range gs { // the oldest first
			lowest := ds[i]
			for _, d := range ds[i:] {
				lowest = min(lowest, d)
			}
			t.required(lowest)
			t.release(g, true)
		}
		t.required(core.None)
	}},
	{"an active transaction holds the horizon, its own snapshot does not", retains, func(t *trial) {
		x := t.begin()
		s := t.snapshot(x)
		d := t.begin()
		t.commit(d)
		t.required(x)
		t.commit(x)
		t.required(core.None)
		t.tooOld(s)
	}},

	// Pinner
	{"a pin is counted, and the smallest is the oldest", pins, func(t *trial) {
		x, y := t.begin(), t.begin()
		x, y = min(x, y), max(x, y)
		t.pinned(x, 0)
		t.pin(y)
		t.pin(x)
		t.pin(x)
		t.pinned(x, 2)
		t.oldestPinned(x)
		t.unpin(x)
		t.pinned(x, 1)
		t.oldestPinned(x)
		t.unpin(x)
		t.oldestPinned(y)
		t.unpin(y)
		t.unpin(y)
		t.pinned(y, 0)
		t.oldestPinned(core.None)
		t.pin(y)
		t.pinned(y, 1)
	}},
	{"a pin caps OldestRequired", pins | retains, func(t *trial) {
		a, b := t.begin(), t.begin()
		a, b = min(a, b), max(a, b)
		t.pin(b)
		t.commit(a)
		t.commit(b)
		t.required(b)
		t.pin(a)
		t.required(a)
		t.unpin(a)
		t.required(b)
		t.unpin(b)
		t.required(core.None)
	}},
	{"a pin above the allocator's bound counts once it is passed", pins | retains, func(t *trial) {
		h := t.m.PeekNext()
		t.pin(h)
		t.required(core.None)
		for t.m.PeekNext() <= h {
			t.commit(t.begin())
		}
		t.required(h)
		t.unpin(h)
		t.required(core.None)
	}},

	// Pruner
	{"a forgotten xid counts as committed to later snapshots only", prunes, func(t *trial) {
		x, y := t.begin(), t.begin()
		t.rollback(x)
		before := t.snapshot(core.None)
		t.prune(t.m.PeekNext(), 1)
		t.prune(t.m.PeekNext(), 0)
		t.is(x, core.Committed)
		t.includes(t.snapshot(core.None), x)
		t.is(y, core.Active)
		t.hides(t.snapshot(core.None), y)
		if got, err := before.Lookup(x); err == nil && got {
			t.fail("%s includes %s, which had rolled back before it", before.name, name(x))
		}
	}},
	{"PruneAborted forgets what is below the bound", prunes, func(t *trial) {
		a, b, c := t.begin(), t.begin(), t.begin()
		xs := core.NewXidSet(a, b, c)
		for _, x := range xs {
			t.rollback(x)
		}
		t.prune(xs[0], 0)
		t.prune(xs[1], 1)
		t.is(xs[0], core.Committed)
		t.is(xs[1], core.Aborted)
		t.prune(xs[2]+1, 2)
		t.is(xs[2], core.Committed)
	}},
	{"nothing is forgotten while a guard lives that is older than the prune", prunes | retains, func(t *trial) {
		a, b := t.begin(), t.begin()
		t.rollback(a)
		g := t.retain(core.None)
		h := t.retain(core.None)
		t.rollback(b)
		t.prune(t.m.PeekNext(), 0)
		c := t.begin()
		t.rollback(c)
		t.hides(g.snap(), a)
		t.hides(g.snap(), b)
		t.hides(t.snapshot(core.None), a)
		t.release(g, true)
		t.is(a, core.Aborted)
		t.hides(h.snap(), a)
		t.release(h, true)
		t.is(a, core.Committed) // forgotten after all
		t.is(b, core.Committed)
		t.is(c, core.Aborted) // it had not rolled back before the prune
		t.includes(t.snapshot(core.None), a)
	}},
	{"a guard captured after a prune does not delay it", prunes | retains, func(t *trial) {
		a := t.begin()
		t.rollback(a)
		old := t.retain(core.None)
		t.prune(t.m.PeekNext(), 0)
		young := t.retain(core.None)
		t.hides(young.snap(), a)
		t.release(old, true)
		t.is(a, core.Committed)
		t.hides(young.snap(), a) // it never changes its mind
		t.includes(t.snapshot(core.None), a)
		t.release(young, true)
	}},
	{"a pinned xid is not forgotten, at once or later", prunes | pins | retains, func(t *trial) {
		a, b := t.begin(), t.begin()
		t.rollback(a)
		t.rollback(b)
		t.pin(a)
		t.prune(t.m.PeekNext(), 1)
		t.is(a, core.Aborted)
		t.unpin(a)
		t.is(a, core.Aborted)
		g := t.retain(core.None)
		t.prune(t.m.PeekNext(), 0)
		t.pin(a)
		t.release(g, true)
		t.is(a, core.Aborted) // pinned when the guard went
		t.unpin(a)
		t.prune(t.m.PeekNext(), 1)
		t.is(a, core.Committed)
	}},
	{"RetainSnapshot refuses what a prune has passed", prunes | retains, func(t *trial) {
		a := t.begin()
		t.rollback(a)
		s := t.snapshot(core.None)
		t.prune(t.m.PeekNext(), 1)
		t.tooOld(s)
		g := t.retainSnapshot(t.snapshot(core.None))
		t.release(g, true)
	}},

	// Recoverer
	{"what is observed is committed to later snapshots, with the gap below it", recovers, func(t *trial) {
		a := t.begin()
		before := t.snapshot(a)
		h := t.m.PeekNext()
		t.observe(h + 1000)
		for _, x := range []core.Xid{h, h + 1, h + 999, h + 1000} {
			t.hides(before, x)
			t.is(x, core.Committed)
			t.includes(t.snapshot(core.None), x)
		}
		t.is(t.m.PeekNext(), core.Unallocated)
		t.is(a, core.Active)
		t.hides(t.snapshot(core.None), a)
		if n := t.m.PeekNext(); n < h+1001 || n > h+1001 && t.m.Ordered() {
			t.fail("PeekNext() = %s, want %s", name(n), name(h+1001))
		}
		t.observe(h + 5) // it is committed
		x := t.begin()
		t.is(x, core.Active)
		t.oldestActive(min(a, x))
	}},
	{"below the bound only what is committed is observed", recovers, func(t *trial) {
		active, committed, aborted := t.begin(), t.begin(), t.begin()
		t.commit(committed)
		t.rollback(aborted)
		t.observe(committed)
		r := t.m.(core.Recoverer)
		t.refused(fmt.Sprintf("ObserveCommitted(%s)", name(active)), r.ObserveCommitted(active), active, core.Active, core.ErrNotCommitted)
		t.refused(fmt.Sprintf("ObserveCommitted(%s)", name(aborted)), r.ObserveCommitted(aborted), aborted, core.Aborted, core.ErrNotCommitted)
		t.is(active, core.Active)
		t.is(aborted, core.Aborted)
	}},
	{"a guard holds back what is observed after it", recovers | retains, func(t *trial) {
		g := t.retain(core.None)
		h := t.m.PeekNext()
		t.observe(h + 1<<40)
		t.required(h)
		t.hides(g.snap(), h+77)
		t.release(g, true)
		t.required(core.None)
	}},
	{"many jumps of any size cost little", recovers, func(t *trial) {
		for i := range 40 {
			h := t.m.PeekNext()
			t.observe(h + 1<<(i%50))
			a, b := t.begin(), t.begin()
			t.commit(a)
			t.rollback(b)
			s := t.snapshot(core.None)
			t.includes(s, a)
			t.hides(s, b)
			t.includes(s, h+1<<(i%50)/2)
		}
	}},

	// Checkpointer
	{"a checkpoint leaves out what is active, aborted or reserved, and nothing else", checkpoints, func(t *trial) {
		t.excluded()
		active, committed, aborted := t.begin(), t.begin(), t.begin()
		t.commit(committed)
		t.rollback(aborted)
		t.allocate()
		t.excluded(active, aborted)
		if t.have.all(recovers) {
			t.observe(t.m.PeekNext() + 1<<45)
		}
		t.excluded(active, aborted)
		t.commit(active)
		t.excluded(aborted)
		if t.have.all(prunes) {
			t.prune(t.m.PeekNext(), 1)
			t.excluded()
		}
	}},
	{"a checkpoint changes neither transactions nor readers", checkpoints, func(t *trial) {
		a, b := t.begin(), t.begin()
		s := t.snapshot(a)
		t.excluded(a, b)
		t.is(a, core.Active)
		t.hides(s, b)
		t.commit(a)
		t.rollback(b)
		t.hides(s, b)
		t.includes(s, a)
	}},
	{"the cutoff of a checkpoint is held back as OldestRequired", checkpoints | retains, func(t *trial) {
		d := t.begin()
		g := t.retain(core.None)
		t.commit(d)
		_, _, cutoff := t.m.(core.Checkpointer).CheckpointProjection()
		t.say("CheckpointProjection() has cutoff %s", name(cutoff))
		if cutoff > d {
			t.fail("a live guard hides %s, which has committed", name(d))
		}
		t.release(g, true)
		t.excluded()
	}},
	{"the cutoff of a checkpoint passes snapshots as OldestRequired does", checkpoints | retains, func(t *trial) {
		d := t.begin()
		s := t.snapshot(core.None)
		t.commit(d)
		t.excluded() // asks for the cutoff
		t.tooOld(s)
	}},

	// KeyReserver
	{"a unique key is held by current outcomes", reserves, func(t *trial) {
		active, committed, aborted, me := t.begin(), t.begin(), t.begin(), t.begin()
		t.commit(committed)
		t.rollback(aborted)
		own := []core.Xid{me}
		for _, xmin := range []core.Xid{core.None, active, committed, me} {
			t.reserves(xmin, core.None, own, true)
			t.reserves(xmin, active, own, true)
			t.reserves(xmin, aborted, own, true)
			t.reserves(xmin, committed, own, false)
			t.reserves(xmin, me, own, false)
			t.reserves(xmin, me, nil, true)
		}
		for _, xmax := range []core.Xid{core.None, active, committed, aborted, me} {
			t.reserves(aborted, xmax, own, false)
		}
	}},
	{"a deleter of one's own that rolled back does not free a key", reserves, func(t *trial) {
		me, savepoint := t.begin(), t.begin()
		t.reserves(core.None, savepoint, []core.Xid{me, savepoint}, false)
		t.rollback(savepoint)
		t.reserves(core.None, savepoint, []core.Xid{me, savepoint}, true)
		t.commit(me)
		t.reserves(core.None, me, nil, false)
	}},

	// GroupCommitter
	{"a group commits at one instant", groupCommits, func(t *trial) {
		a, b, c := t.begin(), t.begin(), t.begin()
		before := t.snapshot(a)
		t.group(c, a)
		after := t.snapshot(core.None)
		for _, x := range []core.Xid{a, c} {
			t.is(x, core.Committed)
			t.includes(after, x)
		}
		t.hides(before, c)
		t.hides(after, b)
		t.group()
		t.group(b)
		t.is(b, core.Committed)
		t.hides(after, b)
	}},
	{"a group with a member that is not active commits nobody", groupCommits, func(t *trial) {
		g := t.m.(core.GroupCommitter)
		a, b, done, gone := t.begin(), t.begin(), t.begin(), t.begin()
		t.commit(done)
		t.rollback(gone)
		unborn := t.m.PeekNext() + 3
		t.refused("CommitGroup(a, b, committed)", g.CommitGroup(a, b, done), done, core.Committed, core.ErrNotActive)
		t.refused("CommitGroup(aborted, a, b)", g.CommitGroup(gone, a, b), gone, core.Aborted, core.ErrNotActive)
		t.refused("CommitGroup(a, unborn, b)", g.CommitGroup(a, unborn, b), unborn, core.Unallocated, core.ErrUnallocated)
		t.refused("CommitGroup(a, None, b)", g.CommitGroup(a, core.None, b), core.None, core.Committed, core.ErrNotActive)
		t.refused("CommitGroup(a, b, a)", g.CommitGroup(a, b, a), a, core.Active, core.ErrDuplicate)
		s := t.snapshot(core.None)
		for _, x := range []core.Xid{a, b} {
			t.is(x, core.Active)
			t.hides(s, x)
		}
		t.rollback(a)
		t.commit(b)
	}},
}

func (t *trial) oldestPinned(x core.Xid) {
	t.Helper()
	if got, ok := t.m.(core.Pinner).OldestPinned(); ok != (x != core.None) || ok && got != x {
		t.fail("OldestPinned() = %s, %v, want %s", name(got), ok, name(x))
	}
}
