//go:build sim

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"xidlab/core"
	"xidlab/harness/check"
	"xidlab/harness/history"
	"xidlab/variants"
)

var long = flag.Bool("long", false, "run xbench check on all mutants that it is to kill, ten times each: half an hour")

// soon is how many of these mutants any run of the tests tries.
const soon = 8

// TestStressKills: a check finds each mutant that the matrix assigns to it, in nine
// runs of ten, and names the right operations. The short form of this test tries
// some mutants, twice at most.
func TestStressKills(t *testing.T) {
	var names []string
	for _, m := range variants.Mutants() {
		if m.Claims.Has(variants.Stress) {
			names = append(names, m.Name)
		}
	}
	if len(names) < 70 {
		t.Errorf("only %d mutants are assigned to the stress", len(names))
	}
	runs, enough := 10, 9
	if !*long {
		rand.New(rand.NewPCG(1, 0)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names, runs, enough = names[:soon], 2, 1
	}
	for _, name := range names {
		killed, longest := 0, time.Duration(0)
		for run := 0; run < runs && (killed < enough || *long); run++ {
			dir := filepath.Join(t.TempDir(), "out")
			began := time.Now()
			code, stdout, stderr := command(t, "check", "-mutant", name, "-quick", "-seed", fmt.Sprint(run+1), "-o", dir)
			longest = max(longest, time.Since(began))
			switch {
			case code == exitFailed && strings.Contains(stdout, ".html shows it"):
				killed++
				proves(t, name, dir)
			case code != exitOK:
				t.Errorf("%s: exit code %d, log %q", name, code, stderr)
			}
		}
		t.Logf("%s: %d of %d, in %v at most", name, killed, runs, longest)
		if killed < enough {
			t.Errorf("%s survived %d of %d checks", name, runs-killed, runs)
		}
	}
}

// proves objects to a violation in dir that names many operations, or such that do
// not prove it: with nothing but what began, ended or took the transactions and
// snapshots that they are about they must be a violation by themselves. (What
// blocks or panics is seen by nobody but the stress.)
func proves(t *testing.T, mutant, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var v check.Violation
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if n := len(v.Ops); n == 0 || n > 8 {
		t.Errorf("%s: %d operations are named: %s", mutant, n, v.Text)
	}
	if strings.Contains(v.Text, "has not returned") {
		return
	}
	all, err := history.ReadFile(strings.TrimSuffix(files[0], ".json") + historyExt)
	if err != nil {
		t.Fatal(err)
	}
	named, xids, snaps := map[int]bool{}, map[core.Xid]bool{}, map[uint64]bool{}
	for _, o := range v.Ops {
		named[o.Index] = true
		op := &all.Ops[o.Index]
		snaps[op.Of], snaps[op.Snap] = true, true
		xids[op.Xid], xids[op.Other] = true, true
		if op.Kind == history.CommitGroup {
			for _, x := range op.Set {
				xids[x] = true
			}
		}
	}
	for _, digits := range regexp.MustCompile(`\d+`).FindAllString(v.Text, -1) {
		x, _ := strconv.ParseUint(digits, 10, 64)
		xids[core.Xid(x)] = true
	}
	for i := len(all.Ops) - 1; i >= 0; i-- { // what a guard was made of
		if o := &all.Ops[i]; o.Snap != 0 && snaps[o.Snap] {
			snaps[o.Of] = true
		}
	}
	part := &history.History{Header: all.Header}
	for i, o := range all.Ops {
		keep := named[i]
		switch o.Kind {
		case history.Begin, history.AllocateCommitted, history.Commit, history.Rollback:
			keep = keep || o.Granted() && xids[o.Xid]
		case history.CommitGroup:
			keep = keep || o.Granted() && slices.ContainsFunc(o.Set, func(x core.Xid) bool { return xids[x] })
		case history.Snapshot, history.Retain, history.RetainSnapshot:
			keep = keep || o.Granted() && snaps[o.Snap]
		}
		if keep {
			part.Ops = append(part.Ops, o)
		}
	}
	if got := check.Check(part); got.Violation == nil {
		var b bytes.Buffer
		_ = part.WriteText(&b)
		t.Errorf("%s: the operations that are named prove nothing: %s\n%s", mutant, v.Text, b.String())
	}
}

// TestCheckUnknownMutant: its name is corrected.
func TestCheckUnknownMutant(t *testing.T) {
	code, _, stderr := command(t, "check", "-mutant", "epoch/finish-overwrite")
	if code != exitUsage || !strings.Contains(stderr, `did you mean "epoch/finish-overwrites"`) {
		t.Errorf("exit code %d, log %q", code, stderr)
	}
	if code, _, stderr := command(t, "check", "-mutant", "OffByOne", "-variant", "epoch"); code != exitUsage || !strings.Contains(stderr, "one of the two") {
		t.Errorf("exit code %d, log %q", code, stderr)
	}
}
