package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"xidlab/core"
	"xidlab/harness/pin"
	"xidlab/harness/result"
	"xidlab/harness/workload"
)

// A sliceRun is one measured window of one load on one manager.
//
// Its phases, for a worker: it pins itself and is ready; released by a barrier
// it ramps up until rampEnd; counts units until windowEnd, between ticks of its
// own that lie close to these; and goes on, uncounted, until the last worker has
// left its window, unless they are crowded. Then all are collected, checked, and
// let go.
type sliceRun struct {
	load    workload.Load
	manager core.Manager // nil for a reference
	threads int
	cpus    []int // of pinned workers, nil if unpinned
	ramp    time.Duration
	window  time.Duration
	seed    uint64
	sample  int // one call in so many is timed; 0: none
	explain bool
	clock   pin.Clock
	// patience is how long workers may take beyond their time before they
	// count as stuck. It is long, as a machine may be suspended.
	patience time.Duration

	// Written before the barrier opens, then only read.
	rampEnd, windowEnd int64

	// Read by all workers at every turn, hardly ever written.
	_        [128]byte
	stop     atomic.Bool  // give up
	finished atomic.Int64 // how many workers have left the window
	_        [128]byte
}

// crowded reports whether there are more workers than CPUs, so that they take
// turns.
func (r *sliceRun) crowded() bool {
	return r.threads > runtime.GOMAXPROCS(0) || r.cpus != nil && r.threads > len(r.cpus)
}

// sliceResult is what came of it.
type sliceResult struct {
	slice    result.Slice
	units    int64 // in all phases
	mallocs  uint64
	bytes    uint64
	cycles   uint32
	pause    time.Duration
	retained float64 // bytes of live heap added per unit
	metrics  []workload.Metric
	counters []core.Counter // what they grew by; of gauges, the value before the run is finished
	samplers []*workload.Sampler
	late     bool // a worker missed more than half of the window
}

// errStuck: workers did not come back. They cannot be ended.
var errStuck = errors.New("workers make no progress")

// A worker's fields are written by its own goroutine, and read by others after
// it is done.
type worker struct {
	_          [128]byte
	run        *sliceRun
	w          workload.Worker
	sampler    *workload.Sampler
	cpu        int
	start, end int64 // of its window
	units      int64 // within its window
	late       bool  // it missed more than half of the window before it got a CPU
	total      int64 // in all phases
	usage      pin.Usage
	moved      bool
	pinErr     error
	panicked   error
	_          [128]byte
}

// do runs the slice. The error of a broken promise is a *brokenError; other
// errors are of the environment, or ctx's.
func (r *sliceRun) do(ctx context.Context) (*sliceResult, error) {
	run, err := startLoad(r)
	if err != nil {
		return nil, err
	}
	ready, done := make(chan struct{}), make(chan struct{})  // a value from each worker
	start, leave := make(chan struct{}), make(chan struct{}) // closed for all
	left := make(chan struct{}, r.threads)                   // a value from each as it ends
	workers := make([]*worker, r.threads)
	for i := range workers {
		w := &worker{run: r, w: run.Worker(i), cpu: pin.Unknown}
		if r.cpus != nil {
			w.cpu = r.cpus[i%len(r.cpus)]
		}
		if r.sample > 0 {
			w.sampler = workload.NewSampler(r.sample, r.clock.Now, r.clock.Overhead())
		}
		workers[i] = w
		go w.live(ready, start, done, leave, left)
	}
	timeout := time.NewTimer(r.patience) // made once: the window has no allocations of ours
	defer timeout.Stop()
	interrupted := ctx.Done()
	gather := func(c <-chan struct{}) error {
		for range workers {
			for waiting := true; waiting; {
				select {
				case <-c:
					waiting = false
				case <-interrupted:
					r.stop.Store(true)
					interrupted = nil
					timeout.Reset(min(r.patience, 5*time.Second))
				case <-timeout.C:
					r.stop.Store(true)
					return errStuck
				}
			}
		}
		return nil
	}
	if err := gather(ready); err != nil {
		return nil, err
	}
	timeout.Reset(r.ramp + r.window + r.patience)

	counted := r.counters()
	// The collection is no work of the slice: it is over before usage is read.
	// And reading usage allocates, so what is allocated is counted from there.
	live := readMemory().HeapAlloc
	process, machine := pin.ProcessUsage(), pin.MachineUsage()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	began := r.clock.Now()
	ticks := 1 / r.clock.Nanoseconds(1)
	r.rampEnd = began + int64(float64(r.ramp)*ticks)
	r.windowEnd = r.rampEnd + int64(float64(r.window)*ticks)
	close(start)
	if err := gather(done); err != nil {
		return nil, err
	}
	wall := time.Duration(r.clock.Nanoseconds(r.clock.Now() - began))
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	process, machine = pin.ProcessUsage().Sub(process), pin.MachineUsage().Sub(machine)
	close(leave)
	for range workers {
		<-left
	}

	out := &sliceResult{
		mallocs: after.Mallocs - before.Mallocs,
		bytes:   after.TotalAlloc - before.TotalAlloc,
		cycles:  after.NumGC - before.NumGC,
		pause:   time.Duration(after.PauseTotalNs - before.PauseTotalNs),
	}
	usages := []pin.Usage{process}
	if r.cpus != nil {
		usages = nil
	}
	moved := false
	var broken []error
	rate := 0.0
	for i, w := range workers {
		if w.pinErr != nil {
			return nil, w.pinErr
		}
		if w.panicked != nil {
			broken = append(broken, fmt.Errorf("worker %d: %w", i, w.panicked))
		}
		out.units += w.total
		out.slice.Ops += w.units
		out.slice.WorkerOps = append(out.slice.WorkerOps, w.units)
		out.late = out.late || w.late
		if w.units > 0 {
			rate += float64(w.units) / (r.clock.Nanoseconds(w.end-w.start) / 1e9)
		}
		if r.cpus != nil {
			usages = append(usages, w.usage)
			moved = moved || w.moved
		}
		if w.sampler != nil {
			out.samplers = append(out.samplers, w.sampler)
		}
	}
	if rate > 0 {
		// The windows of the workers differ a little: this is the length with
		// which ops per second is the sum of their rates.
		out.slice.Seconds = float64(out.slice.Ops) / rate
	}
	out.slice.Contamination = result.NewContamination(wall, r.threads, usages, machine)
	out.slice.Contamination.Moved = moved
	out.counters = grown(counted, r.counters())
	if broken == nil { // a run that panicked need not be in a state to finish
		out.retained = (float64(readMemory().HeapAlloc) - float64(live)) / float64(max(out.units, 1))
		metrics, err := finish(run)
		if err != nil {
			broken = append(broken, err)
		}
		out.metrics = metrics
	}
	runtime.KeepAlive(run)
	if err := errors.Join(broken...); err != nil {
		return nil, &brokenError{err}
	}
	return out, ctx.Err()
}

