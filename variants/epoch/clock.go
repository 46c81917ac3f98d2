package epoch

import (
	"xidlab/internal/fault"
	"xidlab/internal/sync/atomic"
)

// A clock numbers finishes and snapshots, lazily: one word (t, bit), where the
// bit says that some snapshot may have been taken at t. Finishes that no snapshot
// separates share a number, which is a legal order. So a phase of nothing but
// finishes writes nothing here, nor does a phase of nothing but snapshots; only
// alternation pays.
//
// Where the two alternate, setting the bit and moving t on would be two writes of
// a line that everybody wants. So whoever moves t on mostly leaves the bit set,
// for the snapshot that is likely to come: then it only reads. One tick in
// eagerTicks leaves it clear, and if no snapshot comes, finishes cease to tick.
// That costs alternation one write in eagerTicks more than a fetch-add for every
// finish would, and what is not alternation nothing.
//
// It starts at 2, so that 0 and 1 are below every number ever drawn.
type clock struct{ word atomic.Uint64 }

const firstTick = 2

func (c *clock) init() { c.word.Store(firstTick << 1) }

// capture returns the number of a snapshot taken now.
func (c *clock) capture() uint64 {
	w := c.word.Load()
	if w&1 == 0 && fault.On != "epoch/snapshot-unmarked" {
		// I3: once the bit is set, by us or by somebody else, every later
		// draw is above t. The bit of t is never cleared, only t moves on.
		c.word.CompareAndSwap(w, w|1)
	}
	if fault.On == "epoch/capture-rereads" {
		w = c.word.Load()
	}
	return w >> 1
}

// draw returns a number for a finish: above that of every snapshot captured
// before, and reached by every snapshot captured from now on (I3).
func (c *clock) draw() uint64 {
	w := c.word.Load()
	if w&1 == 0 || fault.On == "epoch/draw-unseparated" {
		return w >> 1 // no snapshot has t yet; those to come include us
	}
	return c.tick(w)
}

// tick is the rest of draw, which loaded w. What it returns is right whether or
// not its compare-and-swap succeeds: if it fails, somebody else has moved the
// clock that far or beyond.
func (c *clock) tick(w uint64) uint64 {
	t := w>>1 + 1
	next := t << 1
	if t%eagerTicks != 0 {
		next |= 1
	}
	c.word.CompareAndSwap(w, next)
	return t
}

// now returns t: every snapshot captured from now on has at least this number.
func (c *clock) now() uint64 { return c.word.Load() >> 1 }

// present returns the largest number that any snapshot can have by now: what
// an answer about the present has to push. Plain t is wrong while the bit is
// clear: a snapshot at t may still come, and would say "not yet" without a push.
func (c *clock) present() uint64 {
	w := c.word.Load()
	if fault.On == "epoch/present-is-now" {
		return w >> 1
	}
	return w>>1 - 1 + w&1
}

// fence returns a number that separates: whatever was captured or drawn before
// has at most this number, whatever is captured or drawn after has more.
func (c *clock) fence() uint64 {
	t := c.capture()
	if fault.On != "epoch/fence-open" {
		c.word.CompareAndSwap(t<<1|1, (t+1)<<1)
	}
	return t
}
