package epoch

import (
	"slices"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// A group commits its members by one compare-and-swap, that of its own word. The
// words of the members are first made links to it, ascending; then a number is
// drawn, and the group's word is decided as a transaction's is (I1). If a member
// turns out to have finished, the group is aborted instead, and the linked
// members are in progress again. This is the multi-word compare-and-swap of
// Harris, Fraser and Pratt (DISC 2002), but for how a late helper is kept out.
//
// An undecided group stands for each of its members: a reader pushes on its word,
// and whoever has to finish a member helps the group to its end first. So nobody
// waits for the thread that called CommitGroup, nor keeps anything for its sake: a
// link to a decided group is replaced by whoever meets it.
//
// # Why it is right
//
// The instant of the commit is the last draw, as it is of a lone one. All members
// are linked by then: what readers pushed on the members' own words was captured
// before the draw, and a push on the group's word between the loading of it and
// its compare-and-swap makes that fail, and draw again. A link stays until the
// group is decided, so no member can finish alone in between.
//
// A refused group gives its members back with a bound that was captured after the
// links, and after the clock had moved beyond every bound that they had, or that
// was pushed on the group. So bounds do not fall on the way (I2), and no word is
// what it was before its link (I12). That keeps out a helper who comes late with a
// link. He read the member's word before he saw the group undecided, and hence
// before its end. By then all members below the one that had finished were linked,
// so the word that he expects is gone for ever; and nobody links one above, since
// that takes a link of the one that had finished. Of a group that committed all
// members are decided.
//
// Helping goes upwards: whoever meets another group's link at a member x helps
// that group, which has linked all its members up to x. So groups that overlap do
// not help each other in circles, in whatever order they were given.
type group struct {
	word    atomic.Uint64 // inProgress, committed, or aborted: then its number is the bound of what is given back
	id      uint64        // what the links to it have in the place of a number
	members []core.Xid    // ascending
	few     [5]core.Xid   // room for the members, if they are few
}

// newGroup returns an undecided group of the members xs, which it copies.
func newGroup(xs []core.Xid) *group {
	g := new(group)
	g.members = append(g.few[:0], xs...)
	if fault.On != "epoch/group-as-given" {
		slices.Sort(g.members)
	}
	g.word.Store(uint64(newWord(inProgress, 0)))
	return g
}

func (g *group) load() word { return word(g.word.Load()) }

// CommitGroup allocates one object, two if there are more than five members. It
// costs each member two compare-and-swaps on its word, and the group one on a word
// of its own. Lock-free: a retry is paid for by a reader's push, or by the end of
// another group.
func (m *Manager) CommitGroup(xs ...core.Xid) error {
	const op = "group commit"
	switch len(xs) {
	case 0:
		return nil
	case 1:
		return m.decide(op, xs[0], committed)
	}
	g := newGroup(xs)
	for i, x := range g.members {
		if err := m.refuse(op, x); err != nil {
			return err
		}
		if i > 0 && x == g.members[i-1] {
			if s := m.Status(x); s != core.Active {
				return core.FinishError(op, x, s)
			}
			return &core.XidError{Op: op, Xid: x, Status: core.Active, Err: core.ErrDuplicate}
		}
	}
	place := m.groups.enter(g)
	outcome := m.settle(g)
	if fault.On == "epoch/group-leaves-early" {
		place.Store(nil)
	}
	for _, x := range g.members {
		if _, c, w := m.load(x); w == g.link() {
			c.CompareAndSwap(uint64(w), uint64(memberOf(outcome)))
		}
	}
	place.Store(nil) // nothing is linked to g any more, nor will it be (I12)
	if outcome.tag() == committed {
		return nil
	}
	for _, x := range g.members {
		if s := m.Status(x); s != core.Active {
			return core.FinishError(op, x, s)
		}
	}
	panic("epoch: a group was aborted, and all its members are active")
}

// refuse returns why op cannot finish x, or nil if x is active and has a word.
func (m *Manager) refuse(op string, x core.Xid) (err error) {
	_, c, w := m.load(x)
	if w.tag() == reserved {
		if _, c, w, err = m.unmarked(op, x); err != nil {
			return err
		}
	}
	if c == nil || !w.unfinished() {
		return core.FinishError(op, x, m.Status(x))
	}
	return nil
}

// link is what the words of g's members are while it is undecided, and until
// somebody puts memberOf in its place.
func (g *group) link() word { return newWord(link, g.id) }

// memberOf returns the word of a member whose group has that outcome.
func memberOf(outcome word) word {
	if outcome.tag() == committed {
		return outcome
	}
	if fault.On == "epoch/group-lowers" {
		return newWord(inProgress, 0)
	}
	return newWord(inProgress, outcome.number())
}

// settle brings g to its end, whoever has begun it, and returns its outcome.
func (m *Manager) settle(g *group) word {
	if fault.On == "epoch/group-draws-early" {
		n := m.clock.draw()
		for _, x := range g.members {
			m.linkTo(g, x)
		}
		g.word.CompareAndSwap(uint64(g.load()), uint64(newWord(committed, n)))
	}
	for _, x := range g.members {
		if !m.linkTo(g, x) {
			m.abort(g)
			return g.load()
		}
	}
	m.finish(nil, &g.word, g.load(), committed)
	return g.load()
}

// linkTo makes the word of x, a member of g, a link to g. It reports false if x has
// finished, or g is decided.
func (m *Manager) linkTo(g *group, x core.Xid) bool {
	for {
		_, c, w := m.load(x)
		if w == g.link() {
			return true
		}
		if !w.unfinished() {
			return false
		}
		// After w was loaded: if g is undecided still, w is older than its end.
		if fault.On != "epoch/link-unchecked" && !g.load().unfinished() {
			return false
		}
		if w.tag() == link && fault.On != "epoch/link-overwrites" {
			m.help(c, w)
			continue
		}
		if c.CompareAndSwap(uint64(w), uint64(g.link())) {
			return true
		}
	}
}

// abort aborts g, unless it is decided. The bound is that of the members which it
// gives back: not below a number drawn now, and so above all that they had, and
// below whatever is drawn after the capture (I12).
func (m *Manager) abort(g *group) {
	for w := g.load(); w.unfinished(); w = g.load() {
		bound := w.number()
		if fault.On != "epoch/group-gives-back-same" {
			m.clock.draw()
			bound = m.clock.capture()
		}
		if invariants.Enabled && bound <= w.number() {
			panic("epoch: a group gives its members back with a bound that they had")
		}
		g.word.CompareAndSwap(uint64(w), uint64(newWord(aborted, bound)))
	}
}

// help brings the group to its end that w, a link loaded from c, leads to, and puts
// an end to the link.
func (m *Manager) help(c *atomic.Uint64, w word) {
	g := m.groups.find(w)
	if g == nil {
		return // w has been replaced
	}
	for fault.On == "epoch/finish-awaits-group" && g.load().unfinished() {
		sync.Yield()
	}
	if fault.On == "epoch/finish-commits-group" {
		m.finish(nil, &g.word, g.load(), committed)
	}
	m.count(groupHelps)
	m.settle(g)
	m.resolve(c, w)
}

// outcome returns the word of c as of now, and makes sure that it is no link to a
// decided group: a walk must not stop because the committer of a group has.
func (m *Manager) outcome(c *atomic.Uint64) word {
	w := word(c.Load())
	if w&tagMask == link {
		return m.resolve(c, w)
	}
	return w
}

// resolve replaces w, a link loaded from c, if its group is decided. It returns the
// word of c as of now.
func (m *Manager) resolve(c *atomic.Uint64, w word) word {
	if g := m.groups.find(w); g != nil {
		outcome := g.load()
		if outcome.unfinished() {
			return w
		}
		if fault.On == "epoch/resolve-overwrites" {
			c.Store(uint64(memberOf(outcome)))
		}
		c.CompareAndSwap(uint64(w), uint64(memberOf(outcome)))
	}
	return word(c.Load())
}

// pushLink is push for w, a link: on its group, if that is undecided. If not, w is
// replaced, and the answer is that it has changed.
func (m *Manager) pushLink(c *atomic.Uint64, w word, n uint64) bool {
	g := m.groups.find(w)
	if g == nil {
		return false
	}
	for fault.On == "epoch/reader-awaits-group" && g.load().unfinished() {
		sync.Yield()
	}
	if v := g.load(); v.unfinished() {
		return fault.On == "epoch/link-unpushed" || m.raise(&g.word, v, n)
	}
	m.resolve(c, w)
	return false
}

// groupPlaces is where the groups are found that links may lead to: a list of
// chunks, each of twice the size of the one before, that only grows.
type groupPlaces struct {
	places []groupPlace
	next   atomic.Pointer[groupPlaces]
}

// A groupPlace is used by one group at a time, and gives each an id of its own, for
// ever: a link that comes back is not the same link. Once it runs out of ids it is
// not used any more.
type groupPlace struct {
	group atomic.Pointer[group]
	uses  atomic.Uint64
	_     [112]byte
}

const (
	placeBits = 24 // of an id; the rest says which use it is
	maxUses   = 1<<(64-tagBits-placeBits) - 1
)

func (p *groupPlaces) init(n int) { p.places = make([]groupPlace, n) }

// enter makes g one that find finds, until nil is stored in the pointer that it
// returns.
func (p *groupPlaces) enter(g *group) *atomic.Pointer[group] {
	for first := uint64(0); ; {
		start := sync.Local(len(p.places))
		for i := range p.places {
			at := (start + i) & (len(p.places) - 1)
			place := &p.places[at]
			if place.group.Load() != nil {
				continue
			}
			use := place.uses.Add(1)
			if fault.On == "epoch/group-id-again" {
				use = 1
			}
			g.id = use<<placeBits | first + uint64(at)
			if fault.On == "epoch/group-place-overwritten" {
				place.group.Store(g)
				return &place.group
			}
			if use <= maxUses && place.group.CompareAndSwap(nil, g) {
				return &place.group
			}
		}
		next := p.next.Load()
		if next == nil {
			next = new(groupPlaces)
			next.init(2 * len(p.places))
			if !p.next.CompareAndSwap(nil, next) {
				next = p.next.Load()
			}
		}
		first += uint64(len(p.places))
		p = next
	}
}

// find returns the group that w, a link, leads to; nil if it is over, and then all
// links to it have been replaced.
func (p *groupPlaces) find(w word) *group {
	at := w.number() & (1<<placeBits - 1)
	for ; at >= uint64(len(p.places)); p = p.next.Load() {
		at -= uint64(len(p.places))
	}
	if g := p.places[at].group.Load(); g != nil && g.id == w.number() {
		return g
	}
	return nil
}
