package workload

import "xidlab/core"

// PerWorker is a manager that is told which worker calls it: one that writes
// down, without sharing anything between workers, who called what.
type PerWorker interface {
	core.Manager
	// Worker returns the manager that the i'th worker of a run calls. It is
	// the same manager, with the same capabilities.
	Worker(i int) core.Manager
}

// For returns the manager that the i'th worker of a run on m calls: m, unless it
// is a [PerWorker]. Every [Load] asks it; what a load does before and after its
// workers run, it does to m itself.
func For(m core.Manager, i int) core.Manager {
	if p, ok := m.(PerWorker); ok {
		return p.Worker(i)
	}
	return m
}
