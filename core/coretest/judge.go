package coretest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"xidlab/core"
)

// A judge holds a finished history against the contract. Everything it objects
// to is forced: an operation that returned before another was called took
// effect before it, and a snapshot includes a transaction exactly if it
// committed before. What overlaps may have happened in either order.
type judge struct {
	h    *history
	txs  map[core.Xid]*tx
	all  []*tx // the same, by xid
	cuts []*cut
	old  int // snapshots that could no longer be asked at the end
}

// A tx is what the history knows of one transaction. A moment that never came
// is never.
type tx struct {
	x       core.Xid
	i       int // its index in all
	began   *event
	ended   *event // the finish that was accepted
	aborted bool
}

const never = uint64(math.MaxUint64)

func (t *tx) endCall() uint64 {
	if t.ended == nil {
		return never
	}
	return t.ended.call
}

func (t *tx) endRet() uint64 {
	if t.ended == nil {
		return never
	}
	return t.ended.ret
}

func (t *tx) committed() bool { return t.ended != nil && !t.aborted }

// A cut is a set of committed transactions of one instant: a snapshot, or a
// checkpoint.
type cut struct {
	e    *event
	has  []bool   // by index in all, its owner aside
	size int      // how many are true
	self core.Xid // the owner
}

// verdict returns the first objection, or "".
func (h *history) verdict() (string, *judge) {
	j := &judge{h: h, txs: map[core.Xid]*tx{}}
	if c := h.crash.Load(); c != nil {
		return *c, j
	}
	for _, step := range []func() string{
		j.begins, j.finishes, j.takeCuts, j.cutsAndFinishes, j.chain, j.inProgress,
		j.statuses, j.oldestActives, j.peeks, j.horizons,
	} {
		if objection := step(); objection != "" {
			return objection, j
		}
	}
	return "", j
}

func (j *judge) each(kinds ...kind) func(func(*event) bool) {
	return func(yield func(*event) bool) {
		for _, e := range j.h.events {
			if slices.Contains(kinds, e.kind) && !yield(e) {
				return
			}
		}
	}
}

func (j *judge) begins() string {
	for e := range j.each(beginning, allocated) {
		if t := j.txs[e.x]; t != nil || e.x == core.None || e.x > core.MaxXid {
			return fmt.Sprintf("%s: the xid was handed out before, or is none", e.at())
		}
		t := &tx{x: e.x, began: e}
		if e.kind == allocated {
			t.ended = e
		}
		j.txs[e.x] = t
		j.all = append(j.all, t)
	}
	slices.SortFunc(j.all, func(a, b *tx) int { return cmp.Compare(a.x, b.x) })
	for i, t := range j.all {
		t.i = i
	}
	if !j.h.m.Ordered() {
		return ""
	}
	// In the order of calls, an xid must exceed all whose Begin had returned.
	begins := slices.Collect(j.each(beginning))
	slices.SortFunc(begins, func(a, b *event) int { return cmp.Compare(a.call, b.call) })
	returned := slices.SortedFunc(slices.Values(begins), func(a, b *event) int { return cmp.Compare(a.ret, b.ret) })
	var top *event
	for _, e := range begins {
		for len(returned) > 0 && returned[0].ret < e.call {
			if top == nil || returned[0].x > top.x {
				top = returned[0]
			}
			returned = returned[1:]
		}
		if top != nil && e.x < top.x {
			return fmt.Sprintf("%s, after %s had returned; want increasing xids of an ordered manager", e.at(), top.at())
		}
	}
	return ""
}

func (j *judge) finishes() string {
	for e := range j.each(commits, rollbacks, grouped) {
		if !e.ok {
			continue
		}
		for _, x := range append(slices.Clone(e.xs), e.x) {
			if x == core.None {
				continue
			}
			t := j.txs[x]
			if t.ended != nil {
				return fmt.Sprintf("xid %s was finished twice: %s and %s", name(x), t.ended.at(), e.at())
			}
			t.ended, t.aborted = e, e.kind == rollbacks
		}
	}
	for e := range j.each(commits, rollbacks, grouped) {
		xs := append(slices.Clone(e.xs), e.x)
		if !e.ok && !slices.ContainsFunc(xs, func(x core.Xid) bool { return x != core.None && j.txs[x].endCall() < e.ret }) {
			return fmt.Sprintf("%s was refused, but nothing had finished it", e.at())
		}
	}
	for e := range j.each(retained) {
		if e.end != nil && !e.end.ok {
			return fmt.Sprintf("the guard of %s was released once, and it reports false", e.at())
		}
	}
	return ""
}

