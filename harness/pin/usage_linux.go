package pin

import (
	"os"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// ThreadUsage reads the usage of the calling OS thread: only a goroutine that is
// locked to its thread can make sense of it. It costs tens of microseconds; call
// it outside the measured window.
func ThreadUsage() Usage {
	u := usage(unix.CLOCK_THREAD_CPUTIME_ID, unix.RUSAGE_THREAD)
	if proc, err := procfs.NewDefaultFS(); err == nil {
		if thread, err := proc.Thread(os.Getpid(), unix.Gettid()); err == nil {
			u.RunDelay = runDelay(thread)
		}
	}
	return u
}

// ProcessUsage reads the usage of all threads of this process together. Its run
// delay is of the threads that are alive: an interval in which many end has it
// too low.
func ProcessUsage() Usage {
	u := usage(unix.CLOCK_PROCESS_CPUTIME_ID, unix.RUSAGE_SELF)
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return u
	}
	threads, err := proc.AllThreads(os.Getpid())
	if err != nil {
		return u
	}
	for _, thread := range threads {
		if delay := runDelay(thread); delay != Unknown { // Unknown if it has just ended
			u.RunDelay = max(u.RunDelay, 0) + delay
		}
	}
	return u
}

// runDelay reads how long the thread was runnable but waited for a CPU, or
// Unknown: the kernel may be built without the count.
func runDelay(thread procfs.Proc) time.Duration {
	s, err := thread.Schedstat()
	if err != nil {
		return Unknown
	}
	return time.Duration(s.WaitingNanoseconds)
}

func usage(clock int32, who int) Usage {
	u := Usage{CPU: Unknown, RunDelay: Unknown, Voluntary: Unknown, Involuntary: Unknown}
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err == nil {
		u.CPU = time.Duration(ts.Nano())
	}
	var ru unix.Rusage
	if err := unix.Getrusage(who, &ru); err == nil {
		u.Voluntary, u.Involuntary = ru.Nvcsw, ru.Nivcsw
	}
	return u
}

// MachineUsage reads what the machine as a whole has lost to others.
func MachineUsage() Disturbance {
	d := Disturbance{Steal: Unknown, Pressure: Unknown}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return d
	}
	if s, err := proc.Stat(); err == nil {
		d.Steal = time.Duration(s.CPUTotal.Steal * float64(time.Second))
	}
	if p, err := proc.PSIStatsForResource("cpu"); err == nil && p.Some != nil {
		d.Pressure = time.Duration(p.Some.Total) * time.Microsecond
	}
	return d
}
