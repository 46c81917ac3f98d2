//go:build sim

package epoch

import (
	"testing"
	"time"

	"xidlab/internal/fault"
)

// TestSoakNotices: the soak finds what is wrong often. (What is wrong in few
// interleavings is for the explorer to find.)
func TestSoakNotices(t *testing.T) {
	for _, f := range []fault.Fault{
		"epoch/draw-unseparated", "epoch/snapshot-unmarked", "epoch/push-overwrites", "epoch/first-is-sealed",
		"epoch/rollback-unnumbered", "epoch/slot-leaked", "epoch/deferral-covers-later",
		"epoch/collapse-open", "epoch/collapse-past-guards", "epoch/collapse-unsaid", "epoch/forgets-past-guards",
		"epoch/collapse-forgets-abort", "epoch/outlived-guesses",
	} {
		off := fault.Switch(f)
		var found error
		for seed := uint64(0); seed < 2000 && found == nil; seed++ {
			_, found = soakRound(soaked[seed%uint64(len(soaked))], seed, time.Now())
		}
		off()
		if found == nil {
			t.Errorf("%s: nothing noticed", f)
		}
	}
}
