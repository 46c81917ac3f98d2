package pglog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"xidlab/harness/trace"
)

// A stmt is what one SQL statement means to a session.
type stmt struct {
	verb   verb
	tag    string // the first word of the server's command tag
	reads  []trace.Object
	writes []trace.Object
	// singleRow: an INSERT of one VALUES row that reads nothing.
	singleRow bool
	iso       isolation // of begin and the settings
	name      string    // of a savepoint
	chain     bool      // COMMIT or ROLLBACK AND CHAIN
	sleep     time.Duration
	note      Kind // to be counted, if it is not empty
}

type verb uint8

const (
	vQuery    verb = iota // takes a snapshot; reads and writes
	vNothing              // no operation of a snapshot manager
	vBegin                // BEGIN, START TRANSACTION
	vCommit               // COMMIT, END, PREPARE TRANSACTION
	vRollback             // ROLLBACK, ABORT
	vSavepoint
	vRelease
	vRollbackTo
	vSetTx      // SET TRANSACTION
	vSetDefault // SET of the session's default isolation
)

// An isolation is a level that a statement asks for, or none.
type isolation struct {
	set   bool
	level trace.Isolation
}

// catalog is what a statement that defines something writes.
var catalog = trace.Object{Table: "pg_catalog"}

// understand says what a statement means; params are the values of its
// parameters, if the log shows them.
func understand(ts []token, params map[string]string) stmt {
	if len(ts) == 0 {
		return stmt{verb: vNothing, note: EmptyStatement}
	}
	for len(ts) > 1 && ts[0].is("(") {
		ts = ts[1:] // (select …) union …
	}
	first := ts[0].text
	if ts[0].kind != word {
		first = ""
	}
	st := stmt{tag: strings.ToUpper(first), sleep: sleeps(ts)}
	second := func(s string) bool { return len(ts) > 1 && ts[1].is(s) }
	switch first {
	case "begin":
		st.verb, st.iso = vBegin, isolationIn(ts)
	case "start":
		st.verb, st.iso = vBegin, isolationIn(ts)
		if !second("transaction") {
			return unknown(st)
		}
	case "commit", "end":
		st.verb, st.tag, st.chain = vCommit, "COMMIT", chains(ts)
		if second("prepared") {
			st.verb, st.note = vNothing, TwoPhase
		}
	case "rollback", "abort":
		st.verb, st.tag, st.chain = vRollback, "ROLLBACK", chains(ts)
		if to := slices.IndexFunc(ts, func(t token) bool { return t.is("to") }); to >= 0 {
			st.verb, st.name = vRollbackTo, lastName(ts)
		}
		if second("prepared") {
			st.verb, st.note = vNothing, TwoPhase
		}
	case "savepoint":
		st.verb, st.name = vSavepoint, lastName(ts)
	case "release":
		st.verb, st.name = vRelease, lastName(ts)
	case "prepare":
		st.verb, st.note = vNothing, NoEffect
		if second("transaction") {
			st.verb, st.note = vCommit, TwoPhase
		}
	case "set", "reset", "discard":
		settings(&st, ts)
	case "show", "deallocate", "listen", "unlisten", "notify", "load", "lock", "close", "fetch", "move", "checkpoint":
		st.verb, st.note = vNothing, NoEffect
		if first == "fetch" || first == "move" {
			st.note = Cursor
		}
	case "vacuum", "cluster", "reindex":
		st.verb, st.note = vNothing, Maintenance
	case "select", "insert", "update", "delete", "merge", "with", "values", "table", "declare":
		query(&st, ts, params)
	case "explain":
		st = explain(ts, params)
	case "copy":
		copyStatement(&st, ts, params)
	case "execute":
		st.note = OpaqueBody // the prepared statement, unless its text is at hand
	case "do", "call":
		st.note = OpaqueBody
	case "create", "alter", "drop", "truncate", "grant", "revoke", "comment", "refresh", "analyze", "analyse",
		"security", "import", "reassign":
		st.note, st.writes = Definition, []trace.Object{catalog}
		if at := slices.IndexFunc(ts, func(t token) bool { return t.is("concurrently") }); at >= 0 || second("system") || second("database") || second("tablespace") {
			st = stmt{verb: vNothing, tag: st.tag, note: Maintenance}
		}
	default:
		return unknown(st)
	}
	return st
}

func unknown(st stmt) stmt { return stmt{verb: vNothing, tag: st.tag, note: NotUnderstood} }

