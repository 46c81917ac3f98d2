package workload

import (
	"fmt"
	"math/rand/v2"

	"xidlab/core"
)

// pruneEvery is how many transactions of a worker lie between its prunes.
const pruneEvery = 1024

// prune forgets what has rolled back so far. (No versions exist that could
// name it.)
func (w *mixWorker) prune(c *calls) {
	w.pruned += uint64(c.p.PruneAborted(c.m.PeekNext()))
}

func rollback() *Mix {
	return &Mix{
		name:    "rollback",
		summary: fmt.Sprintf("transactions that fail: Begin, Rollback; each worker calls PruneAborted every %d", pruneEvery),
		unit:    "transaction",
		prepare: func(r *mixRun, _ *rand.Rand) error { return r.needPruner() },
		equip:   func(_ *mixRun, w *mixWorker, rng *rand.Rand) { w.tick = rng.UintN(pruneEvery) },
		step: func(w *mixWorker, c *calls, _ *Sampler) int {
			const batch = 32
			for range batch {
				x := c.m.Begin()
				if err := c.m.Rollback(x); err != nil {
					w.broken("own transaction refused: %w", err)
				}
			}
			w.rolled += batch
			if w.tick += batch; w.tick >= pruneEvery {
				w.tick -= pruneEvery
				w.prune(c)
			}
			return batch
		},
		finish: func(r *mixRun) ([]Metric, error) {
			pruned := uint64(r.p.PruneAborted(r.m.PeekNext()))
			var rolled uint64
			for _, w := range r.workers {
				rolled += w.rolled
				pruned += w.pruned
			}
			if pruned != rolled {
				return nil, fmt.Errorf("%d transactions rolled back, %d were forgotten by PruneAborted", rolled, pruned)
			}
			return nil, nil
		},
	}
}

// collect asks for the horizon, as a collector of old versions does.
func (w *mixWorker) collect(c *calls) core.Xid {
	h, _ := c.r.OldestRequired()
	if h < w.horizon {
		w.broken("OldestRequired went back from %d to %d with nothing pinned", w.horizon, h)
	}
	w.horizon = h
	w.lag += float64(c.m.PeekNext() - h) // the bound is read later: never below h
	w.lagged++
	return h
}

// lagMetric is how far the horizon trailed the allocator.
func (r *mixRun) lagMetric() []Metric {
	var lag float64
	var n uint64
	for _, w := range r.workers {
		lag += w.lag
		n += w.lagged
	}
	if n == 0 {
		return nil
	}
	return []Metric{{"horizon-lag-xids", lag / float64(n)}}
}

func retain() *Mix {
	return &Mix{
		name:    "retain",
		summary: "Retain, Release beside a collector: at 1 in 16 units a transaction commits under the guard, and OldestRequired is asked",
		unit:    "guard",
		prepare: func(r *mixRun, _ *rand.Rand) error { return r.needRetainer() },
		step: func(w *mixWorker, c *calls, s *Sampler) int {
			const batch = 16
			for range batch - 1 {
				if g := c.r.Retain(core.None); !release(g, s) {
					w.broken("the release of a live guard reports that it had ended")
				}
			}
			g := c.r.Retain(core.None)
			x := c.m.Begin()
			w.committed(x, c.m.Commit(x))
			if h := w.collect(c); h > x {
				w.broken("OldestRequired is %d, though a live guard hides xid %d, which has committed", h, x)
			}
			if g.Includes(x) {
				w.broken("a guard includes xid %d, which began after it", x)
			}
			if !release(g, s) || g.Release() {
				w.broken("of two releases of a guard not exactly the first reports true")
			}
			return batch
		},
		finish: func(r *mixRun) ([]Metric, error) {
			if h, required := r.r.OldestRequired(); required || h != r.m.PeekNext() {
				return nil, fmt.Errorf("OldestRequired is %d, %v with nothing open; want PeekNext, %d, false", h, required, r.m.PeekNext())
			}
			return r.lagMetric(), nil
		},
	}
}

// mixed is a kind of work in the mix of that name.
type mixed uint8

const (
	mixedAutocommit mixed = iota
	mixedWrite
	mixedRead
	mixedRollback
	mixedOldestActive
)

// mixedShares adds up to 100.
var mixedShares = [...]int{mixedAutocommit: 20, mixedWrite: 40, mixedRead: 29, mixedRollback: 10, mixedOldestActive: 1}

// tapeKinds is the length of the tape of kinds, a power of two.
const tapeKinds = 1 << 12

func everything() *Mix {
	return &Mix{
		name: "mixed",
		summary: fmt.Sprintf("%d%% autocommit, %d%% writers under a guard, %d%% readers with %d Includes under a guard, %d%% rollback, %d%% OldestActive; a prune and a horizon every %d",
			mixedShares[mixedAutocommit], mixedShares[mixedWrite], mixedShares[mixedRead], probesPerRead, mixedShares[mixedRollback], mixedShares[mixedOldestActive], pruneEvery),
		unit: "transaction",
		prepare: func(r *mixRun, rng *rand.Rand) error {
			if err := r.needRetainer(); err != nil {
				return err
			}
			if err := r.needPruner(); err != nil {
				return err
			}
			return commitSome(r, rng)
		},
		equip: func(r *mixRun, w *mixWorker, rng *rand.Rand) {
			drawProbes(r, w, rng)
			w.tick = rng.UintN(pruneEvery)
			w.kinds = make([]mixed, 0, tapeKinds)
			for range tapeKinds {
				share, kind := rng.IntN(100), mixed(0)
				for share >= mixedShares[kind] {
					share -= mixedShares[kind]
					kind++
				}
				w.kinds = append(w.kinds, kind)
			}
		},
		step: stepMixed,
		finish: func(r *mixRun) ([]Metric, error) {
			r.p.PruneAborted(r.m.PeekNext())
			if h, required := r.r.OldestRequired(); required {
				return nil, fmt.Errorf("OldestRequired is %d with nothing open; PeekNext is %d", h, r.m.PeekNext())
			}
			return r.lagMetric(), nil
		},
	}
}

func stepMixed(w *mixWorker, c *calls, s *Sampler) int {
	const batch = 16
	for range batch {
		kind := w.kinds[w.tick%tapeKinds]
		if w.tick++; w.tick%pruneEvery == 0 {
			w.prune(c)
			w.collect(c)
		}
		switch kind {
		case mixedAutocommit:
			w.committed(c.a.AllocateCommitted(), nil)
		case mixedWrite:
			x := c.m.Begin()
			g := c.r.Retain(x)
			if !g.Includes(x) || !g.Includes(w.latest(0)) {
				w.broken("the snapshot of xid %d does not include itself or %d, which committed before it", x, w.latest(0))
			}
			err := c.m.Commit(x)
			release(g, s)
			w.committed(x, err)
		case mixedRead:
			g := c.r.Retain(core.None)
			w.read(&g.Snapshot, s)
			release(g, s)
		case mixedRollback:
			x := c.m.Begin()
			g := c.r.Retain(core.None)
			if err := c.m.Rollback(x); err != nil {
				w.broken("own transaction refused: %w", err)
			}
			if g.Includes(x) {
				w.broken("a snapshot includes xid %d, which has rolled back", x)
			}
			release(g, s)
			w.rolled++
		case mixedOldestActive:
			x := c.m.Begin()
			if oldest, ok := c.m.OldestActive(); !ok || oldest > x {
				w.broken("OldestActive is %d, %v, though xid %d is active", oldest, ok, x)
			}
			w.committed(x, c.m.Commit(x))
		}
	}
	return batch
}
