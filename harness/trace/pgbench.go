package trace

import (
	_ "embed"
	"sync"
)

//go:embed testdata/pgbench-mixed.trace
var pgbench []byte

var decoded = sync.OnceValues(func() (*Trace, error) { return Decode("pgbench-mixed.trace", pgbench) })

// Pgbench returns the trace that comes with the program: pgbench on PostgreSQL
// 15, its TPC-B transactions beside repeatable read and serializable ones with
// real retries, savepoints, autocommit inserts, and a reader that stays open for
// four seconds. It is the import of testdata/pgbench-mixed.csvlog.gz, decoded
// once and shared.
func Pgbench() (*Trace, error) { return decoded() }
