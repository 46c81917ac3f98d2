package sharded

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"xidlab/core"
	"xidlab/core/coretest"
	"xidlab/internal/sched"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// TestNumbersOfShards runs the kit with one shard, where everything is of one
// class, and with more shards than what is mostly active.
func TestNumbersOfShards(t *testing.T) {
	for _, n := range []int{1, 8} {
		t.Run(fmt.Sprintf("%d", n), func(t *testing.T) {
			coretest.TestManager(t, func() core.Manager { return NewShards(n) })
		})
	}
}

// TestShardsAreApart: no two shards share a pair of cache lines.
func TestShardsAreApart(t *testing.T) {
	a := NewShards(2).shards
	end, next := uintptr(unsafe.Pointer(&a[0].fates))+unsafe.Sizeof(a[0].fates), uintptr(unsafe.Pointer(&a[1]))
	if next-end < line {
		t.Errorf("two shards are %d bytes apart", next-end)
	}
	for n, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 4, 64: 64} {
		if got := len(NewShards(n).shards); got != want {
			t.Errorf("NewShards(%d) has %d shards, want %d", n, got, want)
		}
	}
}

// TestQuietCut: one thread begins and commits, so at most the newest Xid is
// unfinished at any instant, and no snapshot may show another. It pauses now and
// then, for the other to take snapshots without a lock.
func TestQuietCut(t *testing.T) {
	defer sched.Perturb(2)()
	m := NewShards(2)
	stop := time.Now().Add(200 * time.Millisecond)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i := 0; time.Now().Before(stop); i++ {
			must(m.Commit(m.Begin()))
			if i%4 == 0 {
				for range 20 {
					runtime.Gosched()
				}
			}
		}
	})
	for time.Now().Before(stop) {
		s := m.Snapshot(core.None)
		if open, err := s.InProgress(); err != nil || len(open) > 1 || len(open) == 1 && open[0] != s.Bound()-1 {
			t.Fatalf("a snapshot with bound %d shows %v in progress (%v)", s.Bound(), open, err)
		}
	}
}
