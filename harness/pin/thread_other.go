//go:build !linux

package pin

import (
	"errors"
	"fmt"
	"runtime"
)

// Thread would pin the calling goroutine's thread; this system offers no way
// to. The error wraps [errors.ErrUnsupported].
func Thread(cpu int) (*Pin, error) {
	return nil, fmt.Errorf("pin to CPU %d: %s offers no thread affinity; run unpinned: %w", cpu, runtime.GOOS, errors.ErrUnsupported)
}

// Verify would check the pin; there is none on this system.
func (p *Pin) Verify() error {
	return fmt.Errorf("verify pin to CPU %d: %w", p.cpu, errors.ErrUnsupported)
}

// Allowed would return the CPUs that this process may run on. The error wraps
// [errors.ErrUnsupported].
func Allowed() ([]int, error) {
	return nil, fmt.Errorf("read the allowed CPUs: %s does not tell: %w", runtime.GOOS, errors.ErrUnsupported)
}
