package sharded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"xidlab/core"
	"xidlab/core/spec"
	"xidlab/internal/invariants"
)

// full is every interface of core.
type full interface {
	core.Manager
	core.CommittedAllocator
	core.Retainer
	core.Pinner
	core.Pruner
	core.Recoverer
	core.Checkpointer
	core.KeyReserver
	core.GroupCommitter
}

// TestExact runs random programs in lockstep with the specification. Unlike the
// conformance kit it allows nothing: what a manager may choose, this one
// answers as the specification does. Only a snapshot that nothing guards may
// say ErrTooOld instead, once something was forgotten after it was taken.
func TestExact(t *testing.T) {
	programs := 150
	if testing.Short() || invariants.Enabled {
		programs = 20
	}
	for seed := range uint64(programs) {
		p := program{t: t, rng: rand.New(rand.NewPCG(seed, 0)), got: newManager(seed), want: spec.New()}
		p.run(seed)
		if t.Failed() {
			return
		}
	}
}

// A twin is one thing in both managers. Snapshots of guards are taken from
// their guards.
type twin[T any] struct{ got, want T }

type program struct {
	t         *testing.T
	rng       *rand.Rand
	got       full
	want      *spec.Manager
	snapshots []twin[core.Snapshot]
	guards    []twin[core.Guard]
	forgotten int // how many snapshots were taken before something was forgotten
	log       []string
}

func (p *program) run(seed uint64) {
	far := seed%8 == 1
	for range 150 {
		op, check := p.step(far)
		p.log = append(p.log, op)
		check()
		p.compare()
		if p.t.Failed() {
			p.t.Fatalf("seed %d: %v", seed, p.log)
		}
	}
}

// list makes nil and empty the same.
func list(set core.XidSet) core.XidSet { return append(core.XidSet{}, set...) }

func (p *program) below(n core.Xid) core.Xid { return core.Xid(p.rng.Uint64N(uint64(n))) }

// xid returns one that means something, mostly.
func (p *program) xid() core.Xid {
	next := p.want.PeekNext()
	if x, ok := p.want.OldestActive(); ok && p.rng.IntN(4) > 0 {
		return x + p.below(min(next-x, 12))
	}
	return min(next, next-p.below(min(next, 40))+p.below(2))
}

func (p *program) same(got, want any) func() {
	return func() {
		if !reflect.DeepEqual(got, want) {
			p.t.Errorf("answered %v, want %v", got, want)
		}
	}
}

func (p *program) step(far bool) (string, func()) {
	x := p.xid()
	switch p.rng.IntN(22) {
	default:
		return "begin", p.same(p.got.Begin(), p.want.Begin())
	case 0, 1, 2:
		return fmt.Sprint("commit ", x), p.sameError(p.got.Commit(x), p.want.Commit(x))
	case 3, 4:
		return fmt.Sprint("rollback ", x), p.sameError(p.got.Rollback(x), p.want.Rollback(x))
	case 5:
		group := []core.Xid{x, p.xid(), p.xid()}[:1+p.rng.IntN(3)]
		return fmt.Sprint("commit group ", group), p.sameError(p.got.CommitGroup(group...), p.want.CommitGroup(group...))
	case 6:
		return "allocate committed", p.same(p.got.AllocateCommitted(), p.want.AllocateCommitted())
	case 7, 8:
		p.snapshots = append(p.snapshots, twin[core.Snapshot]{p.got.Snapshot(x), p.want.Snapshot(x)})
		return fmt.Sprint("snapshot ", x), func() {}
	case 9:
		p.guards = append(p.guards, twin[core.Guard]{p.got.Retain(x), p.want.Retain(x)})
		return fmt.Sprint("retain ", x), func() {}
	case 10:
		if len(p.snapshots) == 0 {
			return "", func() {}
		}
		i := p.rng.IntN(len(p.snapshots))
		got, err := p.got.RetainSnapshot(p.snapshots[i].got)
		want, wantErr := p.want.RetainSnapshot(p.snapshots[i].want)
		if err == nil && wantErr == nil {
			p.guards = append(p.guards, twin[core.Guard]{got, want})
		}
		return fmt.Sprint("retain snapshot ", i), p.same(err, wantErr)
	case 11, 12:
		if len(p.guards) == 0 {
			return "", func() {}
		}
		i := p.rng.IntN(len(p.guards))
		g := p.guards[i]
		p.guards = append(p.guards[:i], p.guards[i+1:]...)
		if !g.got.Release() || g.got.Release() || !g.want.Release() {
			p.t.Error("a guard is not released exactly once")
		}
		p.forgotten = len(p.snapshots) // if a prune was waiting
		return fmt.Sprint("release ", i), func() {}
	case 13:
		return fmt.Sprint("pin ", x), p.sameError(p.got.Pin(x), p.want.Pin(x))
	case 14:
		p.got.Unpin(x)
		p.want.Unpin(x)
		return fmt.Sprint("unpin ", x), func() {}
	case 15:
		got, want := p.got.PruneAborted(x), p.want.PruneAborted(x)
		if want > 0 {
			p.forgotten = len(p.snapshots)
		}
		return fmt.Sprint("prune ", x), p.same(got, want)
	case 16:
		if far && p.rng.IntN(4) == 0 {
			x += 1 << p.rng.IntN(50)
		} else {
			x += p.below(4)
		}
		return fmt.Sprint("observe ", x), p.sameError(p.got.ObserveCommitted(x), p.want.ObserveCommitted(x))
	case 17:
		got, ok := p.got.OldestRequired()
		want, wantOK := p.want.OldestRequired()
		return "oldest required", p.same([]any{got, ok}, []any{want, wantOK})
	case 18:
		if p.want.PeekNext() > 1000 { // the specification walks
			return "", func() {}
		}
		next, excluded, cutoff := p.got.CheckpointProjection()
		wantNext, wantExcluded, wantCutoff := p.want.CheckpointProjection()
		return "checkpoint", p.same([]any{next, list(excluded), cutoff}, []any{wantNext, list(wantExcluded), wantCutoff})
	}
}

