package mutants

import "strings"

// Layers is a set of layers of the tests.
type Layers uint8

const (
	// Kit is package coretest, its layers of one thread: what these kill they
	// kill every time. Its stress kills more, when it is lucky.
	Kit Layers = 1 << iota

	// Explore is the explorer: some interleaving gives wrong answers.
	Explore

	// Race is the explorer too: a data race, a deadlock, a lock that is kept or
	// that is given back without being held. Nothing else should run such a
	// mutant: it may hang a thread for good, or end the process.
	Race

	// Progress is the explorer that stops one thread for ever: another does not
	// finish.
	Progress

	// Stress is recordings of real threads, judged: xbench check -quick finds it
	// in nine runs of ten, at least, on two CPUs that others use too.
	Stress
)

var layerNames = []string{"kit", "explore", "race", "progress", "stress"}

// Has reports whether all of which are in l.
func (l Layers) Has(which Layers) bool { return l&which == which }

// String lists the names: "kit, explore".
func (l Layers) String() string {
	var names []string
	for i, name := range layerNames {
		if l.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
