//go:build sim

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"xidlab/core/coretest"
	"xidlab/harness/explore"
	"xidlab/harness/workload"
	"xidlab/internal/sched"
	"xidlab/variants"
)

// A job is one search, for a process of its own: the explorer has a process to
// itself, and a manager that is wrong may hang it, or end it.
type job struct {
	Layer   string // of the tests: one of the constants below
	Variant string // or
	Mutant  string
	Program explore.Program
	Any     bool // all small programs, until one finds something
	Deepen  bool // raise the bound for as long as there is time
	Config  sched.Config
	Limit   time.Duration // is handed in when it starts
}

const (
	layerExplore  = "explore"
	layerProgress = "progress"
	layerKit      = "kit"
	layerStress   = "stress"
)

// An outcome is what a job has found.
type outcome struct {
	Config    sched.Config // of the search that Stats is about
	Stats     sched.Stats
	Took      time.Duration
	Lacks     []string
	Violation *explore.Violation
	Progress  []explore.OpProgress
	Blocked   string // an operation that blocks, against its claim
	Kit       *coretest.Failure
	Stress    *stressed
	Error     string // the process, or the job itself, failed
}

// isWorker says that this process is to do jobs.
const isWorker = "XBENCH_WORKER"

// served does the work of a worker if this process is one. An interrupt is the
// parent's business.
func served() bool {
	if os.Getenv(isWorker) == "" {
		return false
	}
	signal.Ignore(os.Interrupt)
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "xbench:", err)
		os.Exit(exitEnvironment)
	}
	return true
}

// work does the jobs that it reads. When there are no more to come it ends the
// process, whatever it is at: nobody waits for that any more.
func work(in io.Reader, out io.Writer) error {
	jobs, outcomes := make(chan job), json.NewEncoder(out)
	failed := make(chan error)
	go func() {
		for in := json.NewDecoder(in); ; {
			var j job
			if err := in.Decode(&j); err == io.EOF {
				os.Exit(exitOK)
			} else if err != nil {
				failed <- err
			}
			jobs <- j
		}
	}()
	for {
		var j job
		select {
		case err := <-failed:
			return err
		case j = <-jobs:
		}
		began := time.Now()
		o := j.do()
		o.Took = time.Since(began)
		if err := outcomes.Encode(o); err != nil {
			return err
		}
	}
}

func (j *job) do() (o outcome) {
	ctx, cancel := context.WithTimeout(context.Background(), j.Limit)
	defer cancel()
	if j.Layer == layerProgress && j.Any {
		return anyBlocks(ctx, j.Mutant)
	}
	open, off, err := j.open()
	if err != nil {
		return outcome{Error: err.Error()}
	}
	defer off()
	switch j.Layer {
	case layerKit:
		for f := range coretest.Check(open) {
			return outcome{Kit: &f}
		}
		return outcome{}
	case layerStress:
		return stressMutant(ctx, j.Mutant, open)
	case layerProgress:
		p, err := explore.Progress(ctx, open, j.Program, explore.ProgressExecutions)
		if err != nil && ctx.Err() == nil {
			return outcome{Error: err.Error()}
		}
		return outcome{Progress: p}
	}
	if j.Any {
		return anyProgram(ctx, open)
	}
	if j.Deepen {
		return deepen(ctx, open, j)
	}
	return search(ctx, open, j.Program, j.Config)
}

func search(ctx context.Context, open opener, p explore.Program, cfg sched.Config) outcome {
	r, err := explore.Run(ctx, open, p, cfg)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	return outcome{Config: cfg, Stats: r.Stats, Lacks: r.Lacks, Violation: r.Violation}
}

// deepen searches a large program: for a quarter of the time in the hope to
// complete it, then with a bound that grows.
func deepen(ctx context.Context, open opener, j *job) (o outcome) {
	hope, cancel := context.WithTimeout(ctx, j.Limit/4)
	o = search(hope, open, j.Program, sched.Config{})
	cancel()
	for cfg := j.Config; o.Error == "" && o.Violation == nil && !o.Stats.Complete && len(o.Lacks) == 0 && ctx.Err() == nil; cfg.Bound++ {
		next := search(ctx, open, j.Program, cfg)
		if next.Error == "" && next.Violation == nil && !next.Stats.Exhausted && o.Stats.Exhausted {
			break // the last bound is what can be said
		}
		o = next
	}
	return o
}

// anyProgram runs the programs until one finds something: a little of each first,
// then more.
func anyProgram(ctx context.Context, open opener) (o outcome) {
	for _, most := range []int{300, 10_000, 0} {
		for _, p := range explore.Programs {
			if p.Large && most != 0 {
				continue
			}
			r, err := explore.Run(ctx, open, p, sched.Config{MaxExecutions: most})
			if err != nil {
				return outcome{Error: err.Error()}
			}
			o.Stats.Executions += r.Stats.Executions
			if r.Violation != nil {
				o.Violation = r.Violation
				return o
			}
		}
	}
	return o
}

