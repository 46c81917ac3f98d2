package ledger

import (
	"slices"

	"xidlab/core"
)

// Pins counts references to Xids, ordered by Xid: the smallest is first. There
// are few; an insertion moves those above it. The zero value is empty.
type Pins struct {
	xids   []core.Xid
	counts []int
}

// Add pins x, as [core.Pinner] says of Pin: O(log n), and a memmove of the pins
// above x.
func (p *Pins) Add(x core.Xid) error {
	switch {
	case x > core.MaxXid:
		return &core.XidError{Op: "pin", Xid: x, Status: core.Unallocated, Err: core.ErrXidRange}
	case x == core.None:
		return nil
	}
	i, ok := slices.BinarySearch(p.xids, x)
	if !ok {
		p.xids = slices.Insert(p.xids, i, x)
		p.counts = slices.Insert(p.counts, i, 0)
	}
	p.counts[i]++
	return nil
}

// Remove takes one reference to x away, if there is one.
func (p *Pins) Remove(x core.Xid) {
	i, ok := slices.BinarySearch(p.xids, x)
	if !ok {
		return
	}
	if p.counts[i]--; p.counts[i] == 0 {
		p.xids = slices.Delete(p.xids, i, i+1)
		p.counts = slices.Delete(p.counts, i, i+1)
	}
}

// Count returns how many references to x there are. It only reads.
func (p *Pins) Count(x core.Xid) int {
	if i, ok := slices.BinarySearch(p.xids, x); ok {
		return p.counts[i]
	}
	return 0
}

// Oldest returns the smallest pinned Xid, if there is one. It only reads.
func (p *Pins) Oldest() (core.Xid, bool) {
	if len(p.xids) == 0 {
		return core.None, false
	}
	return p.xids[0], true
}
