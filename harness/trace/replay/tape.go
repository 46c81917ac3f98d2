package replay

import (
	"time"

	"xidlab/core"
	"xidlab/harness/trace"
)

// A tape is the operations of one worker's sessions, in recorded order, with
// everything that is known in advance looked up.
type tape struct {
	steps    []step
	sessions int // numbered from 0
	objects  int
	draws    int // xids drawn in a lap
	maxLive  int // the most xids of one transaction
	span     time.Duration
}

type step struct {
	at      time.Duration
	session uint32
	slot    uint32 // Read, Write: the object; Draw: the writer
	writer  uint32 // AllocateCommitted: the writer; slot is the object
	level   uint16
	kind    trace.Kind
	iso     trace.Isolation
}

// compile makes the tape of some sessions of t; one that is named twice is
// replayed twice.
func compile(t *trace.Trace, sessions []uint32) tape {
	tp := tape{sessions: len(sessions), span: t.Span() + time.Millisecond}
	local := map[uint32][]uint32{}
	for i, s := range sessions {
		local[s] = append(local[s], uint32(i))
	}
	objects := map[uint32]uint32{}
	object := func(o uint32) uint32 {
		slot, ok := objects[o]
		if !ok {
			slot = uint32(len(objects))
			objects[o] = slot
		}
		return slot
	}
	draws := make([]int, len(sessions)) // of the open transaction
	for _, op := range t.Ops {
		for _, i := range local[op.Session] {
			st := step{at: op.At, session: i, level: op.Level, kind: op.Kind, iso: op.Isolation}
			switch op.Kind {
			case trace.Begin:
				draws[i] = 0
			case trace.Draw:
				st.slot = uint32(tp.draws)
				tp.draws++
				draws[i]++
				tp.maxLive = max(tp.maxLive, draws[i])
			case trace.Read, trace.Write:
				st.slot = object(op.Object)
			case trace.AllocateCommitted:
				st.slot, st.writer = object(op.Object), uint32(tp.draws)
				tp.draws++
			}
			tp.steps = append(tp.steps, st)
		}
	}
	tp.objects = len(objects)
	return tp
}

// A writer is an xid that this worker drew, and what has become of it. Instants
// are the worker's own: the number of calls before.
type writer struct {
	xid   core.Xid
	ended uint64 // when it committed
	fate  fate
}

type fate uint8

const (
	unfinished fate = iota
	committedBy
	abortedBy
)

func (f fate) String() string {
	return [...]string{"unfinished", "committed", "aborted"}[f]
}

// A version is the latest write of an object. Its writer's place may by now
// have been taken by another xid; then nothing is known of it.
type version struct {
	xid    core.Xid // None: not written yet
	writer uint32
}
