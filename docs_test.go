package xidlab

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContributing carries out the walk-through of CONTRIBUTING.md in a copy of
// the module: the package, the line, and the commands.
func TestContributing(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a copy of the module; run without -short")
	}
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	source := block(t, string(page), "go", 0)
	row := block(t, string(page), "go", 1)
	commands := block(t, string(page), "sh", 0)

	dir := t.TempDir()
	copyModule(t, dir)
	write(t, filepath.Join(dir, "variants/plain/plain.go"), source)
	list := filepath.Join(dir, "variants/variants.go")
	all, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(all), "\t\"xidlab/variants/rwmutex\"\n", "\t\"xidlab/variants/plain\"\n\t\"xidlab/variants/rwmutex\"\n", 1)
	end := strings.LastIndex(text, "}\n")
	write(t, list, text[:end]+row+text[end:])

	for command := range strings.Lines(commands) {
		out := run(t, dir, command)
		if strings.Contains(command, "go test") && !strings.Contains(out, "ok") || strings.Contains(out, "no tests to run") {
			t.Errorf("%s tested nothing:\n%s", command, out)
		}
		if strings.Contains(command, "xbench") && !strings.Contains(out, "plain") {
			t.Errorf("%s does not know the new variant:\n%s", command, out)
		}
	}
	if out := run(t, dir, "gofmt -l variants/plain variants/variants.go"); out != "" {
		t.Errorf("the walk-through is not formatted: %s", out)
	}
}

// TestReadme runs what README.md says under "More commands" in a copy of the
// module, and checks that its "Two commands" are those that CI runs.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if two := block(t, string(page), "sh", 0); two != "go run ./cmd/xbench run\ngo test ./...\n" {
		t.Errorf("the two commands are:\n%s", two)
	}
	if testing.Short() {
		t.Skip("the rest builds a copy of the module and measures; run without -short")
	}
	dir := t.TempDir()
	copyModule(t, dir)
	for _, n := range []int{1, 2, 3} {
		for command := range strings.Lines(block(t, string(page), "sh", n)) {
			out := run(t, dir, command)
			for _, v := range []string{"rwmutex", "epoch"} {
				if strings.Contains(command, "xbench run ") && strings.Contains(command, "-quick") && !strings.Contains(out, v) {
					t.Errorf("%s does not speak of %s:\n%s", command, v, out)
				}
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "my.trace")); err != nil {
		t.Error(err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "results", "*", "*.bench")); err != nil || len(files) != 2 {
		t.Errorf("the two runs left the result files %v (%v)", files, err)
	}
}

// block returns the n'th fenced block of a language.
func block(t *testing.T, page, language string, n int) string {
	t.Helper()
	blocks := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(page, -1)
	if len(blocks) <= n {
		t.Fatalf("no %d. block of %s on the page", n+1, language)
	}
	return blocks[n][1]
}

// copyModule copies the sources, without what is not needed to build them.
func copyModule(t *testing.T, to string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" || name == "results" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.TrimSpace(command), err, out)
	}
	return string(out)
}
