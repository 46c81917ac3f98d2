package epoch

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"xidlab/core"
	"xidlab/internal/invariants"
)

// counted returns the counters of m by name, those that are 0 left out.
func counted(m *Manager) map[string]uint64 {
	all := map[string]uint64{}
	for _, c := range m.Counters() {
		if c.Value != 0 {
			all[c.Name] = c.Value
		}
	}
	return all
}

// pushesAt returns what is counted of pushes at these numbers.
func pushesAt(numbers ...uint64) (n uint64) {
	for _, number := range numbers {
		switch {
		case invariants.Enabled:
			n++
		case pushCounts(number):
			n += pushSample
		}
	}
	return n
}

// TestCounters: what one thread does is counted exactly (of pushes, those that are
// counted at all).
func TestCounters(t *testing.T) {
	ordered, blocks := Options{Segment: 8, Block: 1}, Options{Segment: 8, Block: 4, Cursors: 1}
	finish := func(m *Manager, xs ...core.Xid) {
		for _, x := range xs {
			if err := m.Commit(x); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		o    Options
		do   func(m *Manager)
		want map[string]uint64
	}{
		{"nothing", ordered, func(*Manager) {}, map[string]uint64{"segments-made": 1, "segments-held": 1, "guard-slots": slotsPerChunk}},
		{"begins", ordered, func(m *Manager) {
			for range 3 {
				m.Begin()
			}
		}, map[string]uint64{"blocks": 3, "segments-made": 1, "segments-held": 1, "oldest-active-lag": 3, "horizon-lag": 3, "settled-lag": 3, "guard-slots": slotsPerChunk}},
		{"begins in blocks", blocks, func(m *Manager) {
			for range 4 { // 1, 2, 3, and a new block's 4
				m.Begin()
			}
			m.OldestActive()
		}, map[string]uint64{"blocks": 2, "segments-made": 2, "segments-held": 2, "oldest-active-lag": 7, "horizon-lag": 7, "settled-lag": 7, "guard-slots": slotsPerChunk,
			"pushes": pushesAt(1)}},
		{"a push, once a number", ordered, func(m *Manager) {
			x := m.Begin()
			for range 3 {
				m.Snapshot(core.None).Includes(x)
			}
			m.AllocateCommitted() // the clock moves on
			for range 3 {
				m.Snapshot(core.None).Includes(x)
			}
			finish(m, x)
			m.OldestActive()
		}, map[string]uint64{"blocks": 2, "pushes": pushesAt(2, 3), "ticks": 2, "segments-made": 1, "segments-held": 1, "horizon-lag": 2, "settled-lag": 2, "guard-slots": slotsPerChunk}},
		{"seals", blocks, func(m *Manager) {
			finish(m, m.Begin())
			m.OldestRequired()
		}, map[string]uint64{"blocks": 1, "seals": 2, "segments-made": 1, "segments-held": 1, "oldest-active-lag": 3, "settled-lag": 3, "guard-slots": slotsPerChunk}},
		{"segments pass", ordered, func(m *Manager) {
			for range 31 {
				finish(m, m.Begin())
			}
		}, map[string]uint64{"blocks": 31, "segments-made": 5, "segments-collapsed": 3, "segments-held": 2, "oldest-active-lag": 31, "horizon-lag": 31, "settled-lag": 4, "guard-slots": slotsPerChunk}},
		{"segments pass, but for an abort", ordered, func(m *Manager) {
			if err := m.Rollback(m.Begin()); err != nil {
				t.Error(err)
			}
			for range 30 {
				finish(m, m.Begin())
			}
		}, map[string]uint64{"blocks": 31, "segments-made": 5, "segments-collapsed": 3, "segments-held": 2, "outcomes-held": 1, "oldest-active-lag": 31, "horizon-lag": 31, "settled-lag": 31, "guard-slots": slotsPerChunk}},
		{"segments are used again", Options{Segment: 8, Block: 1, Reclaim: Recycle}, func(m *Manager) {
			for range 63 {
				finish(m, m.Begin())
			}
		}, map[string]uint64{"blocks": 63, "ticks": 7, "segments-made": 3, "segments-reused": 6, "segments-collapsed": 7, "segments-held": 2, "spares": 1, "oldest-active-lag": 63, "horizon-lag": 63, "settled-lag": 4, "guard-slots": slotsPerChunk}},
		{"a jump is no block", blocks, func(m *Manager) {
			x := m.Begin()
			if err := m.ObserveCommitted(1000); err != nil {
				t.Error(err)
			}
			finish(m, x, m.Begin()) // from the first block
		}, map[string]uint64{"blocks": 1, "gaps": 1, "ticks": 0, "segments-made": 1, "segments-held": 1, "oldest-active-lag": 1003, "horizon-lag": 1003, "settled-lag": 1003, "guard-slots": slotsPerChunk}},
		{"guards, and a prune that waits", ordered, func(m *Manager) {
			x := m.Begin()
			s := m.Snapshot(core.None)
			if err := m.Rollback(x); err != nil {
				t.Error(err)
			}
			for range slotsPerChunk + 1 {
				m.Retain(core.None)
			}
			m.PruneAborted(m.PeekNext())
			finish(m, m.Begin())
			m.RetainSnapshot(s) // granted
			m.OldestRequired()
			m.OldestActive()
		}, map[string]uint64{"blocks": 2, "ticks": 2, "guard-slots": 2 * slotsPerChunk, "prunes-waiting": 1, "segments-made": 1, "segments-held": 1, "horizon-lag": 1, "settled-lag": 2}},
		{"too old", ordered, func(m *Manager) {
			x := m.Begin()
			s := m.Snapshot(core.None)
			if err := m.Rollback(x); err != nil {
				t.Error(err)
			}
			m.PruneAborted(m.PeekNext())
			if _, err := m.RetainSnapshot(s); err == nil {
				t.Error("a snapshot from before a prune is retained")
			}
			if _, err := s.InProgress(); err == nil {
				t.Error("a snapshot from before a prune knows what was in progress")
			}
			m.OldestActive()
			m.OldestRequired()
		}, map[string]uint64{"too-old": 2, "blocks": 1, "ticks": 3, // the prune looks twice
			"segments-made": 1, "segments-held": 1, "guard-slots": slotsPerChunk}},
	} {
		m := With(c.o)
		c.do(m)
		maps.DeleteFunc(c.want, func(_ string, n uint64) bool { return n == 0 })
		if got := counted(m); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v,\nwant %v", c.name, got, c.want)
		}
	}
}

