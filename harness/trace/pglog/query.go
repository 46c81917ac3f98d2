package pglog

import (
	"slices"
	"strings"

	"xidlab/harness/trace"
)

// query finds the tables that a SELECT, INSERT, UPDATE, DELETE, MERGE or WITH
// reads and writes, at any depth, and narrows them to a key where the statement
// is simple enough. What it cannot tell it makes larger: the whole table.
func query(st *stmt, ts []token, params map[string]string) {
	ctes := cteNames(ts)
	sc := scanner{ts: ts, levels: []level{{}}}
	for sc.i = 0; sc.i < len(ts); {
		sc.step()
	}
	var reads []trace.Object
	for _, o := range sc.reads {
		if !slices.Contains(ctes, o.Table) {
			reads = append(reads, o)
		}
	}
	writes := sc.writes
	if sc.locks { // select … for update
		writes, reads = append(writes, reads...), nil
	}
	if len(reads)+len(writes) == 1 && sc.simple() {
		key := keyIn(sc.where(), params)
		for _, set := range [][]trace.Object{reads, writes} {
			for i := range set {
				set[i].Key = key
			}
		}
	}
	st.reads, st.writes = compact(reads), compact(writes)
	st.singleRow = ts[0].is("insert") && len(reads) == 0 && len(writes) == 1 && sc.valuesRows() == 1
}

func compact(set []trace.Object) []trace.Object {
	slices.SortFunc(set, func(a, b trace.Object) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(set)
}

// A scanner walks over the tokens of a query and keeps, for each level of
// parentheses, whether it is in a FROM list.
type scanner struct {
	ts      []token
	i       int
	levels  []level
	reads   []trace.Object
	writes  []trace.Object
	selects int
	locks   bool // FOR UPDATE and its kin
	derived bool // there are rows that come from no table: a function, VALUES
}

type level struct {
	from     bool // in a FROM list: a comma separates tables
	function bool // of extract, trim …, where FROM means something else
}

func (sc *scanner) at(i int) token {
	if i < 0 || i >= len(sc.ts) {
		return token{kind: punct}
	}
	return sc.ts[i]
}

var fromFunctions = []string{"extract", "substring", "trim", "overlay", "position"}

// Words that end a FROM list.
var endsFrom = []string{"where", "group", "order", "having", "limit", "offset", "fetch", "for", "window", "union",
	"intersect", "except", "set", "returning", "values", "select"}

func (sc *scanner) step() {
	t, prev := sc.at(sc.i), sc.at(sc.i-1)
	top := &sc.levels[len(sc.levels)-1]
	sc.i++
	if t.kind != word && t.kind != punct {
		return
	}
	switch t.text {
	case "(":
		sc.levels = append(sc.levels, level{function: prev.kind == word && slices.Contains(fromFunctions, prev.text)})
	case ")":
		if len(sc.levels) > 1 {
			sc.levels = sc.levels[:len(sc.levels)-1]
		}
	case ",":
		if top.from {
			sc.table(&sc.reads)
		}
	case "select":
		sc.selects++
	case "values":
		sc.derived = true
	case "from":
		distinct := prev.is("distinct") && (sc.at(sc.i-3).is("is") || sc.at(sc.i-3).is("not"))
		switch {
		case top.function || distinct:
		case prev.is("delete"):
			sc.table(&sc.writes)
		default:
			top.from = true
			sc.table(&sc.reads)
		}
	case "join":
		sc.table(&sc.reads)
	case "using":
		if !sc.at(sc.i).is("(") && (slices.ContainsFunc(sc.ts, func(t token) bool { return t.is("delete") || t.is("merge") })) {
			top.from = true
			sc.table(&sc.reads)
		}
	case "into":
		switch {
		case prev.is("insert") || prev.is("merge"):
			sc.table(&sc.writes)
		case sc.selects > 0: // select … into t
			sc.writes = append(sc.writes, catalog)
		}
	case "update":
		switch {
		case prev.is("for") || prev.is("key"):
			sc.locks = true
		case prev.is("do") || prev.is("on") || prev.is("then"):
		default:
			sc.table(&sc.writes)
		}
	case "share":
		if prev.is("for") || prev.is("key") {
			sc.locks = true
		}
	case "table":
		if sc.i == 1 {
			sc.table(&sc.reads)
		}
	}
	if t.kind == word && slices.Contains(endsFrom, t.text) {
		top.from = false
	}
}

// table reads the name of a table, if one is next, into set.
func (sc *scanner) table(set *[]trace.Object) {
	o, i, ok := tableName(sc.ts, sc.i)
	if !ok {
		return
	}
	sc.i = i
	if sc.at(i).is("(") && set != &sc.writes { // a function
		sc.derived = true
		return
	}
	*set = append(*set, o)
}

// tableName reads [ONLY | LATERAL] name.name at ts[i], and returns what follows.
// The schema public is left out.
func tableName(ts []token, i int) (trace.Object, int, bool) {
	for i < len(ts) && (ts[i].is("only") || ts[i].is("lateral")) {
		i++
	}
	if i >= len(ts) || !ts[i].name() || ts[i].is("select") || ts[i].is("rows") {
		return trace.Object{}, i, false
	}
	name := ts[i].text
	for i++; i+1 < len(ts) && ts[i].is(".") && ts[i+1].name(); i += 2 {
		name += "." + ts[i+1].text
	}
	if i < len(ts) && ts[i].is("*") {
		i++
	}
	return trace.Object{Table: strings.TrimPrefix(name, "public.")}, i, true
}

// cteNames returns the names that WITH defines: those before AS (.
func cteNames(ts []token) (names []string) {
	if !slices.ContainsFunc(ts, func(t token) bool { return t.is("with") }) {
		return nil
	}
	for i := 1; i < len(ts); i++ {
		if !ts[i].is("as") {
			continue
		}
		j := i + 1
		for j < len(ts) && (ts[j].is("not") || ts[j].is("materialized")) {
			j++
		}
		if j >= len(ts) || !ts[j].is("(") {
			continue
		}
		k := i - 1
		if ts[k].is(")") { // name (columns) as
			for k > 0 && !ts[k].is("(") {
				k--
			}
			k--
		}
		if k >= 0 && ts[k].name() {
			names = append(names, ts[k].text)
		}
	}
	return names
}

// simple reports whether the statement is of one part, so that its WHERE speaks
// of its table.
func (sc *scanner) simple() bool {
	first := sc.ts[0]
	return !sc.derived && (first.is("select") && sc.selects == 1 || (first.is("update") || first.is("delete")) && sc.selects == 0)
}

// where returns the tokens of the outermost WHERE.
func (sc *scanner) where() []token {
	depth, start := 0, -1
	for i, t := range sc.ts {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth != 0 || t.kind != word:
		case t.text == "where" && start < 0:
			start = i + 1
		case start >= 0 && slices.Contains(endsFrom, t.text):
			return sc.ts[start:i]
		}
	}
	if start < 0 {
		return nil
	}
	return sc.ts[start:]
}

