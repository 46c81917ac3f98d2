//go:build !sim

// (A word of the sim build has more to remember than its value.)

package variants

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"xidlab/core"
	"xidlab/harness/costs"
	"xidlab/harness/workload"
)

// thrift is what a manager promises about the memory that it asks for once it is
// warm, in any operation of the table of costs.
type thrift struct {
	name string
	new  func() core.Manager

	perXid     float64 // bytes for each xid that is handed out
	perAborted float64 // and more for one that rolls back and is pruned
	perWorker  float64 // and more for each worker, once
}

var thrifts = []thrift{
	// Eight bytes a word, in whole segments, and the directory's copies: one in a
	// segment, of eight bytes a segment from the oldest that is kept.
	{"epoch", variantNew("epoch"), 8.5, 1, 0},
	// The copies, and a header, once in a segment. A worker that is put off the CPU, or
	// leaves its block for another, keeps a segment from collapsing, and perhaps the
	// next one: without reuse it would be 16 for each.
	{"epoch-recycle", variantNew("epoch-recycle"), 0.25, 1, 2 * 8 * segment},
}

func variantNew(name string) func() core.Manager {
	for _, v := range All {
		if v.Name == name {
			return v.New
		}
	}
	panic("no variant " + name)
}

// segment is how many xids a manager may make room for at once.
const segment = 4096

// TestThrift: no operation asks for more memory than its manager promises. A
// thread that is put off the CPU in the middle of what others need makes them ask
// for more, so it takes the least of a few runs.
func TestThrift(t *testing.T) {
	for _, v := range thrifts {
		for _, load := range costs.Loads() {
			for workers := 1; workers <= 2; workers++ {
				t.Run(fmt.Sprintf("%s/%s/%d", v.name, load.Name(), workers), func(t *testing.T) {
					bytes, most, err := v.spends(load, workers)
					for again := 0; again < 10 && err == nil && bytes > most; again++ {
						bytes, most, err = v.spends(load, workers)
					}
					if err != nil || bytes > most {
						t.Errorf("%.0f bytes, %v; promised are %.0f at most", bytes, err, most)
					}
				})
			}
		}
	}
}

// TestThriftNotices: a snapshot that is a copy, and a word for each xid, are more
// than nothing.
func TestThriftNotices(t *testing.T) {
	for variant, name := range map[string]string{"rwmutex": "txn-snapshot/active=16", "epoch": "txn"} {
		load, err := workload.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		v := thrift{name: variant, new: variantNew(variant)}
		if bytes, most, err := v.spends(load[0], 1); err != nil || bytes <= most {
			t.Errorf("%s, %s: %.0f bytes, %v; more than %.0f are expected", variant, name, bytes, err, most)
		}
	}
}

// spends counts the bytes that workers ask for while a dozen of segments pass,
// and how many they may. What a manager promises to recycle it needs no more than
// once, so it is warm after a few segments.
func (v thrift) spends(load workload.Load, workers int) (bytes, most float64, err error) {
	const warm, measured = 8 * segment, 16 * segment // units of work, of each worker
	m := v.new()
	run, err := load.Start(m, workers, 1)
	if err != nil {
		return 0, 0, err
	}
	perform(run, workers, warm)
	first := m.PeekNext()
	bytes = perform(run, workers, measured)
	if xids := float64(m.PeekNext() - first); xids > 0 {
		most = v.perXid*(xids+segment) + v.perWorker*float64(workers)
		if load.Name() == "rollback" {
			most += v.perAborted * xids
		}
	}
	_, err = run.Finish()
	const runtimes = 2048 // the Go runtime needs a little itself, at times
	return bytes, most + runtimes, err
}

// perform has each worker do at least so many units, at the same time, and
// returns how many bytes that took.
func perform(run workload.Run, workers, units int) (bytes float64) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range workers {
		w := run.Worker(i)
		wg.Go(func() {
			<-start
			for did := 0; did < units; {
				did += w.Step(nil)
			}
		})
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	close(start)
	wg.Wait()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}
