// Package xidlab is a laboratory for MVCC snapshot managers. The contract is
// package core, the managers are under variants, what drives and measures them
// is under harness, and the command is cmd/xbench.
package xidlab
