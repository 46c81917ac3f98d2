package pglog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// What is wrong with a log; see [Error]. Test with [errors.Is].
var (
	// ErrForeign: the file is no csvlog.
	ErrForeign = errors.New("not a PostgreSQL csvlog")
	// ErrVersion: the csvlog is of a version that is not supported.
	ErrVersion = errors.New("csvlog of an unsupported version of PostgreSQL")
	// ErrTruncated: the file ends inside a line, or a gzip stream.
	ErrTruncated = errors.New("the file is cut off")
	// ErrDamaged: a line is no line of a csvlog, or one appears twice.
	ErrDamaged = errors.New("damaged csvlog")
	// ErrNoStatements: there is nothing to import.
	ErrNoStatements = errors.New("no statements in the log; was it written with log_statement = all?")
)

// An Error says what is wrong with a log, and where.
type Error struct {
	Position
	Err error
}

func (e *Error) Error() string { return e.Position.String() + ": " + e.Err.Error() }

// Unwrap returns the kind of mistake.
func (e *Error) Unwrap() error { return e.Err }

// A record is what is kept of a line of the log.
type record struct {
	kind  recordKind
	at    time.Duration // since 1970-01-01 of the log's zone
	seq   int           // its place in the global order
	line  uint64        // session_line_num
	pos   Position
	state state
	tag   string // the first word of command_tag
	vxid  string // virtual_transaction_id, "" outside a transaction
	xid   uint64 // 0: none yet
	stmts []stmt // of a statement record
}

type recordKind uint8

const (
	rOther     recordKind = iota
	rStatement            // a statement starts
	rDuration             // the statement before has ended
	rError                // the statement before has failed
	rEnd                  // the session has ended: disconnection, FATAL, PANIC
)

// state is what command_tag says of the session before the record.
type state uint8

const (
	unknownState state = iota
	idle
	inTransaction
	inFailed
)

// Columns of a csvlog line, all versions.
const (
	colTime        = 0
	colSession     = 5
	colLine        = 6
	colTag         = 7
	colVxid        = 9
	colXid         = 10
	colSeverity    = 11
	colMessage     = 13
	colDetail      = 14
	colBackendType = 23
)

// A source reads one file.
type source struct {
	name   string
	in     *tail
	csv    *csv.Reader
	fields int  // in a line; 0: not known yet
	likely bool // begins with a time, as a csvlog does
}

// byteOrderMark, in UTF-8, is what some editors put before a text that they save.
const byteOrderMark = "\xef\xbb\xbf"

func newSource(name string, r io.Reader) (*source, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	in := &tail{r: b, line: 1, column: 1}
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, &Error{Position{name, 1, 1}, fmt.Errorf("gzip: %w", cutOff(err))}
		}
		in.r = z
	}
	start := bufio.NewReader(in.r)
	in.r = start
	if head, _ := start.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		start.Discard(len(byteOrderMark)) // there are so many; positions count from behind it
	}
	head, _ := start.Peek(len(timeLayout)) // an error comes back when it is read
	_, _, err := parseTime(string(head))
	s := &source{name: name, in: in, csv: csv.NewReader(in), likely: err == nil}
	s.csv.ReuseRecord = true
	s.csv.FieldsPerRecord = -1
	return s, nil
}

// cutOff turns the end of the input where there should be more into ErrTruncated.
func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return err
}

// A tail remembers where the bytes that went through it ended.
type tail struct {
	r            io.Reader
	line, column int // of the next byte
	n            int64
	last         byte
	ended        bool
}

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n += int64(n)
	if n > 0 {
		t.last = p[n-1]
		t.line += bytes.Count(p[:n], []byte{'\n'})
		if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
			t.column = n - i
		} else {
			t.column += n
		}
	}
	t.ended = t.ended || err == io.EOF
	return n, err
}

func (s *source) end() Position { return Position{s.name, s.in.line, s.in.column} }

func (s *source) fieldPos(i int) Position {
	line, column := s.csv.FieldPos(i)
	return Position{s.name, line, column}
}

func (s *source) fail(column int, format string, args ...any) error {
	return &Error{s.fieldPos(column), fmt.Errorf(format, args...)}
}

// final reports whether the line that was read last is the last of the file.
func (s *source) final() bool { return s.in.ended && s.csv.InputOffset() == s.in.n }

