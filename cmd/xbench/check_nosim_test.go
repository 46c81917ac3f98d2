//go:build !sim

package main

import (
	"strings"
	"testing"
)

// TestCheckMutantNeedsSim: how to run it is said.
func TestCheckMutantNeedsSim(t *testing.T) {
	code, _, stderr := command(t, "check", "-mutant", "OffByOne", "-quick")
	if code != exitUsage || !strings.Contains(stderr, "go run -tags sim ./cmd/xbench check -mutant OffByOne") {
		t.Errorf("exit code %d, log %q", code, stderr)
	}
}
