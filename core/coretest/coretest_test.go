package coretest

import (
	"strings"
	"sync"
	"testing"

	"xidlab/core"
	"xidlab/core/spec"
)

// lockedSpec is the specification behind one lock: the reference manager, with
// every capability.
type lockedSpec struct {
	mu sync.Mutex
	m  *spec.Manager
}

func newLockedSpec() core.Manager { return &lockedSpec{m: spec.New()} }

func locked[T any](l *lockedSpec, f func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f()
}

func locked2[T, U any](l *lockedSpec, f func() (T, U)) (T, U) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f()
}

// wrap puts the lock between a snapshot and the specification's maps.
func (l *lockedSpec) wrap(s core.Snapshot) core.Snapshot {
	v, owner, low, high, at := s.Parts()
	return core.NewSnapshot(&lockedView{l, v}, owner, low, high, at)
}

type lockedView struct {
	l    *lockedSpec
	view core.View
}

func (v *lockedView) Lookup(x core.Xid, at uint64) (bool, error) {
	return locked2(v.l, func() (bool, error) { return v.view.Lookup(x, at) })
}

func (v *lockedView) RolledBack(x core.Xid, at uint64) (bool, error) {
	return locked2(v.l, func() (bool, error) { return v.view.RolledBack(x, at) })
}

func (v *lockedView) InProgress(low, high core.Xid, at uint64) (core.XidSet, error) {
	return locked2(v.l, func() (core.XidSet, error) { return v.view.InProgress(low, high, at) })
}

type lockedGuard struct {
	l *lockedSpec
	g map[uint64]core.Guard
}

func (h *lockedGuard) Release(token uint64) bool {
	return locked(h.l, func() bool { return h.g[token].Release() })
}

func (l *lockedSpec) guard(g core.Guard) core.Guard {
	return core.NewGuard(l.wrap(g.Snapshot), &lockedGuard{l, map[uint64]core.Guard{1: g}}, 1)
}

func (l *lockedSpec) Begin() core.Xid { return locked(l, l.m.Begin) }
func (l *lockedSpec) Snapshot(self core.Xid) core.Snapshot {
	return locked(l, func() core.Snapshot { return l.wrap(l.m.Snapshot(self)) })
}
func (l *lockedSpec) Commit(x core.Xid) error {
	return locked(l, func() error { return l.m.Commit(x) })
}
func (l *lockedSpec) Rollback(x core.Xid) error {
	return locked(l, func() error { return l.m.Rollback(x) })
}
func (l *lockedSpec) Status(x core.Xid) core.Status {
	return locked(l, func() core.Status { return l.m.Status(x) })
}
func (l *lockedSpec) OldestActive() (core.Xid, bool) { return locked2(l, l.m.OldestActive) }
func (l *lockedSpec) PeekNext() core.Xid             { return locked(l, l.m.PeekNext) }
func (l *lockedSpec) Ordered() bool                  { return true }
func (l *lockedSpec) AllocateCommitted() core.Xid    { return locked(l, l.m.AllocateCommitted) }
func (l *lockedSpec) Retain(self core.Xid) core.Guard {
	return locked(l, func() core.Guard { return l.guard(l.m.Retain(self)) })
}
func (l *lockedSpec) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	return locked2(l, func() (core.Guard, error) {
		v, owner, low, high, at := s.Parts()
		if lv, ok := v.(*lockedView); ok {
			s = core.NewSnapshot(lv.view, owner, low, high, at)
		}
		g, err := l.m.RetainSnapshot(s)
		if err != nil {
			return core.Guard{}, err
		}
		return l.guard(g), nil
	})
}
func (l *lockedSpec) OldestRequired() (core.Xid, bool) { return locked2(l, l.m.OldestRequired) }
func (l *lockedSpec) Pin(x core.Xid) error             { return locked(l, func() error { return l.m.Pin(x) }) }
func (l *lockedSpec) Unpin(x core.Xid) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.m.Unpin(x)
}
func (l *lockedSpec) PinCount(x core.Xid) int {
	return locked(l, func() int { return l.m.PinCount(x) })
}
func (l *lockedSpec) OldestPinned() (core.Xid, bool) { return locked2(l, l.m.OldestPinned) }
func (l *lockedSpec) PruneAborted(below core.Xid) int {
	return locked(l, func() int { return l.m.PruneAborted(below) })
}
func (l *lockedSpec) ObserveCommitted(x core.Xid) error {
	return locked(l, func() error { return l.m.ObserveCommitted(x) })
}
func (l *lockedSpec) CheckpointExcluded() (core.Xid, core.XidSet) {
	return locked2(l, l.m.CheckpointExcluded)
}
func (l *lockedSpec) CheckpointProjection() (core.Xid, core.XidSet, core.Xid) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.m.CheckpointProjection()
}
func (l *lockedSpec) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	return locked(l, func() bool { return l.m.ReservesUniqueKey(xmin, xmax, own) })
}
func (l *lockedSpec) CommitGroup(xs ...core.Xid) error {
	return locked(l, func() error { return l.m.CommitGroup(xs...) })
}

// The specification is slow: it does the work of -short.
func TestSpec(t *testing.T) { testManager(t, newLockedSpec, true) }

// A manager without capabilities is checked for what it has.
func TestBareManager(t *testing.T) {
	testManager(t, func() core.Manager { return struct{ core.Manager }{newLockedSpec()} }, true)
}

// FuzzSpec fuzzes the interpreter, on the specification against itself.
func FuzzSpec(f *testing.F) { FuzzManager(f, func() core.Manager { return spec.New() }) }

func TestCheckFindsNothingWrongWithTheSpecification(t *testing.T) {
	for f := range Check(newLockedSpec) {
		t.Error(f)
	}
}

// forgetful is the specification with a mistake: it answers Commit and does
// nothing, once xid 3 is reached.
type forgetful struct{ *spec.Manager }

func (m forgetful) Commit(x core.Xid) error {
	if x == 3 {
		return nil
	}
	return m.Manager.Commit(x)
}

// A failing program is shrunk to the operations that matter: three begins, the
// commit, and nothing else.
func TestShrink(t *testing.T) {
	open := func() core.Manager { return forgetful{spec.New()} }
	for seed := range uint64(50) {
		prog := generate(seed)
		if runProgram(open, prog) == nil {
			continue
		}
		text := explain(open, prog)
		if n := strings.Count(text, "Begin() ="); n > 3 {
			t.Errorf("seed %d: %d begins left:\n%s", seed, n, text)
		}
		if n := strings.Count(text, "\n"); n > 6 {
			t.Errorf("seed %d: %d lines:\n%s", seed, n, text)
		}
		if seed == 3 {
			t.Log(text)
		}
		return
	}
	t.Error("no seed of 50 found the mistake")
}

// Programs survive the fuzzer's encoding, and every seed makes one.
func TestProgramsAreBytes(t *testing.T) {
	for seed := range uint64(100) {
		prog := generate(seed)
		back := decode(append(encode(prog), 1, 2))
		if len(back) != len(prog) {
			t.Fatalf("seed %d: %d ops became %d", seed, len(prog), len(back))
		}
		for i := range prog {
			if back[i] != prog[i] {
				t.Fatalf("seed %d: op %d: %v became %v", seed, i, prog[i], back[i])
			}
		}
	}
	if found := runProgram(newLockedSpec, decode([]byte{255, 1, 2})); found != nil {
		t.Error(found)
	}
}
