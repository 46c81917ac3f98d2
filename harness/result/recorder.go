package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// A Recorder collects the rows of a run and writes its files, as often as it is
// told. The files are replaced as a whole: whatever happens meanwhile, what was
// saved before stays readable. It is safe for concurrent use.
type Recorder struct {
	mu   sync.Mutex
	run  Run
	base string // path of the files, less their extensions
}

// Create begins the files of a run in the folder, under dir, of the machine's
// fingerprint. It sets the run's Schema and Partial, and writes the files at
// once, so that a folder that cannot be written is an error now and not after
// the measuring. The rows that run may already have are kept.
func Create(dir string, run Run) (*Recorder, error) {
	folder := filepath.Join(dir, run.Env.Fingerprint())
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("results folder: %w; choose another one with -o", err)
	}
	name := run.Started.UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		base := filepath.Join(folder, name)
		if n > 1 {
			base += "-" + strconv.Itoa(n)
		}
		// Claim the name: two runs may start within a second. The JSON file,
		// the one that counts, only ever appears as a whole.
		f, err := os.OpenFile(base+benchExt, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("results folder: %w; choose another one with -o", err)
		}
		r := &Recorder{run: run, base: base}
		if err := r.Save(); err != nil {
			os.Remove(r.BenchPath()) // an empty one would pass for a run's
			return nil, fmt.Errorf("results folder: %w; choose another one with -o", err)
		}
		return r, nil
	}
}

// Put adds the row, or replaces the row of the same [Row.Name]. The caller may
// go on appending to its own row and put it again. A row that could not be read
// back, such as one with a slice without ops, is an error and is left out.
func (r *Recorder) Put(row Row) error {
	if err := row.check(); err != nil {
		return fmt.Errorf("record %s: %w", row.Name(), err)
	}
	row.Slices = append([]Slice(nil), row.Slices...)
	r.mu.Lock()
	defer r.mu.Unlock()
	name := row.Name()
	for i := range r.run.Rows {
		if r.run.Rows[i].Name() == name {
			r.run.Rows[i] = row
			return nil
		}
	}
	r.run.Rows = append(r.run.Rows, row)
	return nil
}

// Save writes the files as they stand, marked partial. After an error the
// JSON file is as it was.
func (r *Recorder) Save() error { return r.save(true, time.Time{}) }

// Finish writes the files for good, as Save does: at finished everything was
// measured.
func (r *Recorder) Finish(finished time.Time) error { return r.save(false, finished) }

func (r *Recorder) save(partial bool, finished time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Schema, r.run.Partial, r.run.Finished = Schema, partial, finished
	if r.run.Rows == nil {
		r.run.Rows = []Row{} // readers of JSON iterate over it
	}
	return r.run.write(r.base)
}

// Run returns a copy of the run as it stands. Its rows are shared and must not
// be changed.
func (r *Recorder) Run() *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.run
	run.Rows = append([]Row(nil), run.Rows...)
	return &run
}

// JSONPath is the file of the run that has everything.
func (r *Recorder) JSONPath() string { return r.base + jsonExt }

// BenchPath is the file of the run in the Go benchmark format.
func (r *Recorder) BenchPath() string { return r.base + benchExt }
