package record

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"xidlab/harness/pin"
)

// twoCPUs returns two CPUs with trusted counters, or skips the test and says why.
func twoCPUs(t testing.TB) []int {
	t.Helper()
	cpus := pin.ReadTopology().Order()
	if len(cpus) < 2 {
		t.Skip("one CPU: there is no skew")
	}
	if _, err := NewTSC(cpus[:2]); err != nil {
		t.Skip(err)
	}
	return cpus[:2]
}

// TestWidening lets one CPU's counter run ahead of the other's, by a lot or a
// little, in either direction. What the other CPU sees of a message happens after
// it was sent; by bare stamps it often comes out the other way round, by widened
// ones never.
func TestWidening(t *testing.T) {
	cpus := twoCPUs(t)
	for _, ahead := range []int64{0, 300, -300, 1e6, -1e6} {
		shifted := func() int64 { return fencedTSC() + ahead }
		apart, err := skewBetween(cpus[0], cpus[1], fencedTSC, shifted)
		if err != nil {
			t.Fatal(err)
		}
		same, err := skewBetween(cpus[0], cpus[1], fencedTSC, fencedTSC)
		if err != nil {
			t.Fatal(err)
		}
		if apart.lo-ahead > same.hi || apart.hi-ahead < same.lo {
			t.Errorf("a counter %d ahead is measured to be %v ahead, one that is not %v", ahead, apart, same)
		}
		wide := widening([]interval{{}, apart})
		if wide < abs(ahead)/2 {
			t.Errorf("a counter %d ahead: widened by %d", ahead, wide)
		}
		bare, widened := inversions(t, cpus, shifted, wide)
		if widened > 0 {
			t.Errorf("a counter %d ahead: %d times a message comes before it was sent, by stamps widened by %d", ahead, widened, wide)
		}
		if abs(ahead) >= 1e6 && bare == 0 {
			t.Errorf("a counter %d ahead: bare stamps are right too, so that this test can see nothing", ahead)
		}
	}
}

// inversions sends messages to and fro, and counts how often the receipt of one
// was over before it was sent.
func inversions(t *testing.T, cpus []int, nowB func() int64, wide int64) (bare, widened int) {
	type message struct{ sent, seen int64 }
	const rounds = 2000
	there, back := make([]message, rounds), make([]message, rounds)
	var p pingPong
	var wg sync.WaitGroup
	for i, cpu := range cpus {
		wg.Go(func() {
			if _, err := pin.Thread(cpu); err != nil {
				t.Error(err)
			}
			for r := range int64(rounds) {
				if i == 0 {
					there[r].sent = fencedTSC()
					p.turn.Store(2*r + 1)
					p.await(2*r + 2)
					back[r].seen = fencedTSC()
				} else {
					p.await(2*r + 1)
					there[r].seen = nowB()
					back[r].sent = nowB()
					p.turn.Store(2*r + 2)
				}
			}
		})
	}
	wg.Wait()
	for _, m := range slices.Concat(there, back) {
		if m.seen < m.sent {
			bare++
		}
		if m.seen+wide < m.sent-wide {
			widened++
		}
	}
	return bare, widened
}

func abs(n int64) int64 { return max(n, -n) }

// TestWideningOfMany: CPUs are compared with the first, and bounded against each
// other.
func TestWideningOfMany(t *testing.T) {
	for _, c := range []struct {
		apart []interval
		want  int64
	}{
		{[]interval{{}}, 0},
		{[]interval{{}, {-3, 7}}, 4},
		{[]interval{{}, {-9, 1}}, 5},
		{[]interval{{}, {90, 100}, {-100, -90}}, 100}, // up to 200 between the last two
	} {
		if got := widening(c.apart); got != c.want {
			t.Errorf("widening(%v) = %d, want %d", c.apart, got, c.want)
		}
	}
}

func TestVerify(t *testing.T) {
	c, err := NewTSC(twoCPUs(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Verify(); err != nil {
		t.Errorf("nothing has moved: %v", err)
	}
	if w := c.Widening(); w <= 0 || w > 1e6 {
		t.Errorf("widened by %v ns", w)
	}
	c.apart[1] = interval{c.apart[1].lo + 1e9, c.apart[1].hi + 1e9} // as before a move
	if err := c.Verify(); err == nil || !strings.Contains(err.Error(), "have moved") {
		t.Errorf("after a move: %v", err)
	}
	if err := NewCounter().Verify(); err != nil {
		t.Errorf("a counter: %v", err)
	}
}

func TestTSCRefused(t *testing.T) {
	twoCPUs(t)
	if _, err := NewTSC([]int{0, 1 << 20}); err == nil || !strings.Contains(err.Error(), "skew between CPUs cannot be measured") {
		t.Errorf("a CPU that does not exist: %v", err)
	}
}

// TestCounter: stamps are all different, and each goroutine's ascend.
func TestCounter(t *testing.T) {
	c := NewCounter()
	all := make([][]int64, 4)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			for range 1000 {
				all[i] = append(all[i], c.now())
			}
		})
	}
	wg.Wait()
	for i := range all {
		if !slices.IsSorted(all[i]) {
			t.Errorf("goroutine %d: stamps go back", i)
		}
	}
	stamps := slices.Concat(all...)
	slices.Sort(stamps)
	if n := len(slices.Compact(stamps)); n != 4000 {
		t.Errorf("%d different stamps of 4000", n)
	}
	if c.Widening() != 0 || c.Name() != "counter" {
		t.Errorf("%s, widened by %v", c.Name(), c.Widening())
	}
}

func BenchmarkStamp(b *testing.B) {
	counter := NewCounter()
	b.Run("counter", func(b *testing.B) {
		for b.Loop() {
			counter.now()
		}
	})
	tsc, err := NewTSC(twoCPUs(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("tsc", func(b *testing.B) {
		for b.Loop() {
			tsc.now()
		}
	})
}
