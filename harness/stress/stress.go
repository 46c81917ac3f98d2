package stress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"xidlab/core"
	"xidlab/harness/check"
	"xidlab/harness/history"
	"xidlab/harness/record"
	"xidlab/harness/workload"
)

// A Config says what to stress, and for how long.
type Config struct {
	Name    string // of the manager, for people
	Manager func() core.Manager
	Loads   []workload.Load
	Modes   []Mode
	Clocks  []*record.Clock // one for each recording, by chance
	Budget  time.Duration   // recording and judging
	Seed    uint64

	// Recorded, if not nil, gets every recording, as it was made, before the
	// next one begins. Its error ends the stress.
	Recorded func(Cell, *history.History) error
	// Progress, if not nil, is told of every recording that begins.
	Progress func(done float64, what string)

	patience time.Duration // with workers that do not come back; 0: long
}

// A Cell is one recording: a load on a fresh manager, in one mode.
type Cell struct {
	Manager string
	Load    string
	Mode    Mode
	Clock   string // its name
	Seed    uint64
}

// String describes c: "epoch, stress/guards, 2 workers, pinned, stamps by tsc, seed 7".
func (c Cell) String() string {
	return fmt.Sprintf("%s, %s, %v, stamps by %s, seed %d", c.Manager, c.Load, c.Mode, c.Clock, c.Seed)
}

// A Report is what came of a stress.
type Report struct {
	Coverage
	Cells     int           // recordings
	Left      int           // loads and modes for which no time was left
	Recording time.Duration // by all workers at once
	Judging   time.Duration
	Undecided int        // answers that got the benefit of the doubt; see check.Verdict
	Memory    int        // bytes that the logs of one recording reserve, at most
	Notes     []string   // what was not done as asked, and why
	Violation *Violation // that ended it; nil if there was none
}

// A Violation is a broken promise, and the recording that shows it.
type Violation struct {
	Cell
	// Proof is what the history shows, or, if that shows nothing, what has
	// been noticed otherwise: a worker that blocks or panics, a promise that
	// the load itself watches, an error that the contract does not know.
	Proof   *check.Violation
	History *history.History // from the manager's first operation on
}

// A recording is short, so that there are many, and ends on what can be kept in
// memory as one history.
const (
	mostOps  = 400_000                // of a recording
	mostTime = 400 * time.Millisecond // for a recording
	least    = 4 * time.Millisecond
	window   = 8 * time.Millisecond // at most, between two pauses of the workers
	patience = 10 * time.Second     // by default, with workers that do not come back
)

// limits of the logs, for each of so many workers.
func limits(workers int) record.Limits {
	ops := max(60_000/workers, 2_000) // a window for all
	return record.Limits{Ops: ops, Xids: 4 * ops}
}

// Run records and judges, in rounds in which each load is run once in each mode,
// until the time is over or a promise is found broken. A violation is in the
// report, and no error. The error is ctx's, or that of an environment that does
// not allow what was asked for; the report then says what was done by then.
//
// It sets GOMAXPROCS and the garbage collector for the whole process while it
// runs.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	s := &stress{cfg: cfg, until: time.Now().Add(cfg.Budget), began: time.Now(), rep: &Report{}, unsupported: map[string]bool{}}
	err := s.rounds(ctx)
	for _, m := range cfg.Modes {
		s.rep.Memory = max(s.rep.Memory, limits(m.Workers).Bytes(m.Workers))
	}
	for _, c := range cfg.Clocks {
		if err == nil {
			err = c.Verify()
		}
	}
	return s.rep, err
}

type stress struct {
	cfg          Config
	began, until time.Time
	rep          *Report
	unsupported  map[string]bool // by load
}

type pair struct {
	load workload.Load
	mode Mode
}

