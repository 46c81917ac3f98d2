package trace_test

import (
	"fmt"
	"os"

	"xidlab/harness/trace"
)

// A trace of one transaction, as text.
func Example() {
	tr := &trace.Trace{
		Source:   "an example",
		Sessions: []string{"alice"},
		Objects:  []trace.Object{{Table: "accounts", Key: "id=5"}},
		Ops: []trace.Op{
			{Kind: trace.Begin, Isolation: trace.RepeatableRead},
			{Kind: trace.Snapshot, At: 1e6},
			{Kind: trace.Read, At: 1e6},
			{Kind: trace.Draw, At: 2e6},
			{Kind: trace.Write, At: 2e6},
			{Kind: trace.Commit, At: 3e6},
		},
	}
	if err := tr.Validate(); err != nil {
		fmt.Println(err)
	}
	if err := tr.Dump(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # an example, 1 sessions, 6 operations
	// 0.000000 alice tx0 begin repeatable read
	// 0.001000 alice tx0 snapshot
	// 0.001000 alice tx0 read accounts[id=5]
	// 0.002000 alice tx0 draw 0
	// 0.002000 alice tx0 write accounts[id=5]
	// 0.003000 alice tx0 commit
}