func (s *source) torn(format string, args ...any) error {
	return &Error{s.end(), fmt.Errorf(format+": %w; copy the log again, or delete its last line", append(args, ErrTruncated)...)}
}

// next returns the fields of the next line, valid until the next call, or
// io.EOF.
func (s *source) next() ([]string, error) {
	fields, err := s.csv.Read()
	var parse *csv.ParseError
	switch {
	case err == io.EOF:
		return nil, io.EOF
	case errors.As(err, &parse):
		pos := Position{s.name, parse.Line, parse.Column}
		switch {
		case s.fields == 0 && !s.likely:
			return nil, &Error{pos, fmt.Errorf("%w: %v", ErrForeign, parse.Err)}
		case s.final():
			return nil, s.torn("the line that starts at line %d is not complete", parse.StartLine)
		}
		return nil, &Error{pos, fmt.Errorf("%w: %v", ErrDamaged, parse.Err)}
	case err != nil:
		return nil, &Error{s.end(), fmt.Errorf("reading: %w", cutOff(err))}
	}
	if s.fields == 0 {
		if err := s.recognise(fields); err != nil {
			return nil, err
		}
	}
	switch {
	case s.final() && s.in.last != '\n':
		return nil, s.torn("the last line has no end")
	case len(fields) != s.fields:
		return nil, s.fail(len(fields)-1, "%w: %d columns, the first line has %d", ErrDamaged, len(fields), s.fields)
	}
	return fields, nil
}

// recognise decides by its first line whether the file is a csvlog.
func (s *source) recognise(fields []string) error {
	n := len(fields)
	like := n > colMessage
	if like {
		_, _, errTime := parseTime(fields[colTime])
		_, errLine := strconv.ParseUint(fields[colLine], 10, 64)
		like = errTime == nil && errLine == nil && sessionID(fields[colSession])
	}
	switch {
	case !like && s.final() && s.in.last != '\n':
		return s.torn("the only line has %d columns and no end", n)
	case !like:
		return s.fail(0, "%w: the first line does not look like one (%d columns)", ErrForeign, n)
	case n == 24 || n == 26:
		s.fields = n
		return nil
	case s.final() && s.in.last != '\n':
		return s.torn("the only line has %d columns and no end", n)
	}
	return s.fail(n-1, "%w: %d columns; supported are version 13 (24 columns) and 14 or later (26 columns), version 12 and older (23 or fewer) are not", ErrVersion, n)
}

// sessionID reports whether s looks like 6b0d3fa7.1e44: start and process, in
// hexadecimal.
func sessionID(s string) bool {
	start, pid, ok := strings.Cut(s, ".")
	_, err1 := strconv.ParseUint(start, 16, 64)
	_, err2 := strconv.ParseUint(pid, 16, 64)
	return ok && err1 == nil && err2 == nil
}

const timeLayout = "2006-01-02 15:04:05.000"

// parseTime reads "2026-11-30 09:19:35.789 UTC". Only differences of times
// matter, so the zone is returned as it is.
func parseTime(s string) (at time.Duration, zone string, err error) {
	if len(s) < len(timeLayout) {
		return 0, "", errors.New("no time")
	}
	t, err := time.Parse(timeLayout, s[:len(timeLayout)])
	if err != nil {
		return 0, "", err
	}
	if y := t.Year(); y < 1970 || y > 2200 {
		return 0, "", fmt.Errorf("year %d", y)
	}
	return time.Duration(t.UnixNano()), strings.TrimSpace(s[len(timeLayout):]), nil
}

