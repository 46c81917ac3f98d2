package check

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"xidlab/core"
	"xidlab/harness/history"
)

var long = flag.Bool("long", false, "compare with porcupine on 4 million histories instead of 60 000")

// TestAgreement: where the checker is exact it agrees with porcupine on every
// random history, elsewhere it objects to nothing that porcupine allows.
func TestAgreement(t *testing.T) {
	each := 6_000
	if *long {
		each = 400_000
	}
	if testing.Short() {
		each = 1000
	}
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			var mu sync.Mutex
			var total tally
			var wg sync.WaitGroup
			for w := range runtime.GOMAXPROCS(0) {
				wg.Go(func() {
					var mine tally
					for seed := w; seed < each && !t.Failed(); seed += runtime.GOMAXPROCS(0) {
						if !mine.compare(t, &f, uint64(seed)) {
							break
						}
					}
					mu.Lock()
					total.add(mine)
					mu.Unlock()
				})
			}
			wg.Wait()
			t.Logf("%+v", total)
			if t.Failed() {
				return
			}
			// The comparison means something only if it sees both, often.
			if least := each / 20; total.Legal < least || total.Illegal < least || total.Pending < least {
				t.Errorf("too one-sided: %+v of %d", total, each)
			}
			if f.exact && total.Missed > 0 || f.nearly && 1000*total.Missed > max(1000, total.Illegal) {
				t.Errorf("it missed %d", total.Missed)
			}
		})
	}
}

type tally struct{ Legal, Illegal, Pending, Invalid, Undecided, Guesses, Missed int }

func (a *tally) add(b tally) {
	a.Legal += b.Legal
	a.Illegal += b.Illegal
	a.Pending += b.Pending
	a.Invalid += b.Invalid
	a.Undecided += b.Undecided
	a.Guesses += b.Guesses
	a.Missed += b.Missed
}

// compare makes the history of the seed and asks both. It reports false after a
// disagreement.
func (n *tally) compare(t *testing.T, f *family, seed uint64) bool {
	h := f.random(rand.New(rand.NewPCG(seed, 5)))
	if h.Validate() != nil || touches(h) {
		n.Invalid++ // a change in time can make it one
		return true
	}
	want := linearizable(h)
	v := Check(h)
	for i := range h.Ops {
		if h.Ops[i].IsPending() {
			n.Pending++
			break
		}
	}
	if want {
		n.Legal++
	} else {
		n.Illegal++
	}
	if v.Undecided > 0 {
		n.Undecided++
	}
	switch got := v.Violation == nil; {
	case got == want:
	case got && (guesses(h) || f.loose && givenUp(h)):
		n.Guesses++
	case got && !f.exact:
		n.Missed++
	case got && v.Undecided > 0:
	default:
		t.Errorf("%s, seed %d: the checker says %v, porcupine %v\n%s%v", f.name, seed, got, want, text(h), v.Violation)
		return false
	}
	return true
}

// touches reports whether a worker's operations overlap according to the stamps:
// porcupine knows nothing of their order then.
func touches(h *history.History) bool {
	last := map[int32]int64{}
	for i := range h.Ops {
		o := &h.Ops[i]
		if at, ok := last[o.Worker]; ok && at >= o.Call {
			return true
		}
		last[o.Worker] = o.Return
	}
	return false
}

// guesses reports whether somebody finished what no call had told anybody, or
// asked a snapshot that no call had returned; or whether several calls that never
// returned may have handed out the same xids.
func guesses(h *history.History) bool {
	told := map[core.Xid]int64{}
	hung := map[history.Kind]int{}
	keys := false
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Granted() && (o.Kind == history.Begin || o.Kind == history.AllocateCommitted) {
			told[o.Xid] = o.Return
		}
		if o.IsPending() {
			hung[o.Kind]++
		}
		keys = keys || o.Kind == history.ReservesUniqueKey
	}
	made := map[uint64]int64{}
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Snap != 0 {
			made[o.Snap] = o.Return
		}
		if at, ok := made[o.Of]; o.Of != 0 && (!ok || at >= o.Call) {
			return true
		}
		switch o.Kind {
		case history.Commit, history.Rollback, history.CommitGroup:
			for _, x := range append(slices.Clone(o.Set), o.Xid) {
				if at, ok := told[x]; x != core.None && (!ok || at >= o.Call) {
					return true
				}
			}
		}
	}
	begins, borns := hung[history.Begin], hung[history.AllocateCommitted]
	return borns > 0 && (begins > 0 || keys) || !h.Ordered && begins > 1
}

// givenUp reports whether somebody had an xid as committed that no call had handed
// out: it may have been set aside and given up, of which porcupine knows nothing.
func givenUp(h *history.History) bool {
	handed := map[core.Xid]bool{core.None: true}
	for i := range h.Ops {
		if o := &h.Ops[i]; o.Granted() && (o.Kind == history.Begin || o.Kind == history.AllocateCommitted) {
			handed[o.Xid] = true
		}
	}
	for i := range h.Ops {
		o := &h.Ops[i]
		if slices.ContainsFunc(o.Probes, func(p history.Probe) bool { return p.Yes && !handed[p.Xid] }) {
			return true
		}
		switch o.Kind {
		case history.Status, history.Commit, history.Rollback:
			if o.Status == core.Committed && !handed[o.Xid] {
				return true
			}
		case history.CommitGroup:
			if o.Status == core.Committed && !handed[o.Other] {
				return true
			}
		case history.Lookup, history.ObserveCommitted:
			if !handed[o.Xid] {
				return true
			}
		case history.ReservesUniqueKey:
			if !handed[o.Other] {
				return true
			}
		}
	}
	return false
}

func text(h *history.History) string {
	var b bytes.Buffer
	_ = h.WriteText(&b)
	return b.String()
}
