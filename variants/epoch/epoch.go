package epoch

import (
	"cmp"
	"math/bits"
	"runtime"

	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/invariants"
	"xidlab/internal/ledger"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// A Manager is a lock-free snapshot manager.
//
// # Why it is linearizable
//
// The instant of a commit is its last draw. A snapshot at S answers "included"
// from a word committed at S or less, and "not included" from a word committed
// above S, or from one in progress whose bound it has first raised to S. That
// answer is a function of the final number alone: a commit's compare-and-swap
// names the bound it saw, so every push that precedes it precedes its draw, and
// its number exceeds the number of everybody who has answered "not yet" (I1).
// Draws are monotone in real time, and a snapshot captured after a Commit
// returned has reached its number (I3). Answers about the present (Status,
// OldestActive) push the largest number that any snapshot can have by now.
//
// Wrong versions of this are easy to write; the ones that were tried on models
// are listed in docs/epoch.md, each with what goes wrong.
type Manager struct {
	// Read by everybody, written once in a segment.
	dir       atomic.Pointer[directory]
	shift     uint
	stride    uint64 // of consecutive xids' words, see the constant
	blockMask uint64 // of an xid's place in its block
	cursors   []cursor
	newest    int         // segments that a directory keeps in a slice, at most
	recycle   bool        // arrays are used again
	tally     *sync.Tally // see Counters
	_         [48]byte

	// next is the allocator's bound, the line that every Begin writes; its
	// highest bit is the parity of jumps (see gap).
	next atomic.Uint64
	_    [120]byte

	// clock is written when commits and snapshots alternate. It has a line of
	// its own: a phase of begins and commits only reads it.
	clock clock
	_     [120]byte

	oldest    atomic.Uint64           // everything below has finished (OldestActive)
	horizon   atomic.Pointer[horizon] // what collectors were told
	collapsed atomic.Uint64           // the largest number that is known no more of what has collapsed
	spares    atomic.Pointer[spare]   // arrays that wait for their next life
	minPin    atomic.Uint64           // the smallest pin, or noPin
	prune     atomic.Pointer[prune]   // the current or last prune
	forgot    atomic.Uint64           // the number at which aborts were last forgotten
	lost      atomic.Uint64           // up to here the numbers of forgotten aborts are lost
	waiting   atomic.Bool             // there are deferred prunes
	guards    guards
	groups    groupPlaces

	turn   sync.Mutex        // of the rare operations
	upkeep sync.Cell[upkeep] // belongs to the holder of the turn
}

// An upkeep is what the rare operations hand on to each other.
type upkeep struct {
	pins     ledger.Pins
	deferred []deferral
	round    uint64           // the older segment that trim looks at next
	gapsLeft uint64           // by the last trim that was for their sake
	cells    []*atomic.Uint64 // room for those of a roundUp
}

var (
	_ core.Manager            = (*Manager)(nil)
	_ core.CommittedAllocator = (*Manager)(nil)
	_ core.Retainer           = (*Manager)(nil)
	_ core.Collapser          = (*Manager)(nil)
	_ core.Pinner             = (*Manager)(nil)
	_ core.Pruner             = (*Manager)(nil)
	_ core.Recoverer          = (*Manager)(nil)
	_ core.Checkpointer       = (*Manager)(nil)
	_ core.KeyReserver        = (*Manager)(nil)
	_ core.GroupCommitter     = (*Manager)(nil)
)

// Options are the sizes of a Manager. The zero Options are those of New.
type Options struct {
	// Segment is the number of words that the log grows by: a power of two,
	// or rounded up to one. A large segment is made seldom, and kept as a
	// whole while any of its xids is needed. Default 4096 (32 KiB).
	Segment int

	// Block is the number of xids that a processor takes at a time, a power of
	// two or rounded up to one, at most half a segment. Blocks of 1 make the
	// manager Ordered: then all processors share one counter. Default 64.
	Block int

	// Cursors is the number of blocks that are in use at a time, a power of
	// two or rounded up to one. Default: four times GOMAXPROCS.
	Cursors int

	// Fan is the fan-out of the tree in which older segments are found; twice
	// as many of the newest are found in one step. A power of two, or rounded up
	// to one, and to 2. Default 64.
	Fan int

	// Reclaim says what becomes of memory that is needed no more.
	Reclaim Reclaim
}

// New returns a manager that has seen no transactions, of the usual sizes.
func New() *Manager { return With(Options{}) }

// With returns a manager that has seen no transactions. With small sizes what is
// rare becomes common, which is what tests want.
func With(o Options) *Manager {
	block := powerOfTwo(cmp.Or(o.Block, 64))
	m := &Manager{blockMask: uint64(block - 1), tally: new(sync.Tally)}
	m.shift = uint(bits.TrailingZeros(uint(powerOfTwo(max(cmp.Or(o.Segment, 4096), 2*block)))))
	m.stride = 1
	if block == 1 {
		m.stride = stride
		m.next.Store(1)
	} else {
		m.cursors = make([]cursor, powerOfTwo(cmp.Or(o.Cursors, 4*runtime.GOMAXPROCS(0))))
	}
	m.clock.init()
	m.oldest.Store(1)
	m.minPin.Store(noPin)
	m.horizon.Store(&horizon{xid: 1})
	m.guards.init(m)
	m.groups.init(slotsPerChunk / 2)
	fan := powerOfTwo(max(cmp.Or(o.Fan, 64), 2))
	m.newest, m.recycle = 2*fan, o.Reclaim == Recycle
	m.dir.Store(&directory{m: m, settled: 1, shift: m.shift, stride: m.stride, older: trie{bits: uint(bits.TrailingZeros(uint(fan)))}})
	m.extend(0)
	m.dir.Load().segment(core.None).cell(core.None, m.stride).Store(uint64(newWord(committed, 0))) // finished, for misuse
	return m
}

// powerOfTwo returns the first one from n on.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// Ordered is true of blocks of one xid: then all come from one fetch-add.
func (m *Manager) Ordered() bool { return m.blockMask == 0 }

// Collapses is true: RetainSnapshot refuses a snapshot once a segment has
// collapsed in which something finished after it. Asked about, it is as old as
// Reclaim lets it get.
func (m *Manager) Collapses() bool { return true }

// PeekNext is one load.
func (m *Manager) PeekNext() core.Xid {
	return max(min(core.Xid(m.next.Load()&^parity), core.MaxXid+1), 1)
}

// Begin is two compare-and-swaps, on a cursor and on the word, both most likely
// on the processor's own lines; once in a block also a fetch-add on the
// allocator's, and once in a segment it makes the next one.
func (m *Manager) Begin() core.Xid {
	for {
		x, s, c := m.take()
		if c != nil && fault.On != "epoch/begin-unmarked" && c.CompareAndSwap(uint64(s.fresh), uint64(s.fresh.begun())) || m.mark(x) {
			return x
		}
		m.leave(x)
	}
}

// AllocateCommitted is a Begin and a Commit in one compare-and-swap of the word.
// It tries again if its xid was sealed, or guessed and finished by somebody else.
func (m *Manager) AllocateCommitted() core.Xid {
	for {
		x, s, c := m.take()
		// I1: nobody has pushed if the word is fresh still, at the draw or after.
		if c != nil && (!fault.Any() && c.CompareAndSwap(uint64(s.fresh), uint64(newWord(committed, above(s.fresh, m.clock.draw())))) ||
			m.finish(s, c, word(c.Load()), committed)) {
			return x
		}
		m.leave(x)
	}
}

// Commit is one compare-and-swap on the word, and one on the clock if some
// snapshot was taken since it last moved. Lock-free: each retry is paid for by
// one reader's push.
func (m *Manager) Commit(x core.Xid) error { return m.decide("commit", x, committed) }

// Rollback costs as much as Commit: it draws a number too, or the set of
// transactions in progress at an instant could not be told afterwards.
func (m *Manager) Rollback(x core.Xid) error { return m.decide("rollback", x, aborted) }

// decide is what finish does, in one piece, for what is usual.
func (m *Manager) decide(op string, x core.Xid, tag int) error {
	d := m.dir.Load()
	s := d.from(uint64(x)>>d.shift - d.base)
	if c := s.cell(x, d.stride); c != nil && !fault.Any() {
		w := word(c.Load())
		if w.tag() == inProgress && !s.reused() && c.CompareAndSwap(uint64(w), uint64(newWord(tag, above(w, m.clock.draw())))) {
			return nil // I1: w was loaded before the draw
		}
	}
	return m.decideRare(op, x, tag)
}

func (m *Manager) decideRare(op string, x core.Xid, tag int) error {
	s, c, w := m.dir.Load().load(x)
	if w.tag() == reserved {
		var err error
		if s, c, w, err = m.unmarked(op, x); err != nil {
			return err
		}
	}
	if c == nil || !m.finish(s, c, w, tag) {
		return core.FinishError(op, x, m.Status(x))
	}
	return nil
}

// unmarked looks x up again, which was found reserved: it was never handed out,
// which is an error, or its Begin has not come to its mark. If the word that it
// returns is reserved still, x is active.
func (m *Manager) unmarked(op string, x core.Xid) (*segment, *atomic.Uint64, word, error) {
	for {
		s, c, w, allocated := m.current(x)
		if !allocated {
			return nil, nil, 0, core.FinishError(op, x, core.Unallocated)
		}
		if w.tag() != reserved {
			return s, c, w, nil
		}
		if !m.first(x) && fault.On != "epoch/reserved-is-finished" {
			if is := m.Status(x); is != core.Active {
				return nil, nil, 0, core.FinishError(op, x, is)
			}
			continue
		}
		for fault.On == "epoch/finish-awaits-begin" && c == nil && !m.dir.Load().covers(x) {
			sync.Yield()
		}
		if c == nil && fault.On != "epoch/guess-refused" {
			m.extend(x) // do for that Begin what it was about to do
			s, c, w = m.load(x)
		}
		return s, c, w, nil
	}
}

// current looks x up as of now. The bound comes first: a gap is in the
// directory before the allocator jumps (I9), so an x that is allocated is found
// in its gap if it lies in one.
func (m *Manager) current(x core.Xid) (s *segment, c *atomic.Uint64, w word, allocated bool) {
	allocated = x < m.PeekNext()
	s, c, w = m.load(x)
	if fault.On == "epoch/bound-after-word" {
		allocated = x < m.PeekNext()
	}
	return s, c, w, allocated
}

// finish moves the cell, in s if in any, from w, which must have been loaded from it, to a
// decided word with a number drawn after that (I1). It reports whether it was
// this call that decided it.
func (m *Manager) finish(s *segment, c *atomic.Uint64, w word, tag int) bool {
	for w.unfinished() {
		if s.reused() && fault.On != "epoch/finish-trusts-reused" {
			return false // w may be another xid's; x has been decided
		}
		if w.tag() == link && fault.On != "epoch/finish-leaves-group" {
			m.help(c, w)
			w = word(c.Load())
			continue
		}
		var n uint64
		if fault.On == "epoch/publishes-then-ticks" {
			n = m.clock.present() + 1
		} else {
			n = m.clock.draw() // after w was loaded: every push that w shows is below n
		}
		above(w, n)
		if fault.On == "epoch/draws-before-load" && word(c.Load()).unfinished() {
			w = word(c.Load())
		}
		if fault.On == "epoch/rollback-unnumbered" && tag == aborted {
			n = 0
		}
		if fault.On == "epoch/finish-overwrites" {
			c.Store(uint64(newWord(tag, n)))
			return true
		}
		if c.CompareAndSwap(uint64(w), uint64(newWord(tag, n))) {
			if fault.On == "epoch/publishes-then-ticks" {
				m.clock.fence()
			}
			return true
		}
		if w = word(c.Load()); w.unfinished() {
			m.count(finishRetries)
		}
		if fault.On == "epoch/retry-keeps-number" && w.unfinished() && c.CompareAndSwap(uint64(w), uint64(newWord(tag, n))) {
			return true
		}
	}
	return false
}

// above returns n, a number that was drawn after w was loaded (I1).
func above(w word, n uint64) uint64 {
	if invariants.Enabled && n <= w.number() {
		panic("epoch: drew a number at or below a reader's bound")
	}
	return n
}

// raise makes sure that what w shows in progress finishes above n. It reports
// false if the cell has changed since w was loaded from it.
func (m *Manager) raise(c *atomic.Uint64, w word, n uint64) bool {
	return w.number() >= n && w&tagMask != link && fault.On != "epoch/push-lowers" || // I2: it only grows
		m.push(c, w, n)
}

// push is the rest of raise. It is not inlined, so that raise is: most readers are
// not the first.
func (m *Manager) push(c *atomic.Uint64, w word, n uint64) bool {
	if w.tag() == link {
		return m.pushLink(c, w, n)
	}
	raised := newWord(w.tag(), n)
	if fault.On == "epoch/push-overwrites" {
		c.Store(uint64(raised))
		return true
	}
	ok := c.CompareAndSwap(uint64(w), uint64(raised))
	if !ok || pushCounts(n) {
		m.countPush(ok)
	}
	return ok
}

// Status is a load for a decided xid. For an active one it is lock-free: a
// retry means that the transaction finished or another reader pushed.
func (m *Manager) Status(x core.Xid) core.Status {
	if x == core.None {
		return core.Committed
	}
	s, c, w := m.load(x)
	for {
		switch w.tag() {
		case committed, forgotten, sealed:
			return core.Committed
		case aborted:
			return core.Aborted
		case condemned:
			// Undecided, the prune is pushed as by a snapshot: what rolls back
			// before this answer, and is seen to, has a number that it reaches.
			// Decided, it has happened, whether or not a snapshot has its number.
			var at uint64
			if fault.On == "epoch/status-pushes-present" {
				at = m.clock.present()
			} else {
				at = m.clock.capture()
			}
			if number, ok := m.sentence(x, s, c, w, at); ok {
				if number != never {
					return core.Committed
				}
				return core.Aborted
			}
		default:
			var allocated bool
			if s, c, w, allocated = m.current(x); !allocated {
				return core.Unallocated
			}
			if !w.unfinished() {
				continue
			}
			// The number is captured after w was loaded. If w's bound has
			// reached it, no snapshot that would include x existed then.
			if c == nil || fault.On == "epoch/status-unpushed" || m.raise(c, w, m.clock.present()) {
				if w.tag() == reserved && !m.first(x) && fault.On != "epoch/reserved-is-active" {
					return core.Reserved
				}
				return core.Active
			}
		}
		s, c, w = m.load(x)
	}
}

// ReservesUniqueKey reads the deleter before and after the creator. A deleter
// that frees the key, or a creator that aborted, is an answer by itself, of the
// instant when it was read. A deleter that does not free the key may come to
// (it commits; a prune forgets it), and then it stays so: if it does not at the
// second reading, it did not when the creator was read.
func (m *Manager) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	return !m.deletes(xmax, own) && m.Status(xmin) != core.Aborted &&
		(fault.On == "epoch/key-reads-once" || !m.deletes(xmax, own))
}

func (m *Manager) deletes(xmax core.Xid, own core.XidSet) bool {
	if xmax == core.None {
		return false
	}
	s := m.Status(xmax)
	return s == core.Committed || s != core.Aborted && own.Has(xmax)
}
