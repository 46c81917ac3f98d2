package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"xidlab/core"
)

// The binary form, version 1. Integers are unsigned varints of encoding/binary
// unless said otherwise; "signed" is its signed varint.
//
//	"xidhist"    7 bytes
//	version      1 byte
//	blocks, each:
//	  length     of the body; 0 in the last block
//	  body
//	  checksum   4 bytes, little-endian: CRC-32C of everything in the file so far
//	body of the first block: the header
//	  length of manager, manager, ordered (0 or 1), clock, skew
//	body of each further block: operations
//	  kind       1 byte
//	  flags      1 byte: result + 16·yes + 32·full + 64·pending
//	  worker
//	  call       signed, minus the call before it in the block (0 before the first)
//	  return     minus the call, unless pending
//	  mask       1 byte: which of the following are there, from the lowest bit
//	  status 1 byte, xid, other, next, count signed, snap, of
//	  set        (bit 7) count; then each signed, minus the one before
//	  probes     count; then each: xid, yes (0 or 1)
//
// The last, empty block shows that nothing is missing.
const (
	binaryMagic   = "xidhist"
	binaryVersion = 1

	blockSize = 1 << 16 // bytes after which a block ends
	maxBlock  = 1 << 28 // what a reader believes
)

// What is wrong with a binary file; see [FormatError]. Test with [errors.Is].
var (
	// ErrNotHistory: the file begins as neither form does.
	ErrNotHistory = errors.New(`not a history: neither the binary form nor text that begins with "xidlab history 1"`)
	// ErrVersion: the file is of another version of the format.
	ErrVersion = errors.New("made by a newer version of this program; update it, or record again")
	// ErrTruncated: the file ends too early; what was read so far is good.
	ErrTruncated = errors.New("the history file is cut off; copy it again or record again")
	// ErrCorrupt: the file is damaged.
	ErrCorrupt = errors.New("the history file is damaged; copy it again or record again")
)

// A FormatError says what is wrong with a binary history, and where.
type FormatError struct {
	File   string
	Offset int64 // in bytes: the start of the block
	Err    error // one of the errors above, wrapped or not
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: offset %d: %v", e.File, e.Offset, e.Err)
}

// Unwrap returns the kind of damage.
func (e *FormatError) Unwrap() error { return e.Err }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Writer writes a history in the binary form, operation by operation. It
// holds one block in memory. It is not safe for concurrent use.
type Writer struct {
	w     io.Writer
	block []byte
	crc   uint32
	last  int64
	check *validator
	n     int64
	err   error
}

// NewWriter begins a history. An error of w is reported by every later call.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	b := &Writer{w: w, check: newValidator(h)}
	b.write(append([]byte(binaryMagic), binaryVersion))
	b.block = appendBytes(b.block, h.Manager)
	b.block = append(b.block, flag(h.Ordered, 1))
	b.block = binary.AppendUvarint(b.block, uint64(h.Clock))
	b.block = binary.AppendUvarint(b.block, uint64(h.Skew))
	b.flush()
	return b, b.err
}

// Write adds an operation, which must be valid, and called no earlier than the
// one before.
func (w *Writer) Write(o *Op) error {
	if w.err != nil {
		return w.err
	}
	if err := w.check.op(o); err != nil {
		w.err = fmt.Errorf("operation %d (%s): %w: expected %w", w.n, o.Line(), ErrInvalid, err)
		return w.err
	}
	w.n++
	w.block = o.encode(w.block, w.last)
	w.last = o.Call
	if len(w.block) >= blockSize {
		w.flush()
	}
	return w.err
}

// Close ends the history: a file without this is known to be cut off. It does
// not close the underlying writer.
func (w *Writer) Close() error {
	if len(w.block) > 0 {
		w.flush()
	}
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	head := binary.AppendUvarint(nil, uint64(len(w.block)))
	w.write(head)
	w.write(w.block)
	w.write(binary.LittleEndian.AppendUint32(nil, w.crc))
	w.block, w.last = w.block[:0], 0
}

func (w *Writer) write(b []byte) {
	if w.err != nil || len(b) == 0 {
		return
	}
	w.crc = crc32.Update(w.crc, castagnoli, b)
	if _, err := w.w.Write(b); err != nil {
		w.err = fmt.Errorf("write history: %w", err)
	}
}

