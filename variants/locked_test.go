package variants

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"xidlab/core"
	"xidlab/core/spec"
	"xidlab/internal/invariants"
	"xidlab/internal/sched"
	"xidlab/variants/rwmutex"
	"xidlab/variants/sharded"
)

// A keeper is a manager whose snapshots can be kept.
type keeper interface {
	core.Manager
	core.CommittedAllocator
	core.Retainer
	core.Pruner
}

// locked are the variants with locks, whose comments claim more than the
// contract asks: here are the tests of that.
var locked = []struct {
	name string
	open func() keeper
}{
	{"rwmutex", func() keeper { return rwmutex.New() }},
	{"sharded, 1 shard", func() keeper { return sharded.NewShards(1) }},
	{"sharded, 2 shards", func() keeper { return sharded.NewShards(2) }},
	{"sharded, 8 shards", func() keeper { return sharded.NewShards(8) }},
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// TestRefusalsAreExact runs random programs beside the specification. A manager
// may refuse to retain what a horizon could have passed, and the conformance kit
// lets it; these refuse exactly what one that was answered, or a prune, has
// passed. And a snapshot that nothing guards answers ErrTooOld only after
// something was forgotten that had rolled back before.
func TestRefusalsAreExact(t *testing.T) {
	programs := 150
	if testing.Short() || invariants.Enabled {
		programs = 20
	}
	for _, v := range locked {
		t.Run(v.name, func(t *testing.T) {
			granted, refused := 0, 0
			for seed := range uint64(programs) {
				p := exactProgram{T: t, rng: rand.New(rand.NewPCG(seed, 0)), got: v.open(), want: spec.New()}
				for range 200 {
					p.step()
					p.ask()
					if t.Failed() {
						t.Fatalf("seed %d", seed)
					}
				}
				granted, refused = granted+p.granted, refused+p.refused
			}
			if granted < programs || refused < programs {
				t.Errorf("%d snapshots were retained and %d refused: too few to tell", granted, refused)
			}
		})
	}
}

// A twin is one thing in both managers.
type twin[T any] struct{ got, want T }

type exactProgram struct {
	*testing.T
	rng              *rand.Rand
	got              keeper
	want             *spec.Manager
	snapshots        []twin[core.Snapshot]
	guards           []twin[core.Guard]
	forgotten        int // how many snapshots were taken before something was forgotten
	granted, refused int
}

// xid returns one of the youngest, or one near the oldest active.
func (p *exactProgram) xid() core.Xid {
	next := p.want.PeekNext()
	if x, ok := p.want.OldestActive(); ok && p.rng.IntN(4) > 0 {
		return x + core.Xid(p.rng.Uint64N(uint64(min(next-x, 12))))
	}
	return next - core.Xid(p.rng.Uint64N(uint64(min(next, 40))))
}

func (p *exactProgram) step() {
	x := p.xid()
	switch p.rng.IntN(14) {
	default:
		p.got.Begin()
		p.want.Begin()
	case 0, 1, 2:
		if (p.got.Commit(x) == nil) != (p.want.Commit(x) == nil) {
			p.Errorf("they disagree about a commit of %d", x)
		}
	case 3:
		if (p.got.Rollback(x) == nil) != (p.want.Rollback(x) == nil) {
			p.Errorf("they disagree about a rollback of %d", x)
		}
	case 4, 5:
		p.snapshots = append(p.snapshots, twin[core.Snapshot]{p.got.Snapshot(x), p.want.Snapshot(x)})
	case 6:
		p.guards = append(p.guards, twin[core.Guard]{p.got.Retain(x), p.want.Retain(x)})
	case 7, 8:
		if len(p.snapshots) > 0 {
			i := len(p.snapshots) - 1 - p.rng.IntN(min(len(p.snapshots), 12))
			p.retain(i)
		}
	case 9, 10:
		if len(p.guards) > 0 {
			i := p.rng.IntN(len(p.guards))
			p.guards[i].got.Release()
			p.guards[i].want.Release()
			p.guards = slices.Delete(p.guards, i, i+1)
			p.forgotten = len(p.snapshots) // if a prune was waiting
		}
	case 11:
		if p.got.PruneAborted(x); p.want.PruneAborted(x) > 0 {
			p.forgotten = len(p.snapshots)
		}
	case 12:
		got, _ := p.got.OldestRequired()
		if want, _ := p.want.OldestRequired(); got != want {
			p.Errorf("OldestRequired is %d, want %d", got, want)
		}
	}
}

func (p *exactProgram) retain(i int) {
	got, err := p.got.RetainSnapshot(p.snapshots[i].got)
	want, wantErr := p.want.RetainSnapshot(p.snapshots[i].want)
	switch {
	case !errors.Is(err, wantErr):
		p.Errorf("RetainSnapshot answers %v, want %v", err, wantErr)
	case err == nil:
		p.guards = append(p.guards, twin[core.Guard]{got, want})
		p.granted++
	default:
		p.refused++
	}
}

// ask asks some snapshot about some xid.
func (p *exactProgram) ask() {
	if len(p.snapshots) == 0 {
		return
	}
	i := p.rng.IntN(len(p.snapshots))
	s, x := p.snapshots[i], p.xid()
	got, err := s.got.Lookup(x)
	want, _ := s.want.Lookup(x)
	if tooOld := i < p.forgotten && errors.Is(err, core.ErrTooOld); !tooOld && (err != nil || got != want) {
		p.Errorf("snapshot %d of %d includes %d: %v (%v), want %v", i, len(p.snapshots), x, got, err, want)
	}
	set, err := s.got.InProgress()
	if wantSet, _ := s.want.InProgress(); err != nil || !slices.Equal(set, wantSet) {
		p.Errorf("snapshot %d of %d hides %v as in progress (%v), want %v", i, len(p.snapshots), set, err, wantSet)
	}
}

// TestForgottenLeave: what a young guard keeps from being dropped, though an
// older one has let it be forgotten, is known to a snapshot that knew it as
// aborted until that guard is released, and then no more.
func TestForgottenLeave(t *testing.T) {
	for _, v := range locked {
		m := v.open()
		must(m.Rollback(m.Begin()))
		old, s := m.Retain(core.None), m.Snapshot(core.None)
		m.PruneAborted(m.PeekNext())
		young := m.Retain(core.None)
		old.Release()
		yes, err := s.Lookup(1)
		if st := m.Status(1); st != core.Committed || young.Includes(1) || yes || err != nil {
			t.Errorf("%s: under a guard that knew it as aborted a forgotten xid is %v, the guard includes it: %v, and an older snapshot: %v, %v",
				v.name, st, young.Includes(1), yes, err)
		}
		young.Release()
		if _, err := s.Lookup(1); !errors.Is(err, core.ErrTooOld) {
			t.Errorf("%s: a forgotten xid is kept for nobody: a snapshot's answer is %v", v.name, err)
		}
	}
}

// TestSnapshotAllocations holds the claims of the comments on Snapshot.
func TestSnapshotAllocations(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector allocates, and so do invariants")
	}
	some := func(n int) func(keeper) {
		return func(m keeper) {
			for range n {
				m.Begin()
			}
			m.AllocateCommitted()
		}
	}
	turn := func(m keeper) { x := m.Begin(); sink = m.Snapshot(x); must(m.Commit(x)) }
	for _, c := range []struct {
		name      string
		setup, op func(keeper)
		want      map[string]float64 // none if it is not there
	}{
		{"alone", func(keeper) {}, turn, nil},
		{"nothing is active, some aborted",
			func(m keeper) { must(m.Rollback(m.Begin())) },
			func(m keeper) { m.AllocateCommitted(); sink = m.Snapshot(core.None) }, nil},
		{"all are active", func(keeper) {}, func(m keeper) { sink = m.Snapshot(m.Begin()) }, nil},
		{"few are active", some(5), turn, map[string]float64{"rwmutex": 1, "sharded, 2 shards": 1}},
		{"many are active", some(1000), turn, map[string]float64{"rwmutex": 2, "sharded, 2 shards": 3}},
		{"many are active, none finishes", some(1000), func(m keeper) { sink = m.Snapshot(core.None) }, nil},
	} {
		for _, v := range locked {
			if v.name != "rwmutex" && v.name != "sharded, 2 shards" {
				continue
			}
			m := v.open()
			c.setup(m)
			if n := testing.AllocsPerRun(1000, func() { c.op(m) }); n != c.want[v.name] {
				t.Errorf("%s: %s: a snapshot allocates %v times, want %v", v.name, c.name, n, c.want[v.name])
			}
		}
	}
}