// A brokenError is of a manager that did not keep a promise.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// readMemory collects garbage, so that HeapAlloc is what is alive, and reads the
// statistics.
func readMemory() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// startLoad prepares the manager. One that refuses what it must not is broken.
func startLoad(r *sliceRun) (run workload.Run, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &brokenError{panicError(p)}
		}
	}()
	run, err = r.load.Start(r.manager, r.threads, r.seed)
	if err != nil && !errors.Is(err, workload.ErrUnsupported) {
		err = &brokenError{err}
	}
	return run, err
}

func finish(run workload.Run) (metrics []workload.Metric, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
	}()
	return run.Finish()
}

func panicError(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", p)
}

// live is the goroutine of w. It ends without unlocking its thread, if it is
// pinned, and the thread ends with it.
func (w *worker) live(ready chan<- struct{}, start <-chan struct{}, done chan<- struct{}, leave <-chan struct{}, left chan<- struct{}) {
	defer func() { left <- struct{}{} }()
	var pinned *pin.Pin
	if w.cpu != pin.Unknown {
		pinned, w.pinErr = pin.Thread(w.cpu)
		w.usage = pin.ThreadUsage()
	}
	ready <- struct{}{}
	<-start
	if w.pinErr == nil {
		w.measure()
	}
	done <- struct{}{}
	<-leave
	if pinned != nil {
		w.usage = pin.ThreadUsage().Sub(w.usage)
		w.moved = pinned.Verify() != nil
	}
}

// quantum is about how many nanoseconds lie between two looks at the clock,
// which costs some tens of them.
const quantum = 4000

func (w *worker) measure() {
	r := w.run
	defer func() {
		if p := recover(); p != nil {
			w.panicked = panicError(p)
			r.stop.Store(true) // others may wait for what this one holds
			r.finished.Add(1)
		}
	}()
	steps, now := int64(0), r.clock.Now()
	began := now
	// The window of a worker begins with the step that rampEnd falls into, or at
	// rampEnd if the worker has no CPU by then: the time it waits for one is part
	// of the window, or the rates of workers that take turns would add up to
	// more than the machine can do.
	w.start = min(now, r.rampEnd)
	units := int64(0) // of the last step
	for now < r.rampEnd && !r.stop.Load() {
		w.start = now
		units = int64(w.w.Step(nil))
		w.total += units
		steps++
		now = r.clock.Now()
	}
	w.total -= units // it is added with those of the window
	w.late = now-r.rampEnd > (r.windowEnd-r.rampEnd)/2
	turns := int64(1)
	if took := r.clock.Nanoseconds(now - began); took > 0 {
		turns = min(max(int64(quantum*float64(steps)/took), 1), 1024)
	}
	for {
		for range turns {
			units += int64(w.w.Step(w.sampler))
		}
		w.end = r.clock.Now()
		if w.end >= r.windowEnd || r.stop.Load() {
			break
		}
	}
	w.units = units
	w.total += units
	r.finished.Add(1)
	if r.crowded() {
		return // it would keep those that wait for a CPU from it
	}
	for r.finished.Load() < int64(r.threads) && !r.stop.Load() {
		w.total += int64(w.w.Step(nil))
	}
}
