package sched

import "fmt"

// A Cell holds plain shared memory: what a lock protects, or what one thread
// hands to another. An access is no step: it is checked against those of other
// threads that it is not ordered with, which finds every data race that some
// schedule has. The cell's granularity is the whole T. What Read and Write return
// must not be used once the lock is given up: only the calls are seen.
type Cell[T any] struct {
	header
	v T
}

// Read returns the contents for reading.
func (c *Cell[T]) Read() *T {
	if x := running.Load(); x != nil && !x.unwinding {
		x.peek(x.of(&c.header, "Cell"), false)
	}
	return &c.v
}

// Write returns the contents for reading and writing.
func (c *Cell[T]) Write() *T {
	if x := running.Load(); x != nil && !x.unwinding {
		x.peek(x.of(&c.header, "Cell"), true)
	}
	return &c.v
}

// peek checks an access of plain memory: it is in a race with an earlier one of
// another thread that the current thread does not know of.
func (x *Execution) peek(o *object, writes bool) {
	t := x.cur
	race := func(other int, how string) {
		text := fmt.Sprintf("%c reads plain memory that %c %s, and nothing orders the two", 'A'+t.id, 'A'+other, how)
		if writes {
			text = fmt.Sprintf("%c writes plain memory that %c %s, and nothing orders the two", 'A'+t.id, 'A'+other, how)
		}
		if x.detailed {
			text += ": " + caller().where
		}
		x.fail(DataRace, t, text)
	}
	if w := int(o.cellWriter); w >= 0 && w != t.id && o.cellWrote > t.sync[w] {
		race(w, "writes")
	}
	switch {
	case writes:
		for q, n := range o.cellReads {
			if q != t.id && n > t.sync[q] {
				race(q, "reads")
			}
		}
		if !x.flaws.writesUnseen {
			o.cellWriter, o.cellWrote, o.cellReads = int8(t.id), t.sync[t.id], clock{}
		}
	case !x.flaws.readsUnseen:
		o.cellReads[t.id] = t.sync[t.id]
	}
}
