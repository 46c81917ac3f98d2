package check

import (
	"xidlab/harness/history"
)

// A Stream judges a history that need not fit into memory, window by window. It
// cuts where no operation is running, other than those that never return: all
// before a cut comes before all after it, so the windows can be judged one after
// the other.
//
// What is carried over is the state at the cut: which transactions are active,
// what became of the others (one byte per Xid of a history), the allocator's
// bound, the largest horizon, pins, live guards and what they hide, and the calls
// that have not returned. Plain snapshots are known for one more window. Some
// things are then not noticed that [Check] would: a Lookup of an older snapshot,
// that a guard is released again after the window of its release, what an old
// snapshot hides of what finished in its own window, a wrong PinCount of an Xid
// pinned before. Where operations always overlap there is no place to cut, and
// the window is the whole history.
//
// A Stream is not safe for concurrent use.
type Stream struct {
	head    history.Header
	limit   int
	window  history.History
	places  []int // of the window's operations, in the history
	past    *past
	latest  int64 // the last return in the window
	count   int
	verdict Verdict
}

// WindowSize is how many operations a Stream gathers, at least, before it looks
// for a place to cut.
const WindowSize = 1 << 18

// NewStream begins the check of a history with that header.
func NewStream(h history.Header) *Stream { return newStream(h, WindowSize) }

func newStream(h history.Header, limit int) *Stream {
	return &Stream{head: h, limit: limit, window: history.History{Header: h}, past: newPast(), latest: first}
}

// Add takes the next operation, in the order of the calls, and keeps its slices.
// It reports whether all is well so far: after a violation was found it does
// nothing.
func (s *Stream) Add(o *history.Op) bool {
	if s.verdict.Violation != nil {
		return false
	}
	if len(s.window.Ops)-s.past.carried >= s.limit && s.latest < o.Call-2*s.head.Skew {
		s.cut(true)
	}
	s.window.Ops = append(s.window.Ops, *o)
	s.places = append(s.places, s.count)
	s.count++
	if !o.IsPending() {
		s.latest = max(s.latest, o.Return)
	}
	return s.verdict.Violation == nil
}

// Verdict judges what has not been judged, and returns the verdict on the whole.
// The stream is of no further use.
func (s *Stream) Verdict() *Verdict {
	if s.verdict.Violation == nil && len(s.window.Ops) > s.past.carried {
		s.cut(false)
	}
	return &s.verdict
}

// Windows returns how many windows have been judged.
func (s *Stream) Windows() int { return s.verdict.Windows }

func (s *Stream) cut(more bool) {
	c := newChecker(&s.window, s.past)
	c.more = more
	c.places = s.places
	s.verdict.Windows++
	s.verdict.Ops += len(s.window.Ops) - s.past.carried
	s.verdict.Violation = c.run()
	s.verdict.Undecided += c.undecided
	if s.verdict.Violation != nil {
		return
	}
	var ops []history.Op
	s.past, ops, s.places = c.carry(s.places)
	s.window.Ops = append(make([]history.Op, 0, s.limit+len(ops)), ops...)
	s.latest = first
}
