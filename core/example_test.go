package core_test

import (
	"fmt"

	"xidlab/core"
	"xidlab/core/spec"
)

// A snapshot does not move: a transaction that was active when it was taken
// stays out of it, even once it has committed.
func ExampleSnapshot() {
	m := spec.New()
	writer := m.Begin()
	before := m.Snapshot(core.None)
	if err := m.Commit(writer); err != nil {
		fmt.Println(err)
	}
	after := m.Snapshot(core.None)

	fmt.Println(before.Includes(writer), after.Includes(writer))
	// Output: false true
}

// A transaction that draws its xid late, at its first write, adds it to the
// snapshot that it has been reading with.
func ExampleSnapshot_WithOwner() {
	m := spec.New()
	s := m.Snapshot(core.None)
	x := m.Begin()
	fmt.Println(s.Includes(x), s.WithOwner(x).Includes(x))
	// Output: false true
}

// A row is visible if its creator is in the snapshot and its deleter is not.
func ExampleVisible() {
	m := spec.New()
	creator, deleter := m.Begin(), m.Begin()
	_ = m.Commit(creator)
	s := m.Snapshot(core.None)
	fmt.Println(core.Visible(s, creator, core.None), core.Visible(s, creator, deleter), core.Visible(s, deleter, core.None))
	// Output: true true false
}

// A guard holds the collector back, also where no transaction is active.
func ExampleRetainer() {
	m := spec.New()
	writer := m.Begin()
	g := m.Retain(core.None)
	_ = m.Commit(writer)
	fmt.Println(m.OldestRequired())
	fmt.Println(g.Release(), g.Release())
	fmt.Println(m.OldestRequired())
	// Output:
	// 1 true
	// true false
	// 2 false
}

// Misuse changes nothing, and says what it found.
func ExampleXidError() {
	m := spec.New()
	x := m.Begin()
	_ = m.Rollback(x)
	fmt.Println(m.Commit(x))
	fmt.Println(m.Commit(7))
	// Output:
	// commit of xid 1: not active (it is aborted)
	// commit of xid 7: not allocated yet (it is unallocated)
}
