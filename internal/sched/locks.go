package sched

import "sync"

// lockable returns the execution that an access of a lock belongs to, or nil;
// and whether the lock is to be left alone, because threads are being unwound.
func lockable() (x *Execution, leave bool) {
	x = running.Load()
	if x == nil {
		perturb()
		return nil, false
	}
	return x, x.unwinding
}

// schedules returns the execution that an operation of a lock belongs to. If there
// is none it does the operation for real; while threads are unwound, not at all.
func schedules(real func()) *Execution {
	x, leave := lockable()
	if x == nil {
		real()
	}
	if leave {
		return nil
	}
	return x
}

// take records that the current thread has the lock o now, exclusively.
func (x *Execution) take(o *object, k kind) {
	x.record(o, k)
	o.isLock = true
	o.writer = int8(x.cur.id)
	o.lastTaken = int32(len(x.events) - 1)
}

// badUnlock ends the execution.
func (x *Execution) badUnlock(what string) {
	x.fail(BadUnlock, x.cur, what)
	panic(unwind{})
}

// A Mutex is a sync.Mutex whose operations are scheduled.
type Mutex struct {
	header
	mu sync.Mutex
}

func (m *Mutex) Lock() {
	if x := schedules(m.mu.Lock); x != nil {
		x.take(x.step(lock, &m.header, "Mutex"), lock)
		if x.detailed {
			x.note("Lock()")
		}
	}
}

func (m *Mutex) TryLock() bool {
	x, leave := lockable()
	if leave {
		return false
	}
	if x == nil {
		return m.mu.TryLock()
	}
	o := x.step(try, &m.header, "Mutex")
	ok := o.writer < 0
	if o.isLock = true; ok {
		x.take(o, take)
	} else {
		x.record(o, miss)
	}
	if x.detailed {
		x.note("TryLock() = %v", ok)
	}
	return ok
}

func (m *Mutex) Unlock() {
	if x := schedules(m.mu.Unlock); x != nil {
		o := x.step(unlock, &m.header, "Mutex")
		if o.writer < 0 {
			x.badUnlock("Unlock of a Mutex that nobody holds")
		}
		x.record(o, unlock)
		o.writer = -1
		if x.detailed {
			x.note("Unlock()")
		}
	}
}

// An RWMutex is a sync.RWMutex whose operations are scheduled. As in the
// standard one, a writer that waits keeps new readers out. (There, readers that
// wait when a writer unlocks go before the next writer; here the explorer tries
// both, since they could have come later.)
type RWMutex struct {
	header
	mu sync.RWMutex
}

// Lock is two accesses: from the first on no reader gets in, the second waits
// until those inside have left.
func (m *RWMutex) Lock() {
	if x := schedules(m.mu.Lock); x != nil {
		o := x.step(announce, &m.header, "RWMutex")
		x.take(o, announce)
		o.waiting = true
		if x.detailed {
			x.note("Lock(): no new readers")
		}
		x.record(x.step(acquire, &m.header, "RWMutex"), acquire)
		o.waiting = false
		if x.detailed {
			x.note("Lock()")
		}
	}
}

func (m *RWMutex) TryLock() bool {
	x, leave := lockable()
	if leave {
		return false
	}
	if x == nil {
		return m.mu.TryLock()
	}
	o := x.step(try, &m.header, "RWMutex")
	ok := o.writer < 0 && o.readers == 0
	if o.isLock = true; ok {
		x.take(o, take)
		x.cur.sync.join(&o.rreleased)
	} else {
		x.record(o, refuse)
	}
	if x.detailed {
		x.note("TryLock() = %v", ok)
	}
	return ok
}

func (m *RWMutex) Unlock() {
	if x := schedules(m.mu.Unlock); x != nil {
		o := x.step(unlock, &m.header, "RWMutex")
		if o.writer < 0 || o.waiting {
			x.badUnlock("Unlock of an RWMutex that no writer holds")
		}
		x.record(o, unlock)
		o.writer = -1
		if x.detailed {
			x.note("Unlock()")
		}
	}
}

func (m *RWMutex) RLock() {
	if x := schedules(m.mu.RLock); x != nil {
		o := x.step(rlock, &m.header, "RWMutex")
		x.record(o, rlock)
		o.isLock = true
		o.readers++
		if x.detailed {
			x.note("RLock()")
		}
	}
}

func (m *RWMutex) TryRLock() bool {
	x, leave := lockable()
	if leave {
		return false
	}
	if x == nil {
		return m.mu.TryRLock()
	}
	o := x.step(try, &m.header, "RWMutex")
	ok := o.writer < 0
	if o.isLock = true; ok {
		x.record(o, rtake)
		o.readers++
	} else {
		x.record(o, miss)
	}
	if x.detailed {
		x.note("TryRLock() = %v", ok)
	}
	return ok
}

func (m *RWMutex) RUnlock() {
	if x := schedules(m.mu.RUnlock); x != nil {
		o := x.step(runlock, &m.header, "RWMutex")
		if o.readers == 0 {
			x.badUnlock("RUnlock of an RWMutex that no reader holds")
		}
		x.record(o, runlock)
		o.readers--
		if x.detailed {
			x.note("RUnlock()")
		}
	}
}

// A Once is a sync.Once whose operations are scheduled.
type Once struct {
	mu   Mutex
	done Uint32
}

func (o *Once) Do(f func()) {
	if o.done.Load() != 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done.Load() == 0 {
		defer o.done.Store(1)
		f()
	}
}

// A Pool is a sync.Pool whose operations are scheduled: what Get returns of
// what was put, or whether it makes a new one, is the explorer's choice.
type Pool struct {
	New func() any

	header
	items []any // of the execution
	pool  sync.Pool
}

func (p *Pool) Get() any {
	x := current()
	if x == nil {
		if v := p.pool.Get(); v != nil || p.New == nil {
			return v
		}
		return p.New()
	}
	p.refresh(x)
	x.access(&p.header, update, "Pool")
	if x.detailed {
		x.note("Get()")
	}
	if i := Choose(len(p.items) + 1); i > 0 {
		v := p.items[i-1]
		p.items = append(p.items[:i-1:i-1], p.items[i:]...)
		return v
	}
	if p.New == nil {
		return nil
	}
	return p.New()
}

func (p *Pool) Put(v any) {
	x := current()
	if x == nil {
		p.pool.Put(v)
		return
	}
	p.refresh(x)
	x.access(&p.header, update, "Pool")
	p.items = append(p.items, v)
	if x.detailed {
		x.note("Put()")
	}
}

// refresh drops what another execution has put.
func (p *Pool) refresh(x *Execution) {
	if p.serial != x.serial {
		p.items = nil
	}
}
