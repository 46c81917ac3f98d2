package check

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"xidlab/core"
	"xidlab/harness/history"
)

// A family is a set of operations that random histories are made of, and what
// the checker claims about them.
type family struct {
	name   string
	kinds  []history.Kind
	exact  bool // else only: what porcupine allows, the checker allows
	nearly bool // of a thousand violations it misses one at most
	loose  bool // xids are not ordered
	whole  bool // snapshots record all that they hide
}

// What the checker decides exactly, and what only by necessary conditions.
var (
	plain = []history.Kind{
		history.Begin, history.Begin, history.Begin, history.Commit, history.Commit, history.Rollback, history.CommitGroup,
		history.Snapshot, history.Snapshot, history.PeekNext,
	}
	reads = append(slices.Clone(plain),
		history.Status, history.IsActive, history.OldestActive, history.OldestActive, history.CheckpointExcluded, history.ReservesUniqueKey)
	borns    = append(slices.Clone(plain), history.AllocateCommitted, history.AllocateCommitted, history.Status, history.CheckpointExcluded)
	horizons = append(slices.Clone(plain),
		history.Retain, history.Retain, history.RetainSnapshot, history.Release, history.Release, history.Lookup,
		history.OldestRequired, history.OldestRequired, history.CheckpointProjection)
	everything = append(slices.Concat(reads, horizons),
		history.AllocateCommitted, history.Pin, history.Unpin, history.PinCount, history.OldestPinned, history.ObserveCommitted,
		history.PruneAborted, history.PruneAborted)

	families = []family{
		{name: "begins, finishes, snapshots", kinds: plain, exact: true},
		{name: "reads", kinds: reads, exact: true},
		{name: "born committed", kinds: borns, exact: true},
		{name: "born committed, reads", kinds: slices.Concat(reads, borns), exact: true},
		{name: "guards and horizons", kinds: horizons, exact: true, whole: true},
		{name: "everything", kinds: everything},
		{name: "unordered, plain", kinds: plain, loose: true, exact: true},
		{name: "unordered, reads", kinds: slices.Concat(reads, borns), loose: true, exact: true},
		{name: "unordered, guards and horizons", kinds: horizons, loose: true, nearly: true, whole: true},
		{name: "unordered, everything", kinds: everything, loose: true},
	}
)

// random returns a history: a legal one with its intervals stretched, often with
// calls that never return, half of the time changed a little.
func (f *family) random(r *rand.Rand) *history.History {
	g := &generator{r: r, f: f, state: state{next: 1}, m: &model{ordered: !f.loose}, free: make([]int64, 1+r.IntN(4))}
	h := &history.History{Header: history.Header{Ordered: !f.loose}}
	n := 3 + r.IntN(10)
	for tries := 0; len(h.Ops) < n && tries < 20*n; tries++ {
		if o, ok := g.op(); ok {
			h.Ops = append(h.Ops, o)
		}
	}
	slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(2) {
			g.mutate(h)
		}
		slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	}
	return h
}

type generator struct {
	r     *rand.Rand
	f     *family
	state state
	m     *model
	now   int64
	free  []int64    // when each worker's last operation returned
	known []core.Xid // handed out, and told
	told  [16]int64  // when
	snaps []uint64
	made  [8]int64 // when each snapshot was told
	next  uint64
}

