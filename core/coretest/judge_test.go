package coretest

import (
	"slices"
	"strings"
	"testing"

	"xidlab/core"
	"xidlab/core/spec"
)

// in is the view of a snapshot that includes exactly some xids, and calls the
// others in progress.
type in struct{ set core.XidSet }

func (v *in) Lookup(x core.Xid, _ uint64) (bool, error) { return v.set.Has(x), nil }
func (v *in) RolledBack(core.Xid, uint64) (bool, error) { return false, nil }
func (v *in) InProgress(low, high core.Xid, _ uint64) (s core.XidSet, err error) {
	for x := low; x < high; x++ {
		if !v.set.Has(x) {
			s = append(s, x)
		}
	}
	return s, nil
}

func includes(high core.Xid, xs ...core.Xid) core.Snapshot {
	return core.NewSnapshot(&in{core.NewXidSet(xs...)}, core.None, 1, high, 0)
}

// The judge objects to each kind of history that the contract rules out, and
// to none that overlap excuses.
func TestVerdict(t *testing.T) {
	begin := func(x core.Xid, call, ret uint64) *event {
		return &event{kind: beginning, x: x, call: call, ret: ret}
	}
	commit := func(x core.Xid, call, ret uint64) *event {
		return &event{kind: commits, x: x, ok: true, call: call, ret: ret}
	}
	rollback := func(x core.Xid, call, ret uint64) *event {
		return &event{kind: rollbacks, x: x, ok: true, call: call, ret: ret}
	}
	group := func(call, ret uint64, xs ...core.Xid) *event {
		return &event{kind: grouped, xs: xs, ok: true, call: call, ret: ret}
	}
	snap := func(call, ret uint64, high core.Xid, xs ...core.Xid) *event {
		return &event{kind: snapped, snap: includes(high, xs...), call: call, ret: ret}
	}
	guard := func(call, ret uint64, high core.Xid, xs ...core.Xid) *event {
		return &event{kind: retained, snap: includes(high, xs...), call: call, ret: ret}
	}
	status := func(x core.Xid, s core.Status, call, ret uint64) *event {
		return &event{kind: asked, x: x, status: s, call: call, ret: ret}
	}
	oldestIs := func(x core.Xid, call, ret uint64) *event {
		return &event{kind: oldest, x: x, ok: x != core.None, call: call, ret: ret}
	}
	required := func(x core.Xid, call, ret uint64) *event {
		return &event{kind: horizon, x: x, ok: true, call: call, ret: ret}
	}
	checkpoint := func(next core.Xid, call, ret uint64, xs ...core.Xid) *event {
		return &event{kind: exclusion, next: next, set: xs, call: call, ret: ret}
	}
	for _, c := range []struct {
		name   string
		events []*event
		want   string // in the objection; "" if there is none
	}{
		{"nothing", nil, ""},
		{"in order", []*event{begin(1, 1, 2), commit(1, 3, 4), snap(5, 6, 2, 1)}, ""},
		{"a snapshot during a commit may include it", []*event{begin(1, 1, 2), commit(1, 3, 8), snap(4, 5, 2, 1)}, ""},
		{"or not", []*event{begin(1, 1, 2), commit(1, 3, 8), snap(4, 5, 2)}, ""},
		{"but not first and then not", []*event{begin(1, 1, 2), commit(1, 3, 8), snap(4, 5, 2, 1), snap(6, 7, 2)}, "includes less"},
		{"a commit lost", []*event{begin(1, 1, 2), commit(1, 3, 4), snap(5, 6, 2)}, "does not include 1"},
		{"a commit foreseen", []*event{begin(1, 1, 2), snap(3, 4, 2, 1), commit(1, 5, 6)}, "called later"},
		{"a rollback included", []*event{begin(1, 1, 2), rollback(1, 3, 4), snap(5, 6, 2, 1)}, "never committed"},
		{"an unfinished one included", []*event{begin(1, 1, 2), snap(5, 6, 2, 1)}, "never committed"},
		{"an xid twice", []*event{begin(1, 1, 2), begin(1, 3, 4)}, "handed out before"},
		{"decreasing xids", []*event{begin(2, 1, 2), begin(1, 3, 4)}, "increasing"},
		{"racing begins", []*event{begin(2, 1, 4), begin(1, 2, 3)}, ""},
		{"two winners", []*event{begin(1, 1, 2), commit(1, 3, 6), rollback(1, 4, 5)}, "finished twice"},
		{"no winner", []*event{begin(1, 1, 2), {kind: commits, x: 1, call: 3, ret: 4}}, "nothing had finished it"},
		{"a long fork", []*event{begin(1, 1, 3), begin(2, 2, 4), commit(1, 5, 20), commit(2, 6, 21), snap(7, 9, 3, 1), snap(8, 10, 3, 2)}, "long fork"},
		{"half a group", []*event{begin(1, 1, 2), begin(2, 3, 4), group(5, 20, 1, 2), snap(6, 7, 3, 1)}, "at one instant"},
		{"a mind changed", []*event{begin(1, 1, 2), commit(1, 3, 20),
			{kind: snapped, snap: includes(2, 1), probes: []probe{{1, false}}, call: 4, ret: 5}}, "and later"},
		{"a bound too low", []*event{begin(1, 1, 2), snap(3, 4, 1)}, "has bound 1"},
		{"in progress, though it began later", []*event{snap(1, 2, 2), begin(1, 3, 4)}, "handed out later"},
		{"status of the past", []*event{begin(1, 1, 2), commit(1, 3, 4), status(1, core.Active, 5, 6)}, "at no instant"},
		{"status of the future", []*event{begin(1, 1, 2), status(1, core.Committed, 3, 4), commit(1, 5, 6)}, "at no instant"},
		{"status ahead of a snapshot", []*event{begin(1, 1, 2), commit(1, 3, 20), status(1, core.Committed, 4, 5), snap(6, 7, 2)}, "after it"},
		{"status behind a snapshot", []*event{begin(1, 1, 2), commit(1, 3, 20), snap(4, 5, 2, 1), status(1, core.Active, 6, 7)}, "before it"},
		{"the oldest skipped", []*event{begin(1, 1, 2), begin(2, 3, 4), oldestIs(2, 5, 6)}, "1 was active"},
		{"nobody is oldest", []*event{begin(1, 1, 2), oldestIs(core.None, 5, 6)}, "1 was active"},
		{"a finished one is oldest", []*event{begin(1, 1, 2), commit(1, 3, 4), oldestIs(1, 5, 6)}, "at no instant"},
		{"a checkpoint without a rollback", []*event{begin(1, 1, 2), rollback(1, 3, 8), checkpoint(2, 4, 5)}, "never committed"},
		{"a checkpoint of two instants", []*event{begin(1, 1, 3), begin(2, 2, 4), commit(1, 5, 20), commit(2, 6, 21), checkpoint(3, 7, 9, 1), snap(8, 10, 3, 1)}, "long fork"},
		{"a horizon above an active xid", []*event{begin(1, 1, 2), required(2, 3, 4)}, "active all the while"},
		{"a horizon above what a guard hides", []*event{begin(1, 1, 2), guard(3, 20, 2), commit(1, 5, 6), required(2, 7, 8)}, "a live guard hides"},
		{"a horizon that moves back", []*event{required(5, 1, 2), required(4, 3, 4)}, "moved back"},
		{"a horizon above a later begin", []*event{required(5, 1, 2), begin(3, 3, 4)}, "began later"},
		{"a bound too small", []*event{begin(5, 1, 2), {kind: peeked, x: 5, call: 3, ret: 4}}, "handed out before"},
		{"a pin passed", []*event{begin(1, 1, 2), commit(1, 3, 4), {kind: pinning, x: 1, ok: true, call: 5, ret: 6}, required(2, 7, 8)}, "pinned all the while"},
		{"a guard that was not there", []*event{{kind: retained, snap: includes(1), call: 1, ret: 2, end: &event{kind: released}}}, "reports false"},
	} {
		for i, e := range c.events {
			e.worker = i + 1
		}
		h := &history{m: spec.New(), events: slices.Clone(c.events)}
		got, _ := h.verdict()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: the verdict is %q, want %q", c.name, got, c.want)
		}
	}
}

// Overlap is counted where it is, between threads.
func TestOverlaps(t *testing.T) {
	e := func(worker int, call, ret uint64) *event { return &event{worker: worker, call: call, ret: ret} }
	for _, c := range []struct {
		events []*event
		want   int
	}{
		{nil, 0},
		{[]*event{e(1, 1, 2), e(2, 3, 4)}, 0},
		{[]*event{e(1, 1, 3), e(2, 2, 4)}, 2},
		{[]*event{e(1, 1, 10), e(2, 2, 3), e(2, 4, 5), e(3, 11, 12)}, 3},
	} {
		if got := (&history{events: c.events}).overlaps(); got != c.want {
			t.Errorf("%v: %d overlap, want %d", c.events, got, c.want)
		}
	}
}
