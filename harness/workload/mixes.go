package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// idleFamily is the one mix with a parameter, how many transactions stay open.
const idleFamily = "txn-snapshot/active="

// maxActive bounds the parameter, lest a typing error eat the memory.
const maxActive = 1 << 20

// All returns the mixes that are run when none is named, in the order in which
// they are run and shown.
func All() []*Mix {
	mixes := []*Mix{autocommit(), txn()}
	for _, n := range []int{0, 16, 256, 4096} {
		mixes = append(mixes, txnSnapshot(n))
	}
	return append(mixes, readMostly(), longReaders(), rollback(), retain(), everything())
}

// Find returns the mixes of that name, of All and of [Operations]: one, or for "txn-snapshot" the whole
// family, whose members are "txn-snapshot/active=N" with any N up to 2^20. The
// error of an unknown name suggests the nearest, or one of others, which the
// caller looks for elsewhere.
func Find(name string, others ...string) ([]*Mix, error) {
	if n, ok := strings.CutPrefix(name, idleFamily); ok {
		active, err := strconv.Atoi(n)
		if err != nil || active < 0 || active > maxActive {
			return nil, fmt.Errorf("workload %q: the number of active transactions must be between 0 and %d", name, maxActive)
		}
		return []*Mix{txnSnapshot(active)}, nil
	}
	var found []*Mix
	var known []string
	for _, l := range slices.Concat(All(), Operations()) {
		if family, _, _ := strings.Cut(l.name, "/"); l.name == name || family == name {
			found = append(found, l)
		}
		known = append(known, l.name)
	}
	if found == nil {
		return nil, CheckName("workload", name, append(known, others...))
	}
	return found, nil
}

func autocommit() *Mix {
	return &Mix{
		name:    "autocommit",
		summary: "single-row autocommit writes: AllocateCommitted",
		unit:    "write",
		step: func(w *mixWorker, c *calls, _ *Sampler) int {
			const batch = 64
			for range batch {
				w.committed(c.a.AllocateCommitted(), nil)
			}
			return batch
		},
	}
}

func txn() *Mix {
	return &Mix{
		name:    "txn",
		summary: "short transactions: Begin, Commit",
		unit:    "transaction",
		step: func(w *mixWorker, c *calls, _ *Sampler) int {
			const batch = 32
			for range batch {
				x := c.m.Begin()
				w.committed(x, c.m.Commit(x))
			}
			return batch
		},
	}
}

func txnSnapshot(active int) *Mix {
	beside := "with no other transaction open"
	if active > 0 {
		beside = fmt.Sprintf("beside %d idle open transactions", active)
	}
	return &Mix{
		name:    idleFamily + strconv.Itoa(active),
		summary: "short transactions: Begin, Snapshot, Commit, " + beside,
		unit:    "transaction",
		active:  active,
		step: func(w *mixWorker, c *calls, _ *Sampler) int {
			// What snapshots answer is checked once in some transactions: asking
			// costs as much as taking them.
			const batch, checked = 8, 8
			plain := batch
			if w.tick++; w.tick%checked == 0 {
				plain--
			}
			for range plain {
				x := c.m.Begin()
				s := c.m.Snapshot(x)
				if s.Bound() == 0 { // keeps the compiler from dropping it
					w.broken("a snapshot with bound 0")
				}
				w.committed(x, c.m.Commit(x))
			}
			if plain == batch {
				return batch
			}
			x := c.m.Begin()
			s := c.m.Snapshot(x)
			if !s.Includes(x) {
				w.broken("the snapshot of xid %d does not include its own write", x)
			}
			if misses(s, w.latest(0)) {
				w.broken("a snapshot does not include xid %d, which committed before it", w.latest(0))
			}
			if n := uint(len(w.run.idle)); n > 0 && s.Includes(w.run.idle[w.n%n]) {
				w.broken("a snapshot includes xid %d, which is active", w.run.idle[w.n%n])
			}
			err := c.m.Commit(x)
			if err == nil && !s.Includes(x) {
				w.broken("the snapshot of xid %d has forgotten its own write", x)
			}
			w.committed(x, err)
			return batch
		},
	}
}