func (g *generator) op() (o history.Op, ok bool) {
	r := g.r
	g.now += 10
	w := r.IntN(len(g.free))
	if g.free[w] > g.now {
		return o, false
	}
	o = history.Op{Worker: int32(w), Kind: g.f.kinds[r.IntN(len(g.f.kinds))]}
	o.Call = max(g.free[w]+1, g.now-int64(r.IntN(50)))
	o.Return = g.now + int64(r.IntN(50))
	hang := r.IntN(14) == 0
	before := g.state
	if !g.fill(&o, hang) {
		g.state = before
		return o, false
	}
	g.free[w] = o.Return
	if hang {
		p := history.Op{Worker: o.Worker, Kind: o.Kind, Call: o.Call, Return: history.Pending, Of: o.Of}
		switch o.Kind {
		case history.Begin, history.AllocateCommitted:
		case history.CommitGroup:
			p.Set = o.Set
		case history.Commit, history.Rollback, history.ObserveCommitted, history.PruneAborted, history.Pin, history.Unpin:
			p.Xid = o.Xid
		default:
			g.state = before
			return o, false
		}
		if r.IntN(2) == 0 {
			g.state = before // it never took effect
		}
		g.free[w] = history.Pending
		return p, true
	}
	switch o.Kind {
	case history.Begin, history.AllocateCommitted:
		g.known = append(g.known, o.Xid)
		g.told[o.Xid] = o.Return
	case history.Snapshot, history.Retain, history.RetainSnapshot:
		if o.Granted() {
			g.snaps = append(g.snaps, o.Snap)
			g.made[o.Snap] = o.Return
		}
	}
	return o, true
}

// xid picks one to ask about; early says when its xid may be known.
func (g *generator) xid(o *history.Op, late bool) core.Xid {
	if len(g.known) > 0 && (late || g.r.IntN(4) > 0) {
		x := g.known[g.r.IntN(len(g.known))]
		if late {
			o.Call = max(o.Call, g.told[x]+1)
		}
		return x
	}
	if late {
		return 0
	}
	return core.Xid(g.r.IntN(int(min(g.state.next+1, 16))))
}