// record makes a record of a line. The kind is rOther, with a note, for what no
// session needs to know.
func (s *source) record(fields []string) (r record, session, zone string, note Kind, err error) {
	r.pos = s.fieldPos(0)
	if r.at, zone, err = parseTime(fields[colTime]); err != nil {
		return r, "", "", "", s.fail(colTime, "%w: %q is not a time", ErrDamaged, fields[colTime])
	}
	if r.line, err = strconv.ParseUint(fields[colLine], 10, 64); err != nil {
		return r, "", "", "", s.fail(colLine, "%w: %q is not a line number", ErrDamaged, fields[colLine])
	}
	if r.xid, err = strconv.ParseUint(fields[colXid], 10, 64); err != nil {
		return r, "", "", "", s.fail(colXid, "%w: %q is not a transaction id", ErrDamaged, fields[colXid])
	}
	if !sessionID(fields[colSession]) {
		return r, "", "", "", s.fail(colSession, "%w: %q is not a session", ErrDamaged, fields[colSession])
	}
	session = strings.Clone(fields[colSession])
	if _, local, ok := strings.Cut(fields[colVxid], "/"); ok && local != "0" {
		r.vxid = strings.Clone(fields[colVxid])
	}
	switch tag := fields[colTag]; tag {
	case "idle":
		r.state = idle
	case "idle in transaction":
		r.state = inTransaction
	case "idle in transaction (aborted)":
		r.state = inFailed
	default:
		r.tag, _, _ = strings.Cut(tag, " ")
		r.tag = strings.Clone(r.tag)
	}
	if backend := fields[colBackendType]; backend != "client backend" {
		return r, session, zone, OtherBackend, nil
	}
	note = r.interpret(fields[colSeverity], fields[colMessage], fields[colDetail])
	return r, session, zone, note, nil
}

// interpret decides the kind of r.
func (r *record) interpret(severity, message, detail string) Kind {
	switch severity {
	case "ERROR":
		r.kind = rError
		return ""
	case "FATAL", "PANIC":
		r.kind = rEnd
		return ""
	case "LOG":
	default:
		return ServerMessage
	}
	if sql, ok := strings.CutPrefix(message, "statement: "); ok {
		r.kind = rStatement
		return r.parse(sql, detail, false)
	}
	if rest, ok := strings.CutPrefix(message, "execute "); ok {
		// execute NAME: SQL, execute NAME/PORTAL: SQL, execute fetch from …
		name, sql, ok := strings.Cut(rest, ": ")
		if !ok {
			return NotUnderstood
		}
		r.kind = rStatement
		if strings.HasPrefix(name, "fetch from ") { // the portal goes on
			r.stmts = []stmt{{verb: vNothing, note: Cursor}}
			return ""
		}
		return r.parse(sql, detail, true)
	}
	if rest, ok := strings.CutPrefix(message, "duration: "); ok {
		if strings.HasSuffix(rest, " ms") {
			r.kind = rDuration
			return ""
		}
		if strings.Contains(rest, " ms  parse ") || strings.Contains(rest, " ms  bind ") {
			return ServerMessage
		}
		return WithDuration
	}
	if strings.HasPrefix(message, "disconnection: ") {
		r.kind = rEnd
		return ""
	}
	return ServerMessage
}

// parse understands the statements of a line.
func (r *record) parse(sql, detail string, extended bool) (note Kind) {
	var params map[string]string
	if extended {
		params = parameters(detail)
	}
	lists, ok := statements(sql)
	if !ok {
		note = Unlexable
	}
	for _, ts := range lists {
		st := understand(ts, params)
		if prepared, ok := strings.CutPrefix(detail, "prepare: "); ok && ts[0].is("execute") {
			if body := preparedBody(prepared); body != nil {
				st = understand(body, nil)
			}
		}
		r.stmts = append(r.stmts, st)
	}
	if len(lists) == 0 {
		r.stmts = []stmt{{verb: vNothing, note: EmptyStatement}}
	}
	return note
}

// preparedBody returns what PREPARE name (types) AS prepares.
func preparedBody(sql string) []token {
	lists, _ := statements(sql)
	for _, ts := range lists {
		for i := range ts {
			if ts[i].is("as") {
				return ts[i+1:]
			}
		}
	}
	return nil
}

// parameters reads "parameters: $1 = '5', $2 = NULL".
func parameters(detail string) map[string]string {
	const label = "parameters: "
	if len(detail) < len(label) || !strings.EqualFold(detail[:len(label)], label) {
		return nil
	}
	params := map[string]string{}
	lx := lexer{s: detail[len(label):]}
	for {
		name, ok := lx.next()
		eq, ok2 := lx.next()
		value, ok3 := lx.next()
		if !ok || !ok2 || !ok3 || name.kind != param || !eq.is("=") {
			return params
		}
		if value.kind == str && !lx.unterminated {
			params[name.text] = value.text
		}
		if comma, ok := lx.next(); !ok || !comma.is(",") {
			return params
		}
	}
}
