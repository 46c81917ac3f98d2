//go:build !linux

package pin

// ThreadUsage is Unknown on this system.
func ThreadUsage() Usage { return unknownUsage }

// ProcessUsage is Unknown on this system.
func ProcessUsage() Usage { return unknownUsage }

// MachineUsage is Unknown on this system.
func MachineUsage() Disturbance { return Disturbance{Steal: Unknown, Pressure: Unknown} }

var unknownUsage = Usage{CPU: Unknown, RunDelay: Unknown, Voluntary: Unknown, Involuntary: Unknown}
