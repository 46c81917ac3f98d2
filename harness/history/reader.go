package history

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
)

// A Reader reads a history of either form, operation by operation. What it
// returns is valid (see [History.Validate]). It is not safe for concurrent use.
type Reader struct {
	head Header
	next func(*Op) error
	err  error
}

// NewReader reads the header. The name is for errors, which are [*SyntaxError]
// and [*FormatError], and those of r, wrapped.
func NewReader(name string, r io.Reader) (*Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	start, err := b.Peek(len(binaryMagic))
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if string(start) == binaryMagic {
		br, err := newBinaryReader(name, b)
		if err != nil {
			return nil, err
		}
		return &Reader{head: br.head, next: br.next}, nil
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return nil, &FormatError{name, 0, ErrNotHistory}
	}
	tr, err := newTextReader(name, b)
	if err != nil {
		return nil, err
	}
	return &Reader{head: tr.head, next: tr.next}, nil
}

// Header returns what holds for all operations.
func (r *Reader) Header() Header { return r.head }

// Next reads the next operation into o, overwriting all of it. At the end it
// returns io.EOF. After an error it returns the same again.
func (r *Reader) Next(o *Op) error {
	if r.err == nil {
		r.err = r.next(o)
	}
	return r.err
}

// Read reads a whole history of either form, as [NewReader] does.
func Read(name string, r io.Reader) (*History, error) {
	hr, err := NewReader(name, r)
	if err != nil {
		return nil, err
	}
	h := &History{Header: hr.Header()}
	for {
		var o Op
		if err := hr.Next(&o); err == io.EOF {
			return h, nil
		} else if err != nil {
			return nil, err
		}
		h.Ops = append(h.Ops, o)
	}
}

// ReadFile reads the file as Read does.
func ReadFile(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(path, f)
}