// fill chooses the arguments of o and lets it happen now.
func (g *generator) fill(o *history.Op, hang bool) bool {
	r, s := g.r, &g.state
	switch o.Kind {
	case history.Begin, history.AllocateCommitted:
		o.Xid = core.Xid(s.next)
		if o.Kind == history.AllocateCommitted || g.f.loose {
			switch r.IntN(3) {
			case 0:
				o.Xid += core.Xid(r.IntN(2)) // set one aside
			case 1:
				for x := core.Xid(1); x < core.Xid(s.next); x++ {
					if s.begun&bit(x) == 0 {
						o.Xid = x
						break
					}
				}
			}
		}
		if o.Xid > 11 {
			return false
		}
	case history.Commit, history.Rollback:
		o.Xid = g.xid(o, r.IntN(20) > 0)
		if st := s.status(o.Xid); st != core.Active && !hang {
			if o.Result, o.Status = history.NotActive, st; st == core.Unallocated {
				o.Result = history.Unallocated
			}
		}
		if o.Xid == core.None {
			return false
		}
	case history.CommitGroup:
		for range r.IntN(3) {
			if x := g.xid(o, true); x != core.None {
				o.Set = append(o.Set, x)
			}
		}
		for i, x := range o.Set {
			switch st := s.status(x); {
			case st == core.Unallocated:
				o.Result, o.Other = history.Unallocated, x
			case st != core.Active:
				o.Result, o.Other, o.Status = history.NotActive, x, st
			case slices.Contains(o.Set[:i], x):
				o.Result, o.Other = history.Duplicate, x
			default:
				continue
			}
			break
		}
		if hang && o.Result != history.OK {
			return false
		}
	case history.Snapshot, history.Retain:
		if g.next == 7 {
			return false
		}
		g.next++
		o.Snap = g.next
		if r.IntN(3) == 0 {
			o.Xid = g.xid(o, true)
		}
		if s.status(o.Xid) == core.Active {
			o.Other = o.Xid
		}
		if r.IntN(4) > 0 || g.f.whole {
			o.Next = core.Xid(s.next)
		}
		if o.Full = o.Next != 0 && r.IntN(3) > 0 || g.f.whole; o.Full {
			for x := core.Xid(1); x < o.Next; x++ {
				if s.active()&bit(x) != 0 || s.begun&bit(x) == 0 && r.IntN(8) > 0 {
					o.Set = append(o.Set, x)
				}
			}
		}
		for range r.IntN(3) {
			x := g.xid(o, false)
			if slices.ContainsFunc(o.Probes, func(p history.Probe) bool { return p.Xid == x }) {
				continue
			}
			o.Probes = append(o.Probes, history.Probe{Xid: x, Yes: x == core.None || x == o.Other || (s.committed|s.forgotten)&bit(x) != 0})
		}
		g.m.base[o.Snap], g.m.owner[o.Snap] = uint8(o.Snap), o.Other
	case history.RetainSnapshot:
		if len(g.snaps) == 0 || g.next == 7 {
			return false
		}
		o.Of = g.snap(o)
		b := uint64(g.m.base[o.Of])
		if s.passed(b, core.Xid(s.answered)) || s.hidesCommitted(b) && r.IntN(2) == 0 {
			if o.Result = history.TooOld; g.f.exact {
				return false
			}
			break
		}
		g.next++
		o.Snap = g.next
		g.m.base[o.Snap] = uint8(b)
	case history.Release:
		if len(g.snaps) == 0 {
			return false
		}
		o.Of = g.snap(o)
		o.Yes = s.guards&(1<<o.Of) != 0
	case history.Lookup:
		if len(g.snaps) == 0 {
			return false
		}
		o.Of = g.snap(o)
		o.Xid = g.xid(o, false)
		b := g.m.base[o.Of]
		o.Yes = s.snaps[b]&bit(o.Xid) != 0
		if o.Xid != core.None && o.Xid == g.m.owner[b] {
			o.Yes = s.aborted&bit(o.Xid) == 0
		}
	case history.Status:
		o.Xid = g.xid(o, false)
		o.Status = s.status(o.Xid)
	case history.IsActive:
		o.Xid = g.xid(o, false)
		o.Yes = s.status(o.Xid) == core.Active
	case history.OldestActive:
		if o.Xid, o.Yes = lowest(s.active()), true; o.Xid == 16 {
			o.Xid, o.Yes = 0, false
		}
	case history.OldestRequired:
		o.Xid = s.required()
		if r.IntN(3) == 0 && o.Xid > core.Xid(s.floor) {
			o.Xid--
		}
		o.Yes = o.Xid < core.Xid(s.next)
	case history.PeekNext:
		o.Next = core.Xid(s.next)
	case history.Pin, history.Unpin:
		o.Xid = 1 + core.Xid(r.IntN(6))
	case history.PinCount:
		o.Xid = 1 + core.Xid(r.IntN(6))
		o.Count = int(s.pins[o.Xid])
	case history.OldestPinned:
		for y := 15; y > 0; y-- {
			if s.pins[y] > 0 {
				o.Xid, o.Yes = core.Xid(y), true
			}
		}
	case history.ObserveCommitted:
		o.Xid = 1 + core.Xid(r.IntN(int(min(s.next+2, 12))))
		if st := s.status(o.Xid); st != core.Committed && st != core.Unallocated {
			o.Result, o.Status = history.NotCommitted, st
			if hang {
				return false
			}
		}
	case history.PruneAborted:
		o.Xid = core.Xid(r.IntN(int(s.next) + 1))
		probe := *s
		o.Count = probe.prune(o.Xid)
	case history.CheckpointExcluded, history.CheckpointProjection:
		o.Next = core.Xid(s.next)
		for x := core.Xid(1); x < o.Next; x++ {
			if (s.committed|s.forgotten)&bit(x) == 0 {
				o.Set = append(o.Set, x)
			}
		}
		if o.Kind == history.CheckpointProjection {
			o.Xid = s.required()
		}
	case history.ReservesUniqueKey:
		o.Xid, o.Other = g.xid(o, false), g.xid(o, false)
		if r.IntN(3) == 0 && !g.f.exact {
			o.Set = core.NewXidSet(o.Other)
		}
		probe := *s
		o.Yes = true
		o.Yes = probe.answer(g.m, call{Op: o, m: g.m})
	}
	c := call{Op: o, m: g.m}
	if !s.answer(g.m, c) {
		return false
	}
	if o.Kind == history.AllocateCommitted {
		c.last = true
		return s.answer(g.m, c)
	}
	return true
}

