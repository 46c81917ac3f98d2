package epoch

import (
	"xidlab/core"
	"xidlab/internal/fault"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

// The allocator hands out blocks of xids, and a processor takes its xids from a
// block of its own: the line that every Begin would write is then touched once
// in a block, and the words of a block's xids lie on lines that its processor
// already has. A block of one xid makes the manager Ordered.
//
// The words alone say who has what; a cursor only says where to look. Of a
// block's xids the first belongs to whoever allocates the block: it is active
// from then on, though its word may still be zero. Every other xid is reserved
// until its Begin has marked its word, or AllocateCommitted has decided it, or
// somebody who has to get past it has sealed it (see seal); all three are
// compare-and-swaps from the word, so exactly one of them happens (I11). A Begin
// whose xid is sealed leaves the rest of the block, most likely sealed as well, and
// allocates one: that first xid cannot be sealed, so walks and Begins do not chase
// each other through new blocks for ever.
//
// What is sealed, and what is left of a block that lost its place at a cursor,
// is never handed out. It comes to count as committed: nobody has it, so nobody
// can tell, and walks and the log's memory get past it.

// A cursor is where one processor, more or less, takes its next xid: a multiple
// of the block's size if it has to make a new block first.
type cursor struct {
	next atomic.Uint64
	_    [120]byte
}

// first reports whether x is the first xid of its block. (The block of None has
// one fewer.)
func (m *Manager) first(x core.Xid) bool { return uint64(x)&m.blockMask == 0 || x == 1 }

// idle reports whether nobody has x, whose word is w, so that a walk has to seal
// it before it gets past.
func (m *Manager) idle(x core.Xid, w word) bool {
	return w.tag() == reserved && (!m.first(x) || fault.On == "epoch/first-is-sealed")
}

// take returns an xid that nobody else takes, and its cell: reserved, unless it
// has been sealed meanwhile (then the cell may be nil), or the first of a block.
func (m *Manager) take() (core.Xid, *segment, *atomic.Uint64) {
	if m.blockMask == 0 {
		return m.newBlock(nil, 0)
	}
	c := &m.cursors[sync.Local(len(m.cursors))].next
	x := c.Load()
	if x&m.blockMask != 0 {
		if c.CompareAndSwap(x, x+1) {
			d := m.dir.Load()
			s := d.from(x>>d.shift - d.base)
			return core.Xid(x), s, s.cell(core.Xid(x), d.stride)
		}
	}
	return m.newBlock(c, x)
}

// leave gives up what follows x, which has been sealed, in its block.
func (m *Manager) leave(x core.Xid) {
	if len(m.cursors) > 0 {
		c := &m.cursors[sync.Local(len(m.cursors))].next
		c.CompareAndSwap(uint64(x)+1, (uint64(x)|m.blockMask)+1) // another cursor is left as it is
	}
}

// newBlock allocates a block, takes its first xid, and puts the rest at the
// cursor c, which was at old; if it is there no more the rest is left to be
// sealed.
func (m *Manager) newBlock(c *atomic.Uint64, old uint64) (core.Xid, *segment, *atomic.Uint64) {
	start := core.Xid((m.next.Add(m.blockMask+1) - m.blockMask - 1) &^ parity)
	x := max(start, 1)
	if fault.On == "epoch/cursor-before-segment" && c != nil {
		c.CompareAndSwap(old, uint64(x)+1)
	}
	d := m.dir.Load()
	if !d.covers(x) || m.middle(start) {
		d = m.roomFor(start)
	}
	if c != nil && !c.CompareAndSwap(old, uint64(x)+1) { // I4: after the segment
		m.count(blocksLost)
	}
	if fault.On == "epoch/allocation-clears" {
		d.segment(x).cell(x, d.stride).Store(0)
	}
	s := d.from(uint64(x)>>d.shift - d.base)
	return x, s, s.cell(x, d.stride)
}

// roomFor is the rare part of newBlock.
func (m *Manager) roomFor(start core.Xid) *directory {
	if start > core.MaxXid {
		// next stays above MaxXid and has 2^63 - 2^60 xids to go.
		panic(core.ErrExhausted)
	}
	m.extend(start)
	// The directory of before the trim: it may drop no segment of an xid that
	// is in progress, but the reader need not think about it.
	d := m.dir.Load()
	if m.middle(start) {
		m.collect()
	}
	return d
}

// mark makes x, whose word was not fresh any more, begun. It reports false if x
// has been sealed.
func (m *Manager) mark(x core.Xid) bool {
	if m.first(x) || fault.On == "epoch/begin-unmarked" {
		// Of a block's first xid the word need not say it: somebody has pushed,
		// or guessed x and finished it.
		return true
	}
	for _, c, w := m.load(x); w.tag() == reserved; _, c, w = m.load(x) {
		if c.CompareAndSwap(uint64(w), uint64(w.begun())) { // I2: with the bound
			return true
		}
	}
	return false
}

// seal makes sure that the xid whose word w, loaded from c, is reserved is never
// handed out. It counts as committed from then on, since a draw is what a
// snapshot is compared with; but it holds no horizon back. If w has changed it
// does nothing.
func (m *Manager) seal(c *atomic.Uint64, w word) {
	n := m.clock.draw() // after w was loaded (I1)
	if fault.On == "epoch/seals-at-nothing" {
		n = 0
	}
	if fault.On == "epoch/seal-overwrites" {
		c.Store(uint64(newWord(sealed, n)))
		return
	}
	if c.CompareAndSwap(uint64(w), uint64(newWord(sealed, n))) {
		m.count(seals)
	}
}
