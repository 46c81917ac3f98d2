package result

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"xidlab/harness/pin"
)

// WriteBench writes the run in the Go benchmark format: one line per slice,
// under a name such as
//
//	BenchmarkShortTransactions/variant=epoch/threads=2/pinned=true/gc=off-2
//
// so that slices are samples and each part of the name can be a column or a
// filter of benchstat. The configuration lines describe the machine only: they
// are equal in all runs on it, and benchstat compares what has equal ones. What
// describes the run is in comments at the top. Metrics stand on the first line
// of their row; latencies are in the JSON file only.
func WriteBench(w io.Writer, r *Run) error {
	buf := bufio.NewWriter(w)
	state := "complete"
	if r.Partial {
		state = "PARTIAL"
	}
	fmt.Fprintf(buf, "# xbench %s, schema %d, seed %d, started %s: %s run\n", r.Xbench, r.Schema, r.Seed, r.Started.UTC().Format("2006-01-02 15:04:05Z"), state)
	fmt.Fprintf(buf, "# Times are of a worker: wall time x threads / ops. One line is one slice.\n")

	out := benchfmt.NewWriter(buf)
	for _, u := range []struct{ unit, key, value string }{
		{"ns/op", "better", "lower"},
		{"ops/s", "better", "higher"},
		{"B/op", "better", "lower"},
		{"allocs/op", "better", "lower"},
	} {
		if err := out.Write(&benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: u.unit, Key: u.key}, OrigUnit: u.unit, Value: u.value}); err != nil {
			return err
		}
	}
	fmt.Fprintln(buf)
	config := r.benchConfig()
	for _, row := range r.benchRows() {
		// Always with the suffix, so that a name that ends in -4 is not
		// taken for one.
		name := benchfmt.Name(row.Name() + "-" + strconv.Itoa(max(r.Env.GOMAXPROCS, 1)))
		for n, s := range row.Slices {
			rec := &benchfmt.Result{Config: config, Name: name, Iters: int(s.Ops)}
			add := func(value float64, unit string) {
				rec.Values = append(rec.Values, benchfmt.Value{Value: round(value), Unit: unit})
			}
			add(s.NsPerOp(), "ns/op")
			add(s.Rate(), "ops/s")
			if row.BytesPerOp != pin.Unknown {
				add(row.BytesPerOp, "B/op")
			}
			if row.AllocsPerOp != pin.Unknown {
				add(row.AllocsPerOp, "allocs/op")
			}
			if n == 0 {
				for _, m := range row.Metrics {
					add(m.Value, unit(m.Name))
				}
			}
			if err := out.Write(rec); err != nil {
				return err
			}
		}
	}
	return buf.Flush()
}

// unit returns the name of a metric as the unit of a benchmark, which may be a
// quotient, but has no spaces.
func unit(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
}

// benchRows returns the rows with those of the baseline first, because benchstat
// compares with the column that it sees first, and the reference rows last.
func (r *Run) benchRows() []*Row {
	rank := func(row *Row) int {
		switch row.Variant {
		case Baseline:
			return 0
		case Reference:
			return 2
		}
		return 1
	}
	rows := make([]*Row, len(r.Rows))
	for i := range rows {
		rows[i] = &r.Rows[i]
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return rank(a) - rank(b) })
	return rows
}

func (r *Run) benchConfig() []benchfmt.Config {
	e := r.Env
	var config []benchfmt.Config
	for _, c := range [][2]string{
		{"goos", e.OS},
		{"goarch", e.Arch},
		{"cpu", e.CPU},
		{"fingerprint", e.Fingerprint()},
		{"cpus", e.Allowed},
		{"kernel", e.Kernel},
		{"toolchain", e.Go},
	} {
		config = append(config, benchfmt.Config{Key: c[0], Value: []byte(c[1]), File: true})
	}
	return config
}

// round keeps six significant digits: more is noise, and slows the reader down.
func round(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return short
}
