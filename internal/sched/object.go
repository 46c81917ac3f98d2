package sched

// A header is what a scheduled type carries beside its value. The bookkeeping
// of an execution hangs on it; a header that was last used in another one is as
// good as new.
type header struct {
	serial uint64 // of the execution that obj belongs to
	obj    *object
}

// An object is one shared variable, or lock, of one execution. The records of
// an execution are used again by the next.
type object struct {
	id      int32  // in the order of first accesses
	what    string // its type, or name, for reports
	version uint32 // writes so far

	// Dependence: who must not be reordered with whom.
	wrote     clock // after the last write
	read      clock // all reads since
	lastWrite int32 // event, or -1
	lastTaken int32 // event that last took the lock, when it was free
	reads     [MaxThreads]int32

	// Synchronization, as the Go memory model has it: what an access that
	// observes this object gets to know.
	released  clock
	rreleased clock // by readers, for the next writer

	// The state of a lock.
	isLock  bool
	writer  int8 // the thread that holds it, or waits for readers to leave; or -1
	waiting bool // it does wait
	readers int8

	// The accesses of plain memory, by the owner's component of its
	// synchronization clock.
	cellWriter int8
	cellWrote  uint16
	cellReads  clock
}

// of returns the record of h in x.
func (x *Execution) of(h *header, what string) *object {
	if h.serial == x.serial {
		return h.obj
	}
	if len(x.objects) == x.used {
		x.objects = append(x.objects, new(object))
	}
	o := x.objects[x.used]
	*o = object{id: int32(x.used), what: what, lastWrite: -1, lastTaken: -1, writer: -1, cellWriter: -1}
	for i := range o.reads {
		o.reads[i] = -1
	}
	x.used++
	h.serial, h.obj = x.serial, o
	return o
}

// A kind is what an access does.
type kind uint8

const (
	read     kind = iota // a load; a compare-and-swap that failed
	write                // a store
	update               // reads and writes in one: Add, Swap, a successful compare-and-swap
	compare              // a compare-and-swap that has not happened yet
	lock                 // waits until nobody holds it
	try                  // a TryLock, of any sort, that has not happened yet
	take                 // a successful TryLock
	unlock               //
	rlock                // waits until no writer holds it or waits for it
	rtake                // a successful TryRLock
	runlock              //
	announce             // the first half of a writer's Lock: from here on new readers wait
	acquire              // the second half: waits until the readers have left
	refuse               // a writer's TryLock of an RWMutex that failed
	miss                 // another try that failed
	await                // waits until something changes that the thread has read
)

var kindNames = [...]string{"read", "write", "update", "compare-and-swap", "lock", "try-lock", "try-lock", "unlock",
	"read-lock", "try-read-lock", "read-unlock", "lock (announce)", "lock (readers have left)", "try-lock", "try-lock", "change"}

// writes reports whether k is dependent on every access of its object. The
// others are dependent only on those that write: reads commute, and so do
// readers of a lock that come and go.
func (k kind) writes() bool {
	switch k {
	case read, rlock, rtake, runlock, miss, await:
		return false
	}
	return true
}

// opens reports whether the state of a lock lets an access of kind k go on.
func (o *object) opens(k kind) bool {
	switch k {
	case lock, rlock, announce:
		return o.writer < 0
	case acquire:
		return o.readers == 0
	}
	return true
}
