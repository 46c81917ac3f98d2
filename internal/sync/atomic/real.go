//go:build !sim

// Package atomic is the part of the standard sync/atomic that variants use. In
// a normal build its types are aliases, so the machine code is that of the
// standard library (inlineAll sees to that, a test of the variants compares it);
// under the sim tag every operation is a scheduling point of package sched.
package atomic

import "sync/atomic"

type (
	Bool           = atomic.Bool
	Int64          = atomic.Int64
	Uint32         = atomic.Uint32
	Uint64         = atomic.Uint64
	Pointer[T any] = atomic.Pointer[T]
)
