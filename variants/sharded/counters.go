package sharded

import "xidlab/core"

var _ core.Explainer = (*Manager)(nil)

// Counters implements [core.Explainer], under all locks. What is counted is
// counted where they are held anyway.
func (m *Manager) Counters() []core.Counter {
	m.horizon.Lock()
	defer m.horizon.Unlock()
	m.lock()
	defer m.unlock()
	c := m.cuts.Read()
	active, aborted := 0, 0
	bound := m.bound()
	for k := range m.shards {
		f := m.shards[k].fates.Read()
		active += len(f.active.All())
		if f.frontier < bound {
			active += int((bound-1-f.frontier)>>m.shift + 1)
		}
		aborted += f.aborts.Len()
	}
	return []core.Counter{
		{Name: "cuts", Value: c.taken, Meaning: "snapshots for which all shards were locked, since something had finished; the others took no lock"},
		{Name: "copies", Value: c.copied, Meaning: "cuts that copied what the shards list as active"},
		{Name: "copied-xids", Value: c.listed, Meaning: "xids in these copies: 8 bytes each, written while nothing can finish"},
		{Name: "active", Gauge: true, Value: uint64(active), Meaning: "transactions in progress: 8 bytes each in a snapshot's copy, if it makes one"},
		{Name: "aborted", Gauge: true, Value: uint64(aborted), Meaning: "aborted xids that are not pruned: snapshots look up, under a lock, what lies between the first and the last"},
		{Name: "prunes-waiting", Gauge: true, Value: uint64(len(m.claims.Read().deferred)), Meaning: "calls of PruneAborted that wait for older guards"},
	}
}
