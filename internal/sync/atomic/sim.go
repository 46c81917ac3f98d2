//go:build sim

// Package atomic is the part of the standard sync/atomic that variants use, here
// with the types of package sched, whose operations the explorer schedules.
package atomic

import "xidlab/internal/sched"

type (
	Bool           = sched.Bool
	Int64          = sched.Int64
	Uint32         = sched.Uint32
	Uint64         = sched.Uint64
	Pointer[T any] = sched.Pointer[T]
)
