package pin

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Thread locks the calling goroutine to its OS thread, restricts that thread to
// the CPU and verifies both the mask and the place it runs at.
//
// The error says which of these failed, and wraps [errors.ErrUnsupported]
// outside of Linux. After an error the goroutine is as it was, unlocked and free
// to run unpinned; such a run must say so.
func Thread(cpu int) (*Pin, error) {
	var want, before unix.CPUSet
	want.Set(cpu) // ignores what is beyond the size of a set, but not what is below 0
	if cpu < 0 || !want.IsSet(cpu) {
		return nil, fmt.Errorf("pin to CPU %d: there is no such CPU", cpu)
	}
	_, _ = allowedAtFirst() // before the first pin; an error is for who asks
	runtime.LockOSThread()
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("pin to CPU %d: read affinity: %w", cpu, err)
	}
	p := &Pin{cpu: cpu}
	err := unix.SchedSetaffinity(0, &want)
	if err == nil {
		if err = p.Verify(); err == nil {
			return p, nil
		}
		// The mask took but the thread is elsewhere: give back what was.
		err = errors.Join(err, unix.SchedSetaffinity(0, &before))
	}
	runtime.UnlockOSThread()
	switch {
	case errors.Is(err, unix.EINVAL):
		return nil, fmt.Errorf("pin to CPU %d: it is not online or not allowed to this process (see taskset -p %d): %w", cpu, os.Getpid(), err)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS):
		return nil, fmt.Errorf("pin to CPU %d: this system does not permit setting affinity; run unpinned: %w", cpu, err)
	}
	return nil, fmt.Errorf("pin to CPU %d: %w", cpu, err)
}

// Verify reports whether the thread still has exactly the CPU of p and runs on
// it now. Call it from the pinned goroutine, after a slice: an administrator or
// a cpuset may have moved the thread.
func (p *Pin) Verify() error {
	var have unix.CPUSet
	if err := unix.SchedGetaffinity(0, &have); err != nil {
		return fmt.Errorf("verify pin to CPU %d: %w", p.cpu, err)
	}
	if have.Count() != 1 || !have.IsSet(p.cpu) {
		return fmt.Errorf("verify pin to CPU %d: the thread may run on CPUs %s", p.cpu, FormatCPUList(members(&have)))
	}
	at, err := current()
	if err != nil {
		return fmt.Errorf("verify pin to CPU %d: %w", p.cpu, err)
	}
	if at != p.cpu {
		return fmt.Errorf("verify pin to CPU %d: the thread runs on CPU %d", p.cpu, at)
	}
	return nil
}

// Allowed returns the CPUs that this process may run on, ascending, as they were
// when it or Thread was first called.
func Allowed() ([]int, error) {
	ids, err := allowedAtFirst()
	return slices.Clone(ids), err
}

// allowedAtFirst asks about the main thread, once, before any thread is pinned:
// a pinned goroutine may have taken the main thread, which then keeps its mask
// even when the goroutine has ended.
var allowedAtFirst = sync.OnceValues(func() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil, fmt.Errorf("read the allowed CPUs: %w", err)
	}
	return members(&set), nil
})

func members(set *unix.CPUSet) []int {
	var ids []int
	for id := 0; len(ids) < set.Count(); id++ {
		if set.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// current returns the CPU that the calling thread runs on. Package unix knows
// the number of the system call, but has no function for it.
func current() (int, error) {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return 0, fmt.Errorf("getcpu: %w", errno)
	}
	return int(cpu), nil
}
