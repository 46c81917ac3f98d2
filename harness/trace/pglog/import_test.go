package pglog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"xidlab/harness/trace"
)

const (
	recorded = "../testdata/pgbench-mixed.csvlog.gz"
	builtin  = "../testdata/pgbench-mixed.trace"
)

var update = flag.Bool("update", false, "write "+builtin)

// TestRecordedLog compares with counts of the raw file that were made by other
// means (a script over the CSV: distinct virtual transaction ids, distinct
// transaction ids, statements by their text).
func TestRecordedLog(t *testing.T) {
	tr, report, err := Import(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := trace.WriteFile(builtin, tr); err != nil {
			t.Fatal(err)
		}
	}
	want := trace.Stats{
		Sessions:     20,
		Transactions: 3337, // distinct virtual_transaction_ids
		Commits:      3337 - 54 - 800,
		Rollbacks:    54, // 31 errors at UPDATE, 23 at COMMIT
		Allocated:    800,
		ReadOnly:     804 + 1, // autocommit SELECTs, and the long reader
		ByIsolation:  [3]int{1000 + 200 + 804, 256, 277},
		// One a statement: TPC-B has five, a transaction with a savepoint
		// three; one a transaction above read committed.
		Snapshots: 5*1000 + 3*200 + 804 + 256 + 277,
		Draws:     1732 + 200, // distinct transaction_ids, and a savepoint's
		// The SELECTs, one of which joins four catalogs each time it is seen
		// (twice); the long reader reads twice.
		Reads:                804 + 2*3 + 1000 + 200 + 255 + 277 + 2,
		Writes:               5981, // INSERTs and UPDATEs
		Savepoints:           200,
		RollbacksTo:          200,
		SerializableSessions: 3,
		Span:                 4515 * time.Millisecond, // the reader's end
		Longest:              4 * time.Second,
	}
	if got := tr.Stats(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if report.Files != 1 || report.Records != 12436 || report.Statements != 12386 || report.Sessions != 20 {
		t.Errorf("report: %+v", report)
	}
	if len(report.Notes) != 1 || report.Count(SerializableReplay) != 277 {
		t.Errorf("notes: %v", report.Notes)
	}
	keys := 0
	for _, o := range tr.Objects {
		if o.Key != "" {
			keys++
		}
	}
	if keys != 2204 || len(tr.Objects) != 2204+7 {
		t.Errorf("%d objects, %d with a key", len(tr.Objects), keys)
	}
}

// TestBuiltin: the trace that comes with the program is the import of the log
// beside it. After a change, run go test -update.
func TestBuiltin(t *testing.T) {
	want, _, err := Import(recorded)
	if err != nil {
		t.Fatal(err)
	}
	got, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is not the import of %s", builtin, recorded)
	}
}

// importText is Import of one file with that text; name is for errors.
func importText(name, text string) (*trace.Trace, *Report, error) {
	im := newImporter()
	if err := im.read(name, strings.NewReader(text)); err != nil {
		return nil, nil, err
	}
	return im.trace()
}

