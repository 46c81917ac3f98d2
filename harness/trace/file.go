package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	"xidlab/harness/atomicfile"
)

// The file format, version 1. All integers are unsigned varints of
// encoding/binary, unless said otherwise; a string is its length and its bytes.
//
//	"xidtrace"          8 bytes
//	version             1 byte
//	length of the body  8 bytes, little-endian
//	body:
//	  source            string
//	  start             signed varint, nanoseconds since 1970 UTC
//	  sessions          count, then strings
//	  objects           count, then pairs of strings: table, key
//	  operations        count, then each:
//	    kind + 16·isolation  1 byte
//	    time since the operation before it, in nanoseconds
//	    session
//	    object, or level, if the kind has one
//	checksum            4 bytes, little-endian: CRC-32C of everything before it
//
// The numbers of transactions follow from the order and are not written.
const (
	magic      = "xidtrace"
	version    = 1
	headerSize = len(magic) + 1 + 8
	footerSize = 4
)

// What is wrong with a file; see [FormatError]. Test with [errors.Is].
var (
	// ErrNotTrace: the file does not begin as a trace file does.
	ErrNotTrace = errors.New("not a trace file")
	// ErrVersion: the file is of a later version of the format.
	ErrVersion = errors.New("made by a newer version of this program; update it, or import the trace again")
	// ErrTruncated: the file ends too early.
	ErrTruncated = errors.New("the trace file is cut off; copy it again or import the trace again")
	// ErrCorrupt: the file is damaged.
	ErrCorrupt = errors.New("the trace file is damaged; copy it again or import the trace again")
)

// A FormatError says what is wrong with a trace file, and where.
type FormatError struct {
	File   string
	Offset int64 // in bytes
	Err    error // one of the errors above, wrapped or not
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: offset %d: %v", e.File, e.Offset, e.Err)
}

// Unwrap returns the kind of damage.
func (e *FormatError) Unwrap() error { return e.Err }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns t as the contents of a trace file. t must be valid.
func (t *Trace) Encode() []byte {
	b := append(make([]byte, 0, headerSize+64+8*len(t.Ops)), magic...)
	b = append(b, version)
	b = binary.LittleEndian.AppendUint64(b, 0) // the length, below
	b = appendString(b, t.Source)
	b = binary.AppendVarint(b, t.Start.UnixNano())
	b = binary.AppendUvarint(b, uint64(len(t.Sessions)))
	for _, s := range t.Sessions {
		b = appendString(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Objects)))
	for _, o := range t.Objects {
		b = appendString(appendString(b, o.Table), o.Key)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Ops)))
	now := time.Duration(0)
	for _, op := range t.Ops {
		b = append(b, byte(op.Kind)|byte(op.Isolation)<<4)
		b = binary.AppendUvarint(b, uint64(op.At-now))
		b = binary.AppendUvarint(b, uint64(op.Session))
		switch {
		case op.Kind.hasObject():
			b = binary.AppendUvarint(b, uint64(op.Object))
		case op.Kind.hasLevel():
			b = binary.AppendUvarint(b, uint64(op.Level))
		}
		now = op.At
	}
	binary.LittleEndian.PutUint64(b[headerSize-8:], uint64(len(b)-headerSize))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Decode reads the contents of a trace file; name is for errors, each of which
