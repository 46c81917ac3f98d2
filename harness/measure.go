package harness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"xidlab/harness/pin"
	"xidlab/harness/result"
	"xidlab/harness/workload"
)

// ErrBroken is wrapped by the error of Measure if a variant broke a promise.
var ErrBroken = errors.New("a promise was broken")

// sampleEvery is how many calls lie between those that are timed, in slices for
// latencies. It is a prime, lest it fall into step with a workload.
const sampleEvery = 31

// maxTries is how often a slice is begun anew.
const maxTries = 5

// retainedMetric is the live memory that a unit of work left behind.
const retainedMetric = "retained-B/op"

// Measure measures what cfg says and puts the rows into rec, which it saves
// after every round and leaves partial: the caller finishes it. notes says in
// words what was not measured as asked, and why.
//
// If ctx ends, Measure returns its error within a slice, with what was measured
// so far in rec. If a variant broke a promise, which wraps [ErrBroken], its row
// is left out, and everything else is measured. An error that wraps neither
// means that nothing sensible can be measured here.
//
// It sets the garbage collector while it runs, so that only one Measure should
// run in a process. GOMAXPROCS it leaves to the caller.
func Measure(ctx context.Context, cfg Config, rec *result.Recorder) (notes []string, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.patience == 0 {
		cfg.patience = time.Minute
	}
	m := &measurement{cfg: &cfg, rec: rec, groups: plan(&cfg)}
	m.schedule = newSchedule(&cfg, m.groups, time.Now())
	err = m.all(ctx)
	if !m.unsaved { // otherwise err says so
		if saveErr := m.save(); saveErr != nil {
			return m.notes, errors.Join(err, saveErr)
		}
	}
	if err == nil && len(m.broken) > 0 {
		err = fmt.Errorf("%w: %w", ErrBroken, errors.Join(m.broken...))
	}
	return m.notes, err
}

type measurement struct {
	cfg      *Config
	rec      *result.Recorder
	groups   []group
	schedule *schedule
	notes    []string
	broken   []error
	unsaved  bool // saving failed
}

func (m *measurement) all(ctx context.Context) error {
	for round := range m.schedule.rounds {
		if err := m.round(ctx, uint64(round), 0); err != nil {
			return err
		}
		if err := m.save(); err != nil {
			m.unsaved = true
			return err
		}
	}
	sample := sampleEvery
	if m.cfg.Paced {
		sample = 1
	}
	return m.round(ctx, uint64(m.schedule.rounds), sample)
}

