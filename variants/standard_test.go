package variants

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	syncPath  = "xidlab/internal/sync"
	faultPath = "xidlab/internal/fault"
)

// standardOf says which package of the standard library stands behind ours.
var standardOf = map[string]string{
	syncPath:                      "sync",
	"xidlab/internal/sync/atomic": "sync/atomic",
}

// standardize returns the files of a package as they would be without
// internal/sync, internal/sync/atomic and internal/fault:
//
//   - what the standard package has under the same name is taken from there;
//   - if plain, a Cell[T] is a T, its Read and its Write are its address;
//   - a comparison with internal/fault's On finds nothing switched on, and
//     whatever else is a truth value of that package is false;
//   - what else internal/sync has stays.
//
// It edits the text where types tell it to, so that all lines stay in place.
func standardize(path string, sources map[string][]byte, exports map[string]string, plain bool) (map[string]string, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(fset, name, sources[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	info := &types.Info{
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
		Types:      map[ast.Expr]types.TypeAndValue{},
	}
	config := types.Config{Importer: imports}
	if _, err := config.Check(path, fset, files, info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	std := map[string]*types.Scope{}
	for ours, path := range standardOf {
		p, err := imports.Import(path)
		if err != nil {
			return nil, err
		}
		std[ours] = p.Scope()
	}
	texts := map[string]string{}
	for _, f := range files {
		name := fset.File(f.FileStart).Name()
		r := rewriting{fset: fset, info: info, std: std, plain: plain, kept: map[string]bool{}, used: map[string]bool{}}
		text, err := r.file(f, string(sources[name]))
		if err != nil {
			return nil, err
		}
		texts[name] = text
	}
	return texts, nil
}

// A rewriting is the edits of one file.
type rewriting struct {
	fset  *token.FileSet
	info  *types.Info
	std   map[string]*types.Scope // by the path of ours
	plain bool                    // Cells become plain memory
	edits []edit
	used  map[string]bool // of which packages of ours something is now the standard library's
	kept  map[string]bool // of which something stays
	err   error
}

type edit struct {
	from, to token.Pos
	text     string
}

func (r *rewriting) replace(from, to token.Pos, text string) {
	r.edits = append(r.edits, edit{from, to, text})
}

func (r *rewriting) file(f *ast.File, src string) (string, error) {
	ast.Inspect(f, r.node)
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			r.imports(d)
		}
	}
	slices.SortStableFunc(r.edits, func(a, b edit) int { return int(a.from - b.from) })
	var b strings.Builder
	done := f.FileStart
	for _, e := range r.edits {
		if e.from < done && r.err == nil {
			r.err = fmt.Errorf("%v: edits overlap", r.fset.Position(e.from))
		}
		if r.err != nil {
			return "", r.err
		}
		b.WriteString(src[done-f.FileStart : e.from-f.FileStart])
		b.WriteString(e.text)
		done = e.to
	}
	b.WriteString(src[done-f.FileStart:])
	return b.String(), r.err
}

// node edits n, and reports whether to look inside it.
func (r *rewriting) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IndexExpr:
		if r.plain && r.name(n.X) == "Cell" {
			r.replace(n.Pos(), n.Index.Pos(), "")
			r.replace(n.Index.End(), n.End(), "")
			ast.Inspect(n.Index, r.node)
			return false
		}
	case *ast.BinaryExpr:
		for _, operand := range []ast.Expr{n.X, n.Y} {
			if obj := r.object(operand); obj != nil && obj.Pkg().Path() == faultPath && !isBool(obj.Type()) {
				r.replace(n.Pos(), n.End(), strconv.FormatBool(n.Op == token.NEQ))
				return false
			}
		}
	case *ast.CallExpr:
		if obj := r.object(n.Fun); obj != nil && obj.Pkg().Path() == faultPath && isBool(r.info.TypeOf(n)) {
			r.replace(n.Pos(), n.End(), "false")
			return false
		}
		if fun, ok := n.Fun.(*ast.SelectorExpr); ok && r.plain && isCell(r.info.Selections[fun]) {
			return r.access(n, fun)
		}
	case *ast.SelectorExpr:
		obj := r.object(n)
		switch {
		case obj == nil:
		case obj.Pkg().Path() == faultPath:
			if isBool(obj.Type()) {
				r.replace(n.Pos(), n.End(), "false")
			} else {
				r.kept[faultPath] = true
			}
		case r.std[obj.Pkg().Path()].Lookup(obj.Name()) != nil:
			r.used[obj.Pkg().Path()] = true
		default:
			r.kept[obj.Pkg().Path()] = true
			r.replace(n.X.Pos(), n.X.End(), ownName(obj.Pkg().Path()))
		}
	}
	return true
}

// access makes an address of a Cell's Read or Write.
func (r *rewriting) access(call *ast.CallExpr, fun *ast.SelectorExpr) bool {
	s := r.info.Selections[fun]
	if len(s.Index()) != 1 && r.err == nil {
		r.err = fmt.Errorf("%v: a Cell that is embedded is not understood", r.fset.Position(call.Pos()))
	}
	open := "(&"
	if _, isPointer := s.Recv().Underlying().(*types.Pointer); isPointer {
		open = "("
	}
	r.replace(call.Pos(), call.Pos(), open)
	ast.Inspect(fun.X, r.node)
	r.replace(fun.X.End(), call.End(), ")")
	return false
}

// object returns what e, of the form package.Name, names in one of our packages,
// or nil.
func (r *rewriting) object(e ast.Expr) types.Object {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	id, ok := s.X.(*ast.Ident)
	if !ok {
		return nil
	}
	p, ok := r.info.Uses[id].(*types.PkgName)
	if !ok || p.Imported().Path() != faultPath && standardOf[p.Imported().Path()] == "" {
		return nil
	}
	return r.info.Uses[s.Sel]
}

// name returns the name of what e names in internal/sync.
func (r *rewriting) name(e ast.Expr) string {
	if obj := r.object(e); obj != nil && obj.Pkg().Path() == syncPath {
		return obj.Name()
	}
	return ""
}

func isCell(s *types.Selection) bool {
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	m := s.Obj()
	return m.Pkg() != nil && m.Pkg().Path() == syncPath && (m.Name() == "Read" || m.Name() == "Write")
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// imports adds the standard packages to a declaration, each behind ours, which
// stays, though perhaps for nothing.
func (r *rewriting) imports(d *ast.GenDecl) {
	next := "; "
	if !d.Lparen.IsValid() {
		next = "; import "
	}
	for _, s := range d.Specs {
		s := s.(*ast.ImportSpec)
		path, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			r.err = err
			return
		}
		ours := "_"
		switch to := standardOf[path]; {
		case to != "":
			std := "_"
			if r.used[path] {
				std = ""
				if s.Name != nil {
					std = s.Name.Name
				}
			}
			if r.kept[path] {
				ours = ownName(path)
			}
			r.replace(s.Pos(), s.End(), fmt.Sprintf("%s %q%s%s %q", ours, path, next, std, to))
		case path == faultPath && !r.kept[path]:
			r.replace(s.Pos(), s.End(), ours+" "+s.Path.Value)
		}
	}
}

// ownName is what our package is called beside the standard one.
func ownName(path string) string {
	return "own" + strings.ReplaceAll(path[strings.LastIndex(path, "/"):], "/", "_")
}
