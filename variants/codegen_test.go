package variants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/build"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMachineCode: what makes the variants explorable costs a normal build
// nothing. Every function of every package that imports internal/sync,
// internal/sync/atomic or internal/fault has the machine code that it would have
// if the sources used the standard sync and sync/atomic and had no faults built
// in.
//
// Of Cells less can be said. Plain memory in their place changes the order in
// which the compiler gives out registers; and a Cell counts a little against
// inlining the function that uses it, which then is called, by code that is
// shorter. So: no function gets longer by more than a few instructions.
func TestMachineCode(t *testing.T) {
	m := newModule(t)
	users := m.users(m.packages("./variants/..."))
	found, want := m.compare(users)
	for _, d := range found {
		t.Error(d)
	}
	for _, f := range []string{
		"epoch.(*Manager).Begin", "epoch.(*Manager).Commit", "epoch.(*Manager).Snapshot", "epoch.(*directory).Lookup",
		"sharded.(*Manager).Begin", "sharded.(*Manager).Commit", "sharded.(*Manager).Snapshot",
		"rwmutex.(*Manager).Begin", "rwmutex.(*Manager).Commit", "rwmutex.(*Manager).Snapshot",
	} {
		if want["xidlab/variants/"+f] == nil {
			t.Errorf("%s was not compared", f)
		}
	}
}

// guinea is a package with everything that the comparison has to see through,
// each in a function of its own.
const guinea = `package guinea

import (
	"xidlab/internal/fault"
	"xidlab/internal/sync"
	"xidlab/internal/sync/atomic"
)

type Manager struct {
	mu    sync.Mutex
	next  atomic.Uint64
	first atomic.Pointer[state]
	state sync.Cell[state]
	more  *sync.Cell[map[int]uint64]
}

type state struct{ a, b uint64 }

func (m *Manager) Begin() uint64 { return m.next.Add(1) }

func (m *Manager) First() *state { return m.first.Load() }

func (m *Manager) Locked() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Write()
	s.a++
	return s.a + m.state.Read().b + (*m.more.Read())[3]
}

func (m *Manager) Hooked(x uint64) uint64 {
	y := x
	if HOOK {
		keep(&y)
	}
	return m.inlined(y)
}

func (m *Manager) inlined(x uint64) uint64 {
	if HOOK {
		for i := range x {
			m.next.Store(i)
			m.next.Store(i + 1)
			m.next.Store(i + 2)
			m.next.Store(i + 3)
		}
	}
	return x
}

var kept *uint64

//go:noinline
func keep(x *uint64) { kept = x }

func Wait() int { sync.Yield(); return sync.Local(4) }

var _ = fault.Fault("")
`

// TestMachineCodeComplains shows that the comparison sees the ways in which it
// would cost something, and does not see what costs nothing.
func TestMachineCodeComplains(t *testing.T) {
	const (
		dir     = "variants/guinea/guinea.go"
		wrapped = `package atomic

import "sync/atomic"

type (
	Uint64         struct{ v atomic.Uint64 }
	Bool           = atomic.Bool
	Pointer[T any] = atomic.Pointer[T]
)

//go:noinline
func (a *Uint64) Add(d uint64) uint64 { return a.v.Add(d) }
func (a *Uint64) Load() uint64        { return a.v.Load() }
func (a *Uint64) Store(v uint64)      { a.v.Store(v) }

var _ = func(p *Pointer[int]) { p.Load() }
`
	)
	hooked := func(hook string) string { return strings.ReplaceAll(guinea, "HOOK", hook) }
	plain := hooked(`fault.On == "guinea/pig"`)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // the functions that differ
	}{
		{"as it should be", map[string]string{dir: plain}, nil},
		{"aliases without the bodies", map[string]string{
			dir:                                   plain,
			"internal/sync/atomic/inline_real.go": "package atomic",
			"internal/sync/inline_real.go":        "package sync",
			"internal/sync/tally.go":              "package sync\n\nconst places = 1 // and no operation inlined",
		}, []string{"Begin", "Locked"}},
		{"a wrapper instead of an alias", map[string]string{
			dir:                                   plain,
			"internal/sync/atomic/real.go":        wrapped,
			"internal/sync/atomic/inline_real.go": "package atomic",
		}, []string{"Begin"}},
		{"a cell that costs something", map[string]string{
			dir: plain,
			"internal/sync/place.go": `package sync

type Cell[T any] struct{ v T }

var (
	checked bool
	check   func()
)

func (c *Cell[T]) Read() *T {
	if checked {
		check()
	}
	return &c.v
}

func (c *Cell[T]) Write() *T { return &c.v }
func Yield()                 {}
func Local(int) int          { return 0 }
`,
		}, []string{"Locked"}},
		{"a fault that is a variable", map[string]string{
			dir:                     plain,
			"internal/fault/off.go": "package fault\n\nvar On Fault\n",
		}, []string{"Hooked"}},
		{"a fault that is a function", map[string]string{
			dir:                     hooked(`fault.On("guinea/pig")`),
			"internal/fault/off.go": "package fault\n\nfunc On(Fault) bool { return false }\n",
		}, []string{"Hooked"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModule(t)
			m.replace(c.files)
			users := m.users(m.packages("./variants/guinea"))
			if len(users) != 1 {
				t.Fatalf("%d packages use internal/sync, want 1", len(users))
			}
			found, _ := m.compare(users)
			if c.want == nil && len(found) > 0 {
				t.Errorf("differences where there should be none:\n%s", strings.Join(found, "\n"))
			}
			for _, f := range c.want {
				if !slices.ContainsFunc(found, func(d string) bool { return strings.Contains(d, "guinea.(*Manager)."+f+":") }) {
					t.Errorf("no difference in %s among %q", f, found)
				}
			}
		})
	}
}

