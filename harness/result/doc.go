// Package result holds what a run measured: its types, its files, its
// statistics and its tables.
//
// A [Run] is one invocation of the laboratory on one machine, made of a [Row]
// for each combination of workload, variant, parameters and thread count. A row
// is made of the raw samples, each a [Slice]. A [Recorder] writes the run while
// it grows, [Load] reads it back, [Run.Figures] and [WriteTables] make sense of
// it.
//
// # Files
//
// Each machine, by its fingerprint, has a folder; each run has two files there.
// The one in the Go benchmark format is for benchstat and its kin:
//
//	benchstat -col /variant results/FINGERPRINT/RUN.bench
//
// The one in JSON has everything: the environment, every slice and what
// disturbed it. [Schema] is its version.
package result
