package rwmutex

import "xidlab/core"

var _ core.Explainer = (*Manager)(nil)

// Counters implements [core.Explainer], under the lock for reading. Nothing is
// counted for it: a snapshot holds the lock for reading, and would have to count
// with atomic operations.
func (m *Manager) Counters() []core.Counter {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.state.Read()
	return []core.Counter{
		{Name: "instants", Value: s.now, Meaning: "changes of what a snapshot includes, each under the lock for writing: the next snapshot copies the active set again"},
		{Name: "active", Gauge: true, Value: uint64(len(s.active.All())), Meaning: "transactions in progress: 8 bytes each in a snapshot's copy, if it makes one"},
		{Name: "aborted", Gauge: true, Value: uint64(s.aborts.Len()), Meaning: "aborted xids that are not pruned: snapshots look up, under a lock, what lies between the first and the last"},
		{Name: "prunes-waiting", Gauge: true, Value: uint64(len(s.deferred)), Meaning: "calls of PruneAborted that wait for older guards"},
	}
}
