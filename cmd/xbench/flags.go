package main

import (
	"flag"
	"fmt"
)

// A pinnedFlag is true, false, both, or what fits. Without a value it is true,
// as a boolean flag is.
type pinnedFlag string

const (
	pinnedAuto  pinnedFlag = ""
	pinnedTrue  pinnedFlag = "true"
	pinnedFalse pinnedFlag = "false"
	pinnedBoth  pinnedFlag = "both"
)

func (p *pinnedFlag) String() string   { return string(*p) }
func (p *pinnedFlag) IsBoolFlag() bool { return true }

func (p *pinnedFlag) Set(s string) error {
	switch v := pinnedFlag(s); v {
	case pinnedTrue, pinnedFalse, pinnedBoth:
		*p = v
		return nil
	}
	return fmt.Errorf("want true, false or both")
}

// isSet reports whether the flag was on the command line.
func isSet(fs *flag.FlagSet, name string) (set bool) {
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
