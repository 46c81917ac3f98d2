package check

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"xidlab/core"
	"xidlab/harness/history"
)

func stream(h *history.History, limit int) *Verdict {
	s := newStream(h.Header, limit)
	for i := range h.Ops {
		s.Add(&h.Ops[i])
	}
	return s.Verdict()
}

// TestStreamAgrees: whatever the windows, a stream objects to nothing that the
// check of the whole allows, and to most of what it does not.
func TestStreamAgrees(t *testing.T) {
	each := 6000
	if *long {
		each = 300_000
	}
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			windows, found, missed := 0, 0, 0
			for seed := range each {
				r := rand.New(rand.NewPCG(uint64(seed), 77))
				h := f.random(r)
				if h.Validate() != nil {
					continue
				}
				whole := Check(h)
				v := stream(h, 1+r.IntN(3))
				windows += v.Windows
				switch {
				case v.Violation != nil && whole.Violation == nil && whole.Undecided == 0:
					t.Fatalf("seed %d: the stream objects, after %d windows: %v\n%s", seed, v.Windows, v.Violation, text(h))
				case v.Violation != nil:
					found++
				case whole.Violation != nil:
					missed++
				}
			}
			t.Logf("%d windows; of %d violations %d are missed", windows, found+missed, missed)
			if windows < 3*each/2 {
				t.Errorf("only %d windows for %d histories", windows, each)
			}
			if 20*missed > found {
				t.Errorf("the stream misses %d of %d violations", missed, found+missed)
			}
		})
	}
}

// TestStreamCases cuts the cases everywhere. No cut makes a good history bad; and
// what the last operation proves is noticed though everything else is past.
func TestStreamCases(t *testing.T) {
	names, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d cases, %v", len(names), err)
	}
	// See the comment of Stream.
	unnoticed := []string{
		"block-given-up-twice", "block-not-named", "horizon-falls-unpinned", "hung-begin-late", "owner-rolled-back", "pin-count", "pruned-pinned", "pruned-under-guard", "refused-for-nothing",
	}
	for _, name := range names {
		h, err := history.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		whole := Check(h).Violation
		last := max(len(h.Ops)-1, 1)
		for limit := 1; limit <= last; limit++ {
			v := stream(h, limit)
			switch {
			case whole == nil && v.Violation != nil:
				t.Errorf("%s, in %d windows: %v", name, v.Windows, v.Violation)
			case whole != nil && v.Violation == nil && limit == last &&
				!slices.ContainsFunc(unnoticed, func(s string) bool { return strings.HasSuffix(name, s+".txt") }):
				t.Errorf("%s, in %d windows, unnoticed: %v", name, v.Windows, whole)
			}
		}
	}
}

// TestStreamLong: a longer history in many windows, then the same with a mistake
// that only the past shows.
func TestStreamLong(t *testing.T) {
	simulated := func(n, hung int) *history.History { return simulateSpread(n, 2, true, hung, 3, 12) }
	whole := simulated(50_000, 3)
	v := stream(whole, 500)
	if v.Violation != nil || v.Ops != len(whole.Ops) {
		t.Fatalf("%d of %d operations: %v", v.Ops, len(whole.Ops), v.Violation)
	}
	if v.Windows < 20 {
		t.Fatalf("only %d windows", v.Windows)
	}
	t.Logf("%d operations in %d windows", v.Ops, v.Windows)

	for _, c := range []struct {
		name   string
		change func(o *history.Op) bool
	}{
		{"an old transaction comes back to life", func(o *history.Op) bool {
			if o.Kind != history.Snapshot || o.Next < 500 {
				return false
			}
			o.Set = core.NewXidSet(append(slices.Clone(o.Set), 100)...)
			return true
		}},
		{"an xid is handed out again", func(o *history.Op) bool {
			if o.Kind != history.Begin {
				return false
			}
			o.Xid = 100
			return true
		}},
		{"the bound moves back", func(o *history.Op) bool {
			if o.Kind != history.PeekNext {
				return false
			}
			o.Next = 100
			return true
		}},
		{"the horizon moves back", func(o *history.Op) bool {
			if o.Kind != history.OldestRequired || o.Xid < 100 {
				return false
			}
			o.Xid = 1
			return true
		}},
		{"an old transaction is finished again", func(o *history.Op) bool {
			if o.Kind != history.Commit {
				return false
			}
			o.Xid = 100
			return true
		}},
		{"an old transaction is active", func(o *history.Op) bool {
			if o.Kind != history.Status {
				return false
			}
			o.Xid, o.Status = 100, core.Active
			return true
		}},
	} {
		h := simulated(10_000, 0)
		changed := false
		for i := len(h.Ops) / 2; i < len(h.Ops) && !changed; i++ {
			changed = !h.Ops[i].IsPending() && c.change(&h.Ops[i])
		}
		v := stream(h, 500)
		if !changed || v.Violation == nil {
			t.Errorf("%s: not noticed (changed: %v)", c.name, changed)
			continue
		}
		t.Logf("%s: %v", c.name, v.Violation)
		for _, o := range v.Violation.Ops {
			if got := h.Ops[o.Index]; got.Call != o.Call {
				t.Errorf("%s: operation %d is not the one at %d of the history", c.name, o.Index, got.Call)
			}
		}
	}
}
