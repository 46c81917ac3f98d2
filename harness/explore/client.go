package explore

import (
	"errors"

	"xidlab/core"
	"xidlab/internal/sched"
)

// A client runs a script on managers, one execution after the other. Its memory
// is used again by each, because there are a hundred thousand a second. It
// belongs to one search.
type client struct {
	*script
	traits
	open func() core.Manager

	m      core.Manager
	xids   []core.Xid // by variable, as the next two
	snaps  []core.Snapshot
	guards []core.Guard
	keys   []uniqueKey

	// The answers of the execution. That of an operation that gave a snapshot
	// is completed in the end by what the snapshot includes.
	setup, threads, end []answer
	setupNext, endNext  []core.Xid // PeekNext after each of these operations
	known               []core.Xid // handed out, in the order of the operations
	final               []uint64   // see probe

	bodies []func()
}

// A uniqueKey is what the client stores under a key.
type uniqueKey struct {
	lock     sched.Mutex
	versions []version
}

type version struct{ xmin, xmax core.Xid }

func newClient(s *script, open func() core.Manager) *client {
	ops := 0
	for _, t := range s.threads {
		ops += len(t)
	}
	c := &client{
		script: s, open: open, traits: traitsOf(open()),
		xids:   make([]core.Xid, len(s.vars)),
		snaps:  make([]core.Snapshot, len(s.vars)),
		guards: make([]core.Guard, len(s.vars)),
		keys:   make([]uniqueKey, len(s.keys)),
		setup:  make([]answer, len(s.setup)), threads: make([]answer, ops), end: make([]answer, len(s.end)),
		setupNext: make([]core.Xid, len(s.setup)), endNext: make([]core.Xid, len(s.end)),
	}
	first := 0
	for _, steps := range s.threads {
		from := first
		c.bodies = append(c.bodies, func() {
			for i := range steps {
				sched.Call(from + i)
				c.do(&steps[i], &c.threads[from+i])
				sched.Return(from + i)
			}
		})
		first += len(steps)
	}
	return c
}

// start is the sched.Program: a fresh manager, the setup, and then the threads.
func (c *client) start() []func() {
	c.m = c.open()
	clear(c.xids)
	clear(c.snaps)
	clear(c.guards)
	clear(c.keys)
	c.sequence(c.script.setup, c.setup, c.setupNext)
	return c.bodies
}

// finish does the end, and asks the final questions, after the threads have
// ended. It returns what the manager panics with, if it does.
func (c *client) finish() (panicked any) {
	defer func() { panicked = recover() }()
	c.sequence(c.script.end, c.end, c.endNext)
	c.known = c.known[:0]
	c.eachAnswer(func(st *step, a *answer) {
		if st.op == opBegin || st.op == opAllocateCommitted {
			c.known = append(c.known, a.x)
		}
	})
	c.eachAnswer(func(st *step, a *answer) {
		if operations[st.op].gives == snapshot || operations[st.op].gives == guard {
			if a.refused.kind == noError {
				var asked bool
				a.set, asked = c.contents(st.dst, c.snaps[st.dst], c.xids, c.known)
				a.yes = !asked
			}
		}
	})
	q := questions{words: c.final[:0]}
	q.ask(c.m, c.traits, c.vars, c.snaps, c.guards, c.known)
	c.final = q.words
	return nil
}

func (c *client) eachAnswer(f func(*step, *answer)) {
	for i := range c.setup {
		f(&c.script.setup[i], &c.setup[i])
	}
	n := 0
	for _, t := range c.script.threads {
		for i := range t {
			f(&t[i], &c.threads[n])
			n++
		}
	}
	for i := range c.end {
		f(&c.script.end[i], &c.end[i])
	}
}

func (c *client) sequence(steps []step, answers []answer, nexts []core.Xid) {
	for i := range steps {
		c.do(&steps[i], &answers[i])
		nexts[i] = c.m.PeekNext()
	}
}

