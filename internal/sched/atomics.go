package sched

import "sync/atomic"

// current returns the execution that an access belongs to, or nil outside one.
func current() *Execution {
	x := running.Load()
	if x == nil {
		perturb()
		return nil
	}
	if x.unwinding {
		return nil
	}
	return x
}

// access makes an access of kind k the current thread's next, and records it.
func (x *Execution) access(h *header, k kind, what string) { x.record(x.step(k, h, what), k) }

// compared is the kind of a compare-and-swap that has happened. One that fails
// is a read, and no more.
func compared(ok bool) kind {
	if ok {
		return update
	}
	return read
}

// A Bool is an atomic.Bool whose accesses are scheduled.
type Bool struct {
	header
	v atomic.Bool
}

func (a *Bool) Load() bool {
	x := current()
	if x == nil {
		return a.v.Load()
	}
	x.access(&a.header, read, "Bool")
	v := a.v.Load()
	if x.detailed {
		x.note("Load() = %v", v)
	}
	return v
}

func (a *Bool) Store(v bool) {
	if x := current(); x != nil {
		x.access(&a.header, write, "Bool")
		if x.detailed {
			x.note("Store(%v)", v)
		}
	}
	a.v.Store(v)
}

func (a *Bool) Swap(v bool) bool {
	x := current()
	if x == nil {
		return a.v.Swap(v)
	}
	x.access(&a.header, update, "Bool")
	old := a.v.Swap(v)
	if x.detailed {
		x.note("Swap(%v) = %v", v, old)
	}
	return old
}

func (a *Bool) CompareAndSwap(old, new bool) bool {
	x := current()
	if x == nil {
		return a.v.CompareAndSwap(old, new)
	}
	o := x.step(compare, &a.header, "Bool")
	ok := a.v.CompareAndSwap(old, new)
	x.record(o, compared(ok))
	if x.detailed {
		x.note("CompareAndSwap(%v, %v) = %v", old, new, ok)
	}
	return ok
}

// A number is what the integer types have in common.
type number[T int64 | uint32 | uint64] interface {
	Load() T
	Store(T)
	Add(T) T
	Swap(T) T
	CompareAndSwap(old, new T) bool
}

func load[T int64 | uint32 | uint64, N number[T]](x *Execution, h *header, what string, a N) T {
	x.access(h, read, what)
	v := a.Load()
	if x.detailed {
		x.note("Load() = %d", v)
	}
	return v
}

func store[T int64 | uint32 | uint64, N number[T]](x *Execution, h *header, what string, a N, v T) {
	x.access(h, write, what)
	a.Store(v)
	if x.detailed {
		x.note("Store(%d)", v)
	}
}

func add[T int64 | uint32 | uint64, N number[T]](x *Execution, h *header, what string, a N, d T) T {
	x.access(h, update, what)
	v := a.Add(d)
	if x.detailed {
		x.note("Add(%d) = %d", d, v)
	}
	return v
}

func swap[T int64 | uint32 | uint64, N number[T]](x *Execution, h *header, what string, a N, v T) T {
	x.access(h, update, what)
	old := a.Swap(v)
	if x.detailed {
		x.note("Swap(%d) = %d", v, old)
	}
	return old
}

func compareAndSwap[T int64 | uint32 | uint64, N number[T]](x *Execution, h *header, what string, a N, old, new T) bool {
	o := x.step(compare, h, what)
	ok := a.CompareAndSwap(old, new)
	x.record(o, compared(ok))
	if x.detailed {
		x.note("CompareAndSwap(%d, %d) = %v", old, new, ok)
	}
	return ok
}

// An Int64 is an atomic.Int64 whose accesses are scheduled.
type Int64 struct {
	header
	v atomic.Int64
}

func (a *Int64) Load() int64 {
	if x := current(); x != nil {
		return load(x, &a.header, "Int64", &a.v)
	}
	return a.v.Load()
}

func (a *Int64) Store(v int64) {
	if x := current(); x != nil {
		store(x, &a.header, "Int64", &a.v, v)
		return
	}
	a.v.Store(v)
}

func (a *Int64) Add(d int64) int64 {
	if x := current(); x != nil {
		return add(x, &a.header, "Int64", &a.v, d)
	}
	return a.v.Add(d)
}

