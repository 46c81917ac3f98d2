package stress

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"xidlab/core"
	"xidlab/harness/record"
	"xidlab/harness/workload"
)

// A Script is a [workload.Load] that is made to break managers, not to measure
// them: its workers do a few kinds of things, in random order, to the same few
// transactions, and never look at an answer. It can be started on what
// [record.Recorder.Manager] returns only.
type Script struct {
	name, summary string
	roles         []role // worker i has the i'th, and so on around
}

// A role is how often a worker does what.
type role map[string]int

// Name implements [workload.Load].
func (s *Script) Name() string { return s.name }

// Summary is one line for people.
func (s *Script) Summary() string { return s.summary }

// actions are what a role may name, and the capability that it needs.
var actions = map[string]struct {
	do    action
	needs func(core.Manager) bool // nil: none
}{
	"begin":         {begin, nil},
	"commit":        {commit, nil},
	"rollback":      {rollback, nil},
	"steal":         {steal, nil},
	"write":         {write, nil},
	"abort":         {abort, nil},
	"guess":         {guess, nil},
	"snapshot":      {snapshot, nil},
	"reread":        {reread, nil},
	"status":        {status, nil},
	"oldest-active": {oldestActive, nil},
	"peek":          {peek, nil},
	"misuse":        {misuse, nil},
	"allocate":      {allocate, offers[core.CommittedAllocator]},
	"group":         {group, offers[core.GroupCommitter]},
	"misuse-group":  {misuseGroup, offers[core.GroupCommitter]},
	"retain":        {retain, offers[core.Retainer]},
	"retain-older":  {retainOlder, offers[core.Retainer]},
	"release":       {release, offers[core.Retainer]},
	"required":      {required, offers[core.Retainer]},
	"pin":           {pinSome, offers[core.Pinner]},
	"unpin":         {unpinSome, offers[core.Pinner]},
	"pinned":        {pinned, offers[core.Pinner]},
	"prune":         {prune, offers[core.Pruner]},
	"observe":       {observe, offers[core.Recoverer]},
	"excluded":      {excluded, offers[core.Checkpointer]},
	"projection":    {projection, offers[core.Checkpointer]},
	"finish-pair":   {finishPair, nil},
	"key":           {key, offers[core.KeyReserver]},
	"misuse-range":  {misuseRange, both[core.Pinner, core.Recoverer]},
}

func offers[C any](m core.Manager) bool  { _, ok := m.(C); return ok }
func both[C, D any](m core.Manager) bool { return offers[C](m) && offers[D](m) }

