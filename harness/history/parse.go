package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"xidlab/core"
)

// A SyntaxError says what is wrong with the text form of a history, and where.
type SyntaxError struct {
	File         string
	Line, Column int // from 1; a column counts bytes
	Want, Got    string
}

func (e *SyntaxError) Error() string {
	s := fmt.Sprintf("%s:%d:%d: expected %s", e.File, e.Line, e.Column, e.Want)
	if e.Got != "" {
		s += ", found " + e.Got
	}
	return s
}

// maxLine bounds the length of a line, and so what a file that is no history at
// all makes the reader hold.
const maxLine = 1 << 26

// textReader reads operations in the text form.
type textReader struct {
	file  string
	lines *bufio.Scanner
	line  int
	check *validator
	snaps map[uint64]int // the line that made each
	head  Header
	first string // the first line with an operation, read with the header
}

// A lexer reads one line. Errors are thrown as *SyntaxError.
type lexer struct {
	r  *textReader
	s  string
	at int // where the next token starts

	callAt int // where the stamp of the call is
}

func newTextReader(file string, r io.Reader) (t *textReader, err error) {
	t = &textReader{file: file, lines: bufio.NewScanner(r), snaps: map[uint64]int{}}
	t.lines.Buffer(nil, maxLine)
	defer recoverSyntax(&err)
	line, ok := t.nextLine()
	if l := (&lexer{r: t, s: line}); !ok || strings.TrimSpace(line) != textMagic {
		l.fail(0, strconv.Quote(textMagic)+" in the first line", l.rest(0))
	}
	xids := false
	seen := map[string]bool{}
	for {
		line, ok := t.nextLine()
		l := &lexer{r: t, s: line}
		if !ok {
			break
		}
		key := l.peekWord()
		if key == "" || key[0] >= '0' && key[0] <= '9' {
			t.first = line
			break
		}
		if seen[key] {
			l.fail(l.at, fmt.Sprintf("one line %q only", key), "another")
		}
		seen[key] = true
		at := l.at
		l.at += len(key)
		l.space()
		switch key {
		case "manager":
			t.head.Manager = strings.TrimSpace(l.s[l.at:])
			l.at = len(l.s)
		case "xids":
			xids = true
			t.head.Ordered = l.oneOf("ordered", "unordered") == 0
		case "stamps":
			t.head.Clock = Clock(l.oneOf(clockNames[:]...))
		case "skew":
			t.head.Skew = l.stamp("the largest disagreement of clocks, in the unit of the stamps")
		default:
			l.fail(at, "manager, xids, stamps, skew, or the number of a worker", l.rest(at))
		}
		l.end()
	}
	if !xids {
		l := &lexer{r: t}
		l.fail(0, `a line "xids ordered" or "xids unordered" before the first operation`, "")
	}
	t.check = newValidator(t.head)
	return t, nil
}

func recoverSyntax(err *error) {
	switch e := recover().(type) {
	case nil:
	case *SyntaxError:
		*err = e
	case readError:
		*err = e.error
	default:
		panic(e)
	}
}

type readError struct{ error }

// nextLine returns the next line that is not empty and not a comment.
func (t *textReader) nextLine() (string, bool) {
	for t.lines.Scan() {
		t.line++
		line := t.lines.Text()
		if i := strings.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		line = strings.TrimRight(line, " \t\r")
		if strings.TrimSpace(line) != "" {
			return line, true
		}
	}
	if err := t.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		panic(&SyntaxError{t.file, t.line + 1, 1, fmt.Sprintf("at most %d bytes", maxLine), "a longer line"})
	} else if err != nil {
		panic(readError{fmt.Errorf("read %s: %w", t.file, err)})
	}
	t.line++
	return "", false
}

// next reads one operation, or reports io.EOF.
func (t *textReader) next(o *Op) (err error) {
	defer recoverSyntax(&err)
	line, ok := t.first, t.first != ""
	if t.first = ""; !ok {
		if line, ok = t.nextLine(); !ok {
			return io.EOF
		}
	}
	l := &lexer{r: t, s: line}
	*o = Op{}
	l.op(o)
	l.end()
	if err := t.check.op(o); err != nil {
		return &SyntaxError{t.file, t.line, l.callAt + 1, err.Error(), ""}
	}
	return nil
}

