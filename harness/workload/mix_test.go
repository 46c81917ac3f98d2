package workload

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"xidlab/core"
	"xidlab/core/spec"
)

// locked is the specification behind one lock: right, slow and safe for
// concurrent use.
type locked struct {
	mu   sync.Mutex
	spec *spec.Manager
}

func newLocked() *locked { return &locked{spec: spec.New()} }

func under[T any](l *locked, f func(*spec.Manager) T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f(l.spec)
}

func (l *locked) Begin() core.Xid { return under(l, (*spec.Manager).Begin) }
func (l *locked) Snapshot(self core.Xid) core.Snapshot {
	return under(l, func(m *spec.Manager) core.Snapshot { return l.wrap(m.Snapshot(self)) })
}
func (l *locked) Commit(x core.Xid) error {
	return under(l, func(m *spec.Manager) error { return m.Commit(x) })
}
func (l *locked) Rollback(x core.Xid) error {
	return under(l, func(m *spec.Manager) error { return m.Rollback(x) })
}
func (l *locked) Status(x core.Xid) core.Status {
	return under(l, func(m *spec.Manager) core.Status { return m.Status(x) })
}
func (l *locked) OldestActive() (x core.Xid, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spec.OldestActive()
}
func (l *locked) PeekNext() core.Xid { return under(l, (*spec.Manager).PeekNext) }
func (l *locked) Ordered() bool      { return true }
func (l *locked) AllocateCommitted() core.Xid {
	return under(l, (*spec.Manager).AllocateCommitted)
}
func (l *locked) Retain(self core.Xid) core.Guard {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.spec.Retain(self)
	return core.NewGuard(l.wrap(g.Snapshot), lockedHolder{l, g}, 0)
}
func (l *locked) RetainSnapshot(core.Snapshot) (core.Guard, error) {
	return core.Guard{}, core.ErrForeign // no mix calls it
}
func (l *locked) OldestRequired() (core.Xid, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spec.OldestRequired()
}
func (l *locked) PruneAborted(below core.Xid) int {
	return under(l, func(m *spec.Manager) int { return m.PruneAborted(below) })
}

func (l *locked) wrap(s core.Snapshot) core.Snapshot {
	view, owner, low, high, at := s.Parts()
	return core.NewSnapshot(lockedView{l, view}, owner, low, high, at)
}

type lockedHolder struct {
	l *locked
	g core.Guard
}

func (h lockedHolder) Release(uint64) bool {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	return h.g.Release()
}

type lockedView struct {
	l *locked
	v core.View
}

func (v lockedView) Lookup(x core.Xid, at uint64) (bool, error) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.v.Lookup(x, at)
}
func (v lockedView) RolledBack(x core.Xid, at uint64) (bool, error) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.v.RolledBack(x, at)
}
func (v lockedView) InProgress(low, high core.Xid, at uint64) (core.XidSet, error) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.v.InProgress(low, high, at)
}

// drive runs l on m with two workers at once, and returns what Finish says.
func drive(t *testing.T, l Load, m core.Manager, steps int, sampled bool) ([]Metric, error) {
	t.Helper()
	const workers = 2
	r, err := l.Start(m, workers, 1)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			var s *Sampler
			if sampled {
				now := int64(0)
				s = NewSampler(3, func() int64 { now += 10; return now }, 0)
			}
			w := r.Worker(i)
			for range steps {
				if n := w.Step(s); n <= 0 {
					t.Errorf("a step did %d units of work", n)
				}
			}
			if sampled {
				recorded := int64(0)
				for op := range NumOps {
					recorded += s.Histogram(op).TotalCount()
				}
				if recorded == 0 {
					t.Error("the sampler recorded nothing")
				}
			}
		})
	}
	wg.Wait()
	return r.Finish()
}

