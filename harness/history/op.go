package history

import (
	"fmt"
	"math"

	"xidlab/core"
)

// Pending is the Return of an operation that was called and never returned. It
// is later than every other stamp.
const Pending int64 = math.MaxInt64

// An Op is one operation, from its call to its return. Which fields mean
// something depends on its Kind, as the comments there say; the others are zero.
type Op struct {
	Call, Return int64 // stamps; Call < Pending
	Worker       int32 // who called, from 0
	Kind         Kind
	Result       Result      // how it ended; OK if it is pending
	Status       core.Status // an answer, or what a refusal found
	Full         bool        // Set is everything that the snapshot hid
	Yes          bool        // an answer

	Xid   core.Xid // the argument or, where there is none, the answer
	Other core.Xid // a second Xid
	Next  core.Xid // a bound: the first Xid not allocated; 0 if not recorded
	Count int      // an answer

	// Snapshots and guards are numbered, from 1, by whoever records them.
	Snap uint64 // the one that this operation made
	Of   uint64 // the one that it is about; 0 for one of another manager

	Set    core.XidSet // ascending, each once (of CommitGroup: as given)
	Probes []Probe     // what a snapshot answered at once, or later
}

// A Probe is one answer of a snapshot: whether it includes Xid.
type Probe struct {
	Xid core.Xid
	Yes bool
}

// IsPending reports whether the operation never returned.
func (o *Op) IsPending() bool { return o.Return == Pending }

// Granted reports whether the operation returned, and did not refuse.
func (o *Op) Granted() bool { return o.Return != Pending && o.Result == OK }

// A Result is how an operation ended.
type Result uint8

const (
	OK           Result = iota
	NotActive           // core.ErrNotActive
	Unallocated         // core.ErrUnallocated
	NotCommitted        // core.ErrNotCommitted
	Duplicate           // core.ErrDuplicate
	XidRange            // core.ErrXidRange
	TooOld              // core.ErrTooOld
	Foreign             // core.ErrForeign
	Exhausted           // core.ErrExhausted, as a panic

	numResults
)

var resultNames = [numResults]string{
	"ok", "not-active", "unallocated", "not-committed", "duplicate", "xid-range", "too-old", "foreign", "exhausted",
}

var resultErrors = [numResults]error{
	nil, core.ErrNotActive, core.ErrUnallocated, core.ErrNotCommitted, core.ErrDuplicate, core.ErrXidRange,
	core.ErrTooOld, core.ErrForeign, core.ErrExhausted,
}

func (r Result) String() string {
	if r < numResults {
		return resultNames[r]
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Err returns the error of package core that r stands for; nil for OK.
func (r Result) Err() error { return resultErrors[r] }

// A Header says what holds for all operations of a history.
type Header struct {
	Manager string // its name, for people; without line breaks
	Ordered bool   // what the manager's Ordered answers
	Clock   Clock  // what stamps count
	Skew    int64  // by how much intervals may have been widened, at each end
}

// A Clock says what stamps count.
type Clock uint8

const (
	Steps       Clock = iota // an order without a unit
	Nanoseconds              // from some moment on
)

var clockNames = [...]string{"steps", "ns"}

func (c Clock) String() string {
	if int(c) < len(clockNames) {
		return clockNames[c]
	}
	return fmt.Sprintf("Clock(%d)", uint8(c))
}

// A History is what was recorded. Ops are in the order of their calls, which
// for each worker is the order in which it made them.
type History struct {
	Header
	Ops []Op
}