// keyIn returns the key that a condition fixes, "column=value", or "".
func keyIn(cond []token, params map[string]string) string {
	key, start, depth, between := "", 0, 0, false
	for i := 0; i <= len(cond); i++ {
		t := token{punct, ""}
		if i < len(cond) {
			t = cond[i]
		}
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth > 0 && i < len(cond):
		case t.is("or"):
			return ""
		case t.is("between"):
			between = true
		case t.is("and") && between:
			between = false
		case t.is("and") || i == len(cond):
			if k := equality(cond[start:i], params); k != "" && (key == "" || k < key) {
				key = k
			}
			start = i + 1
		}
	}
	return key
}

// equality returns the key of "column = literal" or "literal = column".
func equality(ts []token, params map[string]string) string {
	for enclosed(ts) {
		ts = ts[1 : len(ts)-1]
	}
	eq := slices.IndexFunc(ts, func(t token) bool { return t.is("=") })
	if eq <= 0 {
		return ""
	}
	for _, sides := range [2][2][]token{{ts[:eq], ts[eq+1:]}, {ts[eq+1:], ts[:eq]}} {
		column, ok := columnName(sides[0])
		value, ok2 := literal(sides[1], params)
		if ok && ok2 {
			return column + "=" + value
		}
	}
	return ""
}

// enclosed reports whether ts is one pair of parentheses with something in it.
func enclosed(ts []token) bool {
	depth := 0
	for i, t := range ts {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		if depth == 0 {
			return i > 1 && i == len(ts)-1
		}
	}
	return false
}

func columnName(ts []token) (string, bool) {
	for i, t := range ts {
		if i%2 == 0 && !t.name() || i%2 == 1 && !t.is(".") {
			return "", false
		}
	}
	if len(ts)%2 == 0 || ts[0].is("true") || ts[0].is("false") || ts[0].is("null") {
		return "", false
	}
	return ts[len(ts)-1].text, true
}

// literal returns the value of a constant, with a sign and a cast at most.
func literal(ts []token, params map[string]string) (string, bool) {
	sign := ""
	if len(ts) > 1 && ts[0].is("-") && ts[1].kind == number {
		sign, ts = "-", ts[1:]
	}
	if len(ts) == 0 || len(ts) > 1 && !(len(ts) >= 4 && ts[1].is(":") && ts[2].is(":") && ts[3].name()) {
		return "", false
	}
	for _, t := range ts[min(4, len(ts)):] { // ::numeric(10, 2), ::a.b
		if !t.name() && t.kind != number && !strings.Contains("(),.[]", t.text) {
			return "", false
		}
	}
	switch t := ts[0]; {
	case t.kind == number || t.kind == str || t.is("true") || t.is("false"):
		return sign + t.text, true
	case t.kind == param:
		v, ok := params[t.text]
		return v, ok
	}
	return "", false
}

// valuesRows returns how many rows the outermost VALUES lists, or 0 if there is
// none or an ON CONFLICT makes it more than an insert.
func (sc *scanner) valuesRows() int {
	depth, rows, values := 0, 0, false
	for i, t := range sc.ts {
		switch {
		case t.is("("):
			if depth == 0 && values {
				rows++
			}
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && t.is("values"):
			values = true
			if sc.at(i - 1).is("default") {
				return 1
			}
		case depth == 0 && t.is("returning"):
			return rows
		case depth == 0 && t.is("conflict") && i > 0 && sc.ts[i-1].is("on"):
			return 0
		}
	}
	return rows
}