// A module is the source tree with some files replaced, or added.
type module struct {
	*testing.T
	root    string
	overlay map[string]string // as go build takes it
	dir     string            // of the replacements
}

func newModule(t *testing.T) *module {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return &module{t, root, map[string]string{}, t.TempDir()}
}

// replace changes files, named from the root of the module.
func (m *module) replace(files map[string]string) {
	for name, text := range files {
		file := filepath.Join(m.dir, strings.ReplaceAll(filepath.ToSlash(name), "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			m.Fatal(err)
		}
		m.overlay[filepath.Join(m.root, name)] = file
	}
}

// A listed is what go list tells about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// packages lists those that the patterns match, and what they depend on.
func (m *module) packages(patterns ...string) []listed {
	out, _ := m.run("list", append([]string{"-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,Imports"}, patterns...)...)
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); err {
		case nil:
			all = append(all, p)
		case io.EOF:
			return all
		default:
			m.Fatal(err)
		}
	}
}

// users returns those of all that import what is to cost nothing, apart from
// this machinery itself.
func (m *module) users(all []listed) []listed {
	return slices.DeleteFunc(slices.Clone(all), func(p listed) bool {
		machinery := p.ImportPath == faultPath || standardOf[p.ImportPath] != ""
		return machinery || !slices.ContainsFunc(p.Imports, func(path string) bool {
			return path == faultPath || standardOf[path] != ""
		})
	})
}

// compare returns the differences between the machine code of the packages and
// what it should be, and what it should be.
func (m *module) compare(users []listed) (found []string, want machineCode) {
	exports := m.exports(users)
	got, want := m.compile(users), m.standard(users, exports, false).compile(users)
	plain := m.standard(users, exports, true).compile(users)
	return append(differences(got, want), longer(got, plain)...), want
}

// exports returns the export files of what the packages import, of themselves,
// and of the standard packages.
func (m *module) exports(users []listed) map[string]string {
	paths := slices.Collect(maps.Values(standardOf))
	for _, p := range users {
		paths = append(paths, p.ImportPath)
	}
	files := map[string]string{}
	for _, p := range m.packages(paths...) {
		files[p.ImportPath] = p.Export
	}
	return files
}

// standard returns the module with the sources of the packages rewritten, see
// standardize.
func (m *module) standard(users []listed, exports map[string]string, plain bool) *module {
	std := &module{m.T, m.root, maps.Clone(m.overlay), m.TempDir()}
	for _, p := range users {
		sources := map[string][]byte{}
		for _, name := range p.GoFiles {
			name = filepath.Join(p.Dir, name)
			file := name
			if to, ok := m.overlay[name]; ok {
				file = to
			}
			src, err := os.ReadFile(file)
			if err != nil {
				m.Fatal(err)
			}
			sources[name] = src
		}
		rewritten, err := standardize(p.ImportPath, sources, exports, plain)
		if err != nil {
			m.Fatal(err)
		}
		for name, text := range rewritten {
			rel, err := filepath.Rel(m.root, name)
			if err != nil {
				m.Fatal(err)
			}
			std.replace(map[string]string{rel: text})
		}
	}
	return std
}

