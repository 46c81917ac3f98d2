package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"xidlab/core"
)

// Operations returns mixes of one operation each, and a writer beside a reader:
// what a table of costs has a line for. [Find] knows them, [All] lacks them. How
// a design fares shows in the mixes of All; why, in these.
func Operations() []*Mix {
	return []*Mix{
		freshSnapshot(0), freshSnapshot(4096),
		includesLog(), includesActive(), includesOld(), status(),
		oldestActive(), guard(),
		readerWriter("writer-reader", true), readerWriter("reader-writer", false),
	}
}

const (
	// workingSet is how many xids the lookups ask about, in random order: 32 KiB
	// of eight-byte words, about what a first-level cache holds.
	workingSet = 4096
	// blockSize is the length of a step of lookups; so many blocks are a tape.
	blockSize, tapeBlocks = 256, workingSet / 256
)

// A block is some xids to ask about in one step.
type block struct {
	xids [blockSize]core.Xid
	hits int // how many of them are committed
}

// drawBlocks puts r.young, which are workingSet xids, on the tape of w in random
// order, and takes the snapshot that is asked about them.
func drawBlocks(r *mixRun, w *mixWorker, rng *rand.Rand) {
	w.blocks = make([]block, tapeBlocks)
	for i, at := range rng.Perm(workingSet) {
		b, d := &w.blocks[i/blockSize], r.young[at]
		b.xids[i%blockSize] = d.xid
		if d.committed {
			b.hits++
		}
	}
	w.snap = r.m.Snapshot(core.None)
}

// nextBlock turns the tape of w.
func (w *mixWorker) nextBlock() *block {
	b := &w.blocks[w.at%tapeBlocks]
	w.at++
	return b
}

// finishSome gives the run xids of which aborted have rolled back and the others
// have committed, in random order, beside whatever was open before.
func finishSome(r *mixRun, rng *rand.Rand, aborted int) error {
	for range workingSet {
		r.young = append(r.young, decided{xid: r.m.Begin()})
	}
	for i, at := range rng.Perm(workingSet) {
		d := &r.young[at]
		finish := r.m.Commit
		if d.committed = i >= aborted; !d.committed {
			finish = r.m.Rollback
		}
		if err := finish(d.xid); err != nil {
			return err
		}
	}
	return nil
}

// askIncludes asks the worker's one snapshot about the next block.
func askIncludes(w *mixWorker, _ *calls, s *Sampler) int {
	b, hits := w.nextBlock(), 0
	if s == nil {
		hits = countIncluded(&w.snap, &b.xids)
	} else {
		for _, x := range &b.xids {
			if includes(&w.snap, x, s) {
				hits++
			}
		}
	}
	if hits != b.hits {
		w.broken("of %d xids a snapshot includes %d, not %d, which had committed before it", blockSize, hits, b.hits)
	}
	return blockSize
}

// countIncluded is a loop with nothing else in it, and nothing else to keep in
// registers.
func countIncluded(snap *core.Snapshot, xids *[blockSize]core.Xid) (hits int) {
	for _, x := range xids {
		if snap.Includes(x) {
			hits++
		}
	}
	return hits
}

func includesLog() *Mix {
	return &Mix{
		name:    "includes-log",
		summary: fmt.Sprintf("Includes of one snapshot: %d committed xids above one that is still open", workingSet),
		unit:    "lookup",
		active:  1,
		prepare: func(r *mixRun, rng *rand.Rand) error { return finishSome(r, rng, 0) },
		equip:   drawBlocks,
		step:    askIncludes,
	}
}

func includesActive() *Mix {
	return &Mix{
		name:    "includes-active",
		summary: fmt.Sprintf("Includes of one snapshot, again and again: %d xids that are still open", workingSet),
		unit:    "lookup",
		active:  workingSet,
		prepare: func(r *mixRun, _ *rand.Rand) error {
			for _, x := range r.idle {
				r.young = append(r.young, decided{xid: x})
			}
			return nil
		},
		equip: drawBlocks,
		step:  askIncludes,
	}
}

