//go:build !amd64 || sim || race

package epoch

import "xidlab/internal/sync/atomic"

// fill stores w in all words.
func fill(words []atomic.Uint64, w word) {
	for i := range words {
		words[i].Store(uint64(w))
	}
}
