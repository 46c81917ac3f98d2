package epoch

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"xidlab/core"
	"xidlab/internal/sched"
)

func begin(m *Manager, n int) []core.Xid {
	xs := make([]core.Xid, n)
	for i := range xs {
		xs[i] = m.Begin()
	}
	return xs
}

func wantStatus(t *testing.T, m *Manager, want core.Status, xs ...core.Xid) {
	t.Helper()
	for _, x := range xs {
		if got := m.Status(x); got != want {
			t.Fatalf("Status(%d) = %v, want %v", x, got, want)
		}
	}
}

// TestGroupOfMany: a transaction with hundreds of savepoints, across segments.
func TestGroupOfMany(t *testing.T) {
	for _, m := range []*Manager{small(), With(Options{Segment: 16, Block: 4})} {
		xs := begin(m, 500)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
		given := slices.Clone(xs)
		before := m.Snapshot(core.None)
		wantRefused := func(x core.Xid, kind error, xs ...core.Xid) {
			t.Helper()
			var refused *core.XidError
			if err := m.CommitGroup(xs...); !errors.As(err, &refused) || refused.Xid != x || !errors.Is(err, kind) {
				t.Errorf("it answers %v, want %v, naming %d", err, kind, x)
			}
			wantStatus(t, m, core.Active, given...)
		}
		gone := m.Begin()
		rollback(t, m, gone)
		wantRefused(xs[7], core.ErrDuplicate, append(slices.Clone(xs), xs[7])...)
		wantRefused(gone, core.ErrNotActive, append(slices.Clone(xs), gone)...)
		wantRefused(core.None, core.ErrNotActive, append(slices.Clone(xs), core.None)...)
		unborn := m.PeekNext() + 5
		wantRefused(unborn, core.ErrUnallocated, append(slices.Clone(xs), unborn)...)
		if err := m.CommitGroup(xs...); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(xs, given) {
			t.Error("CommitGroup has changed the slice that it was given")
		}
		wantStatus(t, m, core.Committed, xs...)
		after := m.Snapshot(core.None)
		for _, x := range xs {
			if before.Includes(x) || !after.Includes(x) {
				t.Fatalf("%d: the snapshots before and after say %v, %v", x, before.Includes(x), after.Includes(x))
			}
		}
	}
}

// stopped is a group that its committer has left in the middle: with links to its
// first members (all, if n is that many).
func stopped(m *Manager, n int, xs ...core.Xid) *group {
	g := newGroup(xs)
	m.groups.enter(g)
	for _, x := range g.members[:n] {
		m.linkTo(g, x)
	}
	return g
}

// TestStoppedCommitter: whoever stops in the middle of a CommitGroup stops nobody,
// and keeps no more than an open transaction does; after the decision, nothing.
func TestStoppedCommitter(t *testing.T) {
	t.Run("undecided", func(t *testing.T) {
		m := small()
		x, y := m.Begin(), m.Begin()
		stopped(m, 1, x, y)
		s := m.Snapshot(x)
		wantStatus(t, m, core.Active, x, y)
		if oldest, ok := m.OldestActive(); !ok || oldest != x || s.Includes(y) || !s.Includes(x) {
			t.Errorf("OldestActive() = %d, %v; or a snapshot is wrong about a group in the making", oldest, ok)
		}
		if required, ok := m.OldestRequired(); !ok || required != x {
			t.Errorf("OldestRequired() = %d, %v, want %d", required, ok, x)
		}
		if _, excluded := m.CheckpointExcluded(); !slices.Equal(excluded, core.XidSet{x, y}) {
			t.Errorf("a checkpoint leaves out %v", excluded)
		}
		commit(t, m, 100)
		if err := m.Rollback(x); !errors.Is(err, core.ErrNotActive) {
			t.Errorf("Rollback of a linked member: %v, want it to help the group to its end", err)
		}
		wantStatus(t, m, core.Committed, x, y)
		if s.Includes(y) {
			t.Error("a snapshot includes a group that was undecided when it was asked")
		}
		commit(t, m, 8)
		wantSegments(t, m, 3, "after the group's end")
	})
	t.Run("committed", func(t *testing.T) {
		m := small()
		xs := begin(m, 100)
		m.settle(stopped(m, 0, xs...))
		commit(t, m, 8)
		wantSegments(t, m, 3, "with links to a committed group")
		if required, ok := m.OldestRequired(); ok {
			t.Errorf("OldestRequired() = %d behind a committed group", required)
		}
		wantStatus(t, m, core.Committed, xs...)
	})
	t.Run("aborted", func(t *testing.T) {
		m := small()
		xs := begin(m, 100)
		g := stopped(m, 99, xs...)
		rollback(t, m, xs[99])
		if m.settle(g).tag() != aborted {
			t.Fatal("a group with a member that has rolled back is not aborted")
		}
		wantStatus(t, m, core.Active, xs[:50]...)
		for _, x := range xs[:99] {
			rollback(t, m, x)
		}
		if n := m.PruneAborted(m.PeekNext()); n != 100 {
			t.Errorf("PruneAborted forgot %d of 100 members of an aborted group", n)
		}
		commit(t, m, 8)
		wantSegments(t, m, 3, "after the members have finished")
	})
}

