package result

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Schema is the version of the JSON files that this package writes, and the only
// one that it reads. It changes with the meaning of any field.
const Schema = 1

// Variants and workloads with a role of their own.
const (
	// Baseline is the variant that the others are compared with.
	Baseline = "rwmutex"

	// Reference is the variant of the rows that measure the machine itself.
	Reference = "reference"

	// The workloads of the reference rows. FetchAddPadded is the yardstick: what
	// the cheapest atomic operation costs while as many threads run. (The
	// contended one flatters: the owner of a line does several before it loses
	// the line.)
	FetchAddPadded = "ref-fetch-add-padded" // each worker increments a word on a cache line of its own
	FetchAdd       = "ref-fetch-add"        // all workers increment one word
	PingPong       = "ref-ping-pong"        // a cache line goes back and forth between two workers; one op is one transfer
	EmptyLoop      = "ref-empty-loop"       // the harness itself
)

// A Run is one invocation of the laboratory.
type Run struct {
	Schema   int       `json:"schema"`
	Xbench   string    `json:"xbench"`  // version of the command
	Command  []string  `json:"command"` // as typed, with which it can be run again
	Seed     uint64    `json:"seed"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Partial  bool      `json:"partial"` // interrupted or still going: rows or slices are missing
	Env      Env       `json:"env"`
	Rows     []Row     `json:"rows"`
}

// A Row is one benchmark: a workload on a variant with fixed parameters.
type Row struct {
	Workload string  `json:"workload"` // such as "short-transactions"
	Params   []Param `json:"params,omitempty"`
	Variant  string  `json:"variant"` // [Reference] in a reference row
	Threads  int     `json:"threads"`
	Pinned   bool    `json:"pinned"`
	GC       string  `json:"gc"`   // mode of the collector: "off", "ballast" or a GOGC percentage
	Unit     string  `json:"unit"` // what one op is: "transaction", "snapshot", "increment"

	// Slices are in the order of measurement. Slice i of all rows that differ
	// only in the variant were measured next to one another.
	Slices []Slice `json:"slices"`

	// Over all slices. Unknown (-1) where not measured.
	AllocsPerOp float64       `json:"allocs_per_op"`
	BytesPerOp  float64       `json:"bytes_per_op"`
	GCCycles    int64         `json:"gc_cycles"`
	GCPause     time.Duration `json:"gc_pause_ns"`

	Latencies []Latency `json:"latencies,omitempty"`
	// Sampled is the slice that Latencies are from. Calls were timed in it, so
	// that it is slower than the others, and not among them.
	Sampled *Slice   `json:"sampled,omitempty"`
	Metrics []Metric `json:"metrics,omitempty"`
	// Counters are what the manager itself counted, those left out that are 0:
	// only if they were asked for, and if the variant has any.
	Counters []Counter `json:"counters,omitempty"`
}

// A Param is a parameter of a workload, such as active=256.
type Param struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A Metric is a named figure of a row, such as 12.5 horizon-lag-xids.
type Metric struct {
	Name  string  `json:"name"` // with its unit, in the form of a benchmark unit
	Value float64 `json:"value"`
}

// A Counter is a figure by which a variant says why it costs what it does.
type Counter struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"` // a sentence, for people
	// Value is the number per 1000 ops, over all slices (the time outside their
	// windows included). Of a Gauge it is how many there were at the end of a
	// slice, the median.
	Value float64 `json:"value"`
	Gauge bool    `json:"gauge,omitempty"`
}

// DoubtfulLatencies reports whether the slice that the latencies are from is
// contaminated, or its workers may never have run at the same time; see
// [Slice.Contaminated] and [Slice.Apart].
func (r *Row) DoubtfulLatencies() bool {
	return r.Sampled != nil && (r.Sampled.Contaminated() != "" || r.Sampled.Apart())
}

// A Slice is one sample of a row: what all workers did in one measured window.
type Slice struct {
	Ops           int64         `json:"ops"`        // units of work, at least 1
	Seconds       float64       `json:"seconds"`    // of the window, wall time
	WorkerOps     []int64       `json:"worker_ops"` // of each worker; they add up to Ops
	Contamination Contamination `json:"contamination"`
}

// Rate returns the ops per second of all workers together.
func (s Slice) Rate() float64 { return float64(s.Ops) / s.Seconds }

// NsPerOp returns the nanoseconds that a worker spends per op. With perfect
// scaling it is the same at any number of threads.
func (s Slice) NsPerOp() float64 {
	return s.Seconds * 1e9 * float64(max(len(s.WorkerOps), 1)) / float64(s.Ops)
}

// Param returns the value of a parameter, and whether the row has it.
func (r *Row) Param(key string) (value string, ok bool) {
	for _, p := range r.Params {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// Name identifies the row within its run. It is the name of its benchmark, less
// the suffix with GOMAXPROCS:
//
//	ShortTransactions/variant=epoch/active=256/threads=2/pinned=true/gc=off
func (r *Row) Name() string {
	var b strings.Builder
	b.WriteString(camel(r.Workload))
	part := func(key, value string) {
		b.WriteString("/" + clean(key) + "=" + clean(value))
	}
	part("variant", r.Variant)
	for _, p := range r.Params {
		part(p.Key, p.Value)
	}
	part("threads", strconv.Itoa(r.Threads))
	part("pinned", strconv.FormatBool(r.Pinned))
	part("gc", r.GC)
	return b.String()
}

// camel turns a workload's name into a benchmark's: it must begin with an upper
// case letter and have no separators.
func camel(name string) string {
	up := true
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			up = true
			return -1
		}
		if up {
			up = false
			return unicode.ToUpper(r)
		}
		return r
	}, name)
}

// clean replaces what separates the parts of a benchmark's name.
func clean(part string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '/' || r == '=' {
			return '_'
		}
		return r
	}, part)
}