func TestMixesOnTheSpecification(t *testing.T) {
	for _, l := range slices.Concat(All(), Operations()) {
		t.Run(l.Name(), func(t *testing.T) {
			t.Parallel()
			for _, sampled := range []bool{false, true} {
				if _, err := drive(t, l, newLocked(), 20, sampled); err != nil {
					t.Errorf("sampled=%v: %v", sampled, err)
				}
			}
			if l.Summary() == "" || strings.Contains(l.Summary(), "\n") || l.Unit() == "" {
				t.Errorf("summary %q, unit %q: want one line each", l.Summary(), l.Unit())
			}
		})
	}
}

// wrongCommit refuses nothing and commits nothing.
type wrongCommit struct{ *locked }

func (m wrongCommit) Commit(x core.Xid) error { return nil }

// wrongSnapshot has no owner, so that a transaction misses its own writes.
type wrongSnapshot struct{ *locked }

func (m wrongSnapshot) Snapshot(core.Xid) core.Snapshot { return m.locked.Snapshot(core.None) }

// wrongBegin hands out every Xid several times.
type wrongBegin struct{ *locked }

func (m wrongBegin) AllocateCommitted() core.Xid { return 1 }

// wrongHorizon collects by the oldest active transaction.
type wrongHorizon struct{ *locked }

func (m wrongHorizon) OldestRequired() (core.Xid, bool) {
	if x, ok := m.OldestActive(); ok {
		return x, true
	}
	return m.PeekNext(), false
}

// wrongPrune forgets nothing.
type wrongPrune struct{ *locked }

func (m wrongPrune) PruneAborted(core.Xid) int { return 0 }

// lateGuard retains a snapshot that follows what happens.
type lateGuard struct{ *locked }

func (m lateGuard) Retain(self core.Xid) core.Guard {
	return core.NewGuard(core.NewSnapshot(now(m), core.None, 1, core.MaxXid, 0), m, 0)
}
func (m lateGuard) Release(uint64) bool { return true }

type now struct{ *locked }

func (v now) Lookup(x core.Xid, _ uint64) (bool, error) { return v.Status(x) == core.Committed, nil }
func (v now) RolledBack(core.Xid, uint64) (bool, error) { return false, nil }
func (v now) InProgress(_, _ core.Xid, _ uint64) (core.XidSet, error) {
	return nil, nil
}

// wrongView includes everything.
type wrongView struct{ *locked }

func (m wrongView) Snapshot(core.Xid) core.Snapshot {
	return core.NewSnapshot(nil, core.None, core.MaxXid, core.MaxXid, 0)
}

// wrongStatus knows no rollback.
type wrongStatus struct{ *locked }

func (m wrongStatus) Status(core.Xid) core.Status { return core.Committed }

// wrongOldest names the largest.
type wrongOldest struct{ *locked }

func (m wrongOldest) OldestActive() (core.Xid, bool) { return m.PeekNext() - 1, true }

// wrongRelease ends each guard before its owner does.
type wrongRelease struct{ *locked }

func (m wrongRelease) Retain(self core.Xid) core.Guard {
	g := m.locked.Retain(self)
	g.Release()
	return g
}

