//go:build !sim && !race

package epoch

import (
	"unsafe"

	"xidlab/internal/sync/atomic"
)

// fill stores w in all words. An atomic store is an exchange, which waits until all
// earlier stores have been seen, and takes as long as a fetch-add, for each xid. This
// processor's plain stores of aligned words are never torn, and seen in order by
// everybody; the compiler moves none across the atomic operation that precedes them,
// which marks the segment, nor across the one that follows, which hands it on. So
// whoever sees one of them sees the mark (I13).
func fill(words []atomic.Uint64, w word) {
	plain := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(words))), len(words))
	for i := range plain {
		plain[i] = uint64(w)
	}
}
