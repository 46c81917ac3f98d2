package xidlab

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the architecture: a package on the left may import, from this
// module, only packages on the right. The first line that matches a package is
// its rule. It is a statement of policy; change it in a commit of its own, with
// the reason.
//
// harness/explore, cmd: they choose how package sched searches; cmd also runs the
// kit, on mutants.
//
// internal/ledger: variants may not import each other, and what managers with
// locks write down under them is the same; it stays free of locks itself.
const layers = `
.                          :
core                       :
core/spec                  : core
core/ssi                   : core internal/sync
core/coretest              : core core/spec internal/sched
internal/sched             :
internal/invariants        :
internal/fault             :
internal/sync              : internal/sched
internal/sync/atomic       : internal/sched
internal/ledger            : core
variants/internal/mutants  : core core/ssi internal/sync internal/sync/atomic internal/ledger internal/fault variants/*
variants/*                 : core core/ssi internal/sync internal/sync/atomic internal/ledger internal/invariants internal/fault
variants                   : core variants/*
harness/explore            : core core/spec internal/sched
harness/*                  : core core/spec harness harness/*
harness                    : core core/spec harness/*
docs/figures               :
cmd/*                      : core core/coretest internal/sched variants harness harness/*
`

// TestLayers reads the sources itself, whatever their build tags. (A test that
// ran go list would see one set of tags, and go test would cache its verdict.)
// Tests may import what they like.
func TestLayers(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return err
		}
		files++
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, complaint := range checkFile(name, src) {
			t.Error(complaint)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("read only %d source files; the walk is broken", files)
	}
}

// TestLayersComplain shows that the rules can fail.
func TestLayersComplain(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"core/x.go", `package core; import "xidlab/harness"`, "core may not import harness"},
		{"variants/epoch/x.go", `package epoch; import "xidlab/variants/rwmutex"`, "variants/epoch may not import variants/rwmutex"},
		{"variants/epoch/x.go", `package epoch; import "sync/atomic"`, "import xidlab/internal/sync/atomic"},
		{"harness/plot/x.go", `package plot; import "xidlab/variants"`, "harness/plot may not import variants"},
		{"stray/x.go", `package stray`, "stray is in no layer"},
		{"cmd/xbench/x.go", `package main; import "xidlab/harness/plot"`, ""},
	} {
		got := strings.Join(checkFile(c.name, []byte(c.source)), "\n")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q: got %q, want %q", c.name, c.source, got, c.want)
		}
	}
}

func checkFile(name string, src []byte) (complaints []string) {
	const module = "xidlab/"
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		return []string{err.Error()}
	}
	pkg := path.Dir(name)
	allowed, ok := allowedImports(pkg)
	if !ok {
		return []string{name + ": package " + pkg + " is in no layer"}
	}
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{err.Error()}
		}
		local, isLocal := strings.CutPrefix(imp, module)
		if isLocal && !slices.ContainsFunc(allowed, func(p string) bool { return match(p, local) }) {
			complaints = append(complaints, name+": "+pkg+" may not import "+local)
		}
		if strings.HasPrefix(pkg, "variants/") && (imp == "sync" || imp == "sync/atomic") {
			complaints = append(complaints, name+": the explorer cannot see into "+imp+"; import "+module+"internal/"+imp)
		}
	}
	return complaints
}

func allowedImports(pkg string) ([]string, bool) {
	for line := range strings.Lines(layers) {
		who, what, ok := strings.Cut(line, ":")
		if ok && match(strings.TrimSpace(who), pkg) {
			return strings.Fields(what), true
		}
	}
	return nil, false
}

// match reports whether pkg is pattern, or, for a pattern dir/*, below dir.
func match(pattern, pkg string) bool {
	dir, ok := strings.CutSuffix(pattern, "*")
	return pattern == pkg || ok && strings.HasPrefix(pkg, dir)
}