// is a [FormatError]. What it returns is valid.
func Decode(name string, data []byte) (*Trace, error) {
	fail := func(offset int, err error) (*Trace, error) {
		return nil, &FormatError{name, int64(offset), err}
	}
	if n := min(len(data), len(magic)); string(data[:n]) != magic[:n] || n == 0 {
		return fail(0, ErrNotTrace)
	}
	if len(data) < headerSize {
		return fail(len(data), ErrTruncated)
	}
	switch v := data[len(magic)]; {
	case v > version:
		return fail(len(magic), fmt.Errorf("version %d, this program reads up to %d: %w", v, version, ErrVersion))
	case v < 1:
		return fail(len(magic), fmt.Errorf("version %d: %w", v, ErrCorrupt))
	}
	// Compared so that no length can overflow.
	length, rest := binary.LittleEndian.Uint64(data[headerSize-8:]), len(data)-headerSize-footerSize
	switch {
	case rest < 0 || length > uint64(rest):
		return fail(len(data), fmt.Errorf("%d bytes of %d: %w", max(len(data)-headerSize, 0), length, ErrTruncated))
	case length < uint64(rest):
		return fail(headerSize+int(length)+footerSize, fmt.Errorf("more follows: %w", ErrCorrupt))
	}
	end := headerSize + int(length)
	if binary.LittleEndian.Uint32(data[end:]) != crc32.Checksum(data[:end], castagnoli) {
		return fail(end, fmt.Errorf("wrong checksum: %w", ErrCorrupt))
	}
	d := decoder{data: data[:end], at: headerSize}
	t := d.trace()
	if d.bad {
		return fail(d.at, ErrCorrupt)
	}
	if d.at != end {
		return fail(d.at, fmt.Errorf("more follows the operations: %w", ErrCorrupt))
	}
	if err := t.Validate(); err != nil {
		return fail(headerSize, fmt.Errorf("%v: %w", err, ErrCorrupt))
	}
	return t, nil
}

// A decoder reads the body. After something is wrong it is bad, at says where,
// and everything reads as zero.
type decoder struct {
	data []byte
	at   int
	bad  bool
}

func (d *decoder) trace() *Trace {
	t := &Trace{Source: d.string(), Start: time.Unix(0, d.varint()).UTC()}
	// Every element takes at least as many bytes as count is told, so what is
	// allocated here is in proportion to the file.
	t.Sessions = make([]string, d.count(1))
	for i := range t.Sessions {
		t.Sessions[i] = d.string()
	}
	t.Objects = make([]Object, d.count(2))
	for i := range t.Objects {
		t.Objects[i] = Object{d.string(), d.string()}
	}
	t.Ops = make([]Op, d.count(3))
	current := make([]uint32, len(t.Sessions)) // the transaction of each session
	now, next := uint64(0), uint32(0)
	for i := range t.Ops {
		k := d.byte()
		op := Op{Kind: Kind(k & 15), Isolation: Isolation(k >> 4)}
		now += d.uvarint(1<<63 - 1 - now)
		op.At = time.Duration(now)
		op.Session = uint32(d.uvarint(1<<32 - 1))
		switch {
		case op.Kind.hasObject():
			op.Object = uint32(d.uvarint(1<<32 - 1))
		case op.Kind.hasLevel():
			op.Level = uint16(d.uvarint(1<<16 - 1))
		}
		if uint64(op.Session) >= uint64(len(current)) {
			d.bad = true
		}
		if d.bad {
			break
		}
		if op.Kind.Opens() {
			current[op.Session] = next
			next++
		}
		op.Tx = current[op.Session]
		t.Ops[i] = op
	}
	return t
}

func (d *decoder) byte() byte {
	if d.bad || d.at >= len(d.data) {
		d.bad = true
		return 0
	}
	d.at++
	return d.data[d.at-1]
}

func (d *decoder) uvarint(limit uint64) uint64 {
	if d.bad {
		return 0
	}
	x, n := binary.Uvarint(d.data[d.at:])
	if n <= 0 || x > limit {
		d.bad = true
		return 0
	}
	d.at += n
	return x
}

func (d *decoder) varint() int64 {
	if d.bad {
		return 0
	}
	x, n := binary.Varint(d.data[d.at:])
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.at += n
	return x
}

// count reads the number of elements of at least size bytes each.
func (d *decoder) count(size int) int {
	return int(d.uvarint(uint64((len(d.data) - d.at) / size)))
}

func (d *decoder) string() string {
	n := d.count(1)
	if n > len(d.data)-d.at { // count was asked before its own bytes
		d.bad = true
	}
	if d.bad {
		return ""
	}
	d.at += n
	return string(d.data[d.at-n : d.at])
}

// ReadFile reads a trace file. What is wrong in it is a [FormatError].
func ReadFile(name string) (*Trace, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return Decode(name, data)
}

// WriteFile replaces the file name by t as a whole, or, on an error, not at all.
func WriteFile(name string, t *Trace) error {
	if err := t.Validate(); err != nil {
		return fmt.Errorf("trace: not written: %w", err)
	}
	if err := atomicfile.Write(name, t.Encode()); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}