func (p *program) sameError(got, want error) func() {
	if got != nil && want != nil {
		return p.same(got.Error(), want.Error())
	}
	return p.same(got, want)
}

// compare asks everything that changes nothing.
func (p *program) compare() {
	next := p.want.PeekNext()
	p.same(p.got.PeekNext(), next)()
	a, aOK := p.got.OldestActive()
	b, bOK := p.want.OldestActive()
	p.same([]any{a, aOK}, []any{b, bOK})()
	a, aOK = p.got.OldestPinned()
	b, bOK = p.want.OldestPinned()
	p.same([]any{a, aOK}, []any{b, bOK})()
	if next < 1000 {
		a, set := p.got.CheckpointExcluded()
		b, wantSet := p.want.CheckpointExcluded()
		p.same([]any{a, list(set)}, []any{b, list(wantSet)})()
	}
	for range 4 {
		x, y := p.xid(), p.xid()
		own := core.NewXidSet(p.xid(), y)
		p.same(p.got.Status(x), p.want.Status(x))()
		p.same(p.got.PinCount(x), p.want.PinCount(x))()
		p.same(p.got.ReservesUniqueKey(x, y, own), p.want.ReservesUniqueKey(x, y, own))()
	}
	for range min(len(p.snapshots), 3) {
		i := p.rng.IntN(len(p.snapshots))
		p.compareSnapshot(fmt.Sprint("snapshot ", i), p.snapshots[i], i < p.forgotten)
	}
	for range min(len(p.guards), 3) {
		i := p.rng.IntN(len(p.guards))
		g := p.guards[i]
		p.compareSnapshot(fmt.Sprint("guard ", i), twin[core.Snapshot]{g.got.Snapshot, g.want.Snapshot}, false)
	}
}

func (p *program) compareSnapshot(name string, s twin[core.Snapshot], old bool) {
	if s.got.Bound() != s.want.Bound() {
		p.t.Errorf("%s is bounded by %d, want %d", name, s.got.Bound(), s.want.Bound())
	}
	for range 4 {
		x := p.xid()
		got, err := s.got.Lookup(x)
		want, _ := s.want.Lookup(x)
		if tooOld := old && errors.Is(err, core.ErrTooOld); !tooOld && (err != nil || got != want) {
			p.t.Errorf("%s includes %d: %v (%v), want %v", name, x, got, err, want)
		}
	}
	got, err := s.got.InProgress()
	want, _ := s.want.InProgress()
	if err != nil || !reflect.DeepEqual(list(got), list(want)) {
		p.t.Errorf("%s hides %v as in progress (%v), want %v", name, got, err, want)
	}
}
