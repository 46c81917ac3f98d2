package record

import (
	"errors"
	"unsafe"

	"xidlab/core"
	"xidlab/harness/history"
)

// An entry is one operation as its worker notes it: first that it is called, and
// with what, then what came of it. It holds no pointers: a log is nothing to the
// garbage collector.
type entry struct {
	call, ret int64    // ticks; ret is 0 until it has returned
	x, y, z   core.Xid // arguments, then results
	of        uint64   // the snapshot that it takes, or is about
	at, n     uint32   // where in the arena its xids are
	kind      history.Kind
	ok        bool
	alone     bool // of Lookup: one question, to which ok is the answer
	result    history.Result
}

// What a log takes.
const (
	entryBytes = int(unsafe.Sizeof(entry{}))
	arenaBytes = int(unsafe.Sizeof(uint64(0)))
)

// refused notes an error: what kind it is, and the xid and the state that it
// names.
func (w *Worker) refused(e *entry, err error) {
	if err == nil {
		return
	}
	e.result = resultOf(err)
	if e.result == history.OK {
		w.broken("%v answers an error that it does not have: %w", e.kind, err)
	}
	var named *core.XidError
	if errors.As(err, &named) {
		e.y, e.z = core.Xid(named.Status), named.Xid
	}
}

// resultOf returns what err stands for in a history; OK if that is nothing.
func resultOf(err error) history.Result {
	for r := history.NotActive; r <= history.Exhausted; r++ {
		if errors.Is(err, r.Err()) {
			return r
		}
	}
	return history.OK
}

// inProgress is the kind of an entry of what a snapshot calls in progress. A
// history has no such operation.
const inProgress = history.Kind(255)
