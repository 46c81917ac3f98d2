package core

// An Explainer can say why it costs what it does. This is diagnosis, no part of
// the contract: which counters there are is each manager's own affair, nothing is
// decided by them, and a manager that counts nothing is as good as one that does.
type Explainer interface {
	// Counters returns what the manager has counted, always the same names in
	// the same order. The values are not those of one instant. It may cost a walk
	// over all that the manager holds, and wait for rare operations, so it is to
	// be asked now and then, not on the clock.
	Counters() []Counter
}

// A Counter is a figure that says something about a manager's inner life.
type Counter struct {
	// Name is short and in the form of a metric, such as "snapshot-retries": what
	// is counted, in the plural. Meaning is a sentence that begins in lower case
	// and has no full stop: what that is, and what it costs whom.
	Name, Meaning string

	// Value is how many there were since the manager was made; it never falls.
	// Of a gauge it is how many there are.
	Value uint64
	Gauge bool
}
