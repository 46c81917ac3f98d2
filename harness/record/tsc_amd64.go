package record

// fencedTSC reads the processor's time stamp counter between what comes before
// and what comes after. An unfenced read may be executed earlier or later than
// its place by some hundred instructions, so that an operation could take effect
// outside of its stamps. (Go's atomic stores and locks are complete, for every
// CPU to see, before the first fence lets the read begin.)
func fencedTSC() int64
