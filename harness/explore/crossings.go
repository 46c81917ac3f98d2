package explore

// forms has each operation of the manager once, as it can be called after
// crossingSetup; Includes twice, since what it needs depends on whom it is asked
// about.
var forms = []string{
	"Begin", "AllocateCommitted", "Commit(x)", "Rollback(x)", "CommitGroup(x, y)",
	"Snapshot", "Includes(s, x)", "Includes(s, z)", "InProgress(s)", "Status(x)", "OldestActive", "PeekNext",
	"Retain", "Release(g)", "RetainSnapshot(s)", "OldestRequired", "Pin(2)", "Unpin(1)", "PinCount(1)", "OldestPinned",
	"PruneAborted", "ObserveCommitted(9)", "CheckpointExcluded", "CheckpointProjection", "ReservesUniqueKey(x, y)",
}

const crossingSetup = "x=Begin y=Begin z=Begin Rollback(z) s=Snapshot g=Retain Pin(1); "

// Crossings returns the programs in which each operation meets each other one,
// and itself, in another thread: for [Progress], to see what waits for what.
func Crossings() (programs []Program) {
	for i, a := range forms {
		for _, b := range forms[i:] {
			programs = append(programs, Program{Name: a + " beside " + b, Text: crossingSetup + a + " || " + b})
		}
	}
	return programs
}
