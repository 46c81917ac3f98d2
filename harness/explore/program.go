package explore

import (
	"fmt"
	"slices"
	"strings"

	"xidlab/core"
)

// A Program is a small client of a manager, as data: what is done first, what
// threads do at once, and what is done in the end.
//
// Its text is
//
//	setup; thread || thread ...; end
//
// where each part is a sequence of operations, named like the methods of
// package core and separated by spaces. There are 1 to 8 threads. Setup and end
// may be empty, and are left out if no doubt can arise: what is before a single
// semicolon is the setup, unless there are threads in it. An operation's answer gets a name with name=Operation, once; a
// thread may use the names of the setup and its own, the end may use all. Where
// a transaction is wanted, a number, None, MaxXid or MaxXid+1 will do as well:
//
//	x=Begin; Commit(x) || s=Snapshot Includes(s, x); Status(x)
//
// The operations, with x, y for transactions, s for snapshots and guards, g for
// guards, and k for the name of a unique key:
//
//	Begin  AllocateCommitted  Commit(x)  Rollback(x)  CommitGroup(x, y, ...)
//	Snapshot  Snapshot(x)  WithOwner(s, x)  Includes(s, x)  InProgress(s)
//	Status(x)  OldestActive  PeekNext
//	Retain  Retain(x)  RetainSnapshot(s)  Release(g)  OldestRequired
//	Pin(x)  Unpin(x)  PinCount(x)  OldestPinned
//	PruneAborted  PruneAborted(x)  ObserveCommitted(x)
//	CheckpointExcluded  CheckpointProjection
//	ReservesUniqueKey(xmin, xmax, own, ...)  Insert(k, x)  Delete(k, x)
//
// PruneAborted without a bound forgets all it may. Insert and Delete are the
// client's: under a lock of the key, Insert asks ReservesUniqueKey about every
// version of the key and adds one by x if none reserves it; Delete makes x the
// deleter of the version that does.
type Program struct {
	Name  string // one word, for the command line
	Text  string
	About string // what could go wrong
	Large bool   // too many schedules for a complete search in a CI run

	// Of a ladder's rung (see Ladders): the operation of the first thread that
	// it measures, and how many rounds of interference the second one makes.
	Measures string
	Rounds   int
}

// A script is a parsed program.
type script struct {
	setup, end []step
	threads    [][]step

	vars []variable // of the names, and of unnamed snapshots and guards
	keys []string

	needs capability
}

// A variable holds the answer of one operation.
type variable struct {
	name  string // "" if only the explorer asks about it
	sort  sort
	owner arg // of a snapshot or guard
}

// A sort is a type of the notation.
type sort byte

const (
	xid      sort = 'x'
	snapshot sort = 's' // as an argument, a guard will do
	guard    sort = 'g'
	key      sort = 'k'
)

func (s sort) String() string {
	switch s {
	case xid:
		return "transaction"
	case snapshot:
		return "snapshot"
	case guard:
		return "guard"
	}
	return "key"
}

// A step is one operation of a script.
type step struct {
	op   opcode
	args []arg
	dst  int // the variable that gets the answer, or -1
}

// An arg is a variable, a key, or an Xid.
type arg struct {
	v int      // index of the variable or key; -1 for an Xid
	x core.Xid // if v is -1
}

// xid returns argument i, None if there is none. The variables have values xs.
func (s *script) xid(st *step, xs []core.Xid, i int) core.Xid {
	if i >= len(st.args) {
		return core.None
	}
	return st.args[i].xid(xs)
}

func (a arg) xid(xs []core.Xid) core.Xid {
	if a.v >= 0 {
		return xs[a.v]
	}
	return a.x
}

// xidsFrom returns the arguments from i on.
func (s *script) xidsFrom(st *step, xs []core.Xid, i int) []core.Xid {
	list := make([]core.Xid, 0, len(st.args)-i)
	for ; i < len(st.args); i++ {
		list = append(list, s.xid(st, xs, i))
	}
	return list
}

// below returns the bound of a PruneAborted.
func (s *script) below(st *step, xs []core.Xid) core.Xid {
	if len(st.args) == 0 {
		return core.MaxXid
	}
	return s.xid(st, xs, 0)
}

// contents returns which of known are in v's snapshot, its owner aside, who may
// roll back; false if it can no longer be asked.
func (s *script) contents(v int, snap core.Snapshot, xs, known []core.Xid) (in core.XidSet, ok bool) {
	owner := s.vars[v].owner.xid(xs)
	for _, x := range known {
		if x == owner {
			continue
		}
		yes, err := snap.Lookup(x)
		if err != nil {
			return nil, false
		}
		if yes {
			in = append(in, x)
		}
	}
	slices.Sort(in)
	return in, true
}

// stepsOfThreads returns the operations of the threads, by number.
func (s *script) stepsOfThreads() (steps []*step) {
	for _, t := range s.threads {
		for i := range t {
			steps = append(steps, &t[i])
		}
	}
	return steps
}

// threadsOfSteps returns the thread of each of these.
func (s *script) threadsOfSteps() (threads []int) {
	for i, t := range s.threads {
		for range t {
			threads = append(threads, i)
		}
	}
	return threads
}

// String returns the script in the notation that parse reads.
func (s *script) String() string {
	var threads []string
	for _, t := range s.threads {
		threads = append(threads, s.sequence(t))
	}
	text := strings.Join(threads, " || ")
	if len(s.setup) > 0 || len(s.end) > 0 {
		text = s.sequence(s.setup) + "; " + text
	}
	if len(s.end) > 0 {
		text += "; " + s.sequence(s.end)
	}
	if len(s.threads) > 1 {
		text = strings.TrimPrefix(text, "; ")
	}
	return text
}

func (s *script) sequence(steps []step) string {
	var texts []string
	for i := range steps {
		texts = append(texts, s.text(&steps[i]))
	}
	return strings.Join(texts, " ")
}

// text returns a step in the notation, with its name.
func (s *script) text(st *step) string {
	if st.dst >= 0 && s.vars[st.dst].name != "" {
		return s.vars[st.dst].name + "=" + s.call(st)
	}
	return s.call(st)
}

// call returns a step in the notation, without its name.
func (s *script) call(st *step) string {
	if len(st.args) == 0 {
		return operations[st.op].name
	}
	args := make([]string, len(st.args))
	for i, a := range st.args {
		switch {
		case operations[st.op].takes(i) == key:
			args[i] = s.keys[a.v]
		case a.v >= 0:
			args[i] = s.vars[a.v].name
		default:
			args[i] = nameXid(a.x)
		}
	}
	return operations[st.op].name + "(" + strings.Join(args, ", ") + ")"
}

func nameXid(x core.Xid) string {
	switch {
	case x == core.None:
		return "None"
	case x == core.MaxXid:
		return "MaxXid"
	case x > core.MaxXid:
		return fmt.Sprintf("MaxXid+%d", uint64(x-core.MaxXid))
	}
	return fmt.Sprint(uint64(x))
}

func nameXids(xs []core.Xid) string {
	texts := make([]string, len(xs))
	for i, x := range xs {
		texts[i] = nameXid(x)
	}
	return "{" + strings.Join(texts, " ") + "}"
}