func (l *lexer) op(o *Op) {
	o.Worker = int32(l.number("the number of a worker", 1<<31-1))
	l.callAt = l.skip()
	o.Call = l.stamp("the stamp of the call")
	l.space()
	if o.Return = Pending; l.peekWord() == "-" {
		l.at++
	} else {
		at := l.at
		if o.Return = l.stamp(`the stamp of the return, or "-" if it never returned`); o.Return < o.Call {
			l.fail(at, fmt.Sprintf("a return at %d, the call, or later", o.Call), strconv.FormatInt(o.Return, 10))
		}
	}
	l.space()
	at, word := l.at, l.peekWord()
	k, ok := kinds[word]
	if !ok {
		l.fail(at, "an operation, such as Begin, Commit or Snapshot", l.rest(at))
	}
	o.Kind = k
	l.at += len(word)
	l.token("(")
	for i, p := range shapes[k].args {
		if i > 0 {
			l.token(",")
		}
		l.part(o, p)
	}
	l.token(")")
	if o.Return == Pending {
		if l.space(); l.at < len(l.s) {
			l.fail(l.at, `the end of the line, as "-" says that the call never returned`, l.rest(l.at))
		}
		return
	}
	l.token("=")
	if l.refusal(o) {
		return
	}
	for _, p := range shapes[k].answers {
		l.part(o, p)
	}
}

// refusal reads a refusal, if there is one.
func (l *lexer) refusal(o *Op) bool {
	s := &shapes[o.Kind]
	l.space()
	word := l.peekWord()
	for _, r := range s.refusals {
		if word != r.String() {
			continue
		}
		l.at += len(word)
		o.Result = r
		if s.refused != 0 {
			l.part(o, s.refused)
		}
		if s.found && (r == NotActive || r == NotCommitted) {
			l.part(o, partStatus)
		} else if r == Unallocated {
			o.Status = core.Unallocated
		}
		return true
	}
	return false
}

func (l *lexer) part(o *Op, p part) {
	switch p {
	case partXid:
		o.Xid = l.xid("an xid")
	case partOther:
		o.Other = l.xid("an xid")
	case partNext:
		o.Next = l.xid("a bound")
	case partSet:
		o.Set = l.set()
	case partList:
		for l.space(); l.at < len(l.s) && l.s[l.at] != ')'; l.space() {
			if len(o.Set) > 0 {
				l.token(",")
			}
			o.Set = append(o.Set, l.xid("an xid"))
		}
	case partOf:
		at := l.skip()
		if o.Of = l.snap(true); o.Of != 0 && l.r.snaps[o.Of] == 0 {
			l.fail(at, "a snapshot that an earlier line made", l.rest(at))
		}
	case partSnap:
		at := l.skip()
		o.Snap = l.snap(false)
		if line := l.r.snaps[o.Snap]; line != 0 {
			l.fail(at, "a number of its own for each snapshot and guard", fmt.Sprintf("s%d, which line %d made", o.Snap, line))
		}
		l.r.snaps[o.Snap] = l.r.line
	case partYes:
		o.Yes = l.oneOf("true", "false") == 0
	case partStatus:
		names := make([]string, core.Aborted+1)
		for s := range names {
			names[s] = core.Status(s).String()
		}
		o.Status = core.Status(l.oneOf(names...))
	case partCount:
		o.Count = int(l.number("a count", 1<<31-1))
	case partView:
		l.view(o)
	case partNothing:
		refusals := []string{"ok"}
		for _, r := range shapes[o.Kind].refusals {
			refusals = append(refusals, r.String())
		}
		l.oneOf(refusals...)
	}
}

