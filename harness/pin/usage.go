package pin

import "time"

// A Usage is how much CPU a thread (or the whole process) has had so far, and
// how often it lost it. Differences of two, by [Usage.Sub], cover an interval.
// Each field may be Unknown.
type Usage struct {
	CPU         time.Duration `json:"cpu_ns"`       // time on a CPU
	RunDelay    time.Duration `json:"run_delay_ns"` // time runnable but waiting for a CPU
	Voluntary   int64         `json:"voluntary"`    // context switches because it blocked
	Involuntary int64         `json:"involuntary"`  // context switches because another thread took the CPU
}

// Sub returns the usage since before. What is Unknown on either side is Unknown.
func (u Usage) Sub(before Usage) Usage {
	return Usage{
		CPU:         since(u.CPU, before.CPU),
		RunDelay:    since(u.RunDelay, before.RunDelay),
		Voluntary:   since(u.Voluntary, before.Voluntary),
		Involuntary: since(u.Involuntary, before.Involuntary),
	}
}

// Share returns which part, 0 to 1, of the CPU time that the thread could have
// used in an interval it got: time on the CPU over time on it or waiting for
// it. Time blocked on a lock is not counted against the machine, and neither is
// time in which a goroutine waits for its turn among GOMAXPROCS: measure with no
// more workers than that. Where the run delay is Unknown, the whole of wall
// counts as time it could have used. The result is Unknown where the CPU time is.
func (u Usage) Share(wall time.Duration) float64 {
	if u.CPU == Unknown {
		return Unknown
	}
	wanted := wall
	if u.RunDelay != Unknown {
		wanted = u.CPU + u.RunDelay
	}
	if wanted <= 0 {
		return 1
	}
	return min(float64(u.CPU)/float64(wanted), 1)
}

// A Disturbance is what the machine as a whole has lost so far. Either field may
// be Unknown.
type Disturbance struct {
	Steal    time.Duration `json:"steal_ns"`    // CPU time, over all CPUs, that the hypervisor gave to others; in clock ticks of usually 10 ms
	Pressure time.Duration `json:"pressure_ns"` // time in which some task of the machine, perhaps ours, waited for a CPU (PSI)
}

// Sub returns the disturbance since before. What is Unknown on either side is
// Unknown.
func (d Disturbance) Sub(before Disturbance) Disturbance {
	return Disturbance{Steal: since(d.Steal, before.Steal), Pressure: since(d.Pressure, before.Pressure)}
}

func since[T ~int64](now, before T) T {
	if now == Unknown || before == Unknown {
		return Unknown
	}
	return max(now-before, 0) // steal may step backwards after a migration of the guest
}
