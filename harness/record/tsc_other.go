//go:build !amd64

package record

// fencedTSC is never called: package pin trusts no counter on this processor.
func fencedTSC() int64 { panic("record: no time stamp counter on this processor") }
