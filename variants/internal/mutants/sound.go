// Package mutants holds snapshot managers that are wrong, each in one way that
// is easy to get wrong: what tests the tests. [All] are one small manager, with
// a hook at each line where a mistake is planted; [Faults] are the real variants,
// with a fault switched on.
package mutants

import (
	"cmp"
	"maps"
	"runtime"
	"slices"

	"xidlab/core"
	"xidlab/internal/sync"
)

// A manager is the manager that the mutants are mutants of. One lock holds
// everything; a snapshot is a copy of what it hides; born-committed xids come
// from a small pool. Without a mistake it keeps every promise of package core.
type manager struct {
	mistake mistake

	mu       sync.Mutex
	now      uint64 // an instant for each snapshot and prune
	next     core.Xid
	pool     span        // set aside for AllocateCommitted
	void     core.XidSet // was set aside, and given up
	txs      map[core.Xid]*tx
	observed []span
	pins     map[core.Xid]int
	guards   map[uint64]*view
	tokens   uint64
	answered core.Xid // the largest horizon ever answered
	forgot   uint64   // the instant when a prune last forgot something
	deferred []prune
	cached   *view    // for staleCache
	held     core.Xid // for unordered
}

type tx struct {
	status    core.Status // Active, Committed or Aborted, for ever
	forgotten bool        // aborted, and counts as committed
	published bool        // false only in commitInTwoSteps
	ended     uint64
}

// A span is the xids from, from+1, …, to-1.
type span struct{ from, to core.Xid }

func (s span) has(x core.Xid) bool { return s.from <= x && x < s.to }

type prune struct {
	below core.Xid
	at    uint64
}

// A view is one snapshot: what it hides below high.
type view struct {
	m              *manager
	at             uint64
	high           core.Xid
	hidden, active core.XidSet
}

// Sound returns the manager without a mistake.
func Sound() core.Manager { return newManager(none) }

func newManager(m mistake) *manager {
	return &manager{
		mistake: m,
		next:    1,
		txs:     map[core.Xid]*tx{},
		pins:    map[core.Xid]int{},
		guards:  map[uint64]*view{},
	}
}

// is reports whether this is the mutant with that mistake.
func (m *manager) is(k mistake) bool { return m.mistake == k }

// pause lets other threads into the middle of an operation, if the mistake is
// that they can get there.
func (m *manager) pause(k mistake) {
	if m.is(k) {
		m.mu.Unlock()
		for range 3 {
			runtime.Gosched()
		}
		m.mu.Lock()
	}
}

func (m *manager) lock() func() { m.mu.Lock(); return m.mu.Unlock }

func (m *manager) tick() uint64 { m.now++; return m.now }

func (m *manager) Ordered() bool { return true }

func (m *manager) PeekNext() core.Xid {
	defer m.lock()()
	if m.is(peekOffByOne) && m.next > 1 {
		return m.next - 1
	}
	return m.next
}

func (m *manager) Begin() core.Xid {
	defer m.lock()()
	var x core.Xid
	switch {
	case !m.is(unordered):
		x = m.draw(1)
	case m.held != core.None:
		x, m.held = m.held, core.None
	default: // hand out pairs, the larger one first
		m.held = m.draw(1)
		x = m.draw(1)
	}
	m.pause(counterBeforeSet)
	m.txs[x] = &tx{status: core.Active}
	return x
}

// draw takes n xids, or as many as are left, and returns the first.
func (m *manager) draw(n core.Xid) core.Xid {
	if m.next > core.MaxXid {
		if !m.is(wrapsAround) {
			panic(core.ErrExhausted)
		}
		m.next = 1
	}
	x := m.next
	m.next = min(x+n, core.MaxXid+1)
	return x
}

func (m *manager) AllocateCommitted() core.Xid {
	defer m.lock()()
	if m.pool.from >= m.pool.to {
		const some = 4
		from := m.draw(some)
		m.pool = span{from, m.next}
		if m.is(poolOverlaps) {
			m.next = from + 1
		}
	}
	x := m.pool.from
	m.pool.from++
	m.txs[x] = &tx{core.Committed, false, true, m.tick()}
	return x
}

func (m *manager) Commit(x core.Xid) error {
	defer m.lock()()
	if m.is(commitsAborted) && m.txs[x] != nil && m.txs[x].status == core.Aborted {
		m.txs[x].status = core.Committed
		return nil
	}
	return m.finish("commit", x, core.Committed)
}

func (m *manager) Rollback(x core.Xid) error {
	defer m.lock()()
	if m.is(rollsBackCommitted) && m.txs[x] != nil && m.txs[x].status == core.Committed {
		m.txs[x].status = core.Aborted
		return nil
	}
	return m.finish("rollback", x, core.Aborted)
}

