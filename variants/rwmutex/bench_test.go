package rwmutex

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"xidlab/core"
)

// These are for what the package comment says about alternatives. What other
// variants do as well is measured beside them, in the package variants.

// BenchmarkFinishScattered commits any one of many active ones.
func BenchmarkFinishScattered(b *testing.B) {
	for _, n := range []int{256, 4096} {
		b.Run(fmt.Sprint("active=", n), func(b *testing.B) {
			m := New()
			ring := make([]core.Xid, n)
			for i := range ring {
				ring[i] = m.Begin()
			}
			b.ReportAllocs()
			rng := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				i := rng.IntN(n)
				if err := m.Commit(ring[i]); err != nil {
					b.Fatal(err)
				}
				ring[i] = m.Begin()
			}
		})
	}
}

// BenchmarkPool compares AllocateCommitted with a pool of reserved Xids, beside
// snapshots and without.
func BenchmarkPool(b *testing.B) {
	type allocator struct{ allocate, snapshot func() }
	lock := func() allocator {
		m := New()
		return allocator{func() { m.AllocateCommitted() }, func() { m.Snapshot(core.None) }}
	}
	pooled := func(size core.Xid) func() allocator {
		return func() allocator {
			p := &pool{m: New(), size: size}
			return allocator{func() { p.allocate() }, func() { p.snapshot() }}
		}
	}
	for _, c := range []struct {
		name string
		open func() allocator
	}{{"lock", lock}, {"pool=2", pooled(2)}, {"pool=64", pooled(64)}} {
		b.Run("op=allocate/"+c.name, func(b *testing.B) {
			a := c.open()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					a.allocate()
				}
			})
		})
		b.Run("op=allocate+snapshot/"+c.name, func(b *testing.B) {
			a := c.open()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					a.allocate()
					a.snapshot()
				}
			})
		})
	}
}

// A pool is the alternative that was not kept: a range of Xids that is reserved
// under the manager's lock and handed out under a lock of its own. Every
// snapshot must take both locks, and hide what is left of the range.
type pool struct {
	mu          sync.Mutex
	m           *Manager
	next, limit core.Xid
	size        core.Xid
}

func (p *pool) allocate() core.Xid {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.limit {
		p.m.mu.Lock()
		s := p.m.state.Write()
		p.next = s.next
		s.next += p.size
		p.limit = s.next
		s.now++
		p.m.mu.Unlock()
	}
	p.next++
	return p.next - 1
}

func (p *pool) snapshot() (s core.Snapshot, from, to core.Xid) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.m.Snapshot(core.None), p.next, p.limit
}