// anyBlocks stops a thread in the programs until an operation waits for it that
// does not if the mutant's fault is switched off.
func anyBlocks(ctx context.Context, name string) (o outcome) {
	m, err := mutantNamed(name)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	blocked := func(p explore.Program, most int) (list []explore.OpProgress) {
		all, err := explore.Progress(ctx, m.New, p, most)
		if err != nil && ctx.Err() == nil {
			o.Error = err.Error()
		}
		for _, op := range all {
			o.Stats.Executions += op.Executions
			if op.Blocked != "" {
				list = append(list, op)
			}
		}
		return list
	}
	for _, most := range []int{100, explore.ProgressExecutions} { // a little of each first
		for _, p := range slices.Concat(explore.Crossings(), explore.Programs) {
			if p.Large || ctx.Err() != nil {
				continue
			}
			off := m.Switch()
			wrong := blocked(p, most)
			off()
			if len(wrong) == 0 {
				continue
			}
			right := blocked(p, most)
			for _, op := range wrong {
				if !slices.ContainsFunc(right, func(r explore.OpProgress) bool { return r.Op == op.Op }) {
					o.Blocked = op.Op + " waits: " + p.Name
					return o
				}
			}
		}
	}
	return o
}

func variantNamed(name string) (*variants.Variant, error) {
	var known []string
	for i, v := range variants.All {
		if v.Name == name {
			return &variants.All[i], nil
		}
		known = append(known, v.Name)
	}
	return nil, usageError(workload.CheckName("variant", name, known))
}

func mutantNamed(name string) (*variants.Mutant, error) {
	for _, m := range variants.Mutants() {
		if m.Name == name {
			return &m, nil
		}
	}
	return nil, fmt.Errorf("there is no mutant %q: xbench mutants -list names them", name)
}

// A fleet does jobs in as many processes as are wanted.
type fleet struct {
	processes int
	deadline  time.Time // by when all is to be done
	least     time.Duration
}

// generous is how many times its share a job may take.
const generous = 8

// grace is what a worker may take beyond the limit of its job before it is taken
// to hang.
const grace = 20 * time.Second

// run does the jobs, in order as far as there are processes, and calls done for
// each when it has ended, one at a time. Of the time that is left each may take
// some times its share, since most need next to nothing; those that can use any
// amount get their share.
func (f *fleet) run(ctx context.Context, jobs []job, done func(i int, o outcome)) error {
	var mu sync.Mutex
	next := 0
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if next == len(jobs) || ctx.Err() != nil {
			return -1
		}
		left := time.Until(f.deadline)
		share := left * time.Duration(f.processes) / time.Duration(len(jobs)-next)
		if !jobs[next].Deepen {
			share *= generous
		}
		jobs[next].Limit = max(min(share, left), f.least)
		next++
		return next - 1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var failed error
	for range min(f.processes, len(jobs)) {
		wg.Go(func() {
			var w *worker
			defer func() { w.end() }()
			for i := take(); i >= 0; i = take() {
				if w == nil {
					var err error
					if w, err = startWorker(); err != nil {
						mu.Lock()
						failed = environmentError(fmt.Errorf("cannot start a process for the search: %w", err))
						mu.Unlock()
						cancel()
						return
					}
				}
				o, alive := w.do(ctx, &jobs[i], grace)
				if !alive || jobs[i].Layer == layerStress { // which may leave threads behind
					w.end()
					w = nil
				}
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				done(i, o)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	return ctx.Err()
}

// A worker is a process that does jobs.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
}

func startWorker() (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: exec.Command(self)}
	w.cmd.Env = append(os.Environ(), isWorker+"=1")
	w.cmd.Stderr = &w.stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	w.out = json.NewDecoder(out)
	return w, w.cmd.Start()
}

// do hands w a job, and reports whether w can do another.
func (w *worker) do(ctx context.Context, j *job, grace time.Duration) (o outcome, alive bool) {
	answer := make(chan error, 1)
	go func() {
		err := json.NewEncoder(w.in).Encode(j)
		if err == nil {
			err = w.out.Decode(&o)
		}
		answer <- err
	}()
	select {
	case err := <-answer:
		if err == nil {
			return o, true
		}
		w.cmd.Wait() // so that all of stderr is there
		return outcome{Error: "the process ended: " + firstLine(w.stderr.String(), err)}, false
	case <-time.After(j.Limit + grace):
		w.cmd.Process.Kill()
		<-answer
		return outcome{Error: "it hangs"}, false
	case <-ctx.Done():
		w.cmd.Process.Kill()
		<-answer
		return outcome{}, false
	}
}

// firstLine returns the line of a crash that says why.
func firstLine(stderr string, err error) string {
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return err.Error()
}

func (w *worker) end() {
	if w != nil {
		w.in.Close()
		w.cmd.Process.Kill()
		w.cmd.Wait()
	}
}

// open returns the managers that the job is about, and how to end its fault.
func (j *job) open() (open opener, off func(), err error) {
	if j.Mutant != "" {
		m, err := mutantNamed(j.Mutant)
		if err != nil {
			return nil, nil, err
		}
		return m.New, m.Switch(), nil
	}
	v, err := variantNamed(j.Variant)
	if err != nil {
		return nil, nil, err
	}
	if j.Program.Measures != "" {
		return v.Roomy, func() {}, nil
	}
	return v.Small, func() {}, nil
}
