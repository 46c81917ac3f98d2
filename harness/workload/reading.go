package workload

import (
	"fmt"
	"math/rand/v2"

	"xidlab/core"
)

const (
	probesPerRead = 32     // visibility checks a snapshot, as of a small index scan
	tapeReads     = 1 << 7 // reads on a tape, then it starts over

	oldXids, youngXids      = 2048, 4096
	youngActive, youngAbort = 64, 100
)

// A probe is a block of xids to ask one snapshot about. All of them were
// decided before the workers started, so the number of those it includes is
// known.
type probe struct {
	xids [probesPerRead]core.Xid
	hits int
}

// decideSome gives the run xids to ask about: old ones, all committed, then
// young ones, of which a few stay active and a few have rolled back, finished in
// random order.
func decideSome(r *mixRun, rng *rand.Rand) error { return decide(r, rng, youngActive, youngAbort) }

// commitSome is decideSome with nothing left active or rolled back.
func commitSome(r *mixRun, rng *rand.Rand) error { return decide(r, rng, 0, 0) }

func decide(r *mixRun, rng *rand.Rand, active, aborted int) error {
	for range oldXids {
		x := r.m.Begin()
		r.old = append(r.old, x)
		if err := r.m.Commit(x); err != nil {
			return err
		}
	}
	for range youngXids {
		r.young = append(r.young, decided{xid: r.m.Begin()})
	}
	for i, at := range rng.Perm(youngXids) {
		d := &r.young[at]
		var err error
		switch {
		case i < active:
			r.idle = append(r.idle, d.xid)
		case i < active+aborted:
			err = r.m.Rollback(d.xid)
		default:
			d.committed = true
			err = r.m.Commit(d.xid)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drawProbes fills the tape of w: half of the probes go to old xids, which a
// good snapshot answers from its bounds alone, half to young ones.
func drawProbes(r *mixRun, w *mixWorker, rng *rand.Rand) {
	w.probes = make([]probe, tapeReads)
	for i := range w.probes {
		p := &w.probes[i]
		for k := range &p.xids {
			if rng.IntN(2) == 0 {
				p.xids[k] = r.old[rng.IntN(len(r.old))]
				p.hits++
			} else {
				d := r.young[rng.IntN(len(r.young))]
				p.xids[k] = d.xid
				if d.committed {
					p.hits++
				}
			}
		}
	}
}

// read asks snap about the next block of the tape.
func (w *mixWorker) read(snap *core.Snapshot, s *Sampler) {
	p := &w.probes[w.at%tapeReads]
	w.at++
	hits := 0
	if s == nil {
		for _, x := range &p.xids {
			if snap.Includes(x) {
				hits++
			}
		}
	} else {
		for _, x := range &p.xids {
			if includes(snap, x, s) {
				hits++
			}
		}
	}
	if hits != p.hits {
		w.broken("of %d xids decided before the run a snapshot includes %d, not %d", probesPerRead, hits, p.hits)
	}
}

func readMostly() *Mix {
	return &Mix{
		name:    "read-mostly",
		summary: fmt.Sprintf("read-only transactions: Snapshot, %d Includes (%d active, %d aborted xids); 1 in 16 units is Begin, Commit instead", probesPerRead, youngActive, youngAbort),
		unit:    "transaction",
		prepare: decideSome,
		equip:   drawProbes,
		step: func(w *mixWorker, c *calls, s *Sampler) int {
			const batch = 16
			x := c.m.Begin()
			w.committed(x, c.m.Commit(x))
			for range batch - 1 {
				snap := c.m.Snapshot(core.None)
				w.read(&snap, s)
			}
			snap := c.m.Snapshot(core.None)
			if misses(snap, x) {
				w.broken("a snapshot does not include xid %d, which committed before it", x)
			}
			return batch
		},
	}
}

// longRead is a read transaction that stays open over many short ones.
type longRead struct {
	core.Guard
	before [ringSize]core.Xid // committed before it
	left   int                // units until it ends
	since  uint               // commits of its worker since
}

// longReadUnits is how many short transactions a long read spans.
const longReadUnits = 1024

func (w *mixWorker) startLongRead(c *calls) {
	w.guard.Guard = c.r.Retain(core.None)
	w.guard.before = w.ring
	w.guard.left, w.guard.since = longReadUnits, 0
}

func longReaders() *Mix {
	return &Mix{
		name:    "long-readers",
		summary: fmt.Sprintf("each worker holds a snapshot over %d short transactions (Begin, Snapshot, Commit) and asks it 4 Includes at each", longReadUnits),
		unit:    "transaction",
		prepare: func(r *mixRun, _ *rand.Rand) error { return r.needRetainer() },
		equip: func(r *mixRun, w *mixWorker, rng *rand.Rand) {
			w.startLongRead(&w.plain)
			w.guard.left = 1 + rng.IntN(longReadUnits) // do not renew in step
		},
		step: func(w *mixWorker, c *calls, s *Sampler) int {
			const batch = 8
			g := &w.guard
			for range batch {
				x := c.m.Begin()
				snap := c.m.Snapshot(x)
				if snap.Bound() == 0 {
					w.broken("a snapshot with bound 0")
				}
				w.committed(x, c.m.Commit(x))
				g.since++
				k := min(g.since, ringSize) // how many of the ring the reader hides
				seen := includes(&g.Snapshot, g.before[w.n%ringSize], s) && includes(&g.Snapshot, g.before[w.n*7%ringSize], s)
				if !seen {
					w.broken("a long-held snapshot no longer includes xid %d or %d, which committed before it", g.before[w.n%ringSize], g.before[w.n*7%ringSize])
				}
				if includes(&g.Snapshot, x, s) || includes(&g.Snapshot, w.latest(k-1), s) {
					w.broken("a long-held snapshot includes xid %d or %d, which committed after it", x, w.latest(k-1))
				}
				if g.left--; g.left == 0 {
					if !release(g.Guard, s) {
						w.broken("the release of a live guard reports that it had ended")
					}
					w.startLongRead(c)
				}
			}
			return batch
		},
		finish: func(r *mixRun) ([]Metric, error) {
			for _, w := range r.workers {
				if !w.guard.Release() {
					return nil, fmt.Errorf("the release of a live guard reports that it had ended")
				}
			}
			return nil, nil
		},
	}
}
