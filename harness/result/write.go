package result

import (
	"encoding/json"
	"fmt"
	"strings"

	"xidlab/harness/atomicfile"
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
	if err := atomicfile.Write(base+benchExt, []byte(bench.String())); err != nil {
		return err
	}
	return atomicfile.Write(base+jsonExt, append(raw, '\n'))
}
