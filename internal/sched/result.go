package sched

import (
	"fmt"
	"hash/maphash"
	"os"
	"runtime"
	"strings"
	"unicode"
)

// A FailureKind is a way to fail that needs no judge.
type FailureKind int

const (
	Deadlock     FailureKind = iota // threads wait for ever
	Livelock                        // an execution does not end
	Panic                           // of the program's code
	DataRace                        // on plain memory
	LeakedLock                      // a lock is held at the end
	BadUnlock                       // a lock is given back that is not held
	Uncontrolled                    // an execution does not repeat
)

var failureNames = [...]string{"deadlock", "livelock", "panic", "data race", "leaked lock", "unlock of an unlocked lock", "not repeatable"}

func (k FailureKind) String() string { return failureNames[k] }

// A Failure is what went wrong in an execution, whatever its results.
type Failure struct {
	Kind       FailureKind
	Text       string
	Thread, Op int       // whose it is, or -1
	Waiting    []Waiting // the threads of a deadlock
}

// A Waiting is a thread that cannot go on.
type Waiting struct {
	Thread, Op int    // Op: -1 outside operations
	For        string // the access that it cannot make
	Object     string // of what
	Holder     int    // the thread that holds that, or -1

	on *object
}

func (f *Failure) Error() string {
	s := f.Kind.String()
	if f.Text != "" {
		s += ": " + f.Text
	}
	for i, w := range f.Waiting {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		s += fmt.Sprintf("%s%c waits for %s (%s)", sep, 'A'+w.Thread, w.Object, w.For)
		if w.Holder >= 0 {
			s += fmt.Sprintf(", which %c holds", 'A'+w.Holder)
		}
	}
	return s
}

// Failure returns what went wrong, or nil.
func (x *Execution) Failure() *Failure { return x.failure }

// Schedule returns the decisions that led here.
func (x *Execution) Schedule() Schedule { return append(Schedule(nil), x.decisions...) }

// Steps returns the number of accesses.
func (x *Execution) Steps() int { return len(x.events) }

// ThreadSteps returns the number of accesses of a thread.
func (x *Execution) ThreadSteps(t int) int { return int(x.threads[t].clk[t]) }

// Deviated reports whether the schedule that was replayed did not fit.
func (x *Execution) Deviated() bool { return x.deviated }

var seed = maphash.MakeSeed()

// Trace returns a hash of the order of dependent accesses, and of the choices:
// equal for equivalent executions of this process.
func (x *Execution) Trace() (sum uint64) {
	type key struct {
		thread int8
		writes bool
		clk    clock
	}
	for i := range x.events {
		e := &x.events[i]
		sum += maphash.Comparable(seed, key{e.thread, e.kind.writes(), e.clk})
	}
	// Which choice it is depends on the order; whose, and his how manieth, does
	// not. Those before the first access are made in the order of the threads.
	var made [MaxThreads + 1]int
	chooser := MaxThreads
	for _, d := range x.decisions {
		if !d.Choice {
			chooser = d.N
			continue
		}
		made[chooser]++
		sum += maphash.Comparable(seed, [3]int{chooser, made[chooser], d.N})
	}
	return sum
}

// An Event is an access, for reports.
type Event struct {
	Thread, Op int    // Op: -1 outside operations
	Kind       string // such as "read"
	Object     string // such as "m.next #3", or "Uint64 #3" if its name is not known
	Detail     string // such as "Load() = 5"
	Where      string // the function and the line of the program's code
	File       string
	Line       int
}

// Events returns the accesses of an execution that was replayed.
func (x *Execution) Events() []Event {
	var events []Event
	for i := range x.events {
		e := &x.events[i]
		v := Event{Thread: int(e.thread), Op: int(e.op), Kind: kindNames[e.kind]}
		if i < len(x.details) {
			d := &x.details[i]
			v.Detail, v.Where, v.File, v.Line = d.text, d.where, d.file, d.line
		}
		if e.obj != nil {
			v.Object = e.obj.name()
		}
		events = append(events, v)
	}
	return events
}

// nameObjects calls the objects what the program calls them, where it tells.
func (x *Execution) nameObjects() {
	for i := range x.details {
		if o := x.events[i].obj; o != nil && !strings.Contains(o.what, ".") {
			if name := x.details[i].variable(); name != "" {
				o.what = name
			}
		}
	}
	if x.failure != nil {
		for i := range x.failure.Waiting {
			if w := &x.failure.Waiting[i]; w.on != nil {
				w.Object = w.on.name()
			}
		}
	}
}

func (o *object) name() string { return fmt.Sprintf("%s #%d", o.what, o.id) }

// variable returns what the program calls the object of an access, such as
// "m.next", from the line of its source; "" if that cannot be told.
func (d *detail) variable() string {
	method, _, ok := strings.Cut(d.text, "(")
	if !ok || d.file == "" {
		return ""
	}
	source, err := os.ReadFile(d.file)
	if err != nil {
		return "" // the program was built elsewhere
	}
	lines := strings.Split(string(source), "\n")
	if d.line < 1 || d.line > len(lines) {
		return ""
	}
	line := lines[d.line-1]
	end := strings.Index(line, "."+method+"(")
	if end < 0 || strings.Count(line, "."+method+"(") > 1 {
		return ""
	}
	start := end
	for start > 0 && (strings.ContainsRune("._[]", rune(line[start-1])) || unicode.IsLetter(rune(line[start-1])) || unicode.IsDigit(rune(line[start-1]))) {
		start--
	}
	name := line[start:end]
	if !strings.Contains(name, ".") {
		return "" // a local name says little
	}
	return name
}

// A detail is what a report says of an event.
type detail struct {
	text, where, file string
	line              int
}

// locate notes where the current thread's next access is made.
func (x *Execution) locate(t *thread) { t.where = caller() }

// note says what the access did that was recorded last.
func (x *Execution) note(format string, args ...any) {
	d := x.cur.where
	d.text = fmt.Sprintf(format, args...)
	for len(x.details) < len(x.events)-1 {
		x.details = append(x.details, detail{})
	}
	x.details = append(x.details, d)
}

// caller returns the innermost frame outside this package.
func caller() detail {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		inside := strings.Contains(f.Function, "internal/sched.") && !strings.HasSuffix(f.File, "_test.go")
		if !inside && f.Function != "" {
			name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
			return detail{where: fmt.Sprintf("%s (%s:%d)", name, f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line), file: f.File, line: f.Line}
		}
		if !more {
			return detail{}
		}
	}
}
