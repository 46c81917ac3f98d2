package spec

import (
	"encoding/binary"
	"maps"
	"slices"

	"xidlab/core"
)

// Fingerprint appends to buf what decides the answers from now on, of m and of
// snaps, snapshots of m. If two managers were used in two ways and have the same
// fingerprint, with snapshots in the same order, then no use that is the same
// for both tells them apart; so a search need not go on from both. A manager
// that differs only in the history that nobody can ask for any more has,
// mostly, the same fingerprint.
//
// Instants are compared with those of snapshots and of prunes, and with nothing
// else: the fingerprint has how many of these are older than each instant.
func (m *Manager) Fingerprint(buf []byte, snaps ...core.Snapshot) []byte {
	readers := make([]uint64, 0, 16)
	for _, s := range snaps {
		if v, ok := m.own(s); ok {
			readers = append(readers, v.at)
		}
	}
	for _, v := range m.guards {
		readers = append(readers, v.at)
	}
	for _, p := range m.deferred {
		readers = append(readers, p.at)
	}
	slices.Sort(readers)
	readers = slices.Compact(readers)
	put := func(n uint64) { buf = binary.AppendUvarint(buf, n) }
	instant := func(at uint64) {
		if at == 0 {
			put(0)
			return
		}
		rank, _ := slices.BinarySearch(readers, at)
		put(uint64(rank) + 1)
	}

	put(uint64(m.next))
	put(uint64(m.answered))
	put(uint64(m.floor))
	put(uint64(m.reached))
	put(uint64(len(m.txs))) // m.forgot is an instant of theirs
	for _, x := range slices.Sorted(maps.Keys(m.txs)) {
		t := m.txs[x]
		put(uint64(x))
		instant(t.began)
		instant(t.ended)
		instant(t.committed)
		if t.aborted {
			put(1)
		} else {
			put(0)
		}
	}
	put(uint64(len(m.observed)))
	for _, g := range m.observed {
		put(uint64(g.from))
		put(uint64(g.to)) // a snapshot's bound tells which of the two is older
	}
	put(uint64(len(m.givenUp)))
	for _, x := range slices.Sorted(maps.Keys(m.givenUp)) {
		put(uint64(x))
		instant(m.givenUp[x])
	}
	put(uint64(len(m.pins)))
	for _, x := range slices.Sorted(maps.Keys(m.pins)) {
		put(uint64(x))
		put(uint64(m.pins[x]))
	}
	put(uint64(len(m.guards)))
	held := make([]uint64, 0, 8)
	for _, v := range m.guards {
		held = append(held, v.at)
	}
	slices.Sort(held)
	for _, at := range held {
		instant(at)
	}
	put(uint64(len(m.deferred)))
	for _, p := range m.deferred {
		put(uint64(p.below))
		instant(p.at)
	}
	for _, s := range snaps {
		if v, ok := m.own(s); ok {
			_, owner, _, high, _ := s.Parts()
			put(uint64(owner))
			put(uint64(high))
			instant(v.at)
			if m.mayHaveCollapsed(v) {
				put(1)
			} else {
				put(0)
			}
		} else {
			instant(0)
		}
	}
	return buf
}