func TestMixesNoticeBrokenPromises(t *testing.T) {
	for _, c := range []struct {
		mix  string
		m    core.Manager
		want string
	}{
		{"txn", wrongCommit{newLocked()}, "which committed"},
		{"txn-snapshot/active=16", wrongSnapshot{newLocked()}, "own write"},
		{"autocommit", wrongBegin{newLocked()}, "handed out twice"},
		{"retain", wrongHorizon{newLocked()}, "though a live guard hides"},
		{"rollback", wrongPrune{newLocked()}, "were forgotten by PruneAborted"},
		{"long-readers", lateGuard{newLocked()}, "which committed after it"},
		{"read-mostly", wrongCommit{newLocked()}, "a snapshot includes"},
		{"mixed", wrongCommit{newLocked()}, "does not include itself"},
		{"includes-log", wrongCommit{newLocked()}, "of 256 xids a snapshot includes 0"},
		{"includes-old", wrongCommit{newLocked()}, "of 256 xids a snapshot includes 0"},
		{"includes-active", wrongView{newLocked()}, "of 256 xids a snapshot includes 256, not 0"},
		{"status", wrongStatus{newLocked()}, "are committed by their status"},
		{"fresh-snapshot/active=4096", wrongView{newLocked()}, "which is active"},
		{"oldest-active", wrongOldest{newLocked()}, "OldestActive is 4096, true; xid 1 is active"},
		{"guard", wrongRelease{newLocked()}, "reports that it had ended"},
		{"writer-reader", wrongCommit{newLocked()}, "which committed"},
		{"reader-writer", wrongView{newLocked()}, "decided before the run"},
	} {
		found, err := Find(c.mix)
		if err != nil {
			t.Fatal(err)
		}
		_, err = drive(t, found[0], c.m, 20, false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %T: got %v, want an error with %q", c.mix, c.m, err, c.want)
		} else if n := strings.Count(err.Error(), "\n"); n > 3 {
			t.Errorf("%s on %T: the error has %d lines, want the first few mistakes", c.mix, c.m, n+1)
		}
	}
}

// poor has no capabilities.
type poor struct{ core.Manager }

func TestMixesSayWhatTheyNeed(t *testing.T) {
	for _, l := range slices.Concat(All(), Operations()) {
		_, err := l.Start(poor{newLocked()}, 1, 1)
		if err != nil && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", l.Name(), err)
		}
		if needs := slices.Contains([]string{"retain", "rollback", "mixed", "long-readers", "guard"}, l.Name()); needs != (err != nil) {
			t.Errorf("%s: got %v", l.Name(), err)
		}
	}
	if _, err := drive(t, autocommit(), poor{newLocked()}, 5, true); err != nil {
		t.Errorf("autocommit on a manager without AllocateCommitted: %v", err)
	}
}

