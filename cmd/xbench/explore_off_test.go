//go:build !sim

package main

import (
	"strings"
	"testing"
)

// TestNeedsSim: a build that does not schedule says how to get one that does.
func TestNeedsSim(t *testing.T) {
	for _, name := range []string{"explore", "mutants"} {
		code, out, log := command(t, name)
		if code != exitUsage || out != "" || !strings.Contains(log, "go run -tags sim ./cmd/xbench "+name) || strings.Count(log, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, log)
		}
	}
}
