package stress

import "xidlab/core"

// An action is one thing that an actor does. Answers and refusals are recorded,
// and judged from the record; here nobody looks at them.
type action func(a *actor)

func begin(a *actor) {
	if len(a.open) < mostOpen {
		a.begin()
	} else {
		commit(a)
	}
}

func commit(a *actor)   { _ = a.w.Commit(a.take()) }
func rollback(a *actor) { _ = a.w.Rollback(a.take()) }

// write and abort are whole transactions: they leave nothing open that would hold
// the horizon, and every reader, back.
func write(a *actor) { _ = a.w.Commit(a.published()) }
func abort(a *actor) { _ = a.w.Rollback(a.published()) }

// guess finishes, or asks about, what nobody has been handed out yet; but
// somebody may just now be.
func guess(a *actor) {
	x := a.w.PeekNext() + core.Xid(a.rng.IntN(2))
	switch a.rng.IntN(3) {
	case 0:
		_ = a.w.Commit(x)
	case 1:
		_ = a.w.Rollback(x)
	case 2:
		a.w.Status(x)
	}
}

// steal finishes whatever somebody began lately, perhaps while they do.
func steal(a *actor) {
	x := a.some()
	if x == core.None {
		return
	}
	if a.rng.IntN(2) == 0 {
		_ = a.w.Commit(x)
	} else {
		_ = a.w.Rollback(x)
	}
}

func group(a *actor) {
	for len(a.open) < 3 {
		a.begin()
	}
	_ = a.w.CommitGroup(remove(&a.open, a.rng), remove(&a.open, a.rng), remove(&a.open, a.rng))
}

func allocate(a *actor) {
	a.publish(a.w.AllocateCommitted())
}

func snapshot(a *actor) {
	s := a.w.Snapshot(a.self())
	a.ask(s)
	a.snaps[a.taken%len(a.snaps)] = s
	a.taken++
}

// reread asks an older snapshot again.
func reread(a *actor) {
	if s, ok := a.older(); ok {
		a.ask(s)
	}
}

func (a *actor) older() (core.Snapshot, bool) {
	if a.taken == 0 {
		return core.Snapshot{}, false
	}
	return a.snaps[a.rng.IntN(min(a.taken, len(a.snaps)))], true
}

func retain(a *actor) {
	if len(a.guards) == mostGuards {
		release(a)
		return
	}
	g := a.w.Retain(a.self())
	a.guards = append(a.guards, g)
	a.ask(g.Snapshot)
}

func retainOlder(a *actor) {
	s, ok := a.older()
	if !ok || len(a.guards) == mostGuards {
		release(a)
		return
	}
	if g, err := a.w.RetainSnapshot(s); err == nil {
		a.guards = append(a.guards, g)
		a.ask(g.Snapshot)
	}
}

// release ends one of its guards, after a last look, and sometimes twice.
func release(a *actor) {
	if len(a.guards) == 0 {
		return
	}
	g := remove(&a.guards, a.rng)
	a.ask(g.Snapshot)
	a.w.Release(g)
	if a.rng.IntN(8) == 0 {
		a.w.Release(g)
	}
}

func status(a *actor)       { a.w.Status(a.some()) }
func oldestActive(a *actor) { a.w.OldestActive() }
func peek(a *actor)         { a.w.PeekNext() }
func required(a *actor)     { a.w.OldestRequired() }
func excluded(a *actor)     { a.w.CheckpointExcluded() }
func projection(a *actor)   { a.w.CheckpointProjection() }

func pinSome(a *actor) {
	if len(a.pins) == mostPins {
		unpinSome(a)
		return
	}
	x := a.some()
	if a.rng.IntN(2) == 0 && len(a.open) > 0 {
		x = a.open[0]
	}
	if a.w.Pin(x) == nil && x != core.None {
		a.pins = append(a.pins, x)
	}
}

func unpinSome(a *actor) {
	if len(a.pins) > 0 {
		a.w.Unpin(remove(&a.pins, a.rng))
	}
}

func pinned(a *actor) {
	a.w.PinCount(a.some())
	a.w.OldestPinned()
}

// prune forgets what has rolled back below the horizon, or below some xid.
func prune(a *actor) {
	below := a.some()
	if a.rng.IntN(2) == 0 {
		below = a.w.PeekNext()
	}
	a.w.PruneAborted(below)
}

// observe observes what somebody began lately, which is refused unless it has
// committed; rarely what nobody has begun yet, over a gap.
func observe(a *actor) {
	x := a.some()
	if a.rng.IntN(4) == 0 {
		x = a.w.PeekNext() + core.Xid(a.rng.IntN(4))
	}
	if x != core.None && a.w.ObserveCommitted(x) == nil {
		a.publish(x)
	}
}

// finishPair begins a creator and a deleter of a version, and tells the others;
// when it comes by again, it finishes one right after the other.
func finishPair(a *actor) {
	if a.pair[0] == core.None {
		a.pair = [2]core.Xid{a.w.Begin(), a.w.Begin()}
		a.board.creator.Store(uint64(a.pair[0]))
		a.board.deleter.Store(uint64(a.pair[1]))
		return
	}
	for _, x := range a.pair {
		if a.rng.IntN(4) == 0 {
			_ = a.w.Commit(x)
		} else {
			_ = a.w.Rollback(x)
		}
	}
	a.pair = [2]core.Xid{}
}

// key asks whether such a version holds its key, as the deleter or as a stranger.
func key(a *actor) {
	xmin, xmax := core.Xid(a.board.creator.Load()), core.Xid(a.board.deleter.Load())
	if a.rng.IntN(8) == 0 {
		xmin, xmax = a.some(), a.some()
	}
	var own core.XidSet
	if xmax != core.None && a.rng.IntN(3) > 0 {
		own = core.XidSet{xmax}
	}
	a.w.ReservesUniqueKey(xmin, xmax, own)
}

// misuse does what has to be refused.
func misuse(a *actor) {
	x := a.take()
	_ = a.w.Commit(x)
	switch a.rng.IntN(4) {
	case 0:
		_ = a.w.Commit(x)
	case 1:
		_ = a.w.Rollback(x)
	case 2:
		_ = a.w.Commit(core.None)
	case 3:
		_ = a.w.Rollback(core.MaxXid)
	}
}

// misuseGroup gives a group a member twice, or one that has finished.
func misuseGroup(a *actor) {
	x := a.take()
	if a.rng.IntN(2) == 0 {
		_ = a.w.CommitGroup(x, x)
		_ = a.w.Commit(x)
		return
	}
	_ = a.w.Rollback(x)
	y := a.take()
	_ = a.w.CommitGroup(y, x)
	_ = a.w.Rollback(y)
}

func misuseRange(a *actor) {
	_ = a.w.Pin(core.MaxXid + 1)
	_ = a.w.ObserveCommitted(core.MaxXid + 1)
}
