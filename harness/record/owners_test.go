package record

import (
	"testing"

	"xidlab/core/spec"
	"xidlab/harness/history"
)

// TestOwners: a snapshot for xid 7 is owned by it if it was active all the while,
// and not if it was not at all; otherwise nobody can say.
func TestOwners(t *testing.T) {
	begin := func(call, ret int64) entry { return entry{kind: history.Begin, call: call, ret: ret, y: 7} }
	commit := func(call, ret int64) entry { return entry{kind: history.Commit, call: call, ret: ret, x: 7} }
	refused := func(call, ret int64) entry {
		return entry{kind: history.Rollback, call: call, ret: ret, x: 7, result: history.NotActive}
	}
	snap := entry{kind: history.Snapshot, call: 100, ret: 200, x: 7}
	for name, c := range map[string]struct {
		own, other []entry // besides the snapshot, of its worker and another one
		open       bool    // begun before, and not finished
		want       ownership
	}{
		"never begun":                      {nil, nil, false, unowned},
		"begun before, by oneself":         {[]entry{begin(1, 99)}, nil, false, owned},
		"begun before, by another":         {nil, []entry{begin(1, 50)}, false, owned},
		"begun just before, by another":    {nil, []entry{begin(1, 95)}, false, unsure}, // widened
		"begun meanwhile":                  {nil, []entry{begin(90, 110)}, false, unsure},
		"begun later":                      {nil, []entry{begin(250, 260)}, false, unowned},
		"open for long":                    {nil, nil, true, owned},
		"finished before, by oneself":      {[]entry{commit(90, 100)}, nil, true, unowned},
		"finished before, by another":      {nil, []entry{commit(50, 60)}, true, unowned},
		"finished just before, by another": {nil, []entry{commit(50, 95)}, true, unsure},
		"finished meanwhile":               {nil, []entry{commit(50, 110)}, true, unsure},
		"finished later":                   {nil, []entry{commit(230, 240)}, true, owned},
		"finished by oneself just after":   {[]entry{commit(200, 240)}, nil, true, owned},
		"being finished since before":      {nil, []entry{commit(50, 0)}, true, unsure},
		"being finished from later on":     {nil, []entry{commit(230, 0)}, true, owned},
		"not finished, as it was refused":  {nil, []entry{refused(50, 110)}, true, owned},
		"committed in a group":             {nil, []entry{{kind: history.CommitGroup, call: 50, ret: 60, n: 2}}, true, unowned},
	} {
		r := New(spec.New(), NewCounter(), 2, few)
		r.clock.widen = 10
		if c.open {
			r.open[7] = struct{}{}
		}
		w, other := r.Worker(0), r.Worker(1)
		s := snap
		from := &origin{w: w, id: w.newID(), self: 7}
		s.of = from.id
		w.fresh = append(w.fresh, from)
		w.log = append(append(w.log, s), c.own...)
		other.log = append(other.log, c.other...)
		other.arena = append(other.arena, 6, 7)
		(&taking{Recorder: r}).findOwners()
		if from.owner != c.want {
			t.Errorf("%s: %v, want %v", name, from.owner, c.want)
		}
	}
}
