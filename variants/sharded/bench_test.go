package sharded

import (
	"fmt"
	"testing"
)

// BenchmarkShards shows what their number costs and gives. What other variants
// do as well is measured beside them, in the package variants.
func BenchmarkShards(b *testing.B) {
	for _, c := range []struct {
		name string
		turn func(*Manager)
	}{
		{"begin+commit", func(m *Manager) { must(m.Commit(m.Begin())) }},
		{"begin+snapshot+commit", func(m *Manager) { x := m.Begin(); m.Snapshot(x); must(m.Commit(x)) }},
	} {
		for _, n := range []int{1, 2, 4, 8, 16, 64} {
			b.Run(fmt.Sprintf("%s/shards=%d", c.name, n), func(b *testing.B) {
				m := NewShards(n)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						c.turn(m)
					}
				})
			})
		}
	}
}