// machineCode holds the instructions of functions, by their names.
type machineCode map[string][]string

// compile returns what the compiler's listing of the packages says.
func (m *module) compile(packages []listed) machineCode {
	var args []string
	for _, p := range packages {
		args = append(args, "-gcflags="+p.ImportPath+"=-S")
	}
	for _, p := range packages {
		args = append(args, p.ImportPath)
	}
	_, listing := m.run("build", args...)
	code := machineCode{}
	pkg, function := "", ""
	for line := range strings.Lines(string(listing)) {
		line = strings.TrimSuffix(line, "\n")
		if path, ok := strings.CutPrefix(line, "# "); ok {
			pkg, function = path, ""
			continue
		}
		if !strings.HasPrefix(line, "\t") { // a symbol, of code or of data
			name, _, isCode := strings.Cut(line, " STEXT ")
			function = ""
			if isCode && strings.HasPrefix(name, pkg+".") {
				function = name
			}
			continue
		}
		// An instruction stands behind its place; there are also bytes, and relocations.
		_, instruction, ok := strings.Cut(line, ")\t")
		if ok && function != "" && !padding.MatchString(instruction) {
			code[function] = append(code[function], normal(instruction))
		}
	}
	if len(code) == 0 {
		m.Fatalf("no function in the compiler's listing:\n%.1000s", listing)
	}
	return code
}

var (
	// padding is what is not executed, or does nothing: it keeps a place for the
	// line of an inlined call, or aligns a jump.
	padding = regexp.MustCompile(`^(TEXT|PCDATA|FUNCDATA|NOP|HINT|XCHGL\tAX, AX$|NOOP|ADDI\t\$0, X0$)`)

	slot   = regexp.MustCompile(`[-+]?[0-9]+\((SP|RSP|X2)\)`)
	frame  = regexp.MustCompile(`\$-?[0-9]+, (SP|RSP|X2)`)
	target = regexp.MustCompile(`[\t ][0-9]+$`) // of a jump
	number = regexp.MustCompile(`autotmp_[0-9]+`)
)

// normal returns an instruction without what may differ between equal sources:
// the place of a variable in the stack frame, which depends on the order in which
// the compiler read its imports, and with it the lengths of instructions and jumps.
func normal(instruction string) string {
	s := slot.ReplaceAllString(instruction, "($1)")
	s = frame.ReplaceAllString(s, "frame, $1")
	s = target.ReplaceAllString(s, "")
	return number.ReplaceAllString(s, "autotmp")
}

func (m *module) run(verb string, args ...string) (stdout, stderr []byte) {
	overlay, err := json.Marshal(map[string]any{"Replace": m.overlay})
	if err != nil {
		m.Fatal(err)
	}
	file := filepath.Join(m.dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o666); err != nil {
		m.Fatal(err)
	}
	// The normal build, whatever this test itself was built with.
	cmd := exec.Command(goTool(), append([]string{verb, "-overlay=" + file, "-tags=", "-race=false"}, args...)...)
	cmd.Dir = m.root
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		m.Fatalf("%v: %v\n%.4000s", cmd, err, e.Bytes())
	}
	return o.Bytes(), e.Bytes()
}

// goTool returns the go command of the toolchain that built this test, or else
// the one in the path.
func goTool() string {
	tool := filepath.Join(build.Default.GOROOT, "bin", "go")
	if _, err := os.Stat(tool); err != nil {
		return "go"
	}
	return tool
}

// differences names each function that is not the same in both, in order, with
// the first instruction in which it differs.
func differences(got, want machineCode) (found []string) {
	names := maps.Clone(got)
	maps.Copy(names, want)
	for _, f := range slices.Sorted(maps.Keys(names)) {
		g, w := got[f], want[f]
		for i := range max(len(g), len(w)) {
			if a, b := at(g, i), at(w, i); a != b {
				found = append(found, fmt.Sprintf("%s: instruction %d is %q, with the standard library %q", f, i+1, a, b))
				break
			}
		}
	}
	return found
}

func at(instructions []string, i int) string {
	if i < len(instructions) {
		return instructions[i]
	}
	return ""
}

// longer names each function that is longer than without Cells.
func longer(got, plain machineCode) (found []string) {
	for _, f := range slices.Sorted(maps.Keys(got)) {
		if n, p := len(got[f]), len(plain[f]); n > p+2+p/50 {
			found = append(found, fmt.Sprintf("%s: %d instructions, without Cells %d", f, n, p))
		}
	}
	return found
}
