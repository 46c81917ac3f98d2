package stress

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"xidlab/core"
	"xidlab/harness/history"
	"xidlab/harness/pin"
	"xidlab/harness/record"
	"xidlab/harness/workload"
)

// A cell is one load on one manager in one mode: a recording, in windows between
// which all workers pause.
type cell struct {
	load     workload.Load
	mode     Mode
	clock    *record.Clock
	manager  func() core.Manager
	seed     uint64
	limits   record.Limits
	window   time.Duration
	patience time.Duration // with workers that do not come back

	// take gets what a window has recorded; false ends the recording.
	take func(h *history.History) (on bool)
}

// crew is the workers of a cell, and what they share.
type crew struct {
	*cell
	run      workload.Run
	recorder *record.Recorder
	workers  []*hand

	length time.Duration // of the window; written between windows, while the workers wait

	_     [128]byte
	begun atomic.Int32 // how many have begun the window
	_     [128]byte
	stop  atomic.Bool // the window is over
	_     [128]byte
}

// A hand is one worker of a crew.
type hand struct {
	*crew
	w    workload.Worker
	rec  *record.Worker
	cpu  int
	next chan struct{} // a window begins; closed: the end
	done chan struct{} // the window is over
	err  error         // a panic; read after done
}

// A brokenError is a promise that was broken in a way that no history shows.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func broken(format string, args ...any) error { return &brokenError{fmt.Errorf(format, args...)} }

// record runs the cell until the time has come, or take says no. The error of a
// manager that broke a promise is a *brokenError, and whatever was recorded has
// been taken; other errors are of the environment, of ctx, or wrap
// workload.ErrUnsupported.
func (c *cell) record(ctx context.Context, until time.Time) error {
	m := c.manager()
	recorder := record.New(m, c.clock, c.mode.Workers, c.limits)
	run, err := c.start(recorder)
	if err != nil {
		return err
	}
	crew := &crew{cell: c, run: run, recorder: recorder}
	defer crew.dismiss()
	if err := crew.muster(); err != nil {
		return err
	}
	for on := true; on && time.Now().Before(until); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := crew.windowed(min(c.window, time.Until(until))); err != nil {
			c.take(recorder.Take())
			return err
		}
		on = c.take(recorder.Take())
		if err := recorder.Err(); err != nil {
			return &brokenError{err}
		}
		if !on {
			return nil
		}
	}
	err = crew.finish()
	c.take(recorder.Take())
	if err == nil && recorder.Err() != nil {
		err = &brokenError{recorder.Err()}
	}
	return err
}

// start starts the load. What it notices while it prepares is a broken promise.
func (c *cell) start(r *record.Recorder) (run workload.Run, err error) {
	defer caught("a load that prepares", &err)
	if run, err = c.load.Start(r.Manager(), c.mode.Workers, c.seed); err != nil && !errors.Is(err, workload.ErrUnsupported) {
		err = &brokenError{err}
	}
	return run, err
}

// finish ends the load, and hears what it has noticed.
func (c *crew) finish() (err error) {
	defer caught("a load that finishes", &err)
	defer func() {
		for _, h := range c.workers {
			h.rec.Pause() // they are idle, and the load may have used them
		}
	}()
	if _, err = c.run.Finish(); err != nil {
		err = &brokenError{err}
	}
	return err
}

// caught makes a panic an error.
func caught(who string, err *error) {
	if p := recover(); p != nil {
		*err = broken("%s panicked: %v: %s", who, p, at(debug.Stack()))
	}
}

// muster brings up the workers, pinned where they are to be.
func (c *crew) muster() error {
	ready := make(chan error)
	for i := range c.mode.Workers {
		h := &hand{crew: c, w: c.run.Worker(i), rec: c.recorder.Worker(i), cpu: pin.Unknown, next: make(chan struct{}), done: make(chan struct{}, 1)}
		if c.mode.CPUs != nil {
			h.cpu = c.mode.CPUs[i%len(c.mode.CPUs)]
		}
		c.workers = append(c.workers, h)
		go h.live(ready)
	}
	var err error
	for range c.workers {
		err = errors.Join(err, <-ready)
	}
	return err
}

// dismiss lets the workers end. One that does not come back is left behind.
func (c *crew) dismiss() {
	for _, h := range c.workers {
		close(h.next)
	}
}

// windowed lets the workers run for a window.
func (c *crew) windowed(d time.Duration) error {
	leave := c.mode.enter()
	defer leave()
	c.begun.Store(0)
	c.stop.Store(false)
	c.length = d
	for _, h := range c.workers {
		h.next <- struct{}{}
	}
	var err error
	const grace = time.Second // for the others, if one blocks or panics
	timeout := time.NewTimer(d + c.patience)
	defer timeout.Stop()
	for _, h := range c.workers {
		select {
		case <-h.done:
			if h.err == nil {
				continue
			}
			err = errors.Join(err, h.err)
		case <-timeout.C:
			c.stop.Store(true)
			err = errors.Join(err, broken("worker %d has not come back for %v: what it is in blocks", h.rec.Number(), c.patience))
		}
		timeout.Reset(min(c.patience, grace))
	}
	return err
}

// live is the life of a worker.
func (h *hand) live(ready chan<- error) {
	var err error
	if h.cpu != pin.Unknown {
		_, err = pin.Thread(h.cpu) // it stays locked, and its thread ends with it
	}
	ready <- err
	for range h.next {
		h.err = h.work()
		h.done <- struct{}{}
	}
}

// work is a window. All begin it together, or else nothing overlaps; and it is
// over for all as soon as it is for one.
func (h *hand) work() (err error) {
	defer h.stop.Store(true)
	defer caught(fmt.Sprintf("worker %d", h.rec.Number()), &err)
	h.begun.Add(1)
	for spins := 1; h.begun.Load() < int32(len(h.workers)) && !h.stop.Load(); spins++ {
		if spins%100 == 0 {
			runtime.Gosched()
		}
	}
	deadline := time.Now().Add(h.length) // from when all were there, which may take long
	for !h.stop.Load() && !h.rec.Full() && time.Now().Before(deadline) {
		h.w.Step(nil)
	}
	h.rec.Pause()
	return nil
}

// at returns the place in a stack where a panic came from, in one line.
func at(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+3 < len(lines) {
			return strings.TrimSpace(lines[i+2]) + " " + strings.TrimSpace(lines[i+3])
		}
	}
	return "at an unknown place"
}
