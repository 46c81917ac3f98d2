package stress

import (
	"math/rand/v2"
	"testing"

	"xidlab/harness/workload"
)

// TestPairs: each load comes once in each mode, and once before any comes twice.
func TestPairs(t *testing.T) {
	s := &stress{cfg: Config{Modes: []Mode{{Workers: 2}, {Workers: 2, Pressure: true}, {Workers: 8}}}}
	for _, l := range workload.All() {
		s.cfg.Loads = append(s.cfg.Loads, l)
	}
	n := len(s.cfg.Loads)
	pairs := s.pairs(rand.New(rand.NewPCG(1, 2)))
	if len(pairs) != 3*n {
		t.Fatalf("%d pairs", len(pairs))
	}
	seen := map[string]int{}
	for i, p := range pairs {
		if seen[p.load.Name()]++; seen[p.load.Name()] != i/n+1 {
			t.Errorf("pair %d is %s, for the %d. time", i, p.load.Name(), seen[p.load.Name()])
		}
		if seen[p.mode.String()+p.load.Name()]++; seen[p.mode.String()+p.load.Name()] > 1 {
			t.Errorf("%s twice in one mode", p.load.Name())
		}
	}
}
