package stress

import (
	"path/filepath"
	"testing"

	"xidlab/harness/check"
	"xidlab/harness/history"
)

// TestFound: what stresses have found in the variants, each in its minimal form,
// is judged to be wrong.
func TestFound(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, name := range files {
		h, err := history.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if v := check.Check(h); v.Violation == nil {
			t.Errorf("%s: nothing is found wrong", name)
		}
	}
}
