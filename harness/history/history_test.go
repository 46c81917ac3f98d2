package history

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"xidlab/core"
)

// every returns the history that shows each kind of operation.
func every(t testing.TB) *History {
	t.Helper()
	h, err := ReadFile(filepath.Join("testdata", "every.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestEveryKindIsShown(t *testing.T) {
	kinds, results := map[Kind]bool{}, map[Kind]map[Result]bool{}
	for _, o := range every(t).Ops {
		kinds[o.Kind] = true
		if results[o.Kind] == nil {
			results[o.Kind] = map[Result]bool{}
		}
		results[o.Kind][o.Result] = true
	}
	for k := Begin; k < numKinds; k++ {
		if !kinds[k] {
			t.Errorf("testdata/every.txt does not show %v", k)
		}
		for _, r := range shapes[k].refusals {
			if !results[k][r] && !(k == Begin || k == Rollback && r == Unallocated) {
				t.Errorf("testdata/every.txt does not show %v = %v", k, r)
			}
		}
	}
}

func TestRoundTrips(t *testing.T) {
	h := every(t)
	again := func(form string, write func(*bytes.Buffer) error) []byte {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		data := b.Bytes()
		got, err := Read("again", &b)
		if err != nil {
			t.Fatalf("%s: %v\n%s", form, err, data)
		}
		if !reflect.DeepEqual(got, h) {
			t.Errorf("%s: read back another history:\n%+v\n%+v", form, got, h)
		}
		return data
	}
	text := again("text", func(b *bytes.Buffer) error { return h.WriteText(b) })
	bin := again("binary", func(b *bytes.Buffer) error { return h.WriteBinary(b) })
	if len(bin) > len(text)/2 {
		t.Errorf("the binary form takes %d bytes, the text %d", len(bin), len(text))
	}
}

// TestBinaryBlocks writes more than one block.
func TestBinaryBlocks(t *testing.T) {
	h := long(100_000)
	var b bytes.Buffer
	if err := h.WriteBinary(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() < 3*blockSize {
		t.Fatalf("only %d bytes", b.Len())
	}
	got, err := Read("long", &b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, h) {
		t.Error("read back another history")
	}
}

// long returns a history of n operations with large numbers in it.
func long(n int) *History {
	rng := rand.New(rand.NewPCG(1, 2))
	h := &History{Header: Header{"made up", false, Nanoseconds, 3}}
	now := int64(0)
	for i := range n {
		now += rng.Int64N(1 << 20)
		o := Op{Call: now, Return: now + 5, Worker: int32(i % 4), Kind: Snapshot, Xid: core.Xid(rng.Uint64()), Snap: rng.Uint64() | 1}
		if i%3 == 0 {
			o.Full, o.Next = true, core.Xid(rng.Uint64()|1)
			o.Set = core.NewXidSet(core.Xid(rng.Uint64()), core.Xid(rng.Uint64N(9)))
		} else {
			o.Probes = []Probe{{core.Xid(rng.Uint64()), true}, {7, false}}
		}
		h.Ops = append(h.Ops, o)
		now += 6
	}
	return h
}

// TestMistakes: a history with a mistake gets file, line, column and what was
// expected. Each file of testdata/mistakes says so in its last line.
func TestMistakes(t *testing.T) {
	const dir = "testdata/mistakes"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 15 {
		t.Errorf("only %d files", len(entries))
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		want, ok := strings.CutPrefix(lines[len(lines)-1], "# error: ")
		if !ok {
			t.Errorf("%s: its last line is not the error to expect", e.Name())
			continue
		}
		_, err = Read(e.Name(), bytes.NewReader(data))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != e.Name()+":"+want {
			t.Errorf("got  %v\nwant %s:%s", err, e.Name(), want)
		}
	}
}

// TestDamage: no bit of a binary history can flip, and nothing can be cut off,
// unnoticed.
func TestDamage(t *testing.T) {
	var b bytes.Buffer
	if err := every(t).WriteBinary(&b); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if _, err := Read("bad", bytes.NewReader(bad)); err == nil {
			t.Errorf("a flipped bit in byte %d of %d goes unnoticed", i, len(good))
		}
		_, err := Read("bad", bytes.NewReader(good[:i]))
		if i > len(binaryMagic) && !errors.Is(err, ErrTruncated) || err == nil {
			t.Errorf("cut off after %d bytes of %d: got %v, want %v", i, len(good), err, ErrTruncated)
		}
	}
	if _, err := Read("bad", bytes.NewReader(append(bytes.Clone(good), 0))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte more: got %v, want %v", err, ErrCorrupt)
	}
	newer := bytes.Clone(good)
	newer[len(binaryMagic)] = binaryVersion + 1
	if _, err := Read("bad", bytes.NewReader(newer)); !errors.Is(err, ErrVersion) {
		t.Errorf("a newer version: got %v, want %v", err, ErrVersion)
	}
	if _, err := Read("bad", strings.NewReader("\x7fELF\x00\x01\x02\x03")); !errors.Is(err, ErrNotHistory) {
		t.Errorf("another kind of file: got %v, want %v", err, ErrNotHistory)
	}
}

// TestInvalid: what is no history cannot be written, and Validate says why.
func TestInvalid(t *testing.T) {
	for _, c := range []struct {
		change func(*History)
		want   string
	}{
		{func(h *History) { h.Manager = "two\nlines" }, "line break"},
		{func(h *History) { h.Skew = -1 }, "skew -1"},
		{func(h *History) { h.Ops[1].Kind = numKinds }, "a known kind"},
		{func(h *History) { h.Ops[0].Call = 99; h.Ops[0].Return = 100 }, "in the order of their calls"},
		{func(h *History) { h.Ops[1].Return = 3 }, "a call before its return"},
		{func(h *History) { h.Ops[3].Call, h.Ops[3].Worker = 14, 2 }, "never returned"},
		{func(h *History) { h.Ops[2].Worker = 0 }, "one thing at a time"},
		{func(h *History) { h.Ops[0].Result = TooOld }, "a result that Begin can have"},
		{func(h *History) { h.Ops[3].Snap = 0 }, "a number for each snapshot"},
		{func(h *History) { h.Ops[3].Next = 0 }, "a bound"},
		{func(h *History) { h.Ops[3].Set = core.XidSet{2, 1} }, "an ascending set"},
		{func(h *History) { h.Ops[0].Status = 9 }, "a status"},
	} {
		h := every(t)
		c.change(h)
		err := h.Validate()
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Validate: got %v, want %q", err, c.want)
		}
		if err := h.WriteBinary(&bytes.Buffer{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("WriteBinary: got %v, want %v", err, ErrInvalid)
		}
	}
}

// full is a disk that is full after some bytes.
type full int

var errFull = errors.New("no space")

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestFullDisk(t *testing.T) {
	h := long(20_000)
	for _, room := range []full{0, 10, blockSize + 100} {
		if err := h.WriteBinary(&room); !errors.Is(err, errFull) {
			t.Errorf("got %v, want %v", err, errFull)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, glob := range []string{"testdata/*.txt", "testdata/mistakes/*.txt"} {
		names, _ := filepath.Glob(glob)
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameAgain(t, data, func(h *History, w *bytes.Buffer) error { return h.WriteText(w) })
	})
}

func FuzzBinary(f *testing.F) {
	for _, h := range []*History{every(f), long(50), {}} {
		var b bytes.Buffer
		if err := h.WriteBinary(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameAgain(t, reseal(data), func(h *History, w *bytes.Buffer) error { return h.WriteBinary(w) })
	})
}

// reseal corrects the checksums, so that the fuzzer gets past them.
func reseal(data []byte) []byte {
	if len(data) < len(binaryMagic)+1 {
		return data
	}
	var b bytes.Buffer
	w := Writer{w: &b, check: newValidator(Header{})}
	w.write(data[:len(binaryMagic)+1])
	for rest := data[len(binaryMagic)+1:]; len(rest) > 0; {
		d := decoder{data: rest}
		n := int(d.uvarint(1 << 20))
		n = min(n, len(d.data))
		w.block = append(w.block[:0], d.data[:n]...)
		w.flush()
		rest = d.data[min(n+4, len(d.data)):]
		if d.bad {
			break
		}
	}
	return b.Bytes()
}

// sameAgain: what can be read is valid, and the same after it was written and
// read again. Whatever is wrong is an error, not a panic.
func sameAgain(t *testing.T, data []byte, write func(*History, *bytes.Buffer) error) {
	h, err := Read("fuzz", bytes.NewReader(data))
	if err != nil {
		return
	}
	if err := h.Validate(); err != nil {
		t.Fatalf("read an invalid history: %v", err)
	}
	var b bytes.Buffer
	if err := write(h, &b); err != nil {
		t.Fatal(err)
	}
	first := b.String()
	again, err := Read("again", &b)
	if err != nil {
		t.Fatalf("%v\n%s", err, first)
	}
	b.Reset()
	if err := write(again, &b); err != nil || b.String() != first {
		t.Fatalf("written twice, it differs: %v\n%s\n%s", err, first, b.String())
	}
}
