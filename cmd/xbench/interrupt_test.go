//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"xidlab/harness/result"
)

// TestInterrupt sends a real ^C to a real run, and the signal of a terminal that
// is closed to another.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "xbench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	// Under nohup, as on some build machines, a child would be born deaf to it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) { interrupt(t, bin, sig) })
	}
}

func interrupt(t *testing.T, bin string, sig syscall.Signal) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results := filepath.Join(t.TempDir(), "results")
	cmd := exec.CommandContext(ctx, bin, "run", "-o", results, "-workload", "txn,autocommit", "-duration", "10m", "-slices", "1000")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewReader(stderr)
	first, err := log.ReadString('\n') // it is measuring
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	sent := time.Now()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("got %v, want exit code %d", err, exitInterrupted)
	}
	if took := time.Since(sent); took > 10*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	file := resultFile(t, results)
	if last := string(rest); strings.Count(last, "\n") != 1 || !strings.Contains(last, "interrupted") || strings.Contains(last, "context") || !strings.Contains(last, file) {
		t.Errorf("after %q the log is %q; want one line that names %s", first, last, file)
	}
	r, err := result.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Partial || len(r.Rows) == 0 {
		t.Errorf("partial %v, %d rows; want the rows of about a second", r.Partial, len(r.Rows))
	}
	if !strings.Contains(stdout.String(), "partial") {
		t.Errorf("the output does not say that it is partial:\n%s", stdout.String())
	}
}
