package explore

import (
	"fmt"
	"strings"
)

// A ladder is an operation, alone and beside more and more rounds of what gets
// in its way, done by another thread: if its own accesses grow from rung to rung
// they have no bound.
type ladder struct {
	measures opcode
	setup    string
	own      string // one operation
	round    string // # is the number of the round
}

// rungs is how many rounds the highest rung of a ladder has.
const rungs = 3

var ladders = []ladder{
	{opBegin, "", "Begin", "Begin"},
	{opAllocateCommitted, "", "AllocateCommitted", "s#=Snapshot Includes(s#, 1)"},
	{opCommit, "x=Begin", "Commit(x)", "s#=Snapshot Includes(s#, x)"},
	{opRollback, "x=Begin", "Rollback(x)", "s#=Snapshot Includes(s#, x)"},
	{opCommitGroup, "x=Begin y=Begin", "CommitGroup(x, y)", "s#=Snapshot Includes(s#, x)"},
	{opSnapshot, "", "Snapshot", "Begin"},
	{opIncludes, olderSnapshots, "Includes(s, x)", "Includes(s#, x)"},
	{opInProgress, olderSnapshots, "InProgress(s)", "Includes(s#, x)"},
	{opStatus, "x=Begin", "Status(x)", "y#=Begin Commit(y#) s#=Snapshot Includes(s#, x)"},
	{opOldestActive, "x=Begin", "OldestActive", "y#=Begin Commit(y#) s#=Snapshot Includes(s#, x)"},
	{opPeekNext, "", "PeekNext", "Begin"},
	{opRetain, "", "Retain", "Begin"},
	{opRelease, "g=Retain", "Release(g)", "OldestRequired"},
	{opRetainSnapshot, "s=Snapshot", "RetainSnapshot(s)", "OldestRequired"},
	{opOldestRequired, "", "OldestRequired", "x#=Begin Commit(x#) OldestRequired"},
	{opPin, "", "Pin(1)", "OldestRequired"},
	{opUnpin, "Pin(1)", "Unpin(1)", "OldestRequired"},
	{opPinCount, "", "PinCount(1)", "Pin(1)"},
	{opOldestPinned, "", "OldestPinned", "Pin(1)"},
	{opPruneAborted, "x=Begin Rollback(x)", "PruneAborted", "s#=Snapshot Includes(s#, x)"},
	{opObserveCommitted, "", "ObserveCommitted(9)", "Begin"},
	{opCheckpointExcluded, "", "CheckpointExcluded", "Begin"},
	{opCheckpointProjection, "", "CheckpointProjection", "Begin"},
	{opReservesUniqueKey, "x=Begin y=Begin", "ReservesUniqueKey(x, y)", "z#=Begin Commit(z#) s#=Snapshot Includes(s#, y)"},
}

// olderSnapshots get in the way of a younger one, s, each a little more than the
// one before.
const olderSnapshots = "x=Begin s1=Snapshot a=Begin Commit(a) s2=Snapshot b=Begin Commit(b) s3=Snapshot c=Begin Commit(c) s=Snapshot"

// Ladders returns the programs that [Progress] measures bounds with: of each
// operation one alone, and up to three rounds of interference.
func Ladders() (programs []Program) {
	for _, l := range ladders {
		name := operations[l.measures].name
		text := l.setup + "; " + l.own
		var rounds []string
		for rung := range rungs + 1 {
			p := Program{
				Name: fmt.Sprintf("%s+%d", name, rung), Text: text,
				About:    fmt.Sprintf("how many accesses %s makes beside %d rounds of interference", name, rung),
				Measures: name, Rounds: rung,
			}
			if rung > 0 {
				rounds = append(rounds, strings.ReplaceAll(l.round, "#", fmt.Sprint(rung)))
				p.Text += " || " + strings.Join(rounds, " ")
			}
			programs = append(programs, p)
		}
	}
	return programs
}
