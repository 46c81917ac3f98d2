//go:build !unix

package main

import "os"

// columns returns the width of a terminal, 0 if f is none. This system does not
// tell it.
func columns(f *os.File) int {
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return defaultColumns
	}
	return 0
}