// TestGroupPlaces: as many groups at once as there are, and no id twice.
func TestGroupPlaces(t *testing.T) {
	m := small()
	ids := map[uint64]bool{}
	for range 3 {
		var groups []*group
		for range 100 {
			x, y := m.Begin(), m.Begin()
			g := stopped(m, 2, x, y)
			if ids[g.id] || m.groups.find(g.link()) != g {
				t.Fatalf("the group with the id %d is not found, or the id is not new", g.id)
			}
			ids[g.id] = true
			groups = append(groups, g)
		}
		for _, g := range groups {
			x, y := g.members[0], g.members[1]
			if err := m.CommitGroup(y, x); !errors.Is(err, core.ErrNotActive) {
				t.Fatalf("a second group with the members of one in the making: %v", err)
			}
			wantStatus(t, m, core.Committed, x, y)
			for p := &m.groups; p != nil; p = p.next.Load() {
				for i := range p.places {
					p.places[i].group.CompareAndSwap(g, nil)
				}
			}
			if m.groups.find(g.link()) != nil {
				t.Fatal("a group that is over is found")
			}
		}
	}
	for i := range m.groups.places {
		m.groups.places[i].uses.Store(maxUses)
	}
	x, y := m.Begin(), m.Begin()
	g := stopped(m, 2, x, y)
	if at := int(g.id & (1<<placeBits - 1)); at < len(m.groups.places) {
		t.Errorf("place %d gives ids though it has run out of them", at)
	}
	if err := m.Commit(x); !errors.Is(err, core.ErrNotActive) {
		t.Error(err)
	}
	wantStatus(t, m, core.Committed, y)
}

// TestGroupsRace: groups that overlap, and lone finishes, from several threads. Of
// those that want a transaction one has it, and with it all it asked for.
func TestGroupsRace(t *testing.T) {
	defer sched.Perturb(3)() // of effect under the sim tag
	const workers, size = 4, 24
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for _, m := range []*Manager{New(), With(Options{Segment: 4, Block: 1}), With(Options{Segment: 8, Block: 4})} {
		for round := range rounds {
			xs := begin(m, size)
			var owners [size]atomic.Int32 // how many finishes of each have succeeded
			var groups [workers][]int
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(uint64(round), uint64(w)))
					for range 8 {
						members := r.Perm(size)[:2+r.IntN(6)]
						of := make([]core.Xid, len(members))
						for i, k := range members {
							of[i] = xs[k]
						}
						switch s := m.Snapshot(core.None); {
						case r.IntN(4) == 0:
							if m.Rollback(of[0]) == nil {
								owners[members[0]].Add(1)
							}
						case m.CommitGroup(of...) == nil:
							for _, k := range members {
								owners[k].Add(1)
							}
							groups[w] = append(groups[w], members...)
							for _, x := range of {
								if s.Includes(x) || !m.Snapshot(core.None).Includes(x) {
									t.Errorf("a snapshot from before a group includes its %d, or one from after it does not", x)
								}
							}
						}
					}
				})
			}
			wg.Go(func() {
				for i := range xs {
					s := m.Snapshot(core.None)
					first := s.Includes(xs[i])
					m.OldestActive()
					m.OldestRequired()
					if s.Includes(xs[i]) != first {
						t.Error("a snapshot has changed its mind")
					}
				}
			})
			wg.Wait()
			for i, x := range xs {
				n, s := owners[i].Load(), m.Status(x)
				if n > 1 || n == 1 == (s == core.Active) {
					t.Fatalf("%d is %v, and %d finishes of it have succeeded", x, s, n)
				}
				if s == core.Active {
					rollback(t, m, x)
				}
			}
			for _, k := range slices.Concat(groups[:]...) {
				wantStatus(t, m, core.Committed, xs[k])
			}
			m.PruneAborted(m.PeekNext())
		}
	}
}

// TestGroupAllocations: one object; two for more than few members.
func TestGroupAllocations(t *testing.T) {
	m := New()
	xs := begin(m, 10_000)
	for size, want := range map[int]float64{1: 0, 2: 1, len(group{}.few): 1, len(group{}.few) + 1: 2} {
		if n := testing.AllocsPerRun(100, func() {
			if err := m.CommitGroup(xs[:size]...); err != nil {
				t.Fatal(err)
			}
			xs = xs[size:]
		}); n != want {
			t.Errorf("CommitGroup of %d allocates %v times, want %v", size, n, want)
		}
	}
}

// BenchmarkCommitGroup is of groups that are begun too; "alone" is the same number
// of lone transactions.
func BenchmarkCommitGroup(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"2", 2}, {"5", 5}, {"100", 100}} {
		b.Run("group/"+c.name, func(b *testing.B) {
			m := New()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				xs := make([]core.Xid, c.size)
				for pb.Next() {
					for i := range xs {
						xs[i] = m.Begin()
					}
					if err := m.CommitGroup(xs...); err != nil {
						b.Error(err)
					}
				}
			})
		})
		b.Run("alone/"+c.name, func(b *testing.B) {
			m := New()
			b.RunParallel(func(pb *testing.PB) {
				xs := make([]core.Xid, c.size)
				for pb.Next() {
					for i := range xs {
						xs[i] = m.Begin()
					}
					for _, x := range xs {
						if err := m.Commit(x); err != nil {
							b.Error(err)
						}
					}
				}
			})
		})
	}
}
