//go:build !sim

// Package sync is the part of the standard sync that variants use. In a normal
// build its types are aliases, so the machine code is that of the standard
// library (inlineAll sees to that, a test of the variants compares it); under the
// sim tag every operation is a scheduling point of package sched.
package sync

import "sync"

type (
	Mutex   = sync.Mutex
	RWMutex = sync.RWMutex
	Once    = sync.Once
	Pool    = sync.Pool
)

// place is where a Tally counts.
func place() int { return Local(places) }