// TestRetriesAreCounted stops operations by hand, where another's comes between.
func TestRetriesAreCounted(t *testing.T) {
	m := small()
	x := m.Begin()
	_, c, w := m.dir.Load().load(x)
	m.Snapshot(core.None).Includes(x) // a push after the load
	if m.push(c, w, 7) {
		t.Error("pushed a word that has changed")
	}
	if !m.finish(nil, c, w, committed) {
		t.Error("not finished")
	}
	got := counted(m)
	if got["push-retries"] != 1 || got["finish-retries"] != 1 || got["snapshot-retries"] != 0 {
		t.Errorf("%v; want one retry of a push, and one of a finish", got)
	}

	m = small()
	x, y := m.Begin(), m.Begin() // of a group that has come as far as its first member
	g := newGroup([]core.Xid{x, y})
	m.groups.enter(g)
	if !m.linkTo(g, x) {
		t.Error("not linked")
	}
	if err := m.Rollback(x); err == nil {
		t.Error("the group was not helped")
	}
	if got := counted(m)["group-helps"]; got != 1 {
		t.Errorf("%d helps, want 1", got)
	}

	m = With(Options{Segment: 8, Block: 4, Cursors: 1})
	cursor := &m.cursors[0].next
	m.newBlock(cursor, cursor.Load())
	m.newBlock(cursor, 0) // as it was
	if got := counted(m)["blocks-lost"]; got != 1 {
		t.Errorf("%d blocks lost, want 1", got)
	}
}

// TestPushesAreEstimated: the share of them that is counted is a fair one, though
// the clock has a rhythm.
func TestPushesAreEstimated(t *testing.T) {
	for _, step := range []uint64{1, 2, eagerTicks, eagerTicks + 1, 1000} {
		n := 0
		for i := range uint64(64_000) {
			if pushCounts(firstTick + i*step) {
				n++
			}
		}
		if want := 64_000 / pushSample; !invariants.Enabled && (n < want*9/10 || n > want*11/10) {
			t.Errorf("numbers %d apart: %d are counted, want about %d", step, n, want)
		}
	}
}

// TestCountersNeverFall, whatever goes on, and have names, and sentences.
func TestCountersNeverFall(t *testing.T) {
	m := With(Options{Segment: 8, Block: 2, Cursors: 2})
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range 3000 {
				x := m.Begin()
				s := m.Snapshot(core.None)
				s.Includes(x)
				if rng.IntN(8) == 0 {
					_ = m.Rollback(x)
					m.PruneAborted(x)
				} else {
					_ = m.Commit(x)
				}
			}
		})
	}
	last := m.Counters()
	for range 300 {
		next := m.Counters()
		for i, c := range next {
			if c.Name != last[i].Name || c.Value < last[i].Value && !c.Gauge {
				t.Fatalf("%s was %d, and %s is %d", last[i].Name, last[i].Value, c.Name, c.Value)
			}
		}
		last = next
	}
	wg.Wait()
	var names []string
	for _, c := range last {
		if c.Name == "" || c.Name != strings.ToLower(c.Name) || strings.ContainsAny(c.Name, " \t") || c.Meaning == "" || strings.HasSuffix(c.Meaning, ".") || slices.Contains(names, c.Name) {
			t.Errorf("%+v: it needs a name of its own, and a meaning", c)
		}
		names = append(names, c.Name)
	}
}