func (s *stress) rounds(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(s.cfg.Seed, 0))
	unsupported := func(p pair) bool { return s.unsupported[p.load.Name()] }
	for round := 0; time.Now().Before(s.until); round++ {
		pairs := slices.DeleteFunc(s.pairs(rng), unsupported)
		if len(pairs) == 0 {
			return nil
		}
		for i, p := range pairs {
			left := time.Until(s.until)
			switch {
			case unsupported(p):
				continue
			case left <= 0:
				if round == 0 {
					s.rep.Left = len(pairs) - i
				}
				return nil
			}
			// In the first round all get their share; later ones may take longer.
			share := min(left, mostTime)
			if round == 0 {
				share = min(share, max(s.recordingOf(left/time.Duration(len(pairs)-i)), least))
			}
			err := s.cell(ctx, p, s.cfg.Clocks[rng.IntN(len(s.cfg.Clocks))], rng.Uint64(), share)
			if errors.Is(err, workload.ErrUnsupported) {
				s.note("%s does not run %s: %v", s.cfg.Name, p.load.Name(), err)
				s.unsupported[p.load.Name()] = true
				continue
			}
			if err != nil || s.rep.Violation != nil {
				return err
			}
		}
	}
	return nil
}

// pairs returns each load in each mode, in random order, but so that each load comes
// once before any comes twice.
func (s *stress) pairs(rng *rand.Rand) (pairs []pair) {
	modes := make([][]int, len(s.cfg.Loads))
	for i := range modes {
		modes[i] = rng.Perm(len(s.cfg.Modes))
	}
	for turn := range s.cfg.Modes {
		for _, i := range rng.Perm(len(s.cfg.Loads)) {
			pairs = append(pairs, pair{s.cfg.Loads[i], s.cfg.Modes[modes[i][turn]]})
		}
	}
	return pairs
}

// recordingOf returns how much of a time to record, so that what is recorded can be
// judged in the rest.
func (s *stress) recordingOf(d time.Duration) time.Duration {
	recording, all := s.rep.Recording, s.rep.Recording+s.rep.Judging
	if all == 0 {
		return d / 2
	}
	return time.Duration(float64(d) * float64(recording) / float64(all))
}

func (s *stress) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(s.rep.Notes, n) {
		s.rep.Notes = append(s.rep.Notes, n)
	}
}

// cell makes one recording, and judges each of its windows before the next.
func (s *stress) cell(ctx context.Context, p pair, clock *record.Clock, seed uint64, share time.Duration) error {
	at := Cell{s.cfg.Name, p.load.Name(), p.mode, clock.Name(), seed}
	if s.cfg.Progress != nil {
		s.cfg.Progress(min(1, time.Since(s.began).Seconds()/s.cfg.Budget.Seconds()), fmt.Sprintf("%s, %s, %v", at.Manager, at.Load, at.Mode))
	}
	all := &history.History{}
	cover := newCoverer()
	began := time.Now()
	c := &cell{
		load: p.load, mode: p.mode, clock: clock, manager: s.cfg.Manager, seed: seed,
		limits: limits(p.mode.Workers), window: window, patience: cmp.Or(s.cfg.patience, patience),
	}
	c.take = func(h *history.History) bool {
		all.Header = h.Header
		all.Manager = s.cfg.Name
		all.Ops = append(all.Ops, h.Ops...)
		cover.add(h)
		return len(all.Ops) < mostOps
	}
	err := c.record(ctx, began.Add(share))
	if errors.Is(err, workload.ErrUnsupported) {
		return err
	}
	recorded := time.Now()
	verdict := check.Check(all)
	s.rep.Judging += time.Since(recorded)
	s.rep.Recording += recorded.Sub(began)
	s.rep.Cells++
	s.rep.Undecided += verdict.Undecided
	s.rep.Coverage.Add(cover.Coverage)
	if s.cfg.Recorded != nil {
		if err := s.cfg.Recorded(at, all); err != nil {
			return err
		}
	}
	var broke *brokenError
	switch {
	case verdict.Violation != nil:
		s.rep.Violation = &Violation{at, verdict.Violation, all}
	case errors.As(err, &broke):
		s.rep.Violation = &Violation{at, noticed(broke, all), all}
	default:
		return err
	}
	return nil
}

// noticed returns an error as a violation of the operations that have not
// returned.
func noticed(err error, h *history.History) *check.Violation {
	v := &check.Violation{Manager: h.Manager, Clock: h.Clock.String(), Text: oneLine(err)}
	for i := range h.Ops {
		if o := &h.Ops[i]; o.IsPending() {
			v.Text += fmt.Sprintf("; worker %d has not returned from %v", o.Worker, o)
			v.Ops = append(v.Ops, check.Operation{Index: i, Worker: int(o.Worker), Call: o.Call, Text: o.String()})
		}
	}
	return v
}

// oneLine folds joined errors.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
