package workload

import (
	"errors"
	"fmt"

	"xidlab/core"
)

// ErrUnsupported is what Start answers, wrapped, if the manager lacks a
// capability without which the load makes no sense.
var ErrUnsupported = errors.New("capability not offered")

// calls is a manager with its capabilities looked up once: a type assertion on
// the clock costs as much as a good Begin.
type calls struct {
	m core.Manager
	a core.CommittedAllocator // Begin and Commit, if the manager has no other way
	r core.Retainer           // nil if not offered
	p core.Pruner             // nil if not offered
}

func newCalls(m core.Manager) calls {
	c := calls{m: m}
	c.r, _ = m.(core.Retainer)
	c.p, _ = m.(core.Pruner)
	var ok bool
	if c.a, ok = m.(core.CommittedAllocator); !ok {
		c.a = beginCommit{m}
	}
	return c
}

func (c calls) needRetainer() error {
	if c.r == nil {
		return fmt.Errorf("core.Retainer: %w", ErrUnsupported)
	}
	return nil
}

func (c calls) needPruner() error {
	if c.p == nil {
		return fmt.Errorf("core.Pruner: %w", ErrUnsupported)
	}
	return nil
}

type beginCommit struct{ m core.Manager }

func (b beginCommit) AllocateCommitted() core.Xid { return core.AllocateCommitted(b.m) }

// timed returns calls that do the same and let s time one in many. (Guards
// and snapshots are values of core: see release and includes.)
func (c calls) timed(s *Sampler) calls {
	t := calls{m: timedManager{c.m, s}, a: timedAllocator{c.a, s}}
	if c.r != nil {
		t.r = timedRetainer{c.r, s}
	}
	if c.p != nil {
		t.p = timedPruner{c.p, s}
	}
	return t
}

// timedManager times what workloads call; the rest is passed on.
type timedManager struct {
	core.Manager
	s *Sampler
}

func (m timedManager) Begin() core.Xid {
	if !m.s.Due() {
		return m.Manager.Begin()
	}
	start := m.s.Now()
	x := m.Manager.Begin()
	m.s.Record(OpBegin, start)
	return x
}

func (m timedManager) Snapshot(self core.Xid) core.Snapshot {
	if !m.s.Due() {
		return m.Manager.Snapshot(self)
	}
	start := m.s.Now()
	s := m.Manager.Snapshot(self)
	m.s.Record(OpSnapshot, start)
	return s
}

func (m timedManager) Commit(x core.Xid) error {
	if !m.s.Due() {
		return m.Manager.Commit(x)
	}
	start := m.s.Now()
	err := m.Manager.Commit(x)
	m.s.Record(OpCommit, start)
	return err
}

func (m timedManager) Rollback(x core.Xid) error {
	if !m.s.Due() {
		return m.Manager.Rollback(x)
	}
	start := m.s.Now()
	err := m.Manager.Rollback(x)
	m.s.Record(OpRollback, start)
	return err
}

func (m timedManager) Status(x core.Xid) core.Status {
	if !m.s.Due() {
		return m.Manager.Status(x)
	}
	start := m.s.Now()
	status := m.Manager.Status(x)
	m.s.Record(OpStatus, start)
	return status
}

func (m timedManager) OldestActive() (core.Xid, bool) {
	if !m.s.Due() {
		return m.Manager.OldestActive()
	}
	start := m.s.Now()
	x, ok := m.Manager.OldestActive()
	m.s.Record(OpOldestActive, start)
	return x, ok
}

type timedAllocator struct {
	core.CommittedAllocator
	s *Sampler
}

func (t timedAllocator) AllocateCommitted() core.Xid {
	if !t.s.Due() {
		return t.CommittedAllocator.AllocateCommitted()
	}
	start := t.s.Now()
	x := t.CommittedAllocator.AllocateCommitted()
	t.s.Record(OpAllocateCommitted, start)
	return x
}

type timedPruner struct {
	core.Pruner
	s *Sampler
}

func (t timedPruner) PruneAborted(below core.Xid) int {
	if !t.s.Due() {
		return t.Pruner.PruneAborted(below)
	}
	start := t.s.Now()
	n := t.Pruner.PruneAborted(below)
	t.s.Record(OpPruneAborted, start)
	return n
}

type timedRetainer struct {
	core.Retainer
	s *Sampler
}

func (r timedRetainer) Retain(self core.Xid) core.Guard {
	if !r.s.Due() {
		return r.Retainer.Retain(self)
	}
	start := r.s.Now()
	g := r.Retainer.Retain(self)
	r.s.Record(OpRetain, start)
	return g
}

func (r timedRetainer) OldestRequired() (core.Xid, bool) {
	if !r.s.Due() {
		return r.Retainer.OldestRequired()
	}
	start := r.s.Now()
	x, ok := r.Retainer.OldestRequired()
	r.s.Record(OpOldestRequired, start)
	return x, ok
}

// release ends g, and may time it.
func release(g core.Guard, s *Sampler) bool {
	if !s.Due() {
		return g.Release()
	}
	start := s.Now()
	ok := g.Release()
	s.Record(OpRelease, start)
	return ok
}

// misses reports whether snap does not include x, which committed shortly before
// it. Nobody guards it: if this worker has just stood still, a manager that uses
// its memory again may not know any more.
func misses(snap core.Snapshot, x core.Xid) bool {
	ok, err := snap.Lookup(x)
	return !ok && !errors.Is(err, core.ErrTooOld)
}

// includes is snap.Includes(x), and may time it.
func includes(snap *core.Snapshot, x core.Xid, s *Sampler) bool {
	if !s.Due() {
		return snap.Includes(x)
	}
	start := s.Now()
	ok := snap.Includes(x)
	s.Record(OpIncludes, start)
	return ok
}
