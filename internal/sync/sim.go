//go:build sim

// Package sync is the part of the standard sync that variants use, here with
// the types of package sched, whose operations the explorer schedules.
package sync

import "xidlab/internal/sched"

type (
	Mutex       = sched.Mutex
	RWMutex     = sched.RWMutex
	Once        = sched.Once
	Pool        = sched.Pool
	Cell[T any] = sched.Cell[T]
)

// Yield is [sched.Yield].
func Yield() { sched.Yield() }

// Local is any number below n, so far as the explorer is concerned; outside an
// exploration it is what it is in a normal build.
func Local(n int) int { return sched.Local(n) }

// place is where a Tally counts: not to be chosen, or there would be more to
// explore.
func place() int { return 0 }