func (g *generator) snap(o *history.Op) uint64 {
	n := g.snaps[g.r.IntN(len(g.snaps))]
	o.Call = max(o.Call, g.made[n]+1)
	return n
}

// mutate changes an answer, or when something was.
func (g *generator) mutate(h *history.History) {
	r := g.r
	if len(h.Ops) == 0 {
		return
	}
	o := &h.Ops[r.IntN(len(h.Ops))]
	if o.IsPending() {
		return
	}
	bump := func(x core.Xid) core.Xid {
		if x > 0 && r.IntN(2) == 0 {
			return x - 1
		}
		return min(x+1, 12)
	}
	if r.IntN(4) == 0 { // in time
		d := int64(r.IntN(80)) - 40
		o.Call += d
		o.Return += d
		return
	}
	switch o.Kind {
	case history.Begin, history.AllocateCommitted:
		p := &h.Ops[r.IntN(len(h.Ops))]
		if p.Kind == o.Kind && p.Granted() {
			o.Xid, p.Xid = p.Xid, o.Xid
		} else if o.Xid = bump(o.Xid); o.Xid == 0 {
			o.Xid = 12
		}
	case history.Commit, history.Rollback, history.CommitGroup:
		switch {
		case o.Result == history.OK && o.Kind == history.Commit && r.IntN(2) == 0:
			o.Kind = history.Rollback
		case o.Result == history.OK && o.Kind != history.CommitGroup:
			o.Result, o.Status = history.NotActive, core.Status(1+r.IntN(4))
		case o.Result == history.NotActive:
			o.Status = core.Status(1 + r.IntN(4))
		}
	case history.Snapshot, history.Retain:
		switch k := r.IntN(4); {
		case k == 0 && len(o.Probes) > 0:
			p := &o.Probes[r.IntN(len(o.Probes))]
			p.Yes = !p.Yes
		case k == 1 && o.Next > 0:
			o.Next = max(bump(o.Next), 1)
			o.Set = slices.DeleteFunc(slices.Clone(o.Set), func(x core.Xid) bool { return x >= o.Next })
		case k == 2 && o.Xid != 0:
			o.Other = o.Xid - o.Other
		case len(o.Set) > 0 && r.IntN(2) == 0:
			i := r.IntN(len(o.Set))
			o.Set = slices.Delete(slices.Clone(o.Set), i, i+1)
		case o.Full && o.Next > 1:
			o.Set = core.NewXidSet(append(slices.Clone(o.Set), 1+core.Xid(r.IntN(int(o.Next-1))))...)
		}
	case history.Release, history.Lookup, history.IsActive, history.ReservesUniqueKey:
		o.Yes = !o.Yes
	case history.Status:
		o.Status = core.Status(r.IntN(5))
	case history.OldestActive:
		if o.Yes = r.IntN(3) > 0; o.Yes {
			o.Xid = max(bump(o.Xid), 1)
		} else {
			o.Xid = 0
		}
	case history.OldestRequired:
		if o.Xid = bump(o.Xid); r.IntN(4) == 0 {
			o.Yes = !o.Yes
		}
	case history.PeekNext:
		o.Next = max(bump(o.Next), 1)
	case history.PinCount, history.PruneAborted:
		o.Count = max(0, o.Count+r.IntN(3)-1)
	case history.CheckpointExcluded, history.CheckpointProjection:
		switch {
		case o.Kind == history.CheckpointProjection && r.IntN(2) == 0:
			o.Xid = min(bump(o.Xid), o.Next)
		case len(o.Set) > 0 && r.IntN(2) == 0:
			i := r.IntN(len(o.Set))
			o.Set = slices.Delete(slices.Clone(o.Set), i, i+1)
		case o.Next > 1:
			o.Set = core.NewXidSet(append(slices.Clone(o.Set), 1+core.Xid(r.IntN(int(o.Next-1))))...)
		}
	}
}
