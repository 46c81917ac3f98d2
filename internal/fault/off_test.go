//go:build !sim

package fault

import (
	"strings"
	"testing"
)

// On is a constant, or this does not compile: it has to vanish.
const _ = On == "some/fault"

func TestSwitch(t *testing.T) {
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, "-tags sim") {
			t.Errorf("Switch panics with %q, want it to name the build that can do it", p)
		}
	}()
	Switch("some/fault")
}
