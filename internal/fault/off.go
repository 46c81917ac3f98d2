//go:build !sim

package fault

// On is the fault that is switched on: none, in a normal build.
const On Fault = ""

// Any is false.
func Any() bool { return false }

// Switch panics: there is nothing to switch in a normal build.
func Switch(f Fault) (off func()) {
	panic("fault: " + string(f) + " can be switched on in a build with -tags sim only")
}
