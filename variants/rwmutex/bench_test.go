package rwmutex

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"xidlab/core"
)

func parallel(b *testing.B, op func()) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			op()
		}
	})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// idleActives is how many transactions are open and idle.
var idleActives = []int{0, 16, 256, 4096}

func open(m core.Manager, n int) {
	for range n {
		m.Begin()
	}
}

func BenchmarkBeginCommit(b *testing.B) {
	for _, n := range idleActives {
		b.Run(fmt.Sprint("active=", n), func(b *testing.B) {
			m := New()
			open(m, n)
			parallel(b, func() { must(m.Commit(m.Begin())) })
		})
	}
}

func BenchmarkBeginSnapshotCommit(b *testing.B) {
	for _, n := range idleActives {
		b.Run(fmt.Sprint("active=", n), func(b *testing.B) {
			m := New()
			open(m, n)
			parallel(b, func() {
				x := m.Begin()
				m.Snapshot(x)
				must(m.Commit(x))
			})
		})
	}
}

// BenchmarkSnapshotReadOnly is a phase in which nothing finishes.
func BenchmarkSnapshotReadOnly(b *testing.B) {
	for _, n := range idleActives {
		b.Run(fmt.Sprint("active=", n), func(b *testing.B) {
			m := New()
			open(m, n)
			must(m.Commit(m.Begin()))
			parallel(b, func() { m.Snapshot(core.None) })
		})
	}
}

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
				must(m.Commit(ring[i]))
				ring[i] = m.Begin()
			}
		})
	}
}

func BenchmarkBeginRollbackPrune(b *testing.B) {
	m := New()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			must(m.Rollback(m.Begin()))
			if i%1024 == 0 {
				m.PruneAborted(m.PeekNext())
			}
		}
	})
}

func BenchmarkRetainRelease(b *testing.B) {
	m := New()
	parallel(b, func() { m.Retain(core.None).Release() })
}

// BenchmarkOldestRequired asks beside a thousand guards, after each commit.
func BenchmarkOldestRequired(b *testing.B) {
	m := New()
	for range 1000 {
		m.Begin()
		m.Retain(core.None)
	}
	b.ReportAllocs()
	for b.Loop() {
		must(m.Commit(m.Begin()))
		m.OldestRequired()
	}
}

func BenchmarkStatus(b *testing.B) {
	m := New()
	for i := range 4096 {
		if x := m.Begin(); i%16 == 0 {
			must(m.Rollback(x))
		} else if i%16 != 1 {
			must(m.Commit(x))
		}
	}
	b.RunParallel(func(pb *testing.PB) {
		for x := core.Xid(1); pb.Next(); x++ {
			m.Status(x % 4096)
		}
	})
}

// BenchmarkLookup asks a snapshot beside 256 active and 256 aborted ones.
func BenchmarkLookup(b *testing.B) {
	m := New()
	for i := range 4096 {
		if x := m.Begin(); i%16 == 0 {
			must(m.Rollback(x))
		} else if i%16 != 1 {
			must(m.Commit(x))
		}
	}
	s := m.Snapshot(core.None)
	b.RunParallel(func(pb *testing.PB) {
		for x := core.Xid(1); pb.Next(); x++ {
			s.Includes(x % 4096)
		}
	})
}

func BenchmarkAllocateCommitted(b *testing.B) {
	b.Run("lock", func(b *testing.B) {
		m := New()
		parallel(b, func() { m.AllocateCommitted() })
	})
	for _, size := range []core.Xid{2, 64} {
		b.Run(fmt.Sprint("pool=", size), func(b *testing.B) {
			p := pool{m: New(), size: size}
			parallel(b, func() { p.allocate() })
		})
		b.Run(fmt.Sprint("pool+Snapshot=", size), func(b *testing.B) {
			p := pool{m: New(), size: size}
			parallel(b, func() { p.allocate(); p.snapshot() })
		})
	}
	b.Run("lock+Snapshot", func(b *testing.B) {
		m := New()
		parallel(b, func() { m.AllocateCommitted(); m.Snapshot(core.None) })
	})
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
		p.next = p.m.next
		p.m.next += p.size
		p.limit = p.m.next
		p.m.now++
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
