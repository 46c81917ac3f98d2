package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"unicode"
)

// Load reads the run of a file that this package wrote; path may name either of
// the run's two files. An error says whether the file is missing, is damaged or
// foreign, or has another schema.
func Load(path string) (*Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("read results: %s is a folder: name a result file in it", path)
	}
	named := path
	path = trimExt(path) + jsonExt
	raw, err := os.ReadFile(path)
	if err != nil && filepath.Ext(named) == benchExt {
		return nil, fmt.Errorf("read results: %w; %s is read from the %s file beside it", err, named, jsonExt)
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return decode(path, raw)
}

func decode(path string, raw []byte) (*Run, error) {
	var version struct {
		Schema int `json:"schema"`
	}
	err := json.Unmarshal(raw, &version)
	foreign := new(json.UnmarshalTypeError)
	switch {
	case err != nil && !errors.As(err, &foreign):
		return nil, damaged(path, err)
	case err != nil || version.Schema == 0:
		return nil, fmt.Errorf("read results: %s has no schema version: it is not a result of xbench", path)
	case version.Schema != Schema:
		return nil, fmt.Errorf("read results: %s has schema %d, this xbench reads schema %d: use the xbench that wrote it, or measure again", path, version.Schema, Schema)
	}
	run := new(Run)
	if err := json.Unmarshal(raw, run); err != nil {
		return nil, damaged(path, err)
	}
	if err := run.check(); err != nil {
		return nil, damaged(path, err)
	}
	return run, nil
}

func damaged(path string, err error) error {
	at := ""
	if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
		at = fmt.Sprintf(" at byte %d", syntax.Offset)
	}
	return fmt.Errorf("read results: %s is damaged%s: %w: restore it from a copy, or measure again", path, at, err)
}

// check refuses what would make the statistics meaningless.
func (r *Run) check() error {
	seen := map[string]bool{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if err := row.check(); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		name := row.Name()
		if seen[name] {
			return fmt.Errorf("row %d repeats %s", i, name)
		}
		seen[name] = true
	}
	return nil
}

func (r *Row) check() error {
	names := []string{r.Workload, r.Variant, r.GC, r.Unit}
	for _, p := range r.Params {
		names = append(names, p.Key, p.Value)
	}
	for _, c := range r.Counters {
		names = append(names, c.Name, c.Meaning)
	}
	for _, name := range names {
		if strings.ContainsFunc(name, unicode.IsControl) { // it would end up on a terminal
			return fmt.Errorf("the name %q has control characters", name)
		}
	}
	if camel(r.Workload) == "" || r.Variant == "" || r.Threads < 1 {
		return fmt.Errorf("a row needs a workload, a variant and a number of threads; it has %q, %q and %d", r.Workload, r.Variant, r.Threads)
	}
	for i, s := range r.Slices {
		if err := s.check(r.Threads); err != nil {
			return fmt.Errorf("slice %d %w", i, err)
		}
	}
	switch {
	case r.Sampled != nil:
		if err := r.Sampled.check(r.Threads); err != nil {
			return fmt.Errorf("the slice of the latencies %w", err)
		}
	case len(r.Latencies) > 0:
		return errors.New("there are latencies, but not the slice that they are from")
	}
	return nil
}

func (s Slice) check(threads int) error {
	if s.Ops < 1 || !(s.Seconds > 0) || math.IsInf(s.Seconds, 0) || len(s.WorkerOps) != threads {
		return fmt.Errorf("has %d ops of %d workers in %v s", s.Ops, len(s.WorkerOps), s.Seconds)
	}
	return nil
}

// Newest returns the path of the newest run under dir, whatever its machine.
func Newest(dir string) (string, error) {
	var runs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == jsonExt {
			runs = append(runs, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for results: %w", err)
	}
	if len(runs) == 0 {
		return "", fmt.Errorf("look for results: none in %s: make some with xbench run", dir)
	}
	sort.Slice(runs, func(i, j int) bool { // names begin with the time
		return filepath.Base(runs[i]) < filepath.Base(runs[j])
	})
	return runs[len(runs)-1], nil
}