// WriteBinary writes the history in the binary form. It must be valid.
func (h *History) WriteBinary(w io.Writer) error {
	b := bufio.NewWriterSize(w, 2*blockSize)
	hw, err := NewWriter(b, h.Header)
	if err != nil {
		return err
	}
	for i := range h.Ops {
		if err := hw.Write(&h.Ops[i]); err != nil {
			return err
		}
	}
	if err := hw.Close(); err != nil {
		return err
	}
	return b.Flush()
}

func flag(b bool, bit byte) byte {
	if b {
		return bit
	}
	return 0
}

func appendBytes(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (o *Op) encode(b []byte, last int64) []byte {
	b = append(b, byte(o.Kind), byte(o.Result)|flag(o.Yes, 16)|flag(o.Full, 32)|flag(o.IsPending(), 64))
	b = binary.AppendUvarint(b, uint64(o.Worker))
	b = binary.AppendVarint(b, o.Call-last)
	if !o.IsPending() {
		b = binary.AppendUvarint(b, uint64(o.Return-o.Call))
	}
	at := len(b)
	b = append(b, 0)
	if o.Status != 0 {
		b = append(b, byte(o.Status))
		b[at] |= 1
	}
	for i, n := range []uint64{uint64(o.Xid), uint64(o.Other), uint64(o.Next), uint64(o.Count), o.Snap, o.Of} {
		if n != 0 {
			b = binary.AppendUvarint(b, n)
			b[at] |= 2 << i
		}
	}
	if len(o.Set)+len(o.Probes) > 0 {
		b[at] |= 128
		b = binary.AppendUvarint(b, uint64(len(o.Set)))
		before := core.Xid(0)
		for _, x := range o.Set {
			b = binary.AppendVarint(b, int64(x-before))
			before = x
		}
		b = binary.AppendUvarint(b, uint64(len(o.Probes)))
		for _, p := range o.Probes {
			b = append(binary.AppendUvarint(b, uint64(p.Xid)), flag(p.Yes, 1))
		}
	}
	return b
}

// binaryReader reads operations block by block.
type binaryReader struct {
	file   string
	r      *bufio.Reader
	crc    uint32
	offset int64
	block  []byte
	start  int64 // where the block starts
	d      decoder
	last   int64
	check  *validator
	head   Header
	done   bool
}

func newBinaryReader(file string, r *bufio.Reader) (*binaryReader, error) {
	b := &binaryReader{file: file, r: r}
	head := make([]byte, len(binaryMagic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, b.readError(err)
	}
	b.offset = int64(len(head))
	b.crc = crc32.Update(0, castagnoli, head)
	if v := head[len(binaryMagic)]; v != binaryVersion {
		return nil, b.fail(fmt.Errorf("version %d, this program reads %d: %w", v, binaryVersion, ErrVersion))
	}
	if err := b.nextBlock(); err != nil {
		return nil, err
	}
	d := &b.d
	b.head = Header{Manager: d.string(), Ordered: d.bit(), Clock: Clock(d.uvarint(math.MaxUint8)), Skew: int64(d.uvarint(maxSkew))}
	if d.bad || len(d.data) > 0 {
		return nil, b.fail(fmt.Errorf("its header: %w", ErrCorrupt))
	}
	if err := b.head.validate(); err != nil {
		return nil, b.fail(fmt.Errorf("%w: %v", ErrCorrupt, err))
	}
	b.check = newValidator(b.head)
	return b, nil
}

func (b *binaryReader) fail(err error) error { return &FormatError{b.file, b.start, err} }

func (b *binaryReader) readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return b.fail(ErrTruncated)
	}
	return b.fail(fmt.Errorf("read: %w", err))
}

// nextBlock reads and checks one block.
func (b *binaryReader) nextBlock() error {
	b.start = b.offset
	length, err := binary.ReadUvarint(b.r)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && length != 0 {
		return b.fail(ErrCorrupt)
	} else if err != nil {
		return b.readError(err)
	}
	if length > maxBlock {
		return b.fail(fmt.Errorf("a block of %d bytes: %w", length, ErrCorrupt))
	}
	head := binary.AppendUvarint(nil, length)
	b.crc = crc32.Update(b.crc, castagnoli, head)
	// Grown as bytes come, so that a damaged length does not allocate.
	b.block = b.block[:0]
	for n := int(length); n > 0; {
		step := min(n, 1<<20)
		at := len(b.block)
		b.block = append(b.block, make([]byte, step)...)
		if _, err := io.ReadFull(b.r, b.block[at:]); err != nil {
			return b.readError(err)
		}
		n -= step
	}
	b.crc = crc32.Update(b.crc, castagnoli, b.block)
	var sum [4]byte
	if _, err := io.ReadFull(b.r, sum[:]); err != nil {
		return b.readError(err)
	}
	if binary.LittleEndian.Uint32(sum[:]) != b.crc {
		return b.fail(fmt.Errorf("wrong checksum: %w", ErrCorrupt))
	}
	b.crc = crc32.Update(b.crc, castagnoli, sum[:])
	b.offset += int64(len(head)) + int64(length) + 4
	b.d = decoder{data: b.block}
	b.last = 0
	return nil
}

