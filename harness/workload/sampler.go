package workload

import "github.com/HdrHistogram/hdrhistogram-go"

// An Op is a kind of manager call, for latencies.
type Op uint8

// The kinds, named after the methods of package core that they are calls of.
const (
	OpBegin Op = iota
	OpSnapshot
	OpIncludes
	OpCommit
	OpRollback
	OpAllocateCommitted
	OpRetain
	OpRelease
	OpOldestActive
	OpOldestRequired
	OpPruneAborted
	OpStatus
	NumOps // how many there are
)

var opNames = [NumOps]string{
	"begin", "snapshot", "includes", "commit", "rollback", "allocate-committed",
	"retain", "release", "oldest-active", "oldest-required", "prune-aborted", "status",
}

// String is the name of o in results, such as "oldest-active". o must be below
// [NumOps].
func (o Op) String() string { return opNames[o] }

// A Sampler times one manager call in every N of one worker: the clock costs
// more than most calls do. It belongs to one goroutine.
type Sampler struct {
	every, left uint32
	clock       func() int64
	overhead    int64 // of a clock read, subtracted from each sample
	hists       [NumOps]*hdrhistogram.Histogram
}

// NewSampler returns a sampler of one call in every (at least 1), timed by
// clock in ticks of its own. Reading it costs overhead: of the two reads around
// a call, half of the first and half of the second fall into what is timed.
func NewSampler(every int, clock func() int64, overhead int64) *Sampler {
	s := &Sampler{every: uint32(max(every, 1)), clock: clock, overhead: overhead}
	s.left = s.every
	for i := range s.hists {
		s.hists[i] = hdrhistogram.New(1, 1<<40, 3)
	}
	return s
}

// Due reports whether the next call is to be timed. Usage:
//
//	due := s.Due()
//	t := int64(0)
//	if due { t = s.Now() }
//	… the call …
//	if due { s.Record(OpCommit, t) }
//
// A nil Sampler times nothing.
func (s *Sampler) Due() bool {
	if s == nil {
		return false
	}
	if s.left--; s.left > 0 {
		return false
	}
	s.left = s.every
	return true
}

// Now reads the clock.
func (s *Sampler) Now() int64 { return s.clock() }

// Record notes that a call of op started at start and has just returned.
// Durations beyond the range of the histogram are clamped to it.
func (s *Sampler) Record(op Op, start int64) {
	d := min(max(s.clock()-start-s.overhead, 1), 1<<40)
	_ = s.hists[op].RecordValue(d) // in range by the clamp
}

// Histogram returns what was recorded for op, in ticks of the clock. It is shared
// with s.
func (s *Sampler) Histogram(op Op) *hdrhistogram.Histogram { return s.hists[op] }
