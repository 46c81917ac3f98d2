package harness

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// A GC is what Go's garbage collector does while a slice is measured. (Between
// slices it always runs.)
type GC string

const (
	// GCOff: it does not run, so that its work is not charged to whoever
	// happens to be measured; unless memory becomes short.
	GCOff GC = "off"
	// GCBallast: it runs as usual in a program with a live heap of some size,
	// not after every few megabytes as in a program without.
	GCBallast GC = "ballast"
)

const ballastBytes = 64 << 20

// ParseGC reads "off", "ballast", or a percentage as of GOGC, 1 or more. The
// error says so.
func ParseGC(s string) (GC, error) {
	if n, err := strconv.Atoi(s); GC(s) != GCOff && GC(s) != GCBallast && (err != nil || n < 1) {
		return "", fmt.Errorf("garbage collection %q: want off, ballast, or a percentage as of GOGC", s)
	}
	return GC(s), nil
}

// apply switches the collector to g. The result undoes it.
func (g GC) apply() (undo func()) {
	percent := 100
	var ballast []byte
	switch g {
	case GCOff:
		percent = -1
	case GCBallast:
		ballast = make([]byte, ballastBytes)
	default:
		percent, _ = strconv.Atoi(string(g)) // as ParseGC saw it
	}
	was := debug.SetGCPercent(percent)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	if g == GCOff {
		debug.SetMemoryLimit(min(limit, memoryLimit()))
	}
	return func() {
		debug.SetGCPercent(was)
		debug.SetMemoryLimit(limit)
		runtime.KeepAlive(ballast)
	}
}

// memoryLimit returns how large the heap may grow with the collector off: half
// of what is free, and 2 GiB at most.
func memoryLimit() int64 {
	limit := int64(2 << 30)
	if proc, err := procfs.NewDefaultFS(); err == nil {
		if m, err := proc.Meminfo(); err == nil && m.MemAvailableBytes != nil {
			limit = min(limit, int64(*m.MemAvailableBytes/2))
		}
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if most, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
			limit = min(limit, most/2)
		}
	}
	return limit
}
