package variants

import (
	"fmt"
	"testing"

	"xidlab/core"
)

// These are for benchstat and for a quick look; the figures of the laboratory
// come from xbench run, which pins, interleaves and measures references.

func BenchmarkBeginCommit(b *testing.B) {
	for _, v := range All {
		b.Run("variant="+v.Name, func(b *testing.B) {
			m := v.New()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := m.Commit(m.Begin()); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for _, active := range []int{0, 16, 256, 4096} {
		for _, v := range All {
			b.Run(fmt.Sprintf("active=%d/variant=%s", active, v.Name), func(b *testing.B) {
				m := withActive(v, active)
				b.ReportAllocs()
				for b.Loop() {
					sink = m.Snapshot(core.None)
				}
			})
		}
	}
}
