package rwmutex

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"xidlab/core"
	"xidlab/internal/sched"
)

// TestStress runs every operation on real threads. What it asks is what must
// hold at any moment, for the one who asks: a group is in a snapshot as a whole
// or not at all; a snapshot includes what had committed before it was taken and
// not what begins after, whatever has happened since; no horizon passes what a
// live guard hides.
func TestStress(t *testing.T) {
	defer sched.Perturb(1)() // of effect under the sim tag
	m := newManager(1)
	var mu sync.Mutex
	groups := [][2]core.Xid{{m.Begin(), m.Begin()}} // open or committed, newest last
	var wg sync.WaitGroup
	stop := time.Now().Add(300 * time.Millisecond)
	for seed := range uint64(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			for time.Now().Before(stop) {
				switch rng.IntN(8) {
				case 0: // a group, seen by the others
					g := [2]core.Xid{m.Begin(), m.Begin()}
					mu.Lock()
					groups = append(groups, g)
					mu.Unlock()
					must(m.CommitGroup(g[1], g[0]))
				case 1, 2:
					mu.Lock()
					g := groups[max(0, len(groups)-1-rng.IntN(4))]
					mu.Unlock()
					s := m.Retain(core.None)
					if a, b := s.Includes(g[0]), s.Includes(g[1]); a != b {
						t.Errorf("a snapshot includes one of a group: %d %v, %d %v", g[0], a, g[1], b)
					}
					s.Release()
				case 3: // a guard that hides what commits under it
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
					} // else a prune that waited for an older guard has come about
					if !g.Includes(x) || g.WithOwner(core.None).Includes(x) || g.Includes(gone) != was || g.Includes(y) {
						t.Error("a guarded snapshot has changed its mind")
					}
					if h, _ := m.OldestRequired(); h > x {
						t.Errorf("OldestRequired is %d, but another guard hides %d", h, x)
					}
					if !g.Release() {
						t.Error("a guard was released by somebody else")
					}
				case 4: // who commits before a snapshot, who after
					x, y := m.Begin(), m.Begin()
					must(m.Commit(x))
					s := m.Retain(core.None)
					must(m.Commit(y))
					z := m.Begin()
					must(m.Commit(z))
					if !s.Includes(x) || s.Includes(y) || s.Includes(z) {
						t.Errorf("a snapshot between a commit of %d and those of %d and %d: %v, %v, %v", x, y, z, s.Includes(x), s.Includes(y), s.Includes(z))
					}
					s.Release()
				case 5:
					next, excluded, cutoff := m.CheckpointProjection()
					if len(excluded) > 0 && excluded[len(excluded)-1] >= next || cutoff > next {
						t.Errorf("a checkpoint of %d excludes %v and cuts at %d", next, excluded, cutoff)
					}
				case 6:
					x := m.Begin()
					must(m.Pin(x))
					if h, _ := m.OldestRequired(); h > x {
						t.Errorf("OldestRequired is %d, but %d is pinned", h, x)
					}
					must(m.Commit(x))
					if !m.ReservesUniqueKey(x, core.None, nil) || m.ReservesUniqueKey(core.None, x, nil) {
						t.Errorf("a key of a committed creator is free, or one of a committed deleter is not")
					}
					m.Unpin(x)
				case 7:
					x := m.Begin()
					if old, ok := m.OldestActive(); !ok || old > x {
						t.Errorf("OldestActive is %d, but %d is active", old, x)
					}
					racing := make(chan bool, 2)
					go func() { racing <- m.Rollback(x) == nil }()
					go func() { racing <- m.Commit(x) == nil }()
					if one, other := <-racing, <-racing; one == other {
						t.Errorf("of two racing finishes of %d not exactly one wins", x)
					}
				}
			}
		})
	}
	wg.Wait()
	must(m.CommitGroup(groups[0][0], groups[0][1]))
	if x, ok := m.OldestActive(); ok {
		t.Errorf("%d is active, but nobody has it", x)
	}
	m.PruneAborted(m.PeekNext())
	if x, ok := m.OldestRequired(); ok {
		t.Errorf("%d is required, but by whom", x)
	}
}
