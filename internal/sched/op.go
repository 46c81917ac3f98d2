package sched

// An opRecord is an operation between its Call and its Return.
type opRecord struct {
	thread   int8
	called   bool
	returned bool
	first    uint16 // the number of its thread's event that comes next at the call
	last     uint16 // of its thread's event before the return
	clk      clock  // of its thread at the return
}

// Call says that the current thread begins the operation with this number, below
// [MaxOps]. It is not a step. Outside an exploration it does nothing.
func Call(op int) {
	x := running.Load()
	if x == nil || x.unwinding {
		return
	}
	t := x.cur
	for x.opCount <= op {
		x.ops[x.opCount] = opRecord{}
		x.opCount++
	}
	t.op = int8(op)
	t.seen = t.seen[:0]
	x.ops[op] = opRecord{thread: int8(t.id), called: true, first: t.clk[t.id] + 1}
}

// Return says that the operation has ended.
func Return(op int) {
	x := running.Load()
	if x == nil || x.unwinding {
		return
	}
	t := x.cur
	t.op = -1
	r := &x.ops[op]
	r.returned, r.last, r.clk = true, t.clk[t.id], t.clk
}

// An Op is what is known of an operation, for all the interleavings for which
// the execution stands: those with the same order of dependent accesses. Calls
// and returns are no accesses, and so have no fixed place: all that is forced is
// that an operation is called before its first access and returns after its
// last, and the order of each thread.
type Op struct {
	Thread           int
	Called, Returned bool
	Steps            int // accesses that it made, waits included
	First, Last      int // the events of these, as indices; -1 without any

	// CallsBefore has bit q set if q is called before this one returns, whatever
	// the interleaving. Its own bit is set.
	CallsBefore uint64
}

// Ops appends the operations of the execution to ops, by their numbers. It is
// O(ops² + events).
//
// The orders of calls and returns that matter are those in which the operations
// return in some sequence, each of them called as late as the returns so far
// permit, by CallsBefore: every other order of an equivalent interleaving leaves
// fewer operations one after the other. For the same reason one that needs no call
// that another does not need too may return before it.
func (x *Execution) Ops(ops []Op) []Op {
	base := len(ops)
	for p := range x.opCount {
		r := &x.ops[p]
		op := Op{Thread: int(r.thread), Called: r.called, Returned: r.returned, First: -1, Last: -1}
		if r.called && !r.returned {
			r.last = x.threads[r.thread].clk[r.thread]
		}
		op.Steps = int(r.last) - int(r.first) + 1
		if !r.called {
			op.Steps = 0
		}
		if r.returned {
			for q := range x.opCount {
				s := &x.ops[q]
				if !s.called {
					continue
				}
				// One without accesses is known by those that its thread made after it.
				earlier := s.thread == r.thread && (s.first < r.first || s.first == r.first && q < p)
				if q == p || earlier || r.clk[s.thread] >= s.first {
					op.CallsBefore |= 1 << q
				}
			}
		}
		ops = append(ops, op)
	}
	for i := range x.events {
		if p := x.events[i].op; p >= 0 {
			op := &ops[base+int(p)]
			if op.First < 0 {
				op.First = i
			}
			op.Last = i
		}
	}
	return ops
}