// TestFiles: plain and compressed files, one log in several, in any order.
func TestFiles(t *testing.T) {
	f, err := os.Open(recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))[:3000]
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv.gz")
	if err := os.WriteFile(a, bytes.Join(lines[:1000], nil), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b, compress(t, bytes.Join(lines[1000:], nil)), 0o666); err != nil {
		t.Fatal(err)
	}
	want, _, err := importText("all.csv", string(bytes.Join(lines, nil)))
	if err != nil {
		t.Fatal(err)
	}
	got, report, err := Import(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || report.Files != 2 {
		t.Error("the log in two files differs from the log in one")
	}
	swapped, _, err := Import(b, a)
	if err != nil {
		t.Fatal(err)
	}
	if swapped.Stats() != want.Stats() {
		t.Errorf("the order of files matters: %+v", swapped.Stats())
	}
	if _, _, err := Import(a, b, a); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "was a file given twice?") {
		t.Errorf("a file given twice: %v", err)
	}
	if _, _, err := Import(filepath.Join(dir, "none.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func compress(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A row is a line of a log in a test. Zero fields have values that fit.
type row struct {
	ms      int    // time
	session string // default a
	line    int    // default: one more than the session's last
	tag     string // default idle
	tx      int    // of the virtual transaction id; 0: none
	xid     int
	level   string // default LOG
	backend string
	msg     string
	detail  string
}

func logOf(columns int, rows ...row) string {
	var b strings.Builder
	last := map[string]int{}
	for _, r := range rows {
		if r.session == "" {
			r.session = "a"
		}
		if r.line == 0 {
			r.line = last[r.session] + 1
		}
		last[r.session] = r.line
		if r.tag == "" {
			r.tag = "idle"
		}
		if r.level == "" {
			r.level = "LOG"
		}
		if r.backend == "" {
			r.backend = "client backend"
		}
		at := time.UnixMilli(1_700_000_000_000 + int64(r.ms)).UTC().Format("2006-01-02 15:04:05.000 MST")
		f := make([]string, columns)
		copy(f, []string{at, "u", "d", "77", "[local]", "1." + r.session, strconv.Itoa(r.line), r.tag, at, "3/" + strconv.Itoa(r.tx), strconv.Itoa(r.xid), r.level, "00000", r.msg, r.detail})
		if columns > colBackendType {
			f[22], f[23] = "psql", r.backend
		}
		for i := range f {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.ContainsAny(f[i], ",\"\n") {
				f[i] = `"` + strings.ReplaceAll(f[i], `"`, `""`) + `"`
			}
			b.WriteString(f[i])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const inTx = "idle in transaction"

// TestFormat has a small log for each fact of the format.
func TestFormat(t *testing.T) {
	sql := func(ms int, tx, xid int, tag, text string) row {
		return row{ms: ms, tx: tx, xid: xid, tag: tag, msg: "statement: " + text}
	}
	failed := "idle in transaction (aborted)"
	for _, c := range []struct {
		name  string
		rows  []row
		want  string // seconds, operation
		notes map[Kind]int
	}{
		{
			"read committed takes a snapshot for each statement, and the xid is drawn at the first write",
			[]row{
				sql(0, 1, 0, "", "BEGIN"),
				sql(1, 1, 0, inTx, "select * from t where id = 5"),
				sql(2, 1, 0, inTx, "update t set a = 1 where id = 5"),
				sql(3, 1, 9, inTx, "delete from public.t where 7 = t.id and a > 3"),
				sql(4, 1, 9, inTx, "COMMIT"),
			},
			`0 begin read committed
			0.001 snapshot
			0.001 read t[id=5]
			0.002 snapshot
			0.002 draw 0
			0.002 write t[id=5]
			0.003 snapshot
			0.003 write t[id=7]
			0.004 commit`,
			nil,
		},
		{
			"repeatable read takes one, at its first statement; a read-only transaction draws no xid",
			[]row{
				sql(0, 1, 0, "", "start transaction isolation level repeatable read, read only"),
				sql(1, 1, 0, inTx, "select * from a join b on a.id = b.id where a.id = 1"),
				sql(2, 1, 0, inTx, "select count(*) from a"),
				sql(3, 1, 0, inTx, "end"),
			},
			`0 begin repeatable read
			0.001 snapshot
			0.001 read a
			0.001 read b
			0.002 read a
			0.003 commit`,
			nil,
		},
		{
			"set transaction, and the session's default",
			[]row{
				sql(0, 1, 0, "", "begin"),
				sql(1, 1, 0, inTx, "set transaction isolation level serializable"),
				sql(2, 1, 0, inTx, "select 1"),
				sql(3, 1, 0, inTx, "rollback"),
				sql(4, 2, 0, "", "set default_transaction_isolation to 'repeatable read'"),
				sql(5, 3, 0, "", "select 1"),
				sql(6, 4, 0, "", "set session characteristics as transaction isolation level read committed"),
				sql(7, 5, 0, "", "select 1"),
			},
			`0 begin serializable
			0.002 snapshot
			0.003 rollback
			0.005 begin repeatable read
			0.005 snapshot
			0.005 commit
			0.007 begin read committed
			0.007 snapshot
			0.007 commit`,
			map[Kind]int{SerializableReplay: 1},
		},
		{
			"a single-row autocommit insert is AllocateCommitted; other autocommit writes are transactions",
			[]row{
				sql(0, 1, 0, "", "insert into t(a, b) values (1, ';') returning a"),
				sql(1, 2, 0, "", "insert into t values (1), (2)"),
				sql(2, 3, 0, "", "insert into t select * from s"),
				sql(3, 4, 0, "", "insert into t values (1) on conflict do nothing"),
				sql(4, 5, 0, "", "update t set a = 1 where id = 3"),
			},
			`0 allocate-committed t
			0.001 begin read committed
			0.001 snapshot
			0.001 draw 0
			0.001 write t
			0.001 commit
			0.002 begin read committed
			0.002 snapshot
			0.002 read s
			0.002 draw 0
			0.002 write t
			0.002 commit
			0.003 begin read committed
			0.003 snapshot
			0.003 draw 0
			0.003 write t
			0.003 commit
			0.004 begin read committed
			0.004 snapshot
			0.004 draw 0
			0.004 write t[id=3]
			0.004 commit`,
			nil,
		},
		{
			"an autocommit insert that fails is rolled back when its error is written",
			[]row{
				sql(0, 1, 0, "", "insert into t values (1)"),
				{ms: 5, tx: 1, xid: 7, tag: "INSERT", level: "ERROR", msg: "duplicate key value"},
			},
			`0 begin read committed
			0 snapshot
			0 draw 0
			0 write t
			0.005 rollback`,
			nil,
		},
		{
			"an error inside a transaction rolls it back at once, and the session waits for ROLLBACK",
			[]row{
				sql(0, 1, 0, "", "begin"),
				sql(1, 1, 0, inTx, "update t set a = 1"),
				{ms: 2, tx: 1, xid: 7, tag: "UPDATE", level: "ERROR", msg: "could not serialize access"},
				{ms: 3, xid: 7, tag: failed, msg: "statement: select 1"},
				{ms: 3, xid: 7, tag: "SELECT", level: "ERROR", msg: "current transaction is aborted"},
				{ms: 4, xid: 7, tag: failed, msg: "statement: ROLLBACK"},
				sql(5, 2, 0, "", "select 1"),
			},
			`0 begin read committed
			0.001 snapshot
			0.001 draw 0
			0.001 write t
			0.002 rollback
			0.005 begin read committed
			0.005 snapshot
			0.005 commit`,
			map[Kind]int{Refused: 1},
		},
		{
			"an error at COMMIT ends the transaction",
			[]row{
				sql(0, 1, 0, "", "begin isolation level serializable"),
				sql(1, 1, 0, inTx, "delete from t"),
				sql(2, 1, 7, inTx, "end"),
				{ms: 4, tx: 1, xid: 7, tag: "COMMIT", level: "ERROR", msg: "could not serialize access"},
				sql(5, 2, 0, "", "select 1"),
			},
			`0 begin serializable
			0.001 snapshot
			0.001 draw 0
			0.001 write t
			0.004 rollback
			0.005 begin read committed
			0.005 snapshot
			0.005 commit`,
			map[Kind]int{SerializableReplay: 1},
		},
		{
			"savepoints draw their own xids, are released, and are rolled back to",
			[]row{
				sql(0, 1, 0, "", "begin"),
				sql(1, 1, 0, inTx, `savepoint "A"`),
				sql(2, 1, 0, inTx, "insert into t values (1)"),
				sql(3, 1, 7, inTx, "savepoint b"),
				sql(4, 1, 7, inTx, "insert into t values (2)"),
				sql(5, 1, 7, inTx, "rollback to savepoint B"),
				sql(6, 1, 7, inTx, "insert into t values (3)"),
				sql(7, 1, 7, inTx, `release "A"`),
				sql(8, 1, 7, inTx, "rollback to b"),
				{ms: 8, tx: 1, xid: 7, tag: "ROLLBACK", level: "ERROR", msg: "savepoint does not exist"},
				sql(9, 0, 7, failed, "commit"),
			},
			`0 begin read committed
			0.001 savepoint 1
			0.002 snapshot
			0.002 draw 0
			0.002 draw 1
			0.002 write t
			0.003 savepoint 2
			0.004 snapshot
			0.004 draw 2
			0.004 write t
			0.005 rollback-to 2
			0.006 snapshot
			0.006 draw 2
			0.006 write t
			0.007 release 1
			0.008 rollback`,
			nil,
		},
		{
			"an error under a savepoint undoes the savepoint; ROLLBACK TO brings the session back",
			[]row{
				sql(0, 1, 0, "", "begin"),
				sql(1, 1, 0, inTx, "savepoint s"),
				sql(2, 1, 0, inTx, "insert into t values (1)"),
				{ms: 3, tx: 1, xid: 7, tag: "INSERT", level: "ERROR", msg: "duplicate key"},
				sql(4, 1, 7, failed, "rollback to s"),
				sql(5, 1, 7, inTx, "select 1 from t where x = 'it''s'"),
				sql(6, 1, 7, inTx, "commit and chain"),
				sql(7, 2, 0, inTx, "rollback"),
			},
			`0 begin read committed
			0.001 savepoint 1
			0.002 snapshot
			0.002 draw 0
			0.002 draw 1
			0.002 write t
			0.003 rollback-to 1
			0.004 rollback-to 1
			0.005 snapshot
			0.005 read t[x=it's]
			0.006 commit
			0.006 begin read committed
			0.007 rollback`,
			nil,
		},
		{
			"several statements on a line without BEGIN are one transaction; what fails takes all with it",
			[]row{
				sql(0, 1, 0, "", "insert into t values (1); select 1 -- ; comment\n; update t set a = $$;$$"),
				sql(1, 2, 0, "", "insert into t values (1); update t set a = 2; select 1"),
				{ms: 2, tx: 2, xid: 9, tag: "UPDATE", level: "ERROR", msg: "division by zero"},
			},
			`0 begin read committed
			0 snapshot
			0 draw 0
			0 write t
			0 snapshot
			0 snapshot
			0 write t
			0 commit
			0.001 begin read committed
			0.001 snapshot
			0.001 draw 0
			0.001 write t
			0.001 snapshot
			0.001 write t
			0.002 rollback`,
			nil,
		},
		{
			"BEGIN on a line takes what is before it into its block; COMMIT splits the line",
			[]row{
				sql(0, 1, 0, "", "insert into t values (1); begin; select 1"),
				sql(1, 1, 7, inTx, "select 2; commit; select 3"),
			},
			`0 begin read committed
			0 snapshot
			0 draw 0
			0 write t
			0 snapshot
			0.001 snapshot
			0.001 commit
			0.001 begin read committed
			0.001 snapshot
			0.001 commit`,
			nil,
		},
		{
			"pg_sleep takes its time, but not longer than the log says",
			[]row{
				sql(0, 1, 0, "", "begin isolation level repeatable read; select 1; select pg_sleep(4); commit"),
				{ms: 10, session: "b", tx: 1, msg: "statement: select pg_sleep(60)"},
				{ms: 20, session: "b", tx: 2, msg: "statement: select 1"},
			},
			`0 begin repeatable read
			0 snapshot
			0.010 begin read committed
			0.010 snapshot
			0.020 commit
			0.020 begin read committed
			0.020 snapshot
			0.020 commit
			4 commit`,
			nil,
		},
		{
			"the extended protocol: parameters, and several executions in one transaction",
			[]row{
				{ms: 0, tag: "SELECT", tx: 1, msg: "execute <unnamed>: select * from t where id = $1", detail: "parameters: $1 = '5'"},
				{ms: 1, tag: "UPDATE", tx: 1, msg: "execute s1: update t set a = $1 where id = $2", detail: "Parameters: $1 = NULL, $2 = 'it''s'"},
				{ms: 2, tag: "INSERT", tx: 2, msg: "execute s2: insert into t values ($1)", detail: "parameters: $1 = '1'"},
				{ms: 3, tag: "SELECT", tx: 3, msg: "execute fetch from c1: select 1"},
				{ms: 3, tag: "SELECT", tx: 3, msg: "duration: 0.1 ms  bind s3: select 1"},
				{ms: 4, tag: "EXECUTE", tx: 4, msg: "statement: execute q(5)", detail: "prepare: prepare q as select * from u"},
			},
			`0 begin read committed
			0 snapshot
			0 read t[id=5]
			0.001 snapshot
			0.001 draw 0
			0.001 write t[id=it's]
			0.001 commit
			0.002 allocate-committed t
			0.004 begin read committed
			0.004 snapshot
			0.004 read u
			0.004 commit`,
			map[Kind]int{Cursor: 1, ServerMessage: 1},
		},
		{
			"an error in a pipeline rolls back what its transaction did",
			[]row{
				{ms: 0, tag: "INSERT", tx: 1, msg: "execute <unnamed>: insert into t values (1)"},
				{ms: 1, tag: "INSERT", tx: 1, xid: 5, msg: "execute <unnamed>: insert into t values (2)"},
				{ms: 2, tag: "INSERT", tx: 1, xid: 5, level: "ERROR", msg: "duplicate key"},
			},
			`0 begin read committed
			0 snapshot
			0 draw 0
			0 write t
			0.001 snapshot
			0.001 write t
			0.002 rollback`,
			nil,
		},
		{
			"a duration line says when an autocommit statement ended",
			[]row{
				sql(0, 1, 0, "", "delete from t"),
				{ms: 7, tx: 1, tag: "DELETE", msg: "duration: 7.012 ms"},
				sql(9, 2, 0, "", "select 1"),
			},
			`0 begin read committed
			0 snapshot
			0 draw 0
			0 write t
			0.007 commit
			0.009 begin read committed
			0.009 snapshot
			0.009 commit`,
			nil,
		},
		{
			"the transaction_id column corrects what statements show",
			[]row{
				sql(0, 1, 0, "", "begin"),
				sql(1, 1, 0, inTx, "update t set a = 1 where id = 404"),
				sql(2, 1, 0, inTx, "select f()"),
				sql(3, 1, 7, inTx, "select * from t for update"),
				sql(4, 1, 7, inTx, "commit"),
			},
			`0 begin read committed
			0.001 snapshot
			0.001 read t[id=404]
			0.002 snapshot
			0.003 draw 0
			0.003 snapshot
			0.003 write t
			0.004 commit`,
			map[Kind]int{EmptyWrite: 1, UnseenWrite: 1},
		},
		{
			"sessions end in the middle of a transaction: by their log, or with it",
			[]row{
				sql(0, 1, 0, "", "begin"),
				sql(1, 1, 0, inTx, "select 1"),
				{ms: 3, tag: inTx, tx: 1, level: "FATAL", msg: "terminating connection"},
				{ms: 4, session: "b", msg: "statement: begin", tx: 1},
				{ms: 5, session: "b", msg: "statement: delete from t", tx: 1, tag: inTx},
				{ms: 6, session: "c", msg: "statement: begin", tx: 1},
				{ms: 7, session: "c", tag: inTx, msg: "disconnection: session time: 0:00:01.0 user=u"},
				{ms: 9, session: "d", msg: "statement: insert into t values (1)", tx: 1},
				{ms: 9, session: "d", tag: "INSERT", tx: 1, xid: 7, level: "FATAL", msg: "terminating connection"},
			},
			`0 begin read committed
			0.001 snapshot
			0.003 rollback
			0.004 begin read committed
			0.005 snapshot
			0.005 draw 0
			0.005 write t
			0.006 begin read committed
			0.007 rollback
			0.009 begin read committed
			0.009 snapshot
			0.009 draw 0
			0.009 write t
			0.009 rollback
			0.009 rollback`,
			map[Kind]int{OpenAtDisconnect: 3, OpenAtEnd: 1},
		},
		{
			"the log begins inside transactions",
			[]row{
				{ms: 0, line: 5, tag: inTx, tx: 1, xid: 7, msg: "statement: select 1"},
				{ms: 1, tag: inTx, tx: 1, xid: 7, msg: "statement: commit"},
				{ms: 2, session: "b", line: 8, tag: failed, msg: "statement: rollback"},
			},
			`0 begin read committed
			0 draw 0
			0 snapshot
			0.001 commit`,
			map[Kind]int{AlreadyOpen: 2, LateStart: 2, UnseenWrite: 1},
		},
		{
			"what is missing from the log shows in the command tag and the line numbers",
			[]row{
				sql(0, 1, 0, "", "begin"),
				{ms: 1, line: 4, tx: 2, msg: "statement: begin"},
				{ms: 2, tx: 2, tag: failed, msg: "statement: rollback"},
				{ms: 3, tx: 3, msg: "statement: rollback"},
			},
			`0 begin read committed
			0.001 rollback
			0.001 begin read committed
			0.002 rollback`,
			map[Kind]int{EndUnseen: 1, MissingError: 1, MissingLines: 2, StrayEnd: 1},
		},
		{
			"lines are ordered by session_line_num, whatever their place and their clock",
			[]row{
				{ms: 5, line: 2, tx: 1, tag: inTx, msg: "statement: commit"},
				{ms: 9, line: 1, tx: 1, msg: "statement: begin"},
			},
			`0 begin read committed
			0 commit`,
			map[Kind]int{ClockBack: 1},
		},
		{
			"everything else is counted",
			[]row{
				{msg: "connection authorized: user=u"},
				{level: "WARNING", msg: "there is no transaction in progress"},
				sql(0, 1, 0, "", "set work_mem = 1"),
				sql(0, 2, 0, "", "frobnicate the widget"),
				sql(0, 3, 0, "", "vacuum t"),
				sql(0, 4, 0, "", "call p()"),
				sql(0, 5, 0, "", "create table x (a int)"),
				sql(0, 6, 0, "", ";"),
				sql(0, 7, 0, "", "commit prepared 'x'"),
				sql(0, 8, 0, "", "begin"),
				sql(0, 8, 0, inTx, "begin"),
				sql(0, 8, 0, inTx, "release nothing"),
				sql(0, 8, 0, inTx, "prepare transaction 'x'"),
				{level: "ERROR", msg: "syntax error at or near \"selct\""},
				{session: "c", backend: "checkpointer", msg: "checkpoint starting: time"},
				{msg: "duration: 1.0 ms  statement: select 1"},
			},
			`0 begin read committed
			0 snapshot
			0 commit
			0 begin read committed
			0 snapshot
			0 draw 0
			0 write pg_catalog
			0 commit
			0 begin read committed
			0 commit`,
			map[Kind]int{
				ServerMessage: 2, NoEffect: 1, NotUnderstood: 1, Maintenance: 1, OpaqueBody: 1, Definition: 1,
				EmptyStatement: 1, TwoPhase: 2, NestedBegin: 1, UnknownSavepoint: 1, ErrorElsewhere: 1,
				OtherBackend: 1, WithDuration: 1,
			},
		},
	} {
		for _, columns := range []int{24, 26} {
			tr, report, err := importText("test.csv", logOf(columns, c.rows...))
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if got, want := brief(tr), strings.ReplaceAll(c.want, "\t", ""); got != want {
				t.Errorf("%s:\ngot\n%s\nwant\n%s", c.name, got, want)
			}
			notes := map[Kind]int{}
			for _, n := range report.Notes {
				notes[n.Kind] = n.Count
			}
			if len(notes)+len(c.notes) > 0 && !reflect.DeepEqual(notes, c.notes) {
				t.Errorf("%s: notes\ngot  %v\nwant %v", c.name, notes, c.notes)
			}
		}
	}
}

// brief is a dump without sessions and transactions.
func brief(tr *trace.Trace) string {
	var b strings.Builder
	if err := tr.Dump(&b); err != nil {
		panic(err)
	}
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
		f := strings.SplitN(line, " ", 4)
		at := strings.TrimSuffix(strings.TrimSuffix(f[0], "000"), ".000")
		out = append(out, at+" "+f[3])
	}
	return strings.Join(out, "\n")
}

// TestBadFiles: each bad file is one clear error with file, line and column.
func TestBadFiles(t *testing.T) {
	good := logOf(26,
		row{tx: 1, msg: "statement: select\n1, 'a,b'"},
		row{ms: 1, tx: 2, msg: "statement: select 2"})
	zipped := string(compress(t, []byte(good)))
	for _, c := range []struct {
		name, text string
		kind       error
		want       string
	}{
		{"cut off in a quoted field", good[:strings.Index(good, "a,b")], ErrTruncated, "f.csv:2:5: the line that starts at line 1 is not complete: the file is cut off; copy the log again, or delete its last line"},
		{"cut off in another field", good[:len(good)-12], ErrTruncated, "f.csv:3:"},
		{"cut off before its end of line", good[:len(good)-1], ErrTruncated, "the last line has no end"},
		{"cut off in the first line", good[:30], ErrTruncated, "f.csv:1:31: the only line has 3 columns"},
		{"gzip, cut off in its header", zipped[:5], ErrTruncated, "f.csv:1:1: gzip: the file is cut off"},
		{"gzip, cut off", zipped[:len(zipped)-9], ErrTruncated, "f.csv:"},
		{"gzip, cut off in its checksum", zipped[:len(zipped)-3], ErrTruncated, "f.csv:4:1: reading: the file is cut off"},
		{"gzip, damaged", zipped[:len(zipped)-8] + "12345678", gzip.ErrChecksum, "f.csv:4:1: reading: gzip: invalid checksum"},
		{"version 12", logOf(23, row{msg: "statement: select 1"}), ErrVersion, "f.csv:1:127: csvlog of an unsupported version of PostgreSQL: 23 columns; supported are version 13 (24 columns) and 14 or later (26 columns)"},
		{"a foreign csv", "a,b\n1,2\n", ErrForeign, "f.csv:1:1: not a PostgreSQL csvlog"},
		{"a foreign text", "He said \"no\" to\nme\n", ErrForeign, "f.csv:1:9: not a PostgreSQL csvlog"},
		{"a line of another length", good + "x,y\n", ErrDamaged, "f.csv:4:3: damaged csvlog: 2 columns, the first line has 26"},
		{"a bare quote", strings.Replace(good, "select 2", "select \"2", 1) + good, ErrDamaged, "f.csv:3:"},
		{"no time", strings.Replace(good, "select 2", "", 1) + strings.Replace(good, "2023-", "", 1), ErrDamaged, "f.csv:4:1: damaged csvlog: \"11-14 22:13:20.000 UTC\" is not a time"},
		{"no number", strings.Replace(good, ",1.a,2,", ",1.a,two,", 1), ErrDamaged, "f.csv:3:"},
		{"no session", strings.Replace(good, ",1.a,2,", ",hello,2,", 1), ErrDamaged, "\"hello\" is not a session"},
		{"no statements", logOf(26, row{msg: "listening"}), ErrNoStatements, "log_statement = all"},
		{"nothing", "", ErrNoStatements, "0 records"},
	} {
		_, _, err := importText("f.csv", c.text)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %v", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v", c.name, err)
		}
	}
}

// TestByteOrderMark: one before the text changes nothing, not even the column of
// an error.
func TestByteOrderMark(t *testing.T) {
	text := logOf(26, row{tx: 1, msg: "statement: insert into t values (1)"})
	want, _, err := importText("f.csv", text)
	if err != nil {
		t.Fatal(err)
	}
	marked := byteOrderMark + text
	for name, text := range map[string]string{"plain": marked, "gzip": string(compress(t, []byte(marked)))} {
		if got, _, err := importText("f.csv", text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v: read\n%+v, want\n%+v", name, err, got, want)
		}
	}
	_, _, plain := importText("f.csv", text[:30])
	if _, _, err := importText("f.csv", marked[:len(byteOrderMark)+30]); err == nil || err.Error() != plain.Error() {
		t.Errorf("got %v, want %v", err, plain)
	}
	if _, _, err := importText("f.csv", byteOrderMark); !errors.Is(err, ErrNoStatements) {
		t.Errorf("nothing behind it: %v", err)
	}
}

func TestReport(t *testing.T) {
	_, report, err := importText("f.csv", logOf(26,
		row{tx: 1, msg: "statement: select 1"},
		row{msg: "statement: show all"},
		row{msg: "statement: set x = 1"}))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	n, err := report.WriteTo(&b)
	want := "1 files, 3 records, 3 statements, 1 sessions\n      2 " + string(NoEffect) + " (first: f.csv:2:1)\n"
	if b.String() != want || n != int64(len(want)) || err != nil {
		t.Errorf("%d, %v: %q, want %q", n, err, b.String(), want)
	}
}

// FuzzImport: whatever the file, there is an error, or a valid trace that its
// file format preserves.
func FuzzImport(f *testing.F) {
	f.Add([]byte(logOf(26, row{tx: 1, msg: "statement: begin; savepoint s; insert into t values (1); rollback to s; commit"})))
	f.Add([]byte(logOf(24,
		row{tx: 1, msg: "statement: begin isolation level serializable"},
		row{tx: 1, tag: inTx, msg: "statement: update t set a = 'x' where id = 5"},
		row{tx: 1, xid: 7, tag: "UPDATE", level: "ERROR", msg: "no"},
		row{tag: "idle in transaction (aborted)", msg: "statement: rollback and chain"},
		row{ms: 9, session: "b", tx: 4, tag: "SELECT", msg: "execute p: select * from t where a = $1 for update", detail: "parameters: $1 = 'x'"})))
	f.Add([]byte(logOf(26, row{tx: 1, msg: "statement: with x as (delete from a using b) select pg_sleep(1e3) from x, f() /* /* */"})))
	// The session's first line is a message from another year.
	f.Add([]byte(logOf(26, row{ms: 1e9, msg: "hello"}, row{msg: "statement: select 1"})))
	f.Add(compress(f, []byte(logOf(26, row{tx: 1, msg: "statement: create function f() begin atomic select 1; end"}))))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, report, err := importText("fuzz", string(data))
		if err != nil {
			if strings.Contains(err.Error(), "please report") {
				t.Fatal(err)
			}
			return
		}
		if report.Records == 0 {
			t.Error("a trace of no records")
		}
		got, err := trace.Decode("fuzz", tr.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Ops, tr.Ops) || !slices.Equal(got.Objects, tr.Objects) || !slices.Equal(got.Sessions, tr.Sessions) {
			t.Error("the file format does not preserve the trace")
		}
	})
}
