package stress

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"xidlab/core"
	"xidlab/core/spec"
	"xidlab/harness/history"
)

// A blocks manager hands out xids from blocks that it sets aside, in turn, and
// gives up what is left of one now and then: it is not ordered. All else is the
// specification's, under one lock.
type blocks struct {
	*spec.Manager
	mu     sync.Mutex
	blocks [4]block
	turns  int
	leaks  bool // what was set aside before a snapshot and committed later is included
	quiet  bool // InProgress does not name what was set aside
}

type block struct{ next, end core.Xid }

func newBlocks() *blocks { return &blocks{Manager: spec.New()} }

func (b *blocks) lock() func() { b.mu.Lock(); return b.mu.Unlock }

func (b *blocks) Ordered() bool { return false }

// draw returns an xid that was set aside.
func (b *blocks) draw() core.Xid {
	b.turns++
	k := &b.blocks[b.turns%len(b.blocks)]
	if k.next == k.end || b.turns%50 == 0 {
		for ; k.next < k.end; k.next++ {
			b.GiveUp(k.next)
		}
		k.next = b.Manager.PeekNext()
		k.end = k.next + 8
		b.Reserve(k.end)
	}
	k.next++
	return k.next - 1
}

func (b *blocks) Begin() core.Xid {
	defer b.lock()()
	x := b.draw()
	b.BeginAs(x)
	return x
}

func (b *blocks) AllocateCommitted() core.Xid {
	defer b.lock()()
	x := b.draw()
	b.AllocateCommittedAs(x)
	return x
}

func (b *blocks) Snapshot(self core.Xid) core.Snapshot {
	defer b.lock()()
	return b.wrap(b.Manager.Snapshot(self))
}

func (b *blocks) Retain(self core.Xid) core.Guard {
	defer b.lock()()
	g := b.Manager.Retain(self)
	return core.NewGuard(b.wrap(g.Snapshot), &blocksGuard{b, g}, 0)
}

func (b *blocks) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	defer b.lock()()
	v, _, _, _, _ := s.Parts()
	g, err := b.Manager.RetainSnapshot(v.(*blocksView).s)
	if err != nil {
		return core.Guard{}, err
	}
	return core.NewGuard(s, &blocksGuard{b, g}, 0), nil
}

type blocksGuard struct {
	b *blocks
	g core.Guard
}

func (g *blocksGuard) Release(uint64) bool { defer g.b.lock()(); return g.g.Release() }

// wrap returns a snapshot that takes the lock, and knows what is set aside now.
func (b *blocks) wrap(s core.Snapshot) core.Snapshot {
	v := &blocksView{b: b, s: s}
	for _, k := range b.blocks {
		for x := k.next; x < k.end; x++ {
			v.aside = append(v.aside, x)
		}
	}
	_, owner, _, high, _ := s.Parts()
	return core.NewSnapshot(v, owner, 1, high, 0)
}

type blocksView struct {
	b     *blocks
	s     core.Snapshot
	aside core.XidSet
}

func (v *blocksView) Lookup(x core.Xid, _ uint64) (bool, error) {
	defer v.b.lock()()
	if v.b.leaks && slices.Contains(v.aside, x) && v.b.Manager.Status(x) == core.Committed {
		return true, nil
	}
	return v.s.WithOwner(core.None).Lookup(x)
}

func (v *blocksView) RolledBack(x core.Xid, _ uint64) (bool, error) {
	defer v.b.lock()()
	in, err := v.s.WithOwner(x).Lookup(x)
	return !in, err
}

func (v *blocksView) InProgress(core.Xid, core.Xid, uint64) (core.XidSet, error) {
	defer v.b.lock()()
	set, err := v.s.InProgress()
	if v.b.quiet {
		return set, err
	}
	return core.NewXidSet(append(slices.Clone(v.aside), set...)...), err
}

