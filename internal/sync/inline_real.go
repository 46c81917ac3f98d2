//go:build !sim

package sync

// See package atomic: what is not inlined here is a call in every importer.
var _ = inlineAll

func inlineAll(m *Mutex, rw *RWMutex, o *Once) {
	if m.TryLock() || rw.TryLock() || rw.TryRLock() {
		m.Unlock()
		rw.Unlock()
		rw.RUnlock()
	}
	m.Lock()
	rw.Lock()
	rw.RLock()
	o.Do(func() {})
}