func TestTapesComeFromTheSeed(t *testing.T) {
	tape := func(seed uint64) []probe {
		r, err := readMostly().Start(newLocked(), 2, seed)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := r.Worker(0).(*mixWorker).probes, r.Worker(1).(*mixWorker).probes; a[0] == b[0] {
			t.Error("two workers have the same tape")
		}
		return r.Worker(1).(*mixWorker).probes
	}
	if a, b := tape(1), tape(1); a[7] != b[7] {
		t.Error("the same seed gave different tapes")
	}
	if a, b := tape(1), tape(2); a[7] == b[7] {
		t.Error("different seeds gave the same tape")
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int    // how many are found
		want string // in the error
	}{
		{"txn", 1, ""},
		{"txn-snapshot", 4, ""},
		{"txn-snapshot/active=7", 1, ""},
		{"txn-snapshot/active=-1", 0, "between 0 and"},
		{"txn-snapshot/active=x", 0, "between 0 and"},
		{"tnx", 0, `did you mean "txn"?`},
		{"rolback", 0, `did you mean "rollback"?`},
		{"long", 0, `did you mean "long-readers"?`},
		{"zzzzzzzzzzzzzzzz", 0, "known are autocommit, txn,"},
		{"", 0, "unknown workload"},
	} {
		found, err := Find(c.name)
		if len(found) != c.n || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Find(%q): %d mixes, %v; want %d, %q", c.name, len(found), err, c.n, c.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"epoch", "epoch", 0}, {"epoch", "epohc", 1},
		{"epoch", "poch", 1}, {"epoch", "eppoch", 1}, {"epoch", "epach", 1}, {"kitten", "sitting", 3}, {"abcd", "badc", 2},
	} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// counting counts the calls of each method.
type counting struct {
	*locked
	begins, commits, snapshots, statuses, oldest, retains, releases atomic.Int64
}

func (m *counting) Begin() core.Xid { m.begins.Add(1); return m.locked.Begin() }
func (m *counting) Commit(x core.Xid) error {
	m.commits.Add(1)
	return m.locked.Commit(x)
}
func (m *counting) Snapshot(self core.Xid) core.Snapshot {
	m.snapshots.Add(1)
	return m.locked.Snapshot(self)
}
func (m *counting) Status(x core.Xid) core.Status {
	m.statuses.Add(1)
	return m.locked.Status(x)
}
func (m *counting) OldestActive() (core.Xid, bool) {
	m.oldest.Add(1)
	return m.locked.OldestActive()
}
func (m *counting) Retain(self core.Xid) core.Guard {
	m.retains.Add(1)
	return core.NewGuard(core.Snapshot{}, m, 0)
}
func (m *counting) Release(uint64) bool { m.releases.Add(1); return true }

func (m *counting) take() (n [7]int64) {
	for i, c := range []*atomic.Int64{&m.begins, &m.commits, &m.snapshots, &m.statuses, &m.oldest, &m.retains, &m.releases} {
		n[i] = c.Swap(0)
	}
	return n
}

// TestOperationsDoWhatTheySay: a unit of work is the calls that the summary
// names, and no others.
func TestOperationsDoWhatTheySay(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range []struct {
		mix  string
		unit [7]int64 // begins, commits, snapshots, statuses, oldest, retains, releases
	}{
		{"fresh-snapshot/active=0", [7]int64{2: 1}},
		{"fresh-snapshot/active=4096", [7]int64{2: 1}},
		{"includes-log", [7]int64{}},
		{"includes-active", [7]int64{}},
		{"includes-old", [7]int64{}},
		{"status", [7]int64{3: 1}},
		{"oldest-active", [7]int64{4: 1}},
		{"guard", [7]int64{5: 1, 6: 1}},
		{"writer-reader", [7]int64{1, 1, 1}},
		{"reader-writer", [7]int64{2: 1}},
	} {
		found, err := Find(c.mix)
		if err != nil {
			t.Fatal(err)
		}
		tested[c.mix] = true
		m := &counting{locked: newLocked()}
		r, err := found[0].Start(m, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		m.take()
		units := int64(0)
		for range 20 {
			units += int64(r.Worker(0).Step(nil))
		}
		want := c.unit
		for i := range want {
			want[i] *= units
		}
		if got := m.take(); got != want {
			t.Errorf("%s: %d units made the calls %v, want %v", c.mix, units, got, want)
		}
		if _, err := r.Finish(); err != nil {
			t.Errorf("%s: %v", c.mix, err)
		}
	}
	if len(tested) != len(Operations()) {
		t.Errorf("of %d mixes %d are in the table", len(Operations()), len(tested))
	}
}

// TestWorkingSets: what is asked about lies where the summary says.
func TestWorkingSets(t *testing.T) {
	for _, c := range []struct {
		mix                    string
		below, open, committed bool // an unfinished xid lies below all of them; they are open; all but a few are committed
	}{
		{"includes-log", true, false, true},
		{"includes-active", false, true, false},
		{"includes-old", false, false, true},
		{"status", true, false, true},
	} {
		found, err := Find(c.mix)
		if err != nil {
			t.Fatal(err)
		}
		m := newLocked()
		r, err := found[0].Start(m, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[core.Xid]bool{}
		least, committed := core.MaxXid, 0
		w := r.Worker(0).(*mixWorker)
		for range tapeBlocks {
			for _, x := range w.nextBlock().xids {
				asked[x] = true
				least = min(least, x)
				if m.Status(x) == core.Committed {
					committed++
				}
			}
		}
		oldest, ok := m.OldestActive()
		if len(asked) != workingSet || (ok && oldest < least) != c.below || (ok && oldest == least) != c.open {
			t.Errorf("%s: %d xids from %d; the oldest active is %d, %v", c.mix, len(asked), least, oldest, ok)
		}
		if most := committed >= workingSet-youngAbort; most != c.committed || c.mix == "status" && committed == workingSet {
			t.Errorf("%s: %d of %d are committed", c.mix, committed, workingSet)
		}
	}
}