// takeCuts asks every snapshot about everything, now that all is over, and
// compares with what it said at once.
func (j *judge) takeCuts() string {
events:
	for e := range j.each(snapped, retained) {
		_, owner, _, _, _ := e.snap.Parts()
		c := &cut{e, make([]bool, len(j.all)), 0, owner}
		for i, t := range j.all {
			x := t.x
			yes, err := e.snap.Lookup(x)
			if errors.Is(err, core.ErrTooOld) && (e.kind == snapped || e.end != nil) {
				j.old++
				continue events
			}
			if err != nil {
				return fmt.Sprintf("%s: its Lookup(%s) answers %q", e.at(), name(x), err)
			}
			if x == owner && yes == t.aborted {
				return fmt.Sprintf("%s: it includes its owner: %v, which rolled back: %v", e.at(), yes, t.aborted)
			}
			c.has[i] = yes && x != owner
		}
		for _, p := range e.probes {
			if t := j.txs[p.x]; t != nil && p.x != owner && p.yes != c.has[t.i] {
				return fmt.Sprintf("%s: it first included %s: %v, and later: %v", e.at(), name(p.x), p.yes, c.has[t.i])
			}
		}
		j.cuts = append(j.cuts, c)
	}
	for e := range j.each(exclusion, projected) {
		if !slices.Equal(core.NewXidSet(e.set...), e.set) || len(e.set) > 0 && e.set[len(e.set)-1] >= e.next {
			return fmt.Sprintf("%s: the excluded xids are not ascending, each once, below the bound", e.at())
		}
		c := &cut{e, make([]bool, len(j.all)), 0, core.None}
		for i, t := range j.all {
			if t.x >= e.next && t.began.ret < e.call {
				return fmt.Sprintf("%s: the bound is not above %s, which was handed out before", e.at(), name(t.x))
			}
			c.has[i] = t.x < e.next && !e.set.Has(t.x)
		}
		j.cuts = append(j.cuts, c)
	}
	return ""
}

func (j *judge) cutsAndFinishes() string {
	for _, c := range j.cuts {
		for i, t := range j.all {
			x := t.x
			switch has := c.has[i]; {
			case has && !t.committed():
				return fmt.Sprintf("%s includes %s, which never committed", c.e.at(), name(x))
			case has && t.endCall() > c.e.ret:
				return fmt.Sprintf("%s includes %s, whose commit was called later: %s", c.e.at(), name(x), t.ended.at())
			case !has && x != c.self && t.committed() && t.endRet() < c.e.call:
				return fmt.Sprintf("%s does not include %s, whose commit had returned before: %s", c.e.at(), name(x), t.ended.at())
			}
		}
	}
	for e := range j.each(grouped) {
		for _, c := range j.cuts {
			if !e.ok || slices.Contains(e.xs, c.self) {
				continue
			}
			for _, x := range e.xs[1:] {
				if c.has[j.txs[x].i] != c.has[j.txs[e.xs[0]].i] {
					return fmt.Sprintf("%s includes one of %s and %s, which committed at one instant: %s",
						c.e.at(), name(e.xs[0]), name(x), e.at())
				}
			}
		}
	}
	return ""
}

// chain: the cuts are the states of one sequence of commits, so of any two one
// contains the other, and one that was called after another returned contains
// it. From this follows that a snapshot that includes x includes whatever x's
// own snapshot did.
func (j *judge) chain() string {
	for _, c := range j.cuts {
		for _, yes := range c.has {
			if yes {
				c.size++
			}
		}
	}
	bySize := slices.SortedFunc(slices.Values(j.cuts), func(a, b *cut) int { return cmp.Compare(a.size, b.size) })
	for i := 1; i < len(bySize); i++ {
		a, b := bySize[i-1], bySize[i]
		x := slices.IndexFunc(j.all, func(t *tx) bool { return a.has[t.i] && !b.has[t.i] })
		if x < 0 {
			continue
		}
		y := slices.IndexFunc(j.all, func(t *tx) bool { return b.has[t.i] && !a.has[t.i] }) // b is as large
		return fmt.Sprintf("a long fork: %s includes %s and not %s, %s the other way round",
			a.e.at(), name(j.all[x].x), name(j.all[y].x), b.e.at())
	}
	for _, a := range j.cuts {
		for _, b := range j.cuts {
			if a.e.ret < b.e.call && a.size > b.size {
				return fmt.Sprintf("%s is later than %s, and includes less", b.e.at(), a.e.at())
			}
		}
	}
	return ""
}