func includesOld() *Mix {
	// A manager may notice only now and then what everything below is done with.
	const later = 4 * workingSet
	return &Mix{
		name:    "includes-old",
		summary: fmt.Sprintf("Includes of one snapshot: %d committed xids, long before everything unfinished", workingSet),
		unit:    "lookup",
		prepare: func(r *mixRun, rng *rand.Rand) error {
			if err := finishSome(r, rng, 0); err != nil {
				return err
			}
			for range later {
				if err := r.m.Commit(r.m.Begin()); err != nil {
					return err
				}
			}
			return nil
		},
		equip: drawBlocks,
		step:  askIncludes,
	}
}

func status() *Mix {
	return &Mix{
		name:    "status",
		summary: fmt.Sprintf("Status: %d xids above one that is still open, %d of them rolled back", workingSet, youngAbort),
		unit:    "lookup",
		active:  1,
		prepare: func(r *mixRun, rng *rand.Rand) error { return finishSome(r, rng, youngAbort) },
		equip:   drawBlocks,
		step: func(w *mixWorker, c *calls, _ *Sampler) int {
			b, hits := w.nextBlock(), 0
			for _, x := range &b.xids {
				if c.m.Status(x) == core.Committed {
					hits++
				}
			}
			if hits != b.hits {
				w.broken("of %d xids %d are committed by their status, not %d", blockSize, hits, b.hits)
			}
			return blockSize
		},
	}
}

func freshSnapshot(active int) *Mix {
	return &Mix{
		name:    "fresh-snapshot/active=" + strconv.Itoa(active),
		summary: fmt.Sprintf("Snapshot(None) while nobody writes, beside %d idle open transactions", active),
		unit:    "snapshot",
		active:  active,
		step: func(w *mixWorker, c *calls, _ *Sampler) int {
			const batch = 64
			for range batch - 1 {
				if s := c.m.Snapshot(core.None); s.Bound() == 0 {
					w.broken("a snapshot with bound 0")
				}
			}
			s := c.m.Snapshot(core.None)
			if n := uint(len(w.run.idle)); n > 0 && s.Includes(w.run.idle[w.tick%n]) {
				w.broken("a snapshot includes xid %d, which is active", w.run.idle[w.tick%n])
			}
			w.tick++
			return batch
		},
	}
}

func oldestActive() *Mix {
	const active = 4096
	return &Mix{
		name:    "oldest-active",
		summary: fmt.Sprintf("OldestActive beside %d idle open transactions", active),
		unit:    "call",
		active:  active,
		step: func(w *mixWorker, c *calls, _ *Sampler) int {
			const batch = 64
			for range batch {
				if x, ok := c.m.OldestActive(); !ok || x != w.run.idle[0] {
					w.broken("OldestActive is %d, %v; xid %d is active", x, ok, w.run.idle[0])
				}
			}
			return batch
		},
	}
}

func guard() *Mix {
	return &Mix{
		name:    "guard",
		summary: "Retain, Release, and nothing else",
		unit:    "guard",
		prepare: func(r *mixRun, _ *rand.Rand) error { return r.needRetainer() },
		step: func(w *mixWorker, c *calls, s *Sampler) int {
			const batch = 64
			for range batch {
				if g := c.r.Retain(core.None); !release(g, s) {
					w.broken("the release of a live guard reports that it had ended")
				}
			}
			return batch
		},
	}
}

// readerWriter has every other worker write and the others read. Alone, its first
// worker does what it does beside the second.
func readerWriter(name string, firstWrites bool) *Mix {
	first, second := "reads", "writes"
	if firstWrites {
		first, second = second, first
	}
	return &Mix{
		name: name,
		summary: fmt.Sprintf("the first worker %s, the second %s, and so on: Begin, Snapshot, Commit; Snapshot, %d Includes (%d active, %d aborted xids)",
			first, second, probesPerRead, youngActive, youngAbort),
		unit:    "transaction",
		prepare: decideSome,
		equip:   drawProbes,
		step: func(w *mixWorker, c *calls, s *Sampler) int {
			const batch = 8
			if writes := (w.index%2 == 0) == firstWrites; writes {
				for range batch {
					x := c.m.Begin()
					if snap := c.m.Snapshot(x); snap.Bound() == 0 {
						w.broken("a snapshot with bound 0")
					}
					w.committed(x, c.m.Commit(x))
				}
				return batch
			}
			for range batch {
				snap := c.m.Snapshot(core.None)
				w.read(&snap, s)
			}
			return batch
		},
	}
}