// Scripts returns the scripts, one for each group of promises that threads can
// break together, and one that does everything.
//
// Those that guess xids do not allocate committed ones: the contract does not say
// what becomes of an AllocateCommitted whose xid somebody guesses and rolls back
// before it returns.
func Scripts() []*Script {
	writer := role{"begin": 4, "commit": 4}
	reader := role{"snapshot": 6, "reread": 1, "status": 1, "oldest-active": 1}
	return []*Script{
		{"stress/snapshots", "writers, and readers who ask about what is just now committing", []role{writer, reader}},
		{"stress/finishes", "everybody finishes what anybody has begun, or is about to, and asks what became of it", []role{
			{"begin": 4, "commit": 2, "rollback": 2, "steal": 4, "guess": 2, "status": 2, "snapshot": 1},
		}},
		{"stress/statements", "each worker writes, and refreshes its own snapshot", []role{
			{"begin": 3, "commit": 3, "snapshot": 4, "allocate": 2},
		}},
		{"stress/groups", "transactions commit with their savepoints, before readers", []role{{"group": 4, "begin": 1, "misuse-group": 1}, reader}},
		{"stress/autocommit", "born-committed xids beside ordinary ones, before readers", []role{{"allocate": 6, "begin": 2, "commit": 2}, reader}},
		{"stress/guards", "guards come and go beside writers and whoever asks for the horizon", []role{
			{"retain": 4, "release": 5, "retain-older": 3, "snapshot": 2, "reread": 1},
			{"write": 4, "required": 3, "projection": 1},
		}},
		{"stress/horizons", "transactions of all lengths, and whoever asks for the oldest", []role{
			{"begin": 2, "commit": 3, "write": 2, "allocate": 1},
			{"oldest-active": 4, "required": 2, "snapshot": 1, "peek": 1, "begin": 1, "commit": 2},
		}},
		{"stress/prunes", "rollbacks and prunes beside guards, pins and readers", []role{
			{"abort": 6, "prune": 3, "status": 2, "pin": 1, "unpin": 2, "snapshot": 1},
			{"retain": 3, "release": 4, "status": 2, "prune": 1, "abort": 1, "reread": 1, "retain-older": 1},
		}},
		{"stress/pins", "pins and horizons beside writers", []role{
			{"pin": 4, "unpin": 4, "pinned": 2, "required": 2},
			{"begin": 2, "commit": 3, "write": 4, "required": 2, "pin": 1, "unpin": 2},
		}},
		{"stress/checkpoints", "checkpoints beside everything that finishes", []role{
			{"begin": 3, "commit": 3, "rollback": 2, "write": 2, "allocate": 1, "retain": 1, "release": 2, "prune": 1},
			{"excluded": 3, "projection": 3, "required": 1, "snapshot": 1},
		}},
		{"stress/observes", "xids are observed, beyond the bound and below it, beside begins and readers", []role{
			{"begin": 4, "commit": 3, "rollback": 1, "observe": 1},
			{"observe": 4, "snapshot": 3, "peek": 1, "status": 1, "allocate": 1},
		}},
		{"stress/keys", "unique-key admission while creator and deleter finish", []role{{"finish-pair": 2, "write": 1}, {"key": 1}}},
		{"stress/everything", "a bit of everything, by everybody", []role{{
			"begin": 8, "commit": 6, "rollback": 3, "steal": 1, "write": 2, "abort": 1, "allocate": 2, "group": 1, "snapshot": 5, "reread": 1, "retain": 2, "retain-older": 1, "release": 2,
			"status": 2, "oldest-active": 1, "peek": 1, "required": 2, "pin": 1, "unpin": 1, "pinned": 1, "prune": 1, "observe": 1, "excluded": 1, "projection": 1,
			"finish-pair": 1, "key": 2, "misuse": 1, "misuse-group": 1, "misuse-range": 1,
		}}},
	}
}

// Start implements [workload.Load]. What needs a capability that the manager
// lacks is left out.
func (s *Script) Start(m core.Manager, workers int, seed uint64) (workload.Run, error) {
	r := &scriptRun{board: &board{}}
	for i := range workers {
		w, ok := record.WorkerOf(workload.For(m, i))
		if !ok {
			return nil, fmt.Errorf("workload %s: %w", s.name, errNotRecorded)
		}
		a := &actor{w: w, board: r.board, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		if a.role = s.roles[i%len(s.roles)].of(w.Recorded()); len(a.role) == 0 {
			return nil, fmt.Errorf("workload %s: %w", s.name, workload.ErrUnsupported)
		}
		r.actors = append(r.actors, a)
	}
	return r, nil
}

// errNotRecorded: nobody would judge the answers.
var errNotRecorded = errors.New("it runs on the manager of a recorder only")

// of returns the actions of a worker on m, each as often as it weighs, always in
// the same order, so that a seed repeats what a worker does.
func (r role) of(m core.Manager) (list []action) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		a, ok := actions[name]
		if !ok {
			panic("stress: no action " + name)
		}
		if a.needs != nil && !a.needs(m) {
			continue
		}
		for range r[name] {
			list = append(list, a.do)
		}
	}
	return list
}

// A scriptRun is a script on one manager.
type scriptRun struct {
	board  *board
	actors []*actor
}

// Worker implements [workload.Run].
func (r *scriptRun) Worker(i int) workload.Worker { return r.actors[i] }

// Finish implements [workload.Run]: it ends what the workers have left open.
func (r *scriptRun) Finish() ([]workload.Metric, error) {
	for _, a := range r.actors {
		a.finish()
	}
	return nil, nil
}
