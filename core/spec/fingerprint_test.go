package spec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"xidlab/core"
)

// A use is a manager with what its user holds.
type use struct {
	m      *Manager
	snaps  []core.Snapshot
	guards []core.Guard
	held   []bool // of guards
	past   string
}

// do makes the step that b stands for, and returns the answer.
func (u *use) do(b byte) string {
	x := core.Xid(b>>4&3) + 1
	pick := int(b >> 6)
	switch b & 15 {
	case 0:
		return fmt.Sprint(u.m.Begin())
	case 1:
		return fmt.Sprint(u.m.Commit(x))
	case 2:
		return fmt.Sprint(u.m.Rollback(x))
	case 3:
		u.snaps = append(u.snaps, u.m.Snapshot(x))
	case 4:
		g := u.m.Retain(core.None)
		u.hold(g, true)
	case 5:
		if len(u.guards) > 0 {
			i := pick % len(u.guards)
			u.held[i] = false
			return fmt.Sprint(u.guards[i].Release())
		}
	case 6:
		return fmt.Sprint(u.m.OldestRequired())
	case 7:
		return fmt.Sprint(u.m.PruneAborted(x + 1))
	case 8:
		return fmt.Sprint(u.m.Pin(x))
	case 9:
		u.m.Unpin(x)
	case 10:
		if u.m.PeekNext() < 6 {
			return fmt.Sprint(u.m.ObserveCommitted(x + 3))
		}
	case 11:
		return fmt.Sprint(u.m.AllocateCommitted())
	case 12:
		if len(u.snaps) > 0 {
			s := u.snaps[pick%len(u.snaps)]
			may := u.m.MayRefuse(s)
			g, err := u.m.RetainSnapshot(s)
			u.hold(g, err == nil)
			return fmt.Sprint(may, err)
		}
	case 13:
		return fmt.Sprint(u.m.OldestRequiredAs(x, true))
	case 14:
		return fmt.Sprint(u.m.CommitGroup(x, x+1))
	case 15:
		u.m.Reserve(x)
	}
	return ""
}

func (u *use) hold(g core.Guard, ok bool) {
	u.guards, u.snaps, u.held = append(u.guards, g), append(u.snaps, g.Snapshot), append(u.held, ok)
}

// look asks everything that changes nothing.
func (u *use) look() string {
	var b strings.Builder
	fmt.Fprint(&b, u.m.PeekNext(), " ")
	next, excluded := u.m.CheckpointExcluded()
	fmt.Fprint(&b, next, excluded, u.m.Required())
	for x := range core.Xid(9) {
		fmt.Fprint(&b, " ", u.m.Status(x), u.m.PinCount(x))
	}
	for _, s := range u.snaps {
		for x := range core.Xid(9) {
			b.WriteString(fmt.Sprint(s.Lookup(x)))
		}
		b.WriteString(fmt.Sprint(s.InProgress()))
		if v, _, _, _, _ := s.Parts(); v != nil {
			fmt.Fprint(&b, u.m.MayForget(s))
		}
	}
	return b.String()
}

func newUse(past []byte) *use {
	u := &use{m: New()}
	for _, b := range past {
		u.do(b)
	}
	u.past = fmt.Sprint(past)
	return u
}

// finale asks what cannot be asked without changing something.
func (u *use) finale() string {
	b := u.look()
	for _, s := range slices.Clone(u.snaps) {
		_, err := u.m.RetainSnapshot(s)
		b += fmt.Sprint(" ", err)
	}
	for h := range core.Xid(8) {
		b += fmt.Sprint(" ", u.m.OldestRequiredAs(h, true))
	}
	for _, g := range u.guards {
		g.Release()
		b += u.look()
	}
	return b + fmt.Sprint(u.m.PruneAborted(9), u.m.ObserveCommitted(9)) + u.look()
}

// TestFingerprint uses managers in many ways, and goes on in one way with those
// that have the same fingerprint and correspond in what is held: they answer
// alike.
func TestFingerprint(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pasts := map[string][][]byte{}
	random := func(n int) []byte {
		bs := make([]byte, n)
		for i := range bs {
			bs[i] = byte(rng.IntN(256))
		}
		return bs
	}
	for range 20_000 {
		// Beginnings that are often the same, in another order, but for one step.
		past := append([]byte{0, 0}, 0, 1|byte(rng.IntN(3))<<4, 2|byte(rng.IntN(3))<<4, 3, 4)
		past = append(past, random(rng.IntN(3))...)
		rng.Shuffle(len(past)-2, func(i, j int) { past[i+2], past[j+2] = past[j+2], past[i+2] })
		u := newUse(past)
		key := fmt.Sprint(u.held, len(u.snaps), string(u.m.Fingerprint(nil, u.snaps...)))
		if len(pasts[key]) < 8 && !slices.ContainsFunc(pasts[key], func(p []byte) bool { return slices.Equal(p, past) }) {
			pasts[key] = append(pasts[key], past)
		}
	}
	pairs := 0
	for _, same := range pasts {
		for _, other := range same[1:] {
			pairs++
			a, b := newUse(same[0]), newUse(other)
			future := random(rng.IntN(4))
			for _, o := range future {
				if x, y := a.do(o), b.do(o); x != y {
					t.Fatalf("uses %s and %s have the same fingerprint; then, with %v, they answer %q and %q", a.past, b.past, future, x, y)
				}
			}
			if x, y := a.finale(), b.finale(); x != y {
				t.Fatalf("uses %s and %s have the same fingerprint; after %v they differ:\n%s\n%s", a.past, b.past, future, x, y)
			}
		}
	}
	if pairs < 1000 {
		t.Errorf("only %d pairs have the same fingerprint: it tells apart what is the same", pairs)
	}
	t.Logf("%d fingerprints, %d pairs", len(pasts), pairs)
}

