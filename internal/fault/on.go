//go:build sim

package fault

// On is the fault that is switched on, or "". It is plain memory: whoever
// switches it has the process to itself.
var On Fault

// Any reports whether one is: then what is usual goes the way that has them all.
func Any() bool { return On != "" }

// Switch makes f the one fault that is on, for the whole process, until the
// function that it returns is called.
func Switch(f Fault) (off func()) {
	On = f
	return func() { On = "" }
}