// round gives each cell one slice, or, if sample is not 0, each cell whose
// latencies are wanted.
func (m *measurement) round(ctx context.Context, round uint64, sample int) error {
	rng := rand.New(rand.NewPCG(m.cfg.Seed, round))
	for _, g := range shuffled(m.groups, rng) {
		if sample > 0 && !g.sampled(m.cfg) {
			continue
		}
		seed := rng.Uint64() // the same for all variants
		for _, c := range g {
			if err := ctx.Err(); err != nil {
				return err
			}
			began := time.Now()
			m.schedule.plan(began, m.cfg.Paced && c.manager != nil)
			m.progress(c)
			err := m.slice(ctx, c, seed, sample)
			m.schedule.did(time.Since(began))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *measurement) progress(c *cell) {
	if m.cfg.Progress != nil {
		m.cfg.Progress(Progress{Done: m.schedule.done, Total: m.schedule.total, Left: m.schedule.left(), Row: c.row.Name()})
	}
}

// slice measures one slice of c. Its error ends the measurement.
func (m *measurement) slice(ctx context.Context, c *cell, seed uint64, sample int) error {
	if c.dropped {
		return nil
	}
	undo := c.mode.GC.apply()
	defer undo()
	// A load may be so slow, or paced so, that no unit ends within the window.
	window := m.schedule.window
	for try := 0; ; try++ {
		r := &sliceRun{
			load: c.load, threads: c.row.Threads, seed: seed, sample: sample, explain: m.cfg.Explained, clock: m.cfg.Clock, patience: m.cfg.patience,
			ramp: m.schedule.ramp(), window: window,
		}
		if c.mode.Pinned {
			r.cpus = m.cfg.CPUs
		}
		if sample > 0 && r.crowded() {
			r.sample = 1 // what matters is the tail: the few calls in which a worker lost its CPU
		}
		if c.manager != nil {
			r.manager = c.manager()
		}
		out, err := r.do(ctx)
		var broken *brokenError
		switch {
		case errors.Is(err, workload.ErrUnsupported):
			c.dropped = true
			m.note("%s does not run %s: %v", c.row.Variant, c.load.Name(), err)
			return nil
		case errors.As(err, &broken):
			c.dropped = true
			m.broken = append(m.broken, fmt.Errorf("%s: %w", c.row.Name(), err))
			return nil
		case errors.Is(err, errStuck) && ctx.Err() == nil && c.manager != nil:
			return fmt.Errorf("%w: %s: %w", ErrBroken, c.row.Name(), err)
		case err != nil:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%s: %w", c.row.Name(), err)
		case out.late && try < maxTries/2 && !r.crowded():
			// As it may be on a busy machine. Where workers take turns some are
			// always late.
		case out.slice.Ops > 0:
			c.add(out, sample > 0)
			return nil
		case try == maxTries:
			m.note("%s finished no %s within %v: left out", c.row.Name(), c.row.Unit, window)
			c.dropped = true
			return nil
		default:
			window *= 2
		}
	}
}

func (m *measurement) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(m.notes, n) {
		m.notes = append(m.notes, n)
	}
}

// add takes a slice into the row. One that was sampled for latencies is slower
// than it would be, and gives nothing else.
func (c *cell) add(out *sliceResult, sampled bool) {
	if sampled {
		slice := out.slice // on its own: out holds the histograms of all workers
		c.row.Sampled = &slice
		for _, s := range out.samplers {
			for op := range workload.NumOps {
				if h := s.Histogram(op); c.hists[op] == nil {
					c.hists[op] = h
				} else {
					c.hists[op].Merge(h)
				}
			}
		}
		return
	}
	c.row.Slices = append(c.row.Slices, out.slice)
	c.units += float64(out.units)
	c.mallocs += float64(out.mallocs)
	c.bytes += float64(out.bytes)
	c.row.GCCycles += int64(out.cycles)
	c.row.GCPause += out.pause
	if c.manager == nil {
		return
	}
	c.explained.add(out.counters)
	for _, metric := range append(out.metrics, workload.Metric{Name: retainedMetric, Value: max(out.retained, 0)}) {
		if _, ok := c.metrics[metric.Name]; !ok {
			c.names = append(c.names, metric.Name)
		}
		c.metrics[metric.Name] = append(c.metrics[metric.Name], metric.Value)
	}
}

// finished returns the row as it stands.
func (c *cell) finished(clock pin.Clock) result.Row {
	row := c.row
	// The Go runtime itself allocates a few objects in a slice.
	row.AllocsPerOp = math.Round(c.mallocs/c.units*1e4) / 1e4
	row.BytesPerOp = math.Round(c.bytes/c.units*1e2) / 1e2
	for _, name := range c.names {
		row.Metrics = append(row.Metrics, result.Metric{Name: name, Value: result.Summarize(c.metrics[name]).Median})
	}
	row.Counters = c.explained.counters(c.units)
	for op, h := range c.hists {
		if h != nil && h.TotalCount() > 0 {
			row.Latencies = append(row.Latencies, result.NewLatency(workload.Op(op).String(), h, clock.Nanoseconds))
		}
	}
	return row
}

// save puts the rows into the recorder, in the order of the plan, and saves it.
func (m *measurement) save() error {
	for _, g := range m.groups {
		for _, c := range g {
			if c.dropped {
				c.row.Slices = nil // an earlier round may have saved some
			}
			if c.units > 0 {
				if err := m.rec.Put(c.finished(m.cfg.Clock)); err != nil {
					return err
				}
			}
		}
	}
	return m.rec.Save()
}