// TestFingerprintDiffers has a pair of uses for each part of a fingerprint, which
// differ in nothing else.
func TestFingerprintDiffers(t *testing.T) {
	begin := func(n int) func(*use) {
		return func(u *use) {
			for range n {
				u.m.Begin()
			}
		}
	}
	snap := func(u *use) { u.snaps = append(u.snaps, u.m.Snapshot(core.None)) }
	own := func(u *use) { u.snaps = append(u.snaps, u.m.Snapshot(1)) }
	retain := func(u *use) { u.hold(u.m.Retain(core.None), true) }
	release := func(i int) func(*use) { return func(u *use) { u.guards[i].Release() } }
	commit := func(x core.Xid) func(*use) { return func(u *use) { _ = u.m.Commit(x) } }
	rollback := func(x core.Xid) func(*use) { return func(u *use) { _ = u.m.Rollback(x) } }
	beginAs := func(x core.Xid) func(*use) { return func(u *use) { u.m.BeginAs(x) } }
	reserve := func(x core.Xid) func(*use) { return func(u *use) { u.m.Reserve(x) } }
	observe := func(x core.Xid) func(*use) { return func(u *use) { _ = u.m.ObserveCommitted(x) } }
	prune := func(x core.Xid) func(*use) { return func(u *use) { u.m.PruneAborted(x) } }
	pin := func(x core.Xid) func(*use) { return func(u *use) { _ = u.m.Pin(x) } }
	unpin := func(x core.Xid) func(*use) { return func(u *use) { u.m.Unpin(x) } }
	ask := func(u *use) { u.m.OldestRequired() }
	might := func(u *use) { u.m.MayRefuse(u.snaps[0]) }
	type uses = []func(*use)
	for _, c := range []struct {
		part string
		a, b uses
	}{
		{"the bound", uses{begin(1)}, uses{begin(1), reserve(4)}},
		{"the largest answer", uses{begin(1), snap, commit(1), might, pin(1), unpin(1)}, uses{begin(1), snap, commit(1), might, ask, pin(1), unpin(1), func(u *use) { u.m.floor = 0 }}},
		{"the last answer", uses{begin(2), commit(1), ask, pin(3), unpin(3)}, uses{begin(2), commit(1), ask, pin(1), unpin(1)}},
		{"the largest possible answer", uses{begin(1), snap, commit(1)}, uses{begin(1), snap, commit(1), might}},
		{"which xids", uses{beginAs(1), beginAs(3)}, uses{beginAs(2), beginAs(3)}},
		{"when one began", uses{reserve(4), beginAs(2), snap}, uses{reserve(4), snap, beginAs(2)}},
		{"when one ended", uses{begin(1), rollback(1), snap}, uses{begin(1), snap, rollback(1)}},
		{"how one ended", uses{begin(1), commit(1)}, uses{begin(1), rollback(1), prune(9)}},
		{"when one was forgotten", uses{begin(1), rollback(1), prune(9), snap}, uses{begin(1), rollback(1), snap, prune(9)}},
		{"where a gap begins", uses{reserve(3), observe(5)}, uses{observe(5)}},
		{"where a gap ends", uses{observe(3), reserve(6)}, uses{observe(5)}},
		{"pins", uses{pin(1)}, uses{pin(1), pin(1)}},
		{"which pins", uses{pin(1)}, uses{pin(2)}},
		{"which guards", uses{retain, begin(1), commit(1), retain, release(0)}, uses{retain, begin(1), commit(1), retain, release(1)}},
		{"the bound of a prune", uses{retain, prune(2)}, uses{retain, prune(3)}},
		{"what a prune covers", uses{begin(2), rollback(1), retain, prune(9), rollback(2)}, uses{begin(2), rollback(1), retain, rollback(2), prune(9)}},
		{"owners", uses{begin(1), snap}, uses{begin(1), own}},
		{"the bound of a snapshot", uses{snap, reserve(3)}, uses{reserve(3), snap}},
		{"the order of snapshots", uses{snap, begin(1), snap}, uses{snap, begin(1), snap, func(u *use) { slices.Reverse(u.snaps) }}},
	} {
		print := func(steps uses) string {
			u := &use{m: New()}
			for _, f := range steps {
				f(u)
			}
			return string(u.m.Fingerprint(nil, u.snaps...))
		}
		if print(c.a) == print(c.b) {
			t.Errorf("%s: two managers that differ in it have the same fingerprint", c.part)
		}
	}
}
