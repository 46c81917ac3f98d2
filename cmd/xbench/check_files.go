package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"xidlab/harness"
	"xidlab/harness/atomicfile"
	"xidlab/harness/check"
	"xidlab/harness/history"
	"xidlab/harness/stress"
)

// historyExt is the extension of recordings.
const historyExt = ".history"

// checkFiles judges histories that have been recorded, or written by hand.
func checkFiles(ctx context.Context, std streams, f *checkFlags, files []string) error {
	for _, flag := range []struct {
		name string
		set  bool
	}{{"variant", f.variant != ""}, {"mutant", f.mutant != ""}, {"workload", f.workload != ""}, {"save", f.save != ""}, {"quick", f.quick}} {
		if flag.set {
			return usageError(fmt.Errorf("-%s is for recording; files have been recorded", flag.name))
		}
	}
	var wrong []string
	for _, name := range files {
		if ctx.Err() != nil {
			return &codedError{exitInterrupted, errors.New("interrupted: the files that are not shown have not been judged")}
		}
		j, err := judgeFile(name)
		if err != nil {
			return usageError(err)
		}
		v := j.verdict
		if v.Violation == nil {
			if _, err := fmt.Fprintf(std.out, "%s: %v: every answer is right%s\n", name, j, undecided(v.Undecided)); err != nil {
				return environmentError(err)
			}
			continue
		}
		wrong = append(wrong, name)
		if _, err := fmt.Fprintf(std.out, "%s: %v: WRONG\n", name, j); err != nil {
			return environmentError(err)
		}
		if err := writeProof(std, f.out, strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), v.Violation, nil); err != nil {
			return join(fmt.Errorf("%w in %s", harness.ErrBroken, name), err)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w in %s", harness.ErrBroken, strings.Join(wrong, ", "))
	}
	return nil
}

// A judgement is what came of judging a file.
type judgement struct {
	verdict *check.Verdict
	head    history.Header
	workers map[int32]bool
	windows int // 1: as a whole
	took    time.Duration
}

// mostAtOnce is how many operations are judged as one history. Longer ones are
// judged window by window, which needs less memory and notices a little less.
const mostAtOnce = 2_000_000

// judgeFile reads and judges a history of either form.
func judgeFile(name string) (*judgement, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := history.NewReader(name, f)
	if err != nil {
		return nil, err
	}
	j := &judgement{head: r.Header(), workers: map[int32]bool{}, windows: 1}
	h := &history.History{Header: j.head}
	var stream *check.Stream
	judge := func(do func()) {
		began := time.Now()
		do()
		j.took += time.Since(began)
	}
	for {
		var o history.Op
		if err := r.Next(&o); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		j.workers[o.Worker] = true
		switch {
		case stream != nil:
			judge(func() { stream.Add(&o) })
		case len(h.Ops) < mostAtOnce:
			h.Ops = append(h.Ops, o)
		default:
			judge(func() {
				stream = check.NewStream(j.head)
				for i := range h.Ops {
					stream.Add(&h.Ops[i])
				}
				stream.Add(&o)
				h.Ops = nil
			})
		}
	}
	judge(func() {
		if stream == nil {
			j.verdict = check.Check(h)
			return
		}
		j.verdict = stream.Verdict()
		j.windows = stream.Windows()
	})
	return j, nil
}

func (j *judgement) String() string {
	of, in := "", ""
	if j.head.Manager != "" {
		of = " on " + j.head.Manager
	}
	if j.windows > 1 {
		in = fmt.Sprintf(" in %d windows", j.windows)
	}
	return fmt.Sprintf("%d operations of %d workers%s, judged%s in %v", j.verdict.Ops, len(j.workers), of, in, j.took.Round(100*time.Microsecond))
}

func undecided(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d got the benefit of the doubt)", n)
}

// saveInto returns what keeps recordings in a folder.
func saveInto(dir string) func(stress.Cell, *history.History) error {
	n := 0
	return func(c stress.Cell, h *history.History) error {
		n++
		return saveHistory(filepath.Join(dir, fmt.Sprintf("%s-%04d%s", baseName(c), n, historyExt)), h)
	}
}

// writeViolation shows a violation and writes it, with its recording.
func writeViolation(std streams, dir string, v *stress.Violation) error {
	fmt.Fprintf(std.out, "%v:\n", v.Cell)
	return writeProof(std, dir, baseName(v.Cell), v.Proof, v.History)
}

// writeProof shows a proof and writes it as JSON and as a page, and the history
// that it is about, if that is no file yet. What is shown is shown even if nothing
// can be written.
func writeProof(std streams, dir, base string, v *check.Violation, h *history.History) error {
	fmt.Fprintf(std.out, "  %s\n", strings.ReplaceAll(v.Text, "\n", "\n  "))
	for _, o := range v.Ops {
		fmt.Fprintf(std.out, "    worker %d, %s  %s\n", o.Worker, span(&o, v.Clock), o.Text)
	}
	file := filepath.Join(dir, base)
	var text, page bytes.Buffer
	err := errors.Join(v.WriteJSON(&text), v.WriteHTML(&page), os.MkdirAll(dir, 0o777))
	if err == nil {
		err = errors.Join(atomicfile.Write(file+".json", text.Bytes()), atomicfile.Write(file+".html", page.Bytes()))
	}
	written := file + ".html shows it"
	if err == nil && h != nil {
		err = saveHistory(file+historyExt, h)
		written += fmt.Sprintf("; xbench check %s finds it again", file+historyExt)
	}
	if err != nil {
		return environmentError(fmt.Errorf("the violation above could not be written: %w", err))
	}
	_, err = fmt.Fprintf(std.out, "  %s\n\n", written)
	return err
}

// span is when an operation ran.
func span(o *check.Operation, clock string) string {
	if o.Return == nil {
		return fmt.Sprintf("from %d %s on", o.Call, clock)
	}
	return fmt.Sprintf("%d to %d %s", o.Call, *o.Return, clock)
}

func saveHistory(file string, h *history.History) error {
	var b bytes.Buffer
	if err := h.WriteBinary(&b); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(file, b.Bytes())
}

// baseName is a cell as the beginning of a file's name.
func baseName(c stress.Cell) string {
	return strings.NewReplacer("/", "-", " ", "-", "=", "-").Replace(c.Manager + "-" + c.Load)
}
