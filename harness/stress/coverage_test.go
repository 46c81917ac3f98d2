package stress

import (
	"strings"
	"testing"

	"xidlab/harness/history"
)

// TestCoverage counts by hand.
func TestCoverage(t *testing.T) {
	windows := []string{`
0 1 2 Begin() = 1
1 3 4 Begin() = 2
0 5 20 Commit(1) = ok
1 10 15 Snapshot(0) = s1 bound 3 hides {1 2} has {9} lacks {7 8}
1 16 30 Retain(0) = s2 bound 3
0 25 35 OldestRequired() = 1 true
1 40 41 OldestRequired() = 2 true
0 42 50 Commit(2) = ok
1 42 50 Rollback(2) = not-active committed
1 60 61 Lookup(s1, 1) = too-old
0 70 80 Release(s2) = true
1 75 - OldestRequired()
`, `
0 5 6 Retain(0) = s3 bound 3
0 7 8 Release(s3) = true
`}
	c := newCoverer()
	for _, w := range windows {
		h, err := history.Read("test", strings.NewReader("xidlab history 1\nxids ordered\nstamps steps\n"+w))
		if err != nil {
			t.Fatal(err)
		}
		c.add(h)
	}
	want := Coverage{
		Ops:        14,
		Answers:    2 + 3 + 1, // hidden, probed, looked up
		Overlapped: 8,         // Commit, Snapshot; Retain, OldestRequired; both finishes; Release, OldestRequired
		MetFinish:  2,         // Snapshot and Retain
		MetGuard:   2,
		Raced:      1,
		Refused:    2,
		TooOld:     1,
		Outlasted:  1, // s2, not s3
	}
	if c.Coverage != want {
		t.Errorf("got  %+v\nwant %+v", c.Coverage, want)
	}
	if c.Idle() {
		t.Error("more than half overlaps")
	}
	var sum Coverage
	sum.Add(want)
	sum.Add(want)
	if sum.Ops != 28 || sum.Answers != 12 || sum.Overlapped != 16 || sum.MetFinish != 4 || sum.MetGuard != 4 || sum.Raced != 2 || sum.Refused != 4 || sum.TooOld != 2 || sum.Outlasted != 2 {
		t.Errorf("added up: %+v", sum)
	}
}

func TestIdle(t *testing.T) {
	for _, c := range []struct {
		ops, overlapped int
		want            bool
	}{{0, 0, true}, {10_000, 0, true}, {10_000, 9, true}, {10_000, 10, false}} {
		if got := (&Coverage{Ops: c.ops, Overlapped: c.overlapped}).Idle(); got != c.want {
			t.Errorf("%d of %d overlap: idle %v", c.overlapped, c.ops, got)
		}
	}
}

// TestSkew: what overlaps because it was widened does not count.
func TestSkew(t *testing.T) {
	const text = "xidlab history 1\nxids ordered\nstamps ns\nskew 10\n\n0 100 200 Begin() = 1\n1 190 300 Begin() = 2\n2 270 400 Begin() = 3\n"
	h, err := history.Read("test", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := newCoverer()
	if c.add(h); c.Overlapped != 2 { // the last two
		t.Errorf("%d overlap", c.Overlapped)
	}
}
