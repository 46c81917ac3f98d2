package pglog

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"xidlab/harness/trace"
)

// Import reads csvlog files, plain or gzip, and makes one trace of them. Files
// of one server may come in any order; a session may go on from one to the
// next. Errors in a file are an [Error]. The log is held in memory, without the
// texts of the statements.
func Import(files ...string) (*trace.Trace, *Report, error) {
	im := newImporter()
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, fmt.Errorf("import: %w", err)
		}
		err = im.read(name, f)
		f.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return im.trace()
}

type importer struct {
	report   Report
	notes    notes
	names    []string            // of sessions, in order of appearance
	records  map[string][]record // by session
	objects  []trace.Object
	own      map[trace.Object]trace.Object
	objectID map[trace.Object]uint32
	zone     string
	seq      int
}

func newImporter() *importer {
	return &importer{notes: notes{}, records: map[string][]record{}, objectID: map[trace.Object]uint32{}, own: map[trace.Object]trace.Object{}}
}

func (im *importer) read(name string, r io.Reader) error {
	src, err := newSource(name, r)
	if err != nil {
		return err
	}
	im.report.Files++
	for {
		fields, err := src.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		rec, session, zone, note, err := src.record(fields)
		if err != nil {
			return err
		}
		im.report.Records++
		im.notes.add(note, 1, rec.pos)
		if zone != im.zone && im.zone != "" {
			im.notes.add(ZoneChange, 1, rec.pos)
		}
		im.zone = zone
		if note == OtherBackend {
			continue
		}
		im.keep(rec.stmts)
		rec.seq = im.seq
		im.seq++
		if _, ok := im.records[session]; !ok {
			im.names = append(im.names, session)
		}
		im.records[session] = append(im.records[session], rec)
	}
}

// keep replaces the names in stmts by copies, which do not hold the text of the
// line in memory.
func (im *importer) keep(stmts []stmt) {
	for i := range stmts {
		st := &stmts[i]
		st.name = strings.Clone(st.name)
		for _, set := range [][]trace.Object{st.reads, st.writes} {
			for j, o := range set {
				own, ok := im.own[o]
				if !ok {
					own = trace.Object{Table: strings.Clone(o.Table), Key: strings.Clone(o.Key)}
					im.own[own] = own
				}
				set[j] = own
			}
		}
	}
}

// object returns the number of o in the trace.
func (im *importer) object(o trace.Object) uint32 {
	id, ok := im.objectID[o]
	if !ok {
		id = uint32(len(im.objects))
		im.objectID[o] = id
		im.objects = append(im.objects, o)
	}
	return id
}

// trace makes the trace of everything that was read.
func (im *importer) trace() (*trace.Trace, *Report, error) {
	start, end := time.Duration(math.MaxInt64), time.Duration(0)
	var sessions []*session
	for _, name := range im.names {
		recs := im.records[name]
		if err := im.order(name, recs); err != nil {
			return nil, nil, err
		}
		s := &session{im: im}
		s.run(recs)
		sessions = append(sessions, s)
		im.records[name] = nil
		if end = max(end, s.now); len(s.ops) > 0 {
			start = min(start, s.ops[0].op.At)
		}
	}
	if im.report.Statements == 0 {
		return nil, nil, fmt.Errorf("import: %d records: %w", im.report.Records, ErrNoStatements)
	}
	if start > end {
		start = end // no operations
	}
	for _, s := range sessions {
		if s.open {
			s.now, s.seq, s.pos = end, im.seq, Position{}
			k := trace.Rollback
			if s.block {
				s.note(OpenAtEnd)
			} else {
				k = trace.Commit
			}
			s.end(k)
		}
	}
	t := &trace.Trace{
		Source:   "PostgreSQL csvlog",
		Start:    time.Unix(0, int64(start)).UTC(),
		Sessions: im.names,
		Objects:  im.objects,
		Ops:      merge(sessions, start),
	}
	for _, op := range t.Ops {
		if op.Kind == trace.Begin && op.Isolation == trace.Serializable {
			im.notes.add(SerializableReplay, 1, Position{})
		}
	}
	if err := t.Validate(); err != nil {
		return nil, nil, fmt.Errorf("import: made an invalid trace, please report this: %w", err)
	}
	im.report.Sessions = len(im.names)
	im.report.Notes = im.notes.sorted()
	return t, &im.report, nil
}

// order sorts the records of a session by their line numbers and looks for gaps.
func (im *importer) order(name string, recs []record) error {
	slices.SortStableFunc(recs, func(a, b record) int { return cmp.Compare(a.line, b.line) })
	if recs[0].line > 1 {
		im.notes.add(LateStart, 1, recs[0].pos)
	}
	for i := 1; i < len(recs); i++ {
		switch a, b := &recs[i-1], &recs[i]; {
		case a.line == b.line:
			return &Error{b.pos, fmt.Errorf("%w: line %d of session %s was already at %v; was a file given twice?", ErrDamaged, b.line, name, a.pos)}
		case b.line-a.line > 1:
			im.notes.add(MissingLines, int(min(b.line-a.line-1, math.MaxInt32)), b.pos)
		}
	}
	return nil
}

// merge puts the operations of all sessions into one order, by time and then by
// place in the log, without changing the order in a session. It numbers
// sessions and transactions.
func merge(sessions []*session, start time.Duration) []trace.Op {
	var q queue
	total := 0
	for i, s := range sessions {
		total += len(s.ops)
		if len(s.ops) > 0 {
			q = append(q, run{uint32(i), s.ops})
		}
	}
	heap.Init(&q)
	ops := make([]trace.Op, 0, total)
	current := make([]uint32, len(sessions)) // the open transaction
	next := uint32(0)
	for len(q) > 0 {
		r := &q[0]
		op := r.ops[0].op
		op.At -= start
		op.Session = r.session
		if op.Kind.Opens() {
			current[r.session] = next
			next++
		}
		op.Tx = current[r.session]
		ops = append(ops, op)
		if r.ops = r.ops[1:]; len(r.ops) > 0 {
			heap.Fix(&q, 0)
		} else {
			heap.Pop(&q)
		}
	}
	return ops
}

type run struct {
	session uint32
	ops     []sessionOp
}

type queue []run

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	a, b := q[i].ops[0], q[j].ops[0]
	return cmp.Or(cmp.Compare(a.op.At, b.op.At), cmp.Compare(a.seq, b.seq)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(run)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
