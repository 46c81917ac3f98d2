package variants

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"xidlab/core"
	"xidlab/internal/invariants"
	"xidlab/internal/sched"
)

// Each of these tests asks, while others go on, a question that has one answer
// at every instant. An answer put together from two instants is another one.

func TestAnswersOfOneInstant(t *testing.T) {
	for _, c := range []struct {
		name string
		turn func(*testing.T, core.Manager, func(question func()))
	}{
		{"one is always active", oneIsAlwaysActive},
		{"a key is never reserved", keyIsNeverReserved},
		{"a refusal is consistent", refusalIsConsistent},
	} {
		for _, v := range All {
			t.Run(c.name+"/"+v.Name, func(t *testing.T) {
				defer sched.Perturb(3)() // of effect under the sim tag
				var over atomic.Bool
				var wg sync.WaitGroup
				c.turn(t, v.New(), func(question func()) {
					wg.Go(func() {
						for !over.Load() && !t.Failed() {
							question()
						}
					})
				})
				over.Store(true)
				wg.Wait()
			})
		}
	}
}

func rounds() int {
	if testing.Short() || invariants.Enabled {
		return 2000
	}
	return 10_000
}

// oneIsAlwaysActive: the next transaction begins before the last one ends.
func oneIsAlwaysActive(t *testing.T, m core.Manager, ask func(func())) {
	x := m.Begin()
	ask(func() {
		if _, ok := m.OldestActive(); !ok {
			t.Error("OldestActive finds none")
		}
	})
	if r, ok := m.(core.Retainer); ok {
		ask(func() {
			if h, ok := r.OldestRequired(); !ok {
				t.Errorf("OldestRequired = %d, and nothing is required", h)
			}
		})
	}
	for range rounds() {
		next := m.Begin()
		must(m.Commit(x))
		x = next
	}
}

// keyIsNeverReserved: first because the deleter is one's own, then because the
// creator aborted, and the deleter rolls back only after that.
func keyIsNeverReserved(t *testing.T, m core.Manager, ask func(func())) {
	r, ok := m.(core.KeyReserver)
	if !ok {
		return
	}
	var pair atomic.Pointer[[2]core.Xid]
	begin := func() (x, y core.Xid) {
		x, y = m.Begin(), m.Begin()
		pair.Store(&[2]core.Xid{x, y})
		return x, y
	}
	x, y := begin()
	ask(func() {
		p := pair.Load()
		if r.ReservesUniqueKey(p[0], p[1], core.XidSet{p[1]}) {
			t.Errorf("%d, deleted by %d, is said to reserve its key", p[0], p[1])
		}
	})
	for range rounds() / 4 { // each leaves two aborted xids
		must(m.Rollback(x))
		must(m.Rollback(y))
		x, y = begin()
	}
}

// refusalIsConsistent: whoever guesses the next Xid is refused because it is not
// allocated, or finishes it, but is not told that an active one is not active.
func refusalIsConsistent(t *testing.T, m core.Manager, ask func(func())) {
	ask(func() {
		var refused *core.XidError
		if err := m.Commit(m.PeekNext()); errors.As(err, &refused) && refused.Status == core.Active {
			t.Error(err)
		}
	})
	for range rounds() {
		if err := m.Commit(m.Begin()); err != nil && !errors.Is(err, core.ErrNotActive) {
			t.Error(err)
		}
	}
}