func (m *manager) finish(op string, x core.Xid, to core.Status) error {
	if s := m.status(x); s != core.Active {
		if m.is(vagueError) {
			return &core.XidError{Op: op, Xid: x, Status: s, Err: core.ErrNotActive}
		}
		return core.FinishError(op, x, s)
	}
	m.pause(racingFinish)
	t := m.txs[x]
	t.status, t.ended = to, m.tick()
	if to == core.Committed {
		m.pause(commitInTwoSteps)
	}
	t.published = true
	if !m.is(staleCache) || to == core.Committed {
		m.cached = nil
	}
	return nil
}

func (m *manager) CommitGroup(xs ...core.Xid) error {
	defer m.lock()()
	for i, x := range xs {
		switch s := m.status(x); {
		case m.is(groupHalfDone) && s == core.Active:
			m.finishGroup(xs[i : i+1])
		case s != core.Active:
			return core.FinishError("group commit", x, s)
		case slices.Contains(xs[:i], x) && !m.is(groupTakesTwice):
			return &core.XidError{Op: "group commit", Xid: x, Status: s, Err: core.ErrDuplicate}
		}
	}
	m.finishGroup(xs)
	return nil
}

func (m *manager) finishGroup(xs []core.Xid) {
	for _, x := range xs {
		t := m.txs[x]
		t.status, t.ended, t.published = core.Committed, m.tick(), true
		m.pause(groupOneByOne)
	}
	m.cached = nil
}

func (m *manager) Status(x core.Xid) core.Status {
	defer m.lock()()
	return m.status(x)
}

func (m *manager) status(x core.Xid) core.Status {
	t := m.txs[x]
	switch {
	case x == core.None || m.isObserved(x):
		return core.Committed
	case x >= m.next:
		return core.Unallocated
	case t == nil:
		return core.Reserved
	case t.forgotten && !m.is(statusRemembers):
		return core.Committed
	}
	return t.status
}

func (m *manager) isObserved(x core.Xid) bool {
	return slices.ContainsFunc(m.observed, func(s span) bool { return s.has(x) })
}

// where returns the transactions for which keep is true, ascending.
func (m *manager) where(keep func(core.Xid, *tx) bool) core.XidSet {
	var set core.XidSet
	for x, t := range m.txs {
		if keep(x, t) {
			set = append(set, x)
		}
	}
	slices.Sort(set)
	return set
}

func (m *manager) active() core.XidSet {
	return m.where(func(_ core.Xid, t *tx) bool { return t.status == core.Active || !t.published && t.ended != 0 })
}

func first(set core.XidSet) (core.Xid, bool) {
	if len(set) == 0 {
		return core.None, false
	}
	return set[0], true
}

func (m *manager) OldestActive() (core.Xid, bool) {
	defer m.lock()()
	x, ok := first(m.active())
	if m.pause(oldestSkips); ok && m.is(oldestSkips) && m.txs[x].status != core.Active {
		return core.None, false
	}
	return x, ok
}

func (m *manager) Snapshot(self core.Xid) core.Snapshot {
	defer m.lock()()
	return m.snapshot(self)
}

func (m *manager) snapshot(self core.Xid) core.Snapshot {
	owner := self
	if m.status(self) != core.Active && !m.is(anyOwner) {
		owner = core.None
	}
	if m.is(staleCache) && m.cached != nil {
		v := m.cached
		return core.NewSnapshot(v, owner, v.low(), v.high, 0)
	}
	v := &view{m: m, high: m.next, at: m.tick()}
	switch {
	case m.is(offByOne):
		v.high++
	case m.is(ownCeiling) && owner != core.None:
		v.high = owner + 1
		m.pause(ownCeiling) // and copies the active set later
	case m.is(tornSnapshot):
		v.active = m.active()
		m.pause(tornSnapshot)
		v.high = m.next
	}
	if !m.is(tornSnapshot) {
		v.active = m.active()
	}
	v.hidden = slices.Clone(v.active)
	if !m.is(abortedVisible) {
		v.hidden = append(v.hidden, m.where(func(_ core.Xid, t *tx) bool { return t.status == core.Aborted && !t.forgotten })...)
	}
	v.hidden = append(v.hidden, m.void...)
	for x := m.pool.from; x < m.pool.to && !m.is(leakyPool); x++ {
		v.hidden = append(v.hidden, x)
	}
	slices.Sort(v.hidden)
	m.cached = v
	return core.NewSnapshot(v, owner, v.low(), v.high, 0)
}

// low returns the smallest Xid that v hides.
func (v *view) low() core.Xid {
	x, ok := first(v.hidden)
	if !ok || x > v.high {
		return v.high
	}
	return x
}

