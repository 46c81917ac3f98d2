package epoch

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"xidlab/internal/sync/atomic"
)

// TestTrie compares the map with Go's, in every version, after random changes.
func TestTrie(t *testing.T) {
	type version struct {
		trie trie
		want map[uint64]*segment
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		now := version{trie{bits: 1 + uint(seed)%3}, map[uint64]*segment{}}
		versions := []version{now}
		span := []uint64{3, 40, 1 << 20, 1 << 52}[seed%4]
		for range 30 {
			next := version{want: maps.Clone(now.want)}
			edits := map[uint64]*segment{}
			for range r.IntN(6) {
				i := r.Uint64N(span)
				if r.IntN(2) == 0 && len(now.want) > 0 {
					i = slices.Sorted(maps.Keys(now.want))[r.IntN(len(now.want))]
				}
				edits[i] = []*segment{nil, {outcome: &outcome{}}, {words: make([]atomic.Uint64, 1)}}[r.IntN(3)]
			}
			var changes []change
			for _, i := range slices.Sorted(maps.Keys(edits)) {
				changes = append(changes, change{i, edits[i]})
				next.want[i] = edits[i]
				if edits[i] == nil {
					delete(next.want, i)
				}
			}
			next.trie = now.trie.with(changes)
			now = next
			versions = append(versions, now)
		}
		for n, v := range versions {
			probes := slices.Sorted(maps.Keys(v.want))
			for _, i := range slices.Clone(probes) {
				probes = append(probes, i+1, i-min(i, 1))
			}
			for _, i := range append(probes, 0, span, span<<5) {
				if got := v.trie.get(i); got != v.want[i] {
					t.Fatalf("seed %d, version %d: get(%d) = %p, want %p", seed, n, i, got, v.want[i])
				}
				for _, live := range []bool{false, true} {
					at, got := v.trie.next(i, live)
					wantAt, want := firstFrom(v.want, i, live)
					if got != want || got != nil && at != wantAt {
						t.Fatalf("seed %d, version %d: next(%d, %v) = %d, %p, want %d, %p", seed, n, i, live, at, got, wantAt, want)
					}
				}
			}
			if len(v.want) == 0 && v.trie.root != nil {
				t.Fatalf("seed %d, version %d: a node is left of nothing", seed, n)
			}
		}
	}
}

func firstFrom(m map[uint64]*segment, i uint64, live bool) (uint64, *segment) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if k >= i && (m[k].unfinal() || !live) {
			return k, m[k]
		}
	}
	return 0, nil
}