func (b *blocks) Commit(x core.Xid) error        { defer b.lock()(); return b.Manager.Commit(x) }
func (b *blocks) Rollback(x core.Xid) error      { defer b.lock()(); return b.Manager.Rollback(x) }
func (b *blocks) Status(x core.Xid) core.Status  { defer b.lock()(); return b.Manager.Status(x) }
func (b *blocks) OldestActive() (core.Xid, bool) { defer b.lock()(); return b.Manager.OldestActive() }
func (b *blocks) PeekNext() core.Xid             { defer b.lock()(); return b.Manager.PeekNext() }
func (b *blocks) Pin(x core.Xid) error           { defer b.lock()(); return b.Manager.Pin(x) }
func (b *blocks) Unpin(x core.Xid)               { defer b.lock()(); b.Manager.Unpin(x) }
func (b *blocks) PinCount(x core.Xid) int        { defer b.lock()(); return b.Manager.PinCount(x) }
func (b *blocks) PruneAborted(below core.Xid) int {
	defer b.lock()()
	return b.Manager.PruneAborted(below)
}

func (b *blocks) CommitGroup(xs ...core.Xid) error {
	defer b.lock()()
	return b.Manager.CommitGroup(xs...)
}

func (b *blocks) OldestRequired() (core.Xid, bool) {
	defer b.lock()()
	return b.required()
}

// required is no higher than what may still be handed out: a horizon that had passed
// that would have to move back.
func (b *blocks) required() (core.Xid, bool) {
	h := b.Required()
	for _, k := range b.blocks {
		if k.next < k.end {
			h = min(h, k.next)
		}
	}
	b.OldestRequiredAs(h, h < b.Manager.PeekNext())
	return h, h < b.Manager.PeekNext()
}

func (b *blocks) OldestPinned() (core.Xid, bool) {
	defer b.lock()()
	return b.Manager.OldestPinned()
}

func (b *blocks) ObserveCommitted(x core.Xid) error {
	defer b.lock()()
	return b.Manager.ObserveCommitted(x)
}

func (b *blocks) CheckpointExcluded() (core.Xid, core.XidSet) {
	defer b.lock()()
	return b.Manager.CheckpointExcluded()
}

func (b *blocks) CheckpointProjection() (core.Xid, core.XidSet, core.Xid) {
	defer b.lock()()
	next, excluded := b.Manager.CheckpointExcluded()
	cutoff, _ := b.required()
	return next, excluded, cutoff
}

func (b *blocks) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	defer b.lock()()
	return b.Manager.ReservesUniqueKey(xmin, xmax, own)
}

// TestUnordered: a manager that is not ordered, and right, raises no alarm; one whose
// blocks leak into older snapshots is found.
func TestUnordered(t *testing.T) {
	for _, c := range []struct {
		name  string
		open  func() *blocks
		wants []string // operations that a proof names; nil: there is none
	}{
		{"sound", newBlocks, nil},
		{"leaks", func() *blocks { b := newBlocks(); b.leaks = true; return b }, []string{"Snapshot(", "Retain("}},
		{"quiet", func() *blocks { b := newBlocks(); b.quiet = true; return b }, []string{"Snapshot(", "Retain("}},
	} {
		t.Run(c.name, func(t *testing.T) {
			budget := 4 * time.Second
			if c.wants != nil {
				budget = 20 * time.Second
			}
			var last *history.History
			rep, err := Run(context.Background(), Config{
				Name: "blocks", Manager: func() core.Manager { return c.open() },
				Loads: scripts(), Modes: modes(t), Clocks: clocks(t), Budget: budget, Seed: 5,
				Recorded: func(_ Cell, h *history.History) error { last = h; return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			v := rep.Violation
			t.Logf("%d recordings, %d operations, %d undecided: %+v", rep.Cells, rep.Ops, rep.Undecided, v)
			if (v != nil) != (c.wants != nil) {
				t.Fatalf("found %v: %s", v.Cell, v.Proof)
			}
			if last.Ordered {
				t.Error("recorded as ordered")
			}
			if v == nil {
				return
			}
			text := ""
			for _, o := range v.Proof.Ops {
				text += o.Text + "\n"
			}
			if len(v.Proof.Ops) > 8 || !slices.ContainsFunc(c.wants, func(s string) bool { return strings.Contains(text, s) }) {
				t.Errorf("the proof is %s\n%s", v.Proof.Text, text)
			}
		})
	}
}