func (v *view) Lookup(x core.Xid, _ uint64) (bool, error) {
	if v.m.is(changesMind) {
		defer v.m.lock()()
		t := v.m.txs[x]
		return t != nil && t.status == core.Committed || v.m.isObserved(x), nil
	}
	return !v.hidden.Has(x), nil
}

func (v *view) RolledBack(x core.Xid, _ uint64) (bool, error) {
	defer v.m.lock()()
	t := v.m.txs[x]
	return t != nil && t.status == core.Aborted && !v.m.is(ownerStays), nil
}

func (v *view) InProgress(low, high core.Xid, _ uint64) (core.XidSet, error) {
	set := slices.Clone(v.active)
	if v.m.is(reservedInProgress) {
		set = slices.Clone(v.hidden)
	}
	if v.m.is(inProgressMissesOldest) && len(set) > 0 {
		set = set[1:]
	}
	return slices.DeleteFunc(set, func(x core.Xid) bool { return x < low || x >= high }), nil
}

func (m *manager) ObserveCommitted(x core.Xid) error {
	defer m.lock()()
	s := m.status(x)
	switch {
	case x > core.MaxXid && !m.is(observesTooMuch):
		return &core.XidError{Op: "observe committed", Xid: x, Status: s, Err: core.ErrXidRange}
	case s == core.Unallocated:
		gap := span{m.next, x + 1}
		if m.is(gapLost) {
			gap.from = min(m.next+1, x)
		}
		m.observed = append(m.observed, gap)
		m.next = x + 1
		if !m.is(staleCache) {
			m.cached = nil
		}
	case s != core.Committed && !m.is(observesActive):
		return &core.XidError{Op: "observe committed", Xid: x, Status: s, Err: core.ErrNotCommitted}
	}
	return nil
}

func (m *manager) CheckpointExcluded() (core.Xid, core.XidSet) {
	defer m.lock()()
	return m.excluded()
}

func (m *manager) excluded() (core.Xid, core.XidSet) {
	next := m.next
	m.pause(tornCheckpoint)
	set := m.where(func(_ core.Xid, t *tx) bool {
		return t.status == core.Active || t.status == core.Aborted && !t.forgotten && !m.is(checkpointKeepsAborted)
	})
	for x, from := core.Xid(1), 0; x < next && !m.is(checkpointKeepsReserved); x++ {
		for from < len(m.observed) && m.observed[from].to <= x {
			from++
		}
		if from < len(m.observed) && m.observed[from].has(x) {
			x = m.observed[from].to - 1
		} else if m.txs[x] == nil {
			set = append(set, x)
		}
	}
	slices.Sort(set)
	return next, set
}

func (m *manager) CheckpointProjection() (core.Xid, core.XidSet, core.Xid) {
	defer m.lock()()
	next, set := m.excluded()
	if m.is(cutoffIgnoresGuards) {
		if x, ok := first(m.active()); ok {
			return next, set, x
		}
		return next, set, next
	}
	return next, set, m.horizon()
}

func (m *manager) ReservesUniqueKey(xmin, xmax core.Xid, own core.XidSet) bool {
	defer m.lock()()
	creator := m.status(xmin)
	m.pause(tornKey)
	deleter := m.status(xmax)
	switch {
	case creator == core.Aborted:
		return m.is(abortedReserves)
	case xmax == core.None:
		return true
	case deleter == core.Committed:
		return false
	case deleter == core.Active && m.is(activeDeleterFrees):
		return false
	case deleter == core.Aborted && !m.is(abortedDeleterFrees):
		return true
	}
	return !own.Has(xmax)
}

func (m *manager) Pin(x core.Xid) error {
	defer m.lock()()
	if x > core.MaxXid && !m.is(pinsTooMuch) {
		return &core.XidError{Op: "pin", Xid: x, Status: m.status(x), Err: core.ErrXidRange}
	}
	if x != core.None {
		m.pins[x]++
	}
	return nil
}

func (m *manager) Unpin(x core.Xid) {
	defer m.lock()()
	if m.is(unpinDebt) && x != core.None && x <= core.MaxXid {
		m.pins[x]--
		return
	}
	if m.pins[x]--; m.pins[x] <= 0 || m.is(unpinsAll) {
		delete(m.pins, x)
	}
}

func (m *manager) PinCount(x core.Xid) int {
	defer m.lock()()
	return m.pins[x]
}

func (m *manager) OldestPinned() (core.Xid, bool) {
	defer m.lock()()
	return m.oldestPinned()
}

func (m *manager) oldestPinned() (core.Xid, bool) {
	var set core.XidSet
	for x, n := range m.pins {
		if n > 0 {
			set = append(set, x)
		}
	}
	slices.Sort(set)
	return first(set)
}