// do runs one operation and records its answer.
func (c *client) do(st *step, a *answer) {
	*a = answer{set: a.set[:0]}
	switch st.op {
	case opBegin:
		a.x = c.m.Begin()
	case opAllocateCommitted:
		a.x = core.AllocateCommitted(c.m)
	case opCommit:
		a.refused = refusalOf(c.m.Commit(c.xid(st, c.xids, 0)))
	case opRollback:
		a.refused = refusalOf(c.m.Rollback(c.xid(st, c.xids, 0)))
	case opCommitGroup:
		a.refused = refusalOf(c.m.(core.GroupCommitter).CommitGroup(c.xidsFrom(st, c.xids, 0)...))
	case opSnapshot:
		c.keep(st, a, c.m.Snapshot(c.xid(st, c.xids, 0)))
	case opWithOwner:
		c.keep(st, a, c.snaps[st.args[0].v].WithOwner(c.xid(st, c.xids, 1)))
	case opIncludes:
		yes, err := c.snaps[st.args[0].v].Lookup(c.xid(st, c.xids, 1))
		a.yes, a.refused = yes, refusalOf(err)
	case opInProgress:
		set, err := c.snaps[st.args[0].v].InProgress()
		a.set, a.refused = append(a.set, set...), refusalOf(err)
	case opStatus:
		a.status = c.m.Status(c.xid(st, c.xids, 0))
	case opOldestActive:
		a.x, a.yes = c.m.OldestActive()
	case opPeekNext:
		a.x = c.m.PeekNext()
	case opRetain:
		c.hold(st, a, c.m.(core.Retainer).Retain(c.xid(st, c.xids, 0)))
	case opRetainSnapshot:
		g, err := c.m.(core.Retainer).RetainSnapshot(c.snaps[st.args[0].v])
		if a.refused = refusalOf(err); err == nil {
			c.hold(st, a, g)
		}
	case opRelease:
		a.yes = c.guards[st.args[0].v].Release()
	case opOldestRequired:
		a.x, a.yes = c.m.(core.Retainer).OldestRequired()
	case opPin:
		a.refused = refusalOf(c.m.(core.Pinner).Pin(c.xid(st, c.xids, 0)))
	case opUnpin:
		c.m.(core.Pinner).Unpin(c.xid(st, c.xids, 0))
	case opPinCount:
		a.x = core.Xid(c.m.(core.Pinner).PinCount(c.xid(st, c.xids, 0)))
	case opOldestPinned:
		a.x, a.yes = c.m.(core.Pinner).OldestPinned()
	case opPruneAborted:
		a.x = core.Xid(c.m.(core.Pruner).PruneAborted(c.below(st, c.xids)))
	case opObserveCommitted:
		a.refused = refusalOf(c.m.(core.Recoverer).ObserveCommitted(c.xid(st, c.xids, 0)))
	case opCheckpointExcluded:
		next, set := c.m.(core.Checkpointer).CheckpointExcluded()
		a.x, a.set = next, append(a.set, set...)
	case opCheckpointProjection:
		next, set, cutoff := c.m.(core.Checkpointer).CheckpointProjection()
		a.x, a.set, a.y = next, append(a.set, set...), cutoff
	case opReservesUniqueKey:
		a.yes = c.m.(core.KeyReserver).ReservesUniqueKey(c.xid(st, c.xids, 0), c.xid(st, c.xids, 1), core.NewXidSet(c.xidsFrom(st, c.xids, 2)...))
	case opInsert, opDelete:
		k := &c.keys[st.args[0].v]
		k.lock.Lock()
		a.yes = k.admit(st.op, c.m.(core.KeyReserver), c.xid(st, c.xids, 1))
		k.lock.Unlock()
	}
	if st.dst >= 0 && operations[st.op].gives == xid {
		c.xids[st.dst] = a.x
	}
}

func (c *client) keep(st *step, a *answer, s core.Snapshot) {
	c.snaps[st.dst] = s
	a.x = s.Bound()
}

func (c *client) hold(st *step, a *answer, g core.Guard) {
	c.guards[st.dst] = g
	c.keep(st, a, g.Snapshot)
}

// admit does an Insert or a Delete by x; the lock is held. It reports whether
// the version was written.
func (k *uniqueKey) admit(op opcode, m core.KeyReserver, x core.Xid) bool {
	own := core.XidSet{x}
	for i := range k.versions {
		v := &k.versions[i]
		if m.ReservesUniqueKey(v.xmin, v.xmax, own) {
			if op == opDelete {
				v.xmax = x
			}
			return op == opDelete
		}
	}
	if op == opInsert {
		k.versions = append(k.versions, version{xmin: x})
	}
	return op == opInsert
}

// isTooOld reports whether err says so.
func isTooOld(err error) bool { return errors.Is(err, core.ErrTooOld) }