// lastName returns the name that ends a statement such as ROLLBACK TO x.
func lastName(ts []token) string {
	if t := ts[len(ts)-1]; len(ts) > 1 && t.name() {
		return t.text
	}
	return ""
}

func chains(ts []token) bool {
	n := len(ts)
	return n > 2 && ts[n-1].is("chain") && ts[n-2].is("and")
}

// isolationIn returns the last isolation level named in ts.
func isolationIn(ts []token) (iso isolation) {
	for i := range ts {
		if ts[i].is("level") && i > 0 && ts[i-1].is("isolation") {
			var words []string
			for _, t := range ts[i+1 : min(i+3, len(ts))] {
				words = append(words, t.text)
			}
			if level, ok := isolationNamed(strings.Join(words, " ")); ok {
				iso = isolation{true, level}
			}
		}
	}
	return iso
}

func isolationNamed(s string) (trace.Isolation, bool) {
	s = strings.ToLower(s)
	switch {
	case strings.HasPrefix(s, "serializable"):
		return trace.Serializable, true
	case strings.HasPrefix(s, "repeatable read"):
		return trace.RepeatableRead, true
	case strings.HasPrefix(s, "read committed"), strings.HasPrefix(s, "read uncommitted"):
		return trace.ReadCommitted, true // the server has no weaker level
	}
	return 0, false
}

// settings understands SET, RESET and DISCARD: most set nothing that a snapshot
// manager would notice, some set the isolation level.
func settings(st *stmt, ts []token) {
	st.verb, st.note = vNothing, NoEffect
	var texts []string
	for _, t := range ts {
		if !t.is("=") && !t.is("to") && !t.is("session") && !t.is("local") {
			texts = append(texts, t.text)
		}
	}
	s := strings.Join(texts, " ")
	value := func(prefix string) (trace.Isolation, bool) { return isolationNamed(strings.TrimPrefix(s, prefix)) }
	switch {
	case strings.HasPrefix(s, "set transaction isolation level"):
		st.verb, st.iso = vSetTx, isolationIn(ts)
	case strings.HasPrefix(s, "set transaction_isolation "):
		st.verb = vSetTx
		st.iso.level, st.iso.set = value("set transaction_isolation ")
	case strings.HasPrefix(s, "set characteristics as transaction isolation level"):
		st.verb, st.iso = vSetDefault, isolationIn(ts)
	case strings.HasPrefix(s, "set default_transaction_isolation "):
		st.verb = vSetDefault
		st.iso.level, st.iso.set = value("set default_transaction_isolation ")
	case s == "reset default_transaction_isolation", s == "reset all", s == "discard all":
		st.verb, st.iso.set = vSetDefault, true
	}
	if st.verb == vSetDefault && !st.iso.set { // … TO DEFAULT
		st.iso.set = true
	}
	if st.verb != vNothing {
		st.note = ""
	}
}

// explain understands EXPLAIN, which executes its statement under ANALYZE only.
func explain(ts []token, params map[string]string) stmt {
	i, analyze, depth := 1, false, 0
	for ; i < len(ts); i++ {
		t := ts[i]
		analyze = analyze || t.is("analyze") || t.is("analyse")
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && !t.is("analyze") && !t.is("analyse") && !t.is("verbose"):
			if st := understand(ts[i:], params); analyze {
				st.tag, st.singleRow = "EXPLAIN", false
				return st
			}
			return stmt{tag: "EXPLAIN"} // the planner takes a snapshot
		}
	}
	return stmt{tag: "EXPLAIN"}
}

func copyStatement(st *stmt, ts []token, params map[string]string) {
	switch {
	case len(ts) > 1 && ts[1].is("("):
		query(st, ts[1:], params)
	default:
		o, i, ok := tableName(ts, 1)
		if !ok {
			*st = unknown(*st)
			return
		}
		in := slices.ContainsFunc(ts[i:], func(t token) bool { return t.is("from") })
		if in {
			st.writes = []trace.Object{o}
		} else {
			st.reads = []trace.Object{o}
		}
	}
}

// sleeps returns how long the literal pg_sleeps of a statement take.
func sleeps(ts []token) (d time.Duration) {
	for i := 0; i+3 < len(ts); i++ {
		if ts[i].is("pg_sleep") && ts[i+1].is("(") && ts[i+2].kind == number && ts[i+3].is(")") {
			if s, err := strconv.ParseFloat(ts[i+2].text, 64); err == nil && s > 0 && s < 1e6 {
				d += time.Duration(s * float64(time.Second))
			}
		}
	}
	return d
}