func (m *manager) PruneAborted(below core.Xid) int {
	defer m.lock()()
	p := prune{below, m.tick()}
	if m.guardedBefore(p.at) && !m.is(pruneIgnoresGuards) {
		if !m.is(pruneGivesUp) {
			m.deferred = append(m.deferred, p)
		}
		return 0
	}
	return m.forget(p, m.is(pruneIgnoresPins))
}

func (m *manager) guardedBefore(at uint64) bool {
	for v := range maps.Values(m.guards) {
		if v.at < at {
			return true
		}
	}
	return false
}

func (m *manager) forget(p prune, pinnedToo bool) int {
	set := m.where(func(x core.Xid, t *tx) bool {
		return (x < p.below || m.is(pruneTakesBound) && x == p.below) && t.status == core.Aborted && !t.forgotten &&
			(t.ended < p.at || m.is(lateAbortsForgotten)) && (m.pins[x] <= 0 || pinnedToo)
	})
	for _, x := range set {
		m.txs[x].forgotten = true
	}
	if len(set) > 0 {
		m.forgot = m.tick()
		if !m.is(staleCache) {
			m.cached = nil
		}
	}
	return len(set)
}

func (m *manager) Retain(self core.Xid) core.Guard {
	defer m.lock()()
	s := m.snapshot(self)
	m.pause(capturesThenRegisters)
	if _, owner, _, _, _ := s.Parts(); owner != core.None && m.is(ownersUnguarded) {
		m.tokens++
		return core.NewGuard(s, (*holder)(m), m.tokens)
	}
	return m.guard(s)
}

func (m *manager) RetainSnapshot(s core.Snapshot) (core.Guard, error) {
	defer m.lock()()
	sv, _, _, _, _ := s.Parts()
	v, ok := sv.(*view)
	if !ok || v.m != m && !m.is(foreignAccepted) {
		return core.Guard{}, core.ErrForeign
	}
	x, hides := m.hiddenBy(v)
	if (hides && x < m.answered || m.forgot > v.at) && !m.is(retainsTooOld) {
		return core.Guard{}, core.ErrTooOld
	}
	return m.guard(s), nil
}

func (m *manager) guard(s core.Snapshot) core.Guard {
	sv, _, _, _, _ := s.Parts()
	m.tokens++
	if m.is(tokenReused) {
		m.tokens = uint64(len(m.guards)) + 1
	}
	m.guards[m.tokens] = sv.(*view)
	return core.NewGuard(s, (*holder)(m), m.tokens)
}

type holder manager

func (h *holder) Release(token uint64) bool {
	m := (*manager)(h)
	defer m.lock()()
	v := m.guards[token]
	if v == nil {
		return m.is(releasesTwice)
	}
	delete(m.guards, token)
	if m.is(equalGuardsReleased) {
		maps.DeleteFunc(m.guards, func(_ uint64, o *view) bool { return o.high == v.high })
	}
	m.deferred = slices.DeleteFunc(m.deferred, func(p prune) bool {
		ready := !m.guardedBefore(p.at)
		if ready {
			m.forget(p, m.is(deferredIgnoresPins))
		}
		return ready
	})
	return true
}

func (m *manager) OldestRequired() (core.Xid, bool) {
	defer m.lock()()
	h := m.horizon()
	return h, h < m.next
}

// horizon answers a horizon: from now on no xid below it may be handed out.
func (m *manager) horizon() core.Xid {
	h := m.required()
	for m.pool.from < min(m.pool.to, h) && !m.is(poolOutlivesHorizon) {
		m.void = append(m.void, m.pool.from)
		m.pool.from++
	}
	m.answered = max(m.answered, h)
	return h
}

func (m *manager) required() core.Xid {
	h := m.next
	if x, ok := first(m.active()); ok {
		h = min(h, x)
	}
	if x, ok := m.oldestPinned(); ok && !m.is(requiredIgnoresPins) {
		h = min(h, x)
	}
	if m.is(oldestActiveDecides) {
		return h
	}
	for v := range maps.Values(m.guards) {
		if x, ok := m.hiddenBy(v); ok {
			if m.is(boundary) {
				x = min(x+1, m.next)
			}
			h = min(h, x)
		}
	}
	return h
}

// hiddenBy returns the smallest Xid that v hides and that has committed since.
func (m *manager) hiddenBy(v *view) (core.Xid, bool) {
	set := m.where(func(x core.Xid, t *tx) bool {
		return (t.status == core.Committed || m.is(abortHoldsHorizon) && t.status == core.Aborted) &&
			(x >= v.high || v.hidden.Has(x))
	})
	for _, s := range m.observed {
		if s.from >= v.high && !m.is(observedUnguarded) {
			set = append(set, s.from)
		}
	}
	slices.SortFunc(set, cmp.Compare[core.Xid])
	return first(set)
}
