package explore

import (
	"slices"

	"xidlab/core"
)

// An opcode is an operation of the notation.
type opcode byte

const (
	opBegin opcode = iota
	opAllocateCommitted
	opCommit
	opRollback
	opCommitGroup
	opSnapshot
	opWithOwner
	opIncludes
	opInProgress
	opStatus
	opOldestActive
	opPeekNext
	opRetain
	opRetainSnapshot
	opRelease
	opOldestRequired
	opPin
	opUnpin
	opPinCount
	opOldestPinned
	opPruneAborted
	opObserveCommitted
	opCheckpointExcluded
	opCheckpointProjection
	opReservesUniqueKey
	opInsert
	opDelete
	opcodes
)

// An operation is what the notation knows of an opcode. Its arguments are given
// by sorts, a letter each; "?" makes the one before optional, "*" says that any
// number of the one before may follow.
type operation struct {
	name  string
	args  string
	gives sort // of its answer, 0 if it gets no name
	needs capability
}

var operations = [opcodes]operation{
	opBegin:                {"Begin", "", xid, 0},
	opAllocateCommitted:    {"AllocateCommitted", "", xid, 0},
	opCommit:               {"Commit", "x", 0, 0},
	opRollback:             {"Rollback", "x", 0, 0},
	opCommitGroup:          {"CommitGroup", "x*", 0, groups},
	opSnapshot:             {"Snapshot", "x?", snapshot, 0},
	opWithOwner:            {"WithOwner", "sx", snapshot, 0},
	opIncludes:             {"Includes", "sx", 0, 0},
	opInProgress:           {"InProgress", "s", 0, 0},
	opStatus:               {"Status", "x", 0, 0},
	opOldestActive:         {"OldestActive", "", 0, 0},
	opPeekNext:             {"PeekNext", "", xid, 0},
	opRetain:               {"Retain", "x?", guard, retains},
	opRetainSnapshot:       {"RetainSnapshot", "s", guard, retains},
	opRelease:              {"Release", "g", 0, retains},
	opOldestRequired:       {"OldestRequired", "", 0, retains},
	opPin:                  {"Pin", "x", 0, pins},
	opUnpin:                {"Unpin", "x", 0, pins},
	opPinCount:             {"PinCount", "x", 0, pins},
	opOldestPinned:         {"OldestPinned", "", 0, pins},
	opPruneAborted:         {"PruneAborted", "x?", 0, prunes},
	opObserveCommitted:     {"ObserveCommitted", "x", 0, recovers},
	opCheckpointExcluded:   {"CheckpointExcluded", "", 0, checkpoints},
	opCheckpointProjection: {"CheckpointProjection", "", 0, checkpoints | retains},
	opReservesUniqueKey:    {"ReservesUniqueKey", "xxx*", 0, reserves},
	opInsert:               {"Insert", "kx", 0, reserves},
	opDelete:               {"Delete", "kx", 0, reserves},
}

// isHorizon reports whether the answer depends on whether anything else runs.
func (o opcode) isHorizon() bool { return o == opOldestRequired || o == opCheckpointProjection }

// takes returns the sort of argument i.
func (o *operation) takes(i int) sort { return sort(o.args[min(i, len(o.letters())-1)]) }

// letters returns the sorts of the arguments.
func (o *operation) letters() string {
	if n := len(o.args); n > 0 && (o.args[n-1] == '?' || o.args[n-1] == '*') {
		return o.args[:n-1]
	}
	return o.args
}

// arity returns how few and how many arguments o has.
func (o *operation) arity() (least, most int) {
	n := len(o.letters())
	switch o.args[n:] {
	case "?":
		return n - 1, n
	case "*":
		return n - 1, maxArgs
	}
	return n, n
}

const maxArgs = 8

// A capability is a set of interfaces that a manager may have beyond
// core.Manager.
type capability uint8

const (
	retains capability = 1 << iota
	pins
	prunes
	recovers
	checkpoints
	reserves
	groups
)

var capabilityNames = []string{"Retainer", "Pinner", "Pruner", "Recoverer", "Checkpointer", "KeyReserver", "GroupCommitter"}

// traits are what the managers of an exploration have in common.
type traits struct {
	ordered   bool
	collapses bool
	have      capability
}

// had returns set without what a manager that is not ordered had set aside and
// nobody has ever got: of that the contract says little.
func (t traits) had(set core.XidSet, known []core.Xid) core.XidSet {
	if t.ordered {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), func(x core.Xid) bool { return !slices.Contains(known, x) })
}

func traitsOf(m core.Manager) traits {
	return traits{m.Ordered(), core.Collapses(m), capabilitiesOf(m)}
}

func capabilitiesOf(m core.Manager) (c capability) {
	note := func(ok bool, one capability) {
		if ok {
			c |= one
		}
	}
	_, ok := m.(core.Retainer)
	note(ok, retains)
	_, ok = m.(core.Pinner)
	note(ok, pins)
	_, ok = m.(core.Pruner)
	note(ok, prunes)
	_, ok = m.(core.Recoverer)
	note(ok, recovers)
	_, ok = m.(core.Checkpointer)
	note(ok, checkpoints)
	_, ok = m.(core.KeyReserver)
	note(ok, reserves)
	_, ok = m.(core.GroupCommitter)
	note(ok, groups)
	return c
}

// lacks returns the interfaces of need that are not in c, by name.
func (c capability) lacks(need capability) (names []string) {
	for i, name := range capabilityNames {
		if need&^c&(1<<i) != 0 {
			names = append(names, "core."+name)
		}
	}
	return names
}
