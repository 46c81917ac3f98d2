package harness

import (
	"slices"
	"testing"

	"xidlab/core"
	"xidlab/harness/result"
)

// plain is a manager that cannot say why.
type plain struct{ core.Manager }

// TestExplained: counters are per 1000 ops of all phases, gauges as they stand
// before the load finishes; who has none is measured all the same.
func TestExplained(t *testing.T) {
	silent := good()
	silent.Name, silent.New = "silent", func() core.Manager { return plain{good().New()} }
	cfg := small(t, []Variant{good(), silent}, "txn-snapshot/active=3")
	cfg.Explained = true
	r, _, err := measure(t, t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range cfg.Threads {
		row := rowOf(r, "txn-snapshot", "rwmutex", threads)
		value := map[string]float64{}
		for _, c := range row.Counters {
			value[c.Name] = c.Value
			if c.Meaning == "" || c.Gauge != (c.Name == "active") {
				t.Errorf("%s: %+v", row.Name(), c)
			}
		}
		if len(value) != 2 || value["instants"] != 1000 || value["active"] != 3 {
			t.Errorf("%s: %v; want one instant a transaction, and 3 active", row.Name(), value)
		}
		if row := rowOf(r, "txn-snapshot", "silent", threads); len(row.Slices) != 3 || row.Counters != nil {
			t.Errorf("%s: %d slices, counters %v", row.Name(), len(row.Slices), row.Counters)
		}
	}
	cfg.Explained = false
	r, _, err = measure(t, t.Context(), cfg)
	if err != nil || slices.ContainsFunc(r.Rows, func(row result.Row) bool { return row.Counters != nil }) {
		t.Errorf("%v: counters that nobody asked for", err)
	}
}
