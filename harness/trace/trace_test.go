package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"xidlab/harness/trace"
)

// small returns a trace with every kind of operation.
func small() *trace.Trace {
	return &trace.Trace{
		Source:   "a test",
		Start:    time.Unix(1_700_000_000, 5).UTC(),
		Sessions: []string{"a", "b"},
		Objects:  []trace.Object{{Table: "t"}, {Table: "t", Key: "id=5"}},
		Ops: []trace.Op{
			{Kind: trace.Begin, Isolation: trace.Serializable},
			{Kind: trace.Snapshot, At: 1},
			{Kind: trace.Read, Object: 1, At: 1},
			{Kind: trace.AllocateCommitted, Session: 1, Tx: 1, At: 1e6},
			{Kind: trace.Draw, At: 2e6},
			{Kind: trace.Write, Object: 1, At: 2e6},
			{Kind: trace.Savepoint, Level: 1, At: 3e6},
			{Kind: trace.Draw, Level: 1, At: 3e6},
			{Kind: trace.Begin, Session: 1, Tx: 2, At: 4e6},
			{Kind: trace.RollbackTo, Level: 1, At: 5e6},
			{Kind: trace.Draw, Level: 1, At: 5e6},
			{Kind: trace.Release, Level: 1, At: 6e6},
			{Kind: trace.Commit, At: 1e9},
			{Kind: trace.Rollback, Session: 1, Tx: 2, At: 2e9},
		},
	}
}

func pgbench(t testing.TB) *trace.Trace {
	tr, err := trace.Pgbench()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestFileKeepsTheTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.trace")
	for _, tr := range []*trace.Trace{small(), pgbench(t), {Start: time.Unix(0, 0).UTC(), Sessions: []string{}, Objects: []trace.Object{}, Ops: []trace.Op{}}} {
		if err := trace.WriteFile(name, tr); err != nil { // replaces the one before
			t.Fatal(err)
		}
		got, err := trace.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, tr) {
			t.Errorf("%s: read something else than was written", tr.Source)
		}
	}
}

func TestFileIsNeverHalf(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "folder.trace")
	if err := os.MkdirAll(filepath.Join(blocked, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	broken := small()
	broken.Ops = broken.Ops[:5]
	for _, c := range []struct {
		name string
		tr   *trace.Trace
	}{
		{blocked, small()}, // the rename fails
		{filepath.Join(dir, "no", "x.trace"), small()},
		{filepath.Join(dir, "x.trace"), broken},
	} {
		if err := trace.WriteFile(c.name, c.tr); err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("files are left: %v", entries)
	}
	if _, err := trace.ReadFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestDamagedFiles(t *testing.T) {
	good := small().Encode()
	check := func(what string, data []byte, kind error, offset int64) {
		t.Helper()
		_, err := trace.Decode("f.trace", data)
		var f *trace.FormatError
		if !errors.Is(err, kind) || !errors.As(err, &f) || f.File != "f.trace" || offset >= 0 && f.Offset != offset {
			t.Errorf("%s: got %v, want %v at %d", what, err, kind, offset)
		}
	}
	check("an empty file", nil, trace.ErrNotTrace, 0)
	check("another file", []byte("timestamp,user\n"), trace.ErrNotTrace, 0)
	for n := 1; n < len(good); n++ {
		check("cut off", good[:n], trace.ErrTruncated, int64(n))
	}
	check("more after the end", append(good[:len(good):len(good)], 0), trace.ErrCorrupt, int64(len(good)))
	for i := range good {
		for bit := range 8 {
			bad := append([]byte(nil), good...)
			bad[i] ^= 1 << bit
			if _, err := trace.Decode("f.trace", bad); err == nil {
				t.Errorf("bit %d of byte %d flipped: no error", bit, i)
			}
		}
	}
	future := append([]byte(nil), good...)
	future[8] = 7
	check("a future version", future, trace.ErrVersion, 8)
	_, err := trace.Decode("f.trace", future)
	if want := "f.trace: offset 8: version 7, this program reads up to 1: made by a newer version of this program; update it, or import the trace again"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestValidate(t *testing.T) {
	if err := small().Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		want string
		edit func(tr *trace.Trace)
	}{
		{"operation 2 (Kind(77) of session 0, transaction 0): no such kind", func(tr *trace.Trace) { tr.Ops[2].Kind = 77 }},
		{"an isolation level", func(tr *trace.Trace) { tr.Ops[0].Isolation = 3 }},
		{"an isolation level", func(tr *trace.Trace) { tr.Ops[1].Isolation = 1 }},
		{"earlier", func(tr *trace.Trace) { tr.Ops[3].At = 0 }},
		{"no such session", func(tr *trace.Trace) { tr.Ops[1].Session = 2 }},
		{"an object", func(tr *trace.Trace) { tr.Ops[2].Object = 2 }},
		{"an object", func(tr *trace.Trace) { tr.Ops[1].Object = 1 }},
		{"a level that cannot be", func(tr *trace.Trace) { tr.Ops[1].Level = 1 }},
		{"has not ended", func(tr *trace.Trace) { tr.Ops[3].Session = 0 }},
		{"numbered", func(tr *trace.Trace) { tr.Ops[3].Tx = 2 }},
		{"open transaction", func(tr *trace.Trace) { tr.Ops[4].Tx = 1 }},
		{"no snapshot yet", func(tr *trace.Trace) { tr.Ops[1].Kind, tr.Ops[1].At = trace.Draw, 0 }},
		{"may draw", func(tr *trace.Trace) { tr.Ops[4].Level = 1 }},
		{"may draw", func(tr *trace.Trace) { tr.Ops[7].Level = 0 }},
		{"no xid yet", func(tr *trace.Trace) { tr.Ops[4].Kind = trace.Snapshot }},
		{"not one above", func(tr *trace.Trace) { tr.Ops[6].Level = 2 }},
		{"no such level", func(tr *trace.Trace) { tr.Ops[9].Level = 2 }},
		{"no such level", func(tr *trace.Trace) { tr.Ops[11].Level = 0 }},
		{"transaction 2 of session 1 does not end", func(tr *trace.Trace) { tr.Ops = tr.Ops[:13] }},
	} {
		tr := small()
		c.edit(tr)
		if err := tr.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestStats(t *testing.T) {
	want := trace.Stats{
		Sessions: 2, Transactions: 3, Commits: 1, Rollbacks: 1, Allocated: 1, ReadOnly: 1,
		ByIsolation: [3]int{1, 0, 1}, Snapshots: 1, Draws: 3, Reads: 1, Writes: 2, Savepoints: 1, RollbacksTo: 1,
		SerializableSessions: 1, Span: 2 * time.Second, Longest: 2*time.Second - 4*time.Millisecond,
	}
	if got := small().Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// FuzzDecode: whatever the file, there is an error or a valid trace that reads
// the same when it is written again. The checksum is made right, so that the
// fuzzer gets behind it.
func FuzzDecode(f *testing.F) {
	f.Add(small().Encode())
	f.Add([]byte("xidtrace\x01"))
	f.Add([]byte("xidtrace\x0100000000\x0e00000000000000000")) // a string longer than the rest
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := trace.Decode("fuzz", trace.Resum(data))
		if err != nil {
			var fe *trace.FormatError
			if !errors.As(err, &fe) || fe.Offset < 0 || fe.Offset > int64(len(data)) {
				t.Errorf("%#v", err)
			}
			return
		}
		if err := tr.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := trace.Decode("again", tr.Encode())
		if err != nil || !reflect.DeepEqual(again, tr) {
			t.Errorf("written again it differs: %v", err)
		}
	})
}
