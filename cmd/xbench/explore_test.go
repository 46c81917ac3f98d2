package main

import (
	"strings"
	"testing"
)

// TestExploreUsage: what is wrong on the command line is said in one line, in
// every build.
func TestExploreUsage(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"explore 7", `unexpected "7"`},
		{"explore -strategi dfs", "strategy"},
		{"mutants -all", "unknown flag"},
	} {
		code, _, log := command(t, strings.Fields(c.line)...)
		if code != exitUsage || !strings.Contains(log, c.want) || strings.Count(log, "\n") != 1 {
			t.Errorf("xbench %s: exit code %d, %q; want %q", c.line, code, log, c.want)
		}
	}
	code, out, _ := command(t, "help", "explore")
	if code != exitOK || !strings.Contains(out, "-replay FILE") || !strings.Contains(out, "-tags sim") {
		t.Errorf("help: exit code %d\n%s", code, out)
	}
}
