package harness

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"xidlab/core"
	"xidlab/harness/result"
	"xidlab/harness/workload"
)

// A cell is a row in the making.
type cell struct {
	row     result.Row
	load    workload.Load
	mode    Mode
	manager func() core.Manager // nil for a reference
	dropped bool                // it could not be measured, or its figures are worth nothing

	units, mallocs, bytes float64
	metrics               map[string][]float64
	names                 []string // of metrics, in order
	explained             explanation
	hists                 [workload.NumOps]*hdrhistogram.Histogram
}

// A group is the cells that differ in the variant only. Their slices are
// neighbours in time.
type group []*cell

// plan returns the groups, in the order of the tables.
func plan(cfg *Config) (groups []group) {
	for _, threads := range cfg.Threads {
		var g group
		for _, ref := range references(threads) {
			g = append(g, newCell(ref, result.Reference, nil, threads, cfg.Modes[0]))
		}
		groups = append(groups, g)
	}
	for _, load := range cfg.Loads {
		for _, mode := range cfg.Modes {
			for _, threads := range cfg.Threads {
				var g group
				for _, v := range cfg.Variants {
					if cfg.Wanted == nil || cfg.Wanted(v.Name, load.Name(), threads) {
						g = append(g, newCell(load, v.Name, v.New, threads, mode))
					}
				}
				if len(g) > 0 {
					groups = append(groups, g)
				}
			}
		}
	}
	return groups
}

func newCell(load workload.Load, variant string, manager func() core.Manager, threads int, mode Mode) *cell {
	c := &cell{load: load, mode: mode, manager: manager, metrics: map[string][]float64{}}
	name, params := splitName(load.Name())
	c.row = result.Row{
		Workload: name, Params: params, Variant: variant, Threads: threads,
		Pinned: mode.Pinned, GC: string(mode.GC), Unit: "transaction",
	}
	if l, ok := load.(interface{ Unit() string }); ok {
		c.row.Unit = l.Unit()
	}
	return c
}

// splitName takes the parameters off a name such as "txn-snapshot/active=16".
func splitName(name string) (string, []result.Param) {
	parts := strings.Split(name, "/")
	var params []result.Param
	for _, p := range parts[1:] {
		key, value, _ := strings.Cut(p, "=")
		params = append(params, result.Param{Key: key, Value: value})
	}
	return parts[0], params
}

const (
	// usualSlice is about how long a slice takes, all in all. Shorter ones
	// would be mostly ramp and preparation; what is left of the budget is
	// better spent on more slices.
	usualSlice = 70 * time.Millisecond
	// A row has at least minSlices, as a median of fewer means little, and
	// seldom more than maxSlices, which make its interval narrow enough.
	minSlices, maxSlices = 3, 25
	// The window of a slice; that of a paced load has no upper limit.
	minWindow, maxWindow = 5 * time.Millisecond, 250 * time.Millisecond
	// firstOverhead is what preparing and finishing a slice takes, as long as
	// nothing is known.
	firstOverhead = 8 * time.Millisecond
)

// A schedule divides the budget among the slices.
type schedule struct {
	rounds   int // slices of each row
	total    int // slices of the run, those for latencies included
	done     int
	began    time.Time
	end      time.Time
	overhead time.Duration // sum over what is done: what slices took beside ramp and window
	window   time.Duration
}

func newSchedule(cfg *Config, groups []group, now time.Time) *schedule {
	cells, sampled := 0, 0
	for _, g := range groups {
		cells += len(g)
		if g.sampled(cfg) {
			sampled += len(g)
		}
	}
	s := &schedule{rounds: cfg.Slices, began: now, end: now.Add(cfg.Budget)}
	if s.rounds == 0 {
		n := (int(cfg.Budget/usualSlice) - sampled) / cells
		s.rounds = min(max(n, minSlices), maxSlices)
		if cfg.Paced {
			s.rounds = minSlices
		}
	}
	s.total = s.rounds*cells + sampled
	s.plan(now, false)
	return s
}

// sampled reports whether latencies of g are sampled: those of the first mode.
func (g group) sampled(cfg *Config) bool {
	return !cfg.Untimed && g[0].manager != nil && g[0].mode == cfg.Modes[0]
}

// plan sets the window from what is left.
func (s *schedule) plan(now time.Time, paced bool) {
	overhead := firstOverhead
	if s.done > 0 {
		overhead = s.overhead / time.Duration(s.done)
	}
	each := s.end.Sub(now)/time.Duration(max(s.total-s.done, 1)) - overhead
	s.window = max(each*8/9, minWindow)
	if !paced {
		s.window = min(s.window, maxWindow)
	}
}

// ramp goes before the window. It must be long enough for caches and branch
// predictors, and for workers that wake late.
func (s *schedule) ramp() time.Duration {
	return min(max(s.window/8, time.Millisecond), maxWindow/8)
}

// did notes that a slice took so long.
func (s *schedule) did(took time.Duration) {
	s.done++
	s.overhead += max(took-s.window-s.ramp(), 0)
}

// left estimates how long the rest takes.
func (s *schedule) left() time.Duration {
	overhead := firstOverhead
	if s.done > 0 {
		overhead = s.overhead / time.Duration(s.done)
	}
	return time.Duration(s.total-s.done) * (overhead + s.window + s.ramp())
}

// shuffled returns the groups in a new order, and the cells of each.
func shuffled(groups []group, rng *rand.Rand) []group {
	out := make([]group, len(groups))
	for i, at := range rng.Perm(len(groups)) {
		g := append(group(nil), groups[at]...)
		rng.Shuffle(len(g), func(i, j int) { g[i], g[j] = g[j], g[i] })
		out[i] = g
	}
	return out
}