func (b *binaryReader) next(o *Op) error {
	for len(b.d.data) == 0 {
		if b.done {
			return io.EOF
		}
		if err := b.nextBlock(); err != nil {
			return err
		}
		if len(b.block) == 0 {
			b.done = true
			if _, err := b.r.ReadByte(); !errors.Is(err, io.EOF) {
				return b.fail(fmt.Errorf("more follows the end: %w", ErrCorrupt))
			}
		}
	}
	b.d.op(o, b.last)
	b.last = o.Call
	if b.d.bad {
		return b.fail(ErrCorrupt)
	}
	if err := b.check.op(o); err != nil {
		return b.fail(fmt.Errorf("%w: %s: %w: expected %w", ErrCorrupt, o.Line(), ErrInvalid, err))
	}
	return nil
}

// A decoder reads a block. After something is wrong it is bad, and everything
// reads as zero.
type decoder struct {
	data []byte
	bad  bool
}

func (d *decoder) op(o *Op, last int64) {
	*o = Op{Kind: Kind(d.byte())}
	flags := d.byte()
	o.Result, o.Yes, o.Full = Result(flags&15), flags&16 != 0, flags&32 != 0
	o.Worker = int32(d.uvarint(math.MaxInt32))
	o.Call = last + d.varint()
	if o.Return = Pending; flags&64 == 0 {
		o.Return = o.Call + int64(d.uvarint(math.MaxInt64))
	}
	d.bad = d.bad || flags >= 128 || flags&64 == 0 && o.Return == Pending
	mask := d.byte()
	if mask&1 != 0 {
		o.Status = core.Status(d.byte())
	}
	var n [6]uint64
	for i := range n {
		if mask&(2<<i) != 0 {
			n[i] = d.uvarint(math.MaxUint64)
			d.bad = d.bad || n[i] == 0
		}
	}
	o.Xid, o.Other, o.Next, o.Count, o.Snap, o.Of = core.Xid(n[0]), core.Xid(n[1]), core.Xid(n[2]), int(n[3]), n[4], n[5]
	if mask&128 == 0 {
		return
	}
	// Every element takes a byte at least, so what is allocated is in
	// proportion to the file.
	if k := d.count(1); k > 0 {
		o.Set = make(core.XidSet, k)
		before := core.Xid(0)
		for i := range o.Set {
			before += core.Xid(d.varint())
			o.Set[i] = before
		}
	}
	if k := d.count(2); k > 0 {
		o.Probes = make([]Probe, k)
		for i := range o.Probes {
			o.Probes[i] = Probe{core.Xid(d.uvarint(math.MaxUint64)), d.bit()}
		}
	}
}

func (d *decoder) byte() byte {
	if len(d.data) == 0 {
		d.bad = true
		return 0
	}
	c := d.data[0]
	d.data = d.data[1:]
	return c
}

func (d *decoder) bit() bool {
	c := d.byte()
	d.bad = d.bad || c > 1
	return c == 1
}

func (d *decoder) uvarint(most uint64) uint64 {
	n, k := binary.Uvarint(d.data)
	if k <= 0 || n > most {
		d.bad = true
		return 0
	}
	d.data = d.data[k:]
	return n
}

func (d *decoder) varint() int64 {
	n, k := binary.Varint(d.data)
	if k <= 0 {
		d.bad = true
		return 0
	}
	d.data = d.data[k:]
	return n
}

func (d *decoder) count(size int) int {
	n := d.uvarint(uint64(len(d.data)))
	if d.bad || n*uint64(size) > uint64(len(d.data)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.count(1)
	s := string(d.data[:n])
	d.data = d.data[n:]
	return s
}
