package pglog

import "strings"

// A token is a piece of SQL. Words are folded to lower case, as the server
// does; text is the unquoted identifier or the literal as written.
type token struct {
	kind tokenKind
	text string
}

type tokenKind uint8

const (
	word   tokenKind = iota // a keyword or an unquoted identifier
	ident                   // a quoted identifier
	number                  // an unsigned number
	str                     // a string constant, its value
	param                   // $1
	punct                   // one character of anything else
)

// is reports whether t is the keyword or the punctuation s.
func (t token) is(s string) bool { return (t.kind == word || t.kind == punct) && t.text == s }

// name reports whether t can be a name.
func (t token) name() bool { return t.kind == word || t.kind == ident }

// statements splits SQL at the semicolons between statements, as the server
// does: not at those in quotes, dollar quotes, comments, parentheses, or the
// body of a function in BEGIN ATOMIC. Empty statements are left out. ok is
// false if the text ends inside a quote or a comment; what was read is returned.
// Backslashes in plain strings are ordinary (standard_conforming_strings).
func statements(sql string) (stmts [][]token, ok bool) {
	lx := lexer{s: sql}
	var cur []token
	parens, blocks := 0, 0 // open parentheses, and BEGIN … END of a body
	for {
		t, more := lx.next()
		if !more {
			break
		}
		switch {
		case t.is(";") && parens == 0 && blocks == 0:
			if len(cur) > 0 {
				stmts = append(stmts, cur)
			}
			cur = nil
			continue
		case t.is("("):
			parens++
		case t.is(")"):
			parens = max(parens-1, 0)
		case t.is("begin") && createsRoutine(cur) || blocks > 0 && t.is("case"):
			blocks++
		case t.is("end") && blocks > 0:
			blocks--
		}
		cur = append(cur, t)
	}
	if len(cur) > 0 {
		stmts = append(stmts, cur)
	}
	return stmts, !lx.unterminated
}

func createsRoutine(ts []token) bool {
	if len(ts) == 0 || !ts[0].is("create") {
		return false
	}
	i := 1
	if len(ts) > 3 && ts[1].is("or") {
		i = 3 // create or replace
	}
	return len(ts) > i && (ts[i].is("function") || ts[i].is("procedure"))
}

type lexer struct {
	s            string
	i            int
	unterminated bool
}

func (lx *lexer) rest() string { return lx.s[lx.i:] }

// next returns the next token that is not space or comment.
func (lx *lexer) next() (token, bool) {
	for lx.i < len(lx.s) {
		switch c := lx.s[lx.i]; {
		case c <= ' ':
			lx.i++
		case strings.HasPrefix(lx.rest(), "--"):
			if n := strings.IndexAny(lx.rest(), "\r\n"); n >= 0 {
				lx.i += n
			} else {
				lx.i = len(lx.s)
			}
		case strings.HasPrefix(lx.rest(), "/*"):
			lx.comment()
		case c == '\'':
			return lx.quoted(str, '\'', false), true
		case c == '"':
			return lx.quoted(ident, '"', false), true
		case c == '$':
			return lx.dollar(), true
		case digit(c) || c == '.' && lx.i+1 < len(lx.s) && digit(lx.s[lx.i+1]):
			return lx.take(number, func(c byte) bool { return digit(c) || c == '.' || letter(c) }), true
		case letter(c):
			return lx.word(), true
		default:
			lx.i++
			return token{punct, lx.s[lx.i-1 : lx.i]}, true
		}
	}
	return token{}, false
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

func (lx *lexer) take(kind tokenKind, in func(byte) bool) token {
	start := lx.i
	for lx.i < len(lx.s) && in(lx.s[lx.i]) {
		lx.i++
	}
	return token{kind, lx.s[start:lx.i]}
}

// comment skips a block comment; they nest.
func (lx *lexer) comment() {
	depth := 0
	for lx.i < len(lx.s) {
		switch {
		case strings.HasPrefix(lx.rest(), "/*"):
			depth++
			lx.i += 2
		case strings.HasPrefix(lx.rest(), "*/"):
			depth--
			lx.i += 2
			if depth == 0 {
				return
			}
		default:
			lx.i++
		}
	}
	lx.unterminated = true
}

// quoted reads a constant or an identifier in quotes. A doubled quote stands
// for itself; with escapes, so does what follows a backslash.
func (lx *lexer) quoted(kind tokenKind, quote byte, escapes bool) token {
	lx.i++
	start, plain := lx.i, true
	var b []byte
	for lx.i < len(lx.s) {
		c := lx.s[lx.i]
		double := c == quote && lx.i+1 < len(lx.s) && lx.s[lx.i+1] == quote
		escape := escapes && c == '\\' && lx.i+1 < len(lx.s)
		switch {
		case double || escape:
			if plain {
				b, plain = append(b, lx.s[start:lx.i]...), false
			}
			b = append(b, lx.s[lx.i+1])
			lx.i += 2
			continue
		case c == quote:
			lx.i++
			if plain {
				return token{kind, lx.s[start : lx.i-1]}
			}
			return token{kind, string(b)}
		case !plain:
			b = append(b, c)
		}
		lx.i++
	}
	lx.unterminated = true
	return token{kind, lx.s[start:]}
}

// dollar reads $1, or a string in dollar quotes, or a lone dollar.
func (lx *lexer) dollar() token {
	start := lx.i
	lx.i++
	if lx.i < len(lx.s) && digit(lx.s[lx.i]) {
		lx.take(param, digit)
		return token{param, lx.s[start:lx.i]}
	}
	lx.take(word, func(c byte) bool { return letter(c) || digit(c) })
	if lx.i >= len(lx.s) || lx.s[lx.i] != '$' {
		lx.i = start + 1
		return token{punct, "$"}
	}
	lx.i++
	tag := lx.s[start:lx.i]
	n := strings.Index(lx.rest(), tag)
	if n < 0 {
		lx.unterminated = true
		body := lx.rest()
		lx.i = len(lx.s)
		return token{str, body}
	}
	body := lx.s[lx.i : lx.i+n]
	lx.i += n + len(tag)
	return token{str, body}
}

// word reads a word, or a constant that a word introduces: E'…', B'…', X'…',
// N'…', U&'…', U&"…".
func (lx *lexer) word() token {
	t := lx.take(word, func(c byte) bool { return letter(c) || digit(c) || c == '$' })
	t.text = strings.ToLower(t.text)
	rest := lx.rest()
	switch {
	case t.text == "e" && strings.HasPrefix(rest, "'"):
		return lx.quoted(str, '\'', true)
	case (t.text == "b" || t.text == "x" || t.text == "n") && strings.HasPrefix(rest, "'"):
		return lx.quoted(str, '\'', false)
	case t.text == "u" && strings.HasPrefix(rest, "&'"):
		lx.i++
		return lx.quoted(str, '\'', false)
	case t.text == "u" && strings.HasPrefix(rest, `&"`):
		lx.i++
		return lx.quoted(ident, '"', false)
	}
	return t
}