// view reads the clauses of a snapshot, each at most once.
func (l *lexer) view(o *Op) {
	seen := map[string]bool{}
	for l.space(); l.at < len(l.s); l.space() {
		at, word := l.at, l.peekWord()
		if seen[word] {
			l.fail(at, "each clause once", "another "+word)
		}
		seen[word] = true
		l.at += len(word)
		switch word {
		case "owner":
			o.Other = l.xid("the owner's xid")
		case "bound":
			o.Next = l.xid("the first xid not allocated")
		case "hides":
			o.Set, o.Full = l.set(), true
		case "has", "lacks":
			for _, x := range l.set() {
				o.Probes = append(o.Probes, Probe{x, word == "has"})
			}
		default:
			l.fail(at, "owner, bound, hides, has or lacks", l.rest(at))
		}
	}
	if o.Full && o.Next == core.None {
		l.fail(l.at, `a clause "bound", without which "hides" says nothing about the other xids`, "")
	}
}

func (l *lexer) set() core.XidSet {
	l.token("{")
	var set core.XidSet
	for l.space(); l.at < len(l.s) && l.s[l.at] != '}'; l.space() {
		at := l.at
		x := l.xid("an xid or }")
		if n := len(set); n > 0 && set[n-1] >= x {
			l.fail(at, fmt.Sprintf("an xid above %d, as a set is ascending", set[n-1]), strconv.FormatUint(uint64(x), 10))
		}
		set = append(set, x)
	}
	l.token("}")
	return set
}

func (l *lexer) snap(foreign bool) uint64 {
	const want = "a snapshot's number, such as s1"
	at, word := l.skip(), l.peekWord()
	if foreign && word == "foreign" {
		l.at += len(word)
		return 0
	}
	digits, ok := strings.CutPrefix(word, "s")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || n == 0 {
		l.fail(at, want, l.rest(at))
	}
	l.at += len(word)
	return n
}

func (l *lexer) xid(want string) core.Xid { return core.Xid(l.number(want, 1<<64-1)) }

func (l *lexer) stamp(want string) int64 { return int64(l.number(want, uint64(Pending-1))) }

// number reads decimal digits.
func (l *lexer) number(want string, most uint64) uint64 {
	at := l.skip()
	for l.at < len(l.s) && l.s[l.at] >= '0' && l.s[l.at] <= '9' {
		l.at++
	}
	n, err := strconv.ParseUint(l.s[at:l.at], 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > most {
		l.fail(at, fmt.Sprintf("%s, at most %d", want, most), l.rest(at))
	} else if err != nil {
		l.fail(at, want, l.rest(at))
	}
	return n
}

func (l *lexer) oneOf(words ...string) int {
	at, word := l.skip(), l.peekWord()
	for i, w := range words {
		if w == word {
			l.at += len(word)
			return i
		}
	}
	want := strings.Join(words[:len(words)-1], ", ")
	if want != "" {
		want += " or "
	}
	l.fail(at, want+words[len(words)-1], l.rest(at))
	return 0
}

func (l *lexer) token(t string) {
	if at := l.skip(); !strings.HasPrefix(l.s[at:], t) {
		l.fail(at, strconv.Quote(t), l.rest(at))
	}
	l.at += len(t)
}

func (l *lexer) end() {
	if l.space(); l.at < len(l.s) {
		l.fail(l.at, "the end of the line", l.rest(l.at))
	}
}

func (l *lexer) space() {
	for l.at < len(l.s) && (l.s[l.at] == ' ' || l.s[l.at] == '\t') {
		l.at++
	}
}

func (l *lexer) skip() int {
	l.space()
	return l.at
}

// peekWord returns the letters, digits and dashes that come next.
func (l *lexer) peekWord() string {
	l.space()
	end := l.at
	for end < len(l.s) && !strings.ContainsRune(" \t(),={}", rune(l.s[end])) {
		end++
	}
	return l.s[l.at:end]
}

// rest is what stands at a place, for an error.
func (l *lexer) rest(at int) string {
	const most = 20
	switch s := l.s[at:]; {
	case s == "" && l.s == "":
		return "the end of the file"
	case s == "":
		return "the end of the line"
	case len(s) > most:
		return strconv.Quote(s[:most]) + "…"
	default:
		return strconv.Quote(s)
	}
}

func (l *lexer) fail(at int, want, got string) {
	panic(&SyntaxError{l.r.file, l.r.line, at + 1, want, got})
}
