//go:build sim

// Package sync is the part of the standard sync that variants use, here with a
// scheduling point of package sched before every operation.
package sync

import (
	"sync"

	"xidlab/internal/sched"
)

type Mutex struct{ mu sync.Mutex }

func (m *Mutex) Lock()         { sched.Point(); m.mu.Lock() }
func (m *Mutex) TryLock() bool { sched.Point(); return m.mu.TryLock() }
func (m *Mutex) Unlock()       { sched.Point(); m.mu.Unlock() }

type RWMutex struct{ mu sync.RWMutex }

func (m *RWMutex) Lock()          { sched.Point(); m.mu.Lock() }
func (m *RWMutex) TryLock() bool  { sched.Point(); return m.mu.TryLock() }
func (m *RWMutex) Unlock()        { sched.Point(); m.mu.Unlock() }
func (m *RWMutex) RLock()         { sched.Point(); m.mu.RLock() }
func (m *RWMutex) TryRLock() bool { sched.Point(); return m.mu.TryRLock() }
func (m *RWMutex) RUnlock()       { sched.Point(); m.mu.RUnlock() }

type Once struct{ once sync.Once }

func (o *Once) Do(f func()) { sched.Point(); o.once.Do(f) }

type Pool struct {
	New  func() any
	pool sync.Pool
}

func (p *Pool) Get() any {
	sched.Point()
	if x := p.pool.Get(); x != nil || p.New == nil {
		return x
	}
	return p.New()
}

func (p *Pool) Put(x any) { sched.Point(); p.pool.Put(x) }
