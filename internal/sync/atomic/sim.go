//go:build sim

// Package atomic is the part of the standard sync/atomic that variants use,
// here with a scheduling point of package sched before every operation.
package atomic

import (
	"sync/atomic"

	"xidlab/internal/sched"
)

type Bool struct{ v atomic.Bool }

func (a *Bool) Load() bool                        { sched.Point(); return a.v.Load() }
func (a *Bool) Store(v bool)                      { sched.Point(); a.v.Store(v) }
func (a *Bool) Swap(v bool) bool                  { sched.Point(); return a.v.Swap(v) }
func (a *Bool) CompareAndSwap(old, new bool) bool { sched.Point(); return a.v.CompareAndSwap(old, new) }

type Int64 struct{ v atomic.Int64 }

func (a *Int64) Load() int64        { sched.Point(); return a.v.Load() }
func (a *Int64) Store(v int64)      { sched.Point(); a.v.Store(v) }
func (a *Int64) Add(d int64) int64  { sched.Point(); return a.v.Add(d) }
func (a *Int64) Swap(v int64) int64 { sched.Point(); return a.v.Swap(v) }
func (a *Int64) CompareAndSwap(old, new int64) bool {
	sched.Point()
	return a.v.CompareAndSwap(old, new)
}

type Uint32 struct{ v atomic.Uint32 }

func (a *Uint32) Load() uint32         { sched.Point(); return a.v.Load() }
func (a *Uint32) Store(v uint32)       { sched.Point(); a.v.Store(v) }
func (a *Uint32) Add(d uint32) uint32  { sched.Point(); return a.v.Add(d) }
func (a *Uint32) Swap(v uint32) uint32 { sched.Point(); return a.v.Swap(v) }
func (a *Uint32) CompareAndSwap(old, new uint32) bool {
	sched.Point()
	return a.v.CompareAndSwap(old, new)
}

type Uint64 struct{ v atomic.Uint64 }

func (a *Uint64) Load() uint64         { sched.Point(); return a.v.Load() }
func (a *Uint64) Store(v uint64)       { sched.Point(); a.v.Store(v) }
func (a *Uint64) Add(d uint64) uint64  { sched.Point(); return a.v.Add(d) }
func (a *Uint64) Swap(v uint64) uint64 { sched.Point(); return a.v.Swap(v) }
func (a *Uint64) CompareAndSwap(old, new uint64) bool {
	sched.Point()
	return a.v.CompareAndSwap(old, new)
}

type Pointer[T any] struct{ v atomic.Pointer[T] }

func (a *Pointer[T]) Load() *T     { sched.Point(); return a.v.Load() }
func (a *Pointer[T]) Store(v *T)   { sched.Point(); a.v.Store(v) }
func (a *Pointer[T]) Swap(v *T) *T { sched.Point(); return a.v.Swap(v) }
func (a *Pointer[T]) CompareAndSwap(old, new *T) bool {
	sched.Point()
	return a.v.CompareAndSwap(old, new)
}
