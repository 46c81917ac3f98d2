package pglog

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// A Kind names something in a log that is not understood, or for which
// something near is put into the trace.
type Kind string

// The kinds that a [Report] may count.
const (
	NotUnderstood      Kind = "statements not understood, left out"
	Unlexable          Kind = "statement texts that end inside a quote or a comment, read as far as they go"
	EmptyStatement     Kind = "empty statements, left out"
	NoEffect           Kind = "statements that no snapshot manager notices (SET, SHOW, LOCK, …), left out"
	Cursor             Kind = "FETCH or MOVE, left out: they read through the snapshot of their cursor"
	Maintenance        Kind = "statements that run transactions of their own (VACUUM, CONCURRENTLY, …), left out"
	OpaqueBody         Kind = "statements whose body is not in the log (DO, CALL, EXECUTE), replayed as a snapshot"
	Definition         Kind = "definitions of objects, replayed as a write of the catalog"
	TwoPhase           Kind = "two-phase commits: PREPARE TRANSACTION replayed as the commit, COMMIT PREPARED and ROLLBACK PREPARED left out"
	UnknownSavepoint   Kind = "savepoints released or rolled back to that do not exist, left out"
	NestedBegin        Kind = "BEGIN inside a transaction, left out"
	StrayEnd           Kind = "COMMIT or ROLLBACK outside a transaction, left out"
	Refused            Kind = "statements of a failed transaction, refused by the server, left out"
	AmbiguousError     Kind = "errors of one of several statements on a line, put at the first that fits"
	ErrorElsewhere     Kind = "errors outside a transaction that belong to no statement in the log, left out"
	MissingError       Kind = "transactions that failed although the log has no error, rolled back at the next statement"
	AlreadyOpen        Kind = "transactions already open when the log begins, opened where it begins"
	EndUnseen          Kind = "transactions whose end is not in the log, rolled back at the next statement"
	OpenAtEnd          Kind = "transactions still open at the end of the log, rolled back there"
	OpenAtDisconnect   Kind = "sessions that ended inside a transaction, rolled back"
	UnseenWrite        Kind = "xids drawn by statements that show no write, drawn at the next statement"
	EmptyWrite         Kind = "writes that drew no xid (no row matched), replayed as reads"
	ClockBack          Kind = "lines earlier than the one before them in their session, moved up to it"
	ZoneChange         Kind = "changes of the time zone, ignored"
	MissingLines       Kind = "lines that are missing between those of a session"
	LateStart          Kind = "sessions that began before the log"
	OtherBackend       Kind = "lines of processes that serve no client, left out"
	ServerMessage      Kind = "messages that are no statement and no error (connections, warnings, …), left out"
	WithDuration       Kind = "statements logged by their duration, at their end, left out (set log_statement = all)"
	SerializableReplay Kind = "serializable transactions, to be replayed as snapshot isolation"
)

// A Report says what an import found.
type Report struct {
	Files      int
	Records    int // lines of the log; one may span several lines of the file
	Statements int // one record may hold several
	Sessions   int
	Notes      []Note // sorted by falling count
}

// A Note counts one kind.
type Note struct {
	Kind  Kind
	Count int
	First Position // where it was seen first
}

// A Position is a place in a log file. Line and Column count from 1; Column
// counts bytes.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string {
	if p.File == "" {
		return "end of log"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Count returns how often k was counted.
func (r *Report) Count(k Kind) int {
	for _, n := range r.Notes {
		if n.Kind == k {
			return n.Count
		}
	}
	return 0
}

// WriteTo writes r as text for people.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, "%d files, %d records, %d statements, %d sessions\n", r.Files, r.Records, r.Statements, r.Sessions)
	total := int64(n)
	for _, note := range r.Notes {
		if err != nil {
			break
		}
		n, err = fmt.Fprintf(w, "%7d %s (first: %v)\n", note.Count, note.Kind, note.First)
		total += int64(n)
	}
	return total, err
}

// notes collects what a Report will count.
type notes map[Kind]*Note

func (ns notes) add(k Kind, n int, at Position) {
	if k == "" || n == 0 {
		return
	}
	note := ns[k]
	if note == nil {
		note = &Note{Kind: k, First: at}
		ns[k] = note
	}
	note.Count += n
}

func (ns notes) sorted() []Note {
	var out []Note
	for _, n := range ns {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b Note) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

var _ io.WriterTo = (*Report)(nil)
