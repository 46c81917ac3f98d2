package mutants

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"xidlab/variants/epoch"
)

// TestFaultsAreListed: the faults that stand in the sources of the variants are
// those of the table.
func TestFaultsAreListed(t *testing.T) {
	sites := map[string]string{} // by name, where
	variants := os.DirFS("../..")
	err := fs.WalkDir(variants, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(variants, name)
		if err != nil {
			return err
		}
		for f, line := range faultsIn(t, name, src) {
			if variant, _, ok := strings.Cut(f, "/"); !ok || !strings.HasPrefix(name, variant+"/") {
				t.Errorf("%s:%d: fault %q is not called after its variant", name, line, f)
			}
			sites[f] = name
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range Faults {
		if listed[m.Name] {
			t.Errorf("%s is listed twice", m.Name)
		}
		listed[m.Name] = true
		if sites[m.Name] == "" {
			t.Errorf("%s is listed, and stands in no variant", m.Name)
		}
		if m.Claims == 0 {
			t.Errorf("%s: no layer claims to kill it", m.Name)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(sites)) {
		if !listed[f] {
			t.Errorf("fault %q in %s is not listed", f, sites[f])
		}
	}
}

// faultsIn returns the faults that a file compares fault.On with, with the line
// of one comparison each.
func faultsIn(t *testing.T, name string, src []byte) map[string]int {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	uses, comparisons := 0, 0
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "fault" && n.Sel.Name == "On" {
				uses++
			}
		case *ast.BinaryExpr:
			on, ok := n.X.(*ast.SelectorExpr)
			lit, isLit := n.Y.(*ast.BasicLit)
			if ok && isLit && lit.Kind == token.STRING && (n.Op == token.EQL || n.Op == token.NEQ) && on.Sel.Name == "On" {
				f, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[f] = fset.Position(n.Pos()).Line
				comparisons++
			}
		}
		return true
	})
	if uses != comparisons {
		t.Errorf("%s: fault.On is used %d times, and compared with the name of a fault on its right %d times", name, uses, comparisons)
	}
	return found
}

func TestFaultsInSource(t *testing.T) {
	got := faultsIn(t, "x.go", []byte("package x; func f() { if fault.On == \"a/b\" || x && fault.On != `a/c` { g(\"a/d\") } }"))
	if want := map[string]int{"a/b": 1, "a/c": 1}; !maps.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// TestFaultsAreSound: unless it is switched on, a fault is none.
func TestFaultsAreSound(t *testing.T) {
	for _, m := range Faults {
		x := m.New()
		if err := x.Commit(x.Begin()); err != nil || !x.Snapshot(0).Includes(1) {
			t.Errorf("%s: without the fault, a commit returns %v, or a snapshot does not include it", m.Name, err)
		}
	}
	if _, ok := Faults[0].New().(*epoch.Manager); !ok {
		t.Errorf("the managers of %s are %T", Faults[0].Name, Faults[0].New())
	}
}

func TestLayersAreNamed(t *testing.T) {
	if got := (Kit | Progress).String(); got != "kit, progress" {
		t.Errorf("they are called %q", got)
	}
	if 1<<len(layerNames) != 2*Stress || !(Race | Explore).Has(Race) || Kit.Has(Kit|Race) {
		t.Error("a layer has no name, or a set is wrong about what it has")
	}
}
