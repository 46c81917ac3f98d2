package stress

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"xidlab/core"
	"xidlab/harness/history"
	"xidlab/variants/rwmutex"
)

// A wrong manager is right but for one call in fifty.
type wrong struct {
	*rwmutex.Manager
	mistakes
	calls atomic.Int32
	last  atomic.Pointer[core.Snapshot]
}

type mistakes struct{ stale, loses, forgets, horizon, excludes, releases bool }

func (w *wrong) now(mistake bool) bool { return mistake && w.calls.Add(1)%50 == 0 }

func (w *wrong) Snapshot(self core.Xid) core.Snapshot {
	if s := w.last.Load(); s != nil && w.now(w.stale) {
		return *s
	}
	s := w.Manager.Snapshot(self)
	w.last.Store(&s)
	return s
}

func (w *wrong) Commit(x core.Xid) error {
	if w.now(w.loses) && w.Status(x) == core.Active {
		return nil
	}
	return w.Manager.Commit(x)
}

func (w *wrong) Status(x core.Xid) core.Status {
	s := w.Manager.Status(x)
	if s == core.Committed && w.now(w.forgets) {
		return core.Active
	}
	return s
}

func (w *wrong) OldestRequired() (core.Xid, bool) {
	if w.now(w.horizon) {
		return w.PeekNext(), false
	}
	return w.Manager.OldestRequired()
}

func (w *wrong) CheckpointExcluded() (core.Xid, core.XidSet) {
	next, set := w.Manager.CheckpointExcluded()
	if len(set) > 0 && w.now(w.excludes) {
		set = set[1:]
	}
	return next, set
}

func (w *wrong) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	g, err := w.Manager.RetainSnapshot(s)
	if err == nil && w.now(w.releases) {
		g.Release() // and so a later one reports that it had ended
	}
	return g, err
}

// TestWrongManagers: each mistake is found, and the proof names few operations,
// among them one of the wrong kind.
func TestWrongManagers(t *testing.T) {
	for name, c := range map[string]struct {
		mistakes
		names []string // of operations; the proof has one of them
	}{
		"stale snapshots":       {mistakes{stale: true}, []string{"Snapshot", "Lookup"}},
		"lost commits":          {mistakes{loses: true}, []string{"Commit"}},
		"forgetful Status":      {mistakes{forgets: true}, []string{"Status"}},
		"a horizon too high":    {mistakes{horizon: true}, []string{"OldestRequired"}},
		"incomplete checkpoint": {mistakes{excludes: true}, []string{"CheckpointExcluded"}},
		"guards that end":       {mistakes{releases: true}, nil}, // whatever shows it first
	} {
		t.Run(name, func(t *testing.T) {
			var last *history.History
			rep, err := Run(context.Background(), Config{
				Name:    name,
				Manager: func() core.Manager { return &wrong{Manager: rwmutex.New(), mistakes: c.mistakes} },
				Loads:   scripts(), Modes: modes(t), Clocks: clocks(t), Budget: 20 * time.Second, Seed: 3,
				Recorded: func(_ Cell, h *history.History) error { last = h; return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			v := rep.Violation
			if v == nil {
				t.Fatalf("not found: %+v", rep)
			}
			if v.History != last {
				t.Error("the violation comes with another recording")
			}
			text := v.Proof.Text
			for _, o := range v.Proof.Ops {
				text += "\n" + o.Text
			}
			t.Logf("%v, after %d recordings, %d operations: %s", v.Cell, rep.Cells, rep.Ops, text)
			named := func(kind string) bool { return strings.Contains(text, kind+"(") }
			if n := len(v.Proof.Ops); n == 0 || n > 8 || c.names != nil && !slices.ContainsFunc(c.names, named) {
				t.Errorf("the proof has %d operations", n)
			}
		})
	}
}
