package record

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"xidlab/harness/pin"
)

// An interval bounds how far a CPU's counter is ahead of another's, in ticks.
type interval struct{ lo, hi int64 }

const (
	skewRounds  = 4000
	leastRounds = 64                    // with fewer, an interval is wide; it is never wrong
	skewTime    = 20 * time.Millisecond // for a pair of CPUs, where they are busy with something else
)

// measureSkew returns how far the counter of each of the CPUs is ahead of that of
// the first.
//
// Two threads pass a message to and fro. One that is sent at t by the sender's
// counter and seen at u by the receiver's tells that the receiver is ahead by at
// most u-t: it cannot have been seen before it was sent. The messages in one
// direction bound the difference from above, those in the other from below, and
// the fastest of each are the best bounds. So they are as wide as two messages
// take, but certain, however busy the machine is. (It is Cristian's method, 1989,
// without his estimate in the middle.)
func measureSkew(cpus []int, now func() int64) ([]interval, error) {
	apart := make([]interval, len(cpus))
	for i := 1; i < len(cpus); i++ {
		var err error
		if apart[i], err = skewBetween(cpus[0], cpus[i], now, now); err != nil {
			return nil, err
		}
	}
	return apart, nil
}

// skewBetween returns how far nowB, read on CPU b, is ahead of nowA, read on a.
func skewBetween(a, b int, nowA, nowB func() int64) (interval, error) {
	var p pingPong
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, cpu := range []int{a, b} {
		wg.Go(func() { // it stays locked, and its thread ends with it
			_, errs[i] = pin.Thread(cpu)
			p.ready.Add(1)
			for p.ready.Load() < 2 {
				runtime.Gosched()
			}
			if errs[0] != nil || errs[1] != nil {
				return
			}
			if i == 0 {
				p.serve(nowA)
			} else {
				p.answer(nowB)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return interval{}, err
		}
	}
	return interval{-p.back, p.forth}, nil
}

// A pingPong is a message that two threads pass to and fro, and the fastest
// passes so far.
type pingPong struct {
	ready atomic.Int32
	_     [128]byte
	turn  atomic.Int64 // even: the first thread's; negative: over
	sent  atomic.Int64 // when, by the sender's counter
	_     [128]byte
	forth int64 // written by the second thread
	back  int64 // written by the first
}

func (p *pingPong) serve(now func() int64) {
	p.back = math.MaxInt64
	deadline := time.Now().Add(skewTime)
	for r := int64(0); r < skewRounds && (r < leastRounds || r%16 > 0 || time.Now().Before(deadline)); r++ {
		p.sent.Store(now())
		p.turn.Store(2*r + 1)
		p.await(2*r + 2)
		p.back = min(p.back, now()-p.sent.Load())
	}
	p.turn.Store(-1)
}

func (p *pingPong) answer(now func() int64) {
	p.forth = math.MaxInt64
	for r := int64(0); p.await(2*r + 1); r++ {
		p.forth = min(p.forth, now()-p.sent.Load())
		p.sent.Store(now())
		p.turn.Store(2*r + 2)
	}
}

// await waits for a turn, and reports false if there are no more.
func (p *pingPong) await(turn int64) bool {
	for spins := 1; ; spins++ {
		switch p.turn.Load() {
		case turn:
			return true
		case -1:
			return false
		}
		if spins%1000 == 0 {
			runtime.Gosched() // there may be one processor for both
		}
	}
}

// widening returns by how much each end of an operation must be moved out, so
// that a return before a call is one in real time, whichever CPUs they are on: a
// half of what any two counters may be apart.
func widening(apart []interval) int64 {
	most := int64(0)
	for i, a := range apart {
		for j, b := range apart {
			if i != j {
				most = max(most, a.hi-b.lo)
			}
		}
	}
	return (most + 1) / 2
}
