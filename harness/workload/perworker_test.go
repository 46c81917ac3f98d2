package workload

import (
	"testing"

	"xidlab/core"
)

// counted counts the begins of each worker.
type counted struct {
	*locked
	begins []int // the last one is for whoever prepares
	worker int
}

func (c counted) Begin() core.Xid {
	c.begins[c.worker]++
	return c.locked.Begin()
}

func (c counted) Worker(i int) core.Manager { return counted{c.locked, c.begins, i} }

// TestPerWorker: every mix calls the manager of its worker, and no other's.
func TestPerWorker(t *testing.T) {
	for _, l := range All() {
		const workers = 3
		m := counted{newLocked(), make([]int, workers+1), workers}
		r, err := l.Start(m, workers, 1)
		if err != nil {
			t.Fatal(err)
		}
		prepared := append([]int{}, m.begins...)
		for range 40 {
			r.Worker(1).Step(nil)
		}
		for i, n := range m.begins {
			if i != 1 && n != prepared[i] {
				t.Errorf("%s: worker 1 calls the manager of %d", l.Name(), i)
			}
		}
		if l.Name() != "autocommit" && m.begins[1] == prepared[1] {
			t.Errorf("%s: worker 1 does not call its own manager", l.Name())
		}
		if _, err := r.Finish(); err != nil {
			t.Error(err)
		}
	}
	if m := newLocked(); For(m, 2) != core.Manager(m) {
		t.Error("a manager that is the same for all is not itself")
	}
}