// TestRetainSnapshotAmongThreads prolongs guards while others prune, retain and
// ask for horizons; it is for every variant. At the end nothing is left behind.
func TestRetainSnapshotAmongThreads(t *testing.T) {
	turns := 3000
	if testing.Short() || invariants.Enabled {
		turns = 300
	}
	for _, v := range All {
		m, ok := v.New().(keeper)
		if !ok {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			defer sched.Perturb(1)() // of effect under the sim tag
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range turns {
						prolong(t, m)
					}
				})
			}
			wg.Wait()
			m.PruneAborted(m.PeekNext())
			if x, ok := m.OldestActive(); ok {
				t.Errorf("%d is active, but nobody has it", x)
			}
			if x, ok := m.OldestRequired(); ok {
				t.Errorf("%d is required, but by nobody", x)
			}
		})
	}
}

func prolong(t *testing.T, m keeper) {
	x, gone := m.Begin(), m.Begin()
	must(m.Rollback(gone))
	g := m.Retain(x)
	was := g.Includes(gone) // if somebody has pruned it already
	must(m.Commit(x))
	y := m.AllocateCommitted()
	m.PruneAborted(m.PeekNext())
	if h, _ := m.OldestRequired(); h > x {
		t.Errorf("OldestRequired is %d, but a guard hides %d", h, x)
	}
	again, err := m.RetainSnapshot(g.Snapshot)
	if err == nil {
		g.Release()
		g = again
	} else if !errors.Is(err, core.ErrTooOld) { // a prune that waited for an older guard has come about
		t.Errorf("RetainSnapshot of a guarded snapshot answers %v", err)
	}
	if !g.Includes(x) || g.WithOwner(core.None).Includes(x) || g.Includes(gone) != was || g.Includes(y) {
		t.Error("a guarded snapshot has changed its mind")
	}
	if h, _ := m.OldestRequired(); h > x {
		t.Errorf("OldestRequired is %d, but another guard hides %d", h, x)
	}
	if !g.Release() {
		t.Error("a guard was released by somebody else")
	}
}
