package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	jsonExt  = ".json"
	benchExt = ".bench"
)

// trimExt returns the path that the two files of a run have in common.
func trimExt(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, jsonExt), benchExt)
}

// write replaces both files of the run. The JSON file, from which the other one
// could be made again, is written last and is the one that counts.
func (r *Run) write(base string) error {
	raw, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	var bench strings.Builder
	if err := WriteBench(&bench, r); err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	if err := WriteFile(base+benchExt, []byte(bench.String())); err != nil {
		return err
	}
	return WriteFile(base+jsonExt, append(raw, '\n'))
}

// WriteFile replaces the file as a whole, or, on an error, not at all: a
// temporary file beside it is written, synced and renamed.
func WriteFile(path string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w; what was there before is unchanged", path, err)
		}
	}()
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644) // CreateTemp keeps others out
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename survive a power cut. Some file systems cannot sync a
// folder; that is not an error, as the rename itself has taken place.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	_ = d.Sync()
	return d.Close()
}