func (a *Int64) Swap(v int64) int64 {
	if x := current(); x != nil {
		return swap(x, &a.header, "Int64", &a.v, v)
	}
	return a.v.Swap(v)
}

func (a *Int64) CompareAndSwap(old, new int64) bool {
	if x := current(); x != nil {
		return compareAndSwap(x, &a.header, "Int64", &a.v, old, new)
	}
	return a.v.CompareAndSwap(old, new)
}

// A Uint32 is an atomic.Uint32 whose accesses are scheduled.
type Uint32 struct {
	header
	v atomic.Uint32
}

func (a *Uint32) Load() uint32 {
	if x := current(); x != nil {
		return load(x, &a.header, "Uint32", &a.v)
	}
	return a.v.Load()
}

func (a *Uint32) Store(v uint32) {
	if x := current(); x != nil {
		store(x, &a.header, "Uint32", &a.v, v)
		return
	}
	a.v.Store(v)
}

func (a *Uint32) Add(d uint32) uint32 {
	if x := current(); x != nil {
		return add(x, &a.header, "Uint32", &a.v, d)
	}
	return a.v.Add(d)
}

func (a *Uint32) Swap(v uint32) uint32 {
	if x := current(); x != nil {
		return swap(x, &a.header, "Uint32", &a.v, v)
	}
	return a.v.Swap(v)
}

func (a *Uint32) CompareAndSwap(old, new uint32) bool {
	if x := current(); x != nil {
		return compareAndSwap(x, &a.header, "Uint32", &a.v, old, new)
	}
	return a.v.CompareAndSwap(old, new)
}

// A Uint64 is an atomic.Uint64 whose accesses are scheduled.
type Uint64 struct {
	header
	v atomic.Uint64
}

func (a *Uint64) Load() uint64 {
	if x := current(); x != nil {
		return load(x, &a.header, "Uint64", &a.v)
	}
	return a.v.Load()
}

func (a *Uint64) Store(v uint64) {
	if x := current(); x != nil {
		store(x, &a.header, "Uint64", &a.v, v)
		return
	}
	a.v.Store(v)
}

func (a *Uint64) Add(d uint64) uint64 {
	if x := current(); x != nil {
		return add(x, &a.header, "Uint64", &a.v, d)
	}
	return a.v.Add(d)
}

func (a *Uint64) Swap(v uint64) uint64 {
	if x := current(); x != nil {
		return swap(x, &a.header, "Uint64", &a.v, v)
	}
	return a.v.Swap(v)
}

func (a *Uint64) CompareAndSwap(old, new uint64) bool {
	if x := current(); x != nil {
		return compareAndSwap(x, &a.header, "Uint64", &a.v, old, new)
	}
	return a.v.CompareAndSwap(old, new)
}

// A Pointer is an atomic.Pointer whose accesses are scheduled.
type Pointer[T any] struct {
	header
	v atomic.Pointer[T]
}

func (a *Pointer[T]) Load() *T {
	x := current()
	if x == nil {
		return a.v.Load()
	}
	x.access(&a.header, read, "Pointer")
	v := a.v.Load()
	if x.detailed {
		x.note("Load() = %s", address(v))
	}
	return v
}

func (a *Pointer[T]) Store(v *T) {
	if x := current(); x != nil {
		x.access(&a.header, write, "Pointer")
		if x.detailed {
			x.note("Store(%s)", address(v))
		}
	}
	a.v.Store(v)
}

func (a *Pointer[T]) Swap(v *T) *T {
	x := current()
	if x == nil {
		return a.v.Swap(v)
	}
	x.access(&a.header, update, "Pointer")
	old := a.v.Swap(v)
	if x.detailed {
		x.note("Swap(%s) = %s", address(v), address(old))
	}
	return old
}

func (a *Pointer[T]) CompareAndSwap(old, new *T) bool {
	x := current()
	if x == nil {
		return a.v.CompareAndSwap(old, new)
	}
	o := x.step(compare, &a.header, "Pointer")
	ok := a.v.CompareAndSwap(old, new)
	x.record(o, compared(ok))
	if x.detailed {
		x.note("CompareAndSwap(%s, %s) = %v", address(old), address(new), ok)
	}
	return ok
}

// address tells nil from the rest: addresses differ from run to run.
func address[T any](p *T) string {
	if p == nil {
		return "nil"
	}
	return "a value"
}
