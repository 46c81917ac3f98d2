package epoch

import (
	"math/rand/v2"
	"testing"

	"xidlab/core"
)

func TestSnapshotAllocatesNothing(t *testing.T) {
	for _, active := range []int{0, 4096} {
		m := New()
		for range active {
			m.Begin()
		}
		x := m.Begin()
		sum := 0
		if n := testing.AllocsPerRun(1000, func() {
			s := m.Snapshot(x)
			if s.Includes(x) {
				sum++
			}
			g := m.Retain(x)
			g.Release()
		}); n != 0 {
			t.Errorf("%d active: Snapshot, Includes, Retain and Release allocate %v times", active, n)
		}
	}
}

func BenchmarkBeginCommit(b *testing.B) {
	m := New()
	b.ReportAllocs()
	for b.Loop() {
		m.Commit(m.Begin())
	}
}

func BenchmarkBeginSnapshotCommit(b *testing.B) {
	for _, active := range []int{0, 4096} {
		b.Run(map[int]string{0: "active=0", 4096: "active=4096"}[active], func(b *testing.B) {
			m := New()
			for range active {
				m.Begin()
			}
			b.ReportAllocs()
			for b.Loop() {
				x := m.Begin()
				s := m.Snapshot(x)
				if s.Includes(x + 1) {
					b.Fatal()
				}
				m.Commit(x)
			}
		})
	}
}

func BenchmarkParallel(b *testing.B) {
	m := New()
	b.Run("begin+commit", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.Commit(m.Begin())
			}
		})
	})
	b.Run("begin+snapshot+commit", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				x := m.Begin()
				m.Snapshot(x)
				m.Commit(x)
			}
		})
	})
	b.Run("snapshot", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.Snapshot(core.None)
			}
		})
	})
	b.Run("allocate-committed", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.AllocateCommitted()
			}
		})
	})
	b.Run("retain+release", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.Retain(core.None).Release()
			}
		})
	})
	b.Run("rollback pruned", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			r := rand.IntN(1024)
			for pb.Next() {
				m.Rollback(m.Begin())
				if r++; r%1024 == 0 {
					h, _ := m.OldestRequired()
					m.PruneAborted(h)
				}
			}
		})
	})
}
