//go:build sim

package fault

import "testing"

func TestSwitch(t *testing.T) {
	off := Switch("some/fault")
	if On != "some/fault" {
		t.Errorf("On is %q", On)
	}
	if off(); On != "" {
		t.Errorf("On is %q after it was switched off", On)
	}
}
