// Package workload describes what a measured run makes a manager do.
package workload

import "xidlab/core"

// A Load is a body of work: a named mix, or a recorded trace. It is immutable
// and may be started on many managers.
type Load interface {
	// Name is as in results and on the command line.
	Name() string
	// Start prepares a fresh manager (idle transactions, decided xids to look
	// up) and returns the run of it by that many workers. Everything random
	// is drawn here, from the seed, never on the clock. The error wraps
	// [ErrUnsupported] if m lacks a capability; any other means that m broke a
	// promise.
	Start(m core.Manager, workers int, seed uint64) (Run, error)
}

// A Run is one Load on one manager.
type Run interface {
	// Worker returns the i'th worker, 0 <= i < workers. Each is used by one
	// goroutine; workers share nothing but the manager.
	Worker(i int) Worker
	// Finish is called once, after all workers have stopped. It returns what
	// the run has to say beside speed (horizon lag, retries, substitutions),
	// and the error of a broken promise that some worker noticed.
	Finish() ([]Metric, error)
}

// A Worker performs operations.
type Worker interface {
	// Step performs a short batch (microseconds) and returns how many units
	// of work it was: transactions in most mixes, as the Load's summary says.
	// s, which may be nil, times one manager call in many.
	Step(s *Sampler) (units int)
}

// A Metric is a named figure of a run.
type Metric struct {
	Name  string // in the form of a benchmark unit, such as "horizon-lag-xids"
	Value float64
}