func (j *judge) inProgress() string {
	ordered := j.h.m.Ordered()
	for _, c := range j.cuts {
		if c.e.kind != snapped && c.e.kind != retained {
			continue
		}
		set, err := c.e.snap.InProgress()
		if errors.Is(err, core.ErrTooOld) {
			continue
		}
		if err != nil {
			return fmt.Sprintf("%s: its InProgress answers %q", c.e.at(), err)
		}
		bound := c.e.snap.Bound()
		for i, t := range j.all {
			x, has := t.x, set.Has(t.x)
			switch {
			case t.began.ret < c.e.call && x >= bound:
				return fmt.Sprintf("%s has bound %s, but %s was handed out before", c.e.at(), name(bound), name(x))
			case ordered && t.began.kind == beginning && t.began.call > c.e.ret && x < bound:
				return fmt.Sprintf("%s has bound %s, but %s was handed out later", c.e.at(), name(bound), name(x))
			case has && c.has[i]:
				return fmt.Sprintf("%s includes %s and calls it in progress", c.e.at(), name(x))
			case has && t.endRet() < c.e.call:
				return fmt.Sprintf("%s calls %s in progress, which had finished before: %s", c.e.at(), name(x), t.ended.at())
			case has && ordered && t.began.call > c.e.ret:
				return fmt.Sprintf("%s calls %s in progress, which began later: %s", c.e.at(), name(x), t.began.at())
			case !has && !c.has[i] && t.began.ret < c.e.call && t.endCall() > c.e.ret:
				return fmt.Sprintf("%s does not call %s in progress, which was active all the while", c.e.at(), name(x))
			}
		}
	}
	return ""
}

func (j *judge) statuses() string {
	for e := range j.each(asked) {
		t := j.txs[e.x]
		if t == nil {
			continue
		}
		wrong := false
		switch e.status {
		case core.Active:
			wrong = t.endRet() < e.call || t.began.call > e.ret
			for _, c := range j.cuts {
				if c.has[t.i] && c.e.ret < e.call {
					return fmt.Sprintf("%s, but before it %s includes it", e.at(), c.e.at())
				}
			}
		case core.Committed:
			wrong = !t.committed() || t.endCall() > e.ret
			for _, c := range j.cuts {
				if !c.has[t.i] && c.self != e.x && c.e.call > e.ret {
					return fmt.Sprintf("%s, but after it %s does not include it", e.at(), c.e.at())
				}
			}
		case core.Aborted:
			wrong = !t.aborted || t.endCall() > e.ret
		default:
			wrong = t.began.ret < e.call
		}
		if wrong {
			return fmt.Sprintf("%s was true at no instant of the call: it began with %s and ended with %v", e.at(), t.began.at(), t.ended)
		}
	}
	return ""
}

func (j *judge) oldestActives() string {
	for e := range j.each(oldest) {
		for _, t := range j.all {
			x := t.x
			if (!e.ok || x < e.x) && t.began.ret < e.call && t.endCall() > e.ret {
				return fmt.Sprintf("%s, but %s was active all the while", e.at(), name(x))
			}
		}
		t := j.txs[e.x]
		if !e.ok || t == nil {
			continue
		}
		if t.endRet() < e.call || t.began.call > e.ret {
			return fmt.Sprintf("%s, which was active at no instant of the call", e.at())
		}
		for _, c := range j.cuts {
			if c.has[t.i] && c.e.ret < e.call {
				return fmt.Sprintf("%s, but before it %s includes it", e.at(), c.e.at())
			}
		}
	}
	return ""
}

func (j *judge) peeks() string {
	for e := range j.each(peeked) {
		for _, t := range j.all {
			if t.x >= e.x && t.began.ret < e.call {
				return fmt.Sprintf("%s, but %s was handed out before", e.at(), name(t.x))
			}
		}
	}
	return ""
}

func (j *judge) horizons() string {
	hs := slices.Collect(j.each(horizon, projected))
	pinned := slices.Collect(j.each(pinning))
	for _, e := range hs {
		h := e.x
		for _, t := range j.all {
			x := t.x
			switch {
			case x < h && t.began.ret < e.call && t.endCall() > e.ret:
				return fmt.Sprintf("%s is above %s, which was active all the while", e.at(), name(x))
			case x < h && t.began.call > e.ret && t.began.kind == beginning && len(pinned) == 0:
				return fmt.Sprintf("%s is above %s, which began later: the horizon must move back, and nothing is pinned", e.at(), name(x))
			}
		}
		for _, p := range pinned {
			if p.ok && p.x < h && p.ret < e.call && (p.end == nil || p.end.call > e.ret) {
				return fmt.Sprintf("%s is above %s, which was pinned all the while", e.at(), name(p.x))
			}
		}
		for _, c := range j.cuts {
			if c.e.kind != retained || c.e.end != nil && c.e.end.call < e.ret {
				continue
			}
			for i, t := range j.all {
				if t.x >= h {
					break
				}
				// The guard hides x, so it was captured before x committed; so it
				// lived when the horizon was asked for, even if Retain returned later.
				if x := t.x; x != c.self && !c.has[i] && t.committed() && t.endRet() < e.call {
					return fmt.Sprintf("%s is above %s, which had committed before (%s) and which a live guard hides: %s",
						e.at(), name(x), t.ended.at(), c.e.at())
				}
			}
		}
	}
	if len(pinned) > 0 {
		return ""
	}
	for _, a := range hs {
		for _, b := range hs {
			if a.ret < b.call && a.x > b.x {
				return fmt.Sprintf("the horizon moved back, and nothing is pinned: %s, then %s", a.at(), b.at())
			}
		}
	}
	return ""
}
