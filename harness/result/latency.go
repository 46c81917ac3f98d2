package result

import (
	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Latency is the distribution of the time that one kind of manager call took,
// from a sample of the calls.
type Latency struct {
	Op        string     `json:"op"`        // such as "commit"
	Count     int64      `json:"count"`     // of the sample
	Quantiles []Quantile `json:"quantiles"` // ascending
	Max       float64    `json:"max_ns"`    // of the sample, in nanoseconds
}

// A Quantile says that a share Q of the calls took at most so long.
type Quantile struct {
	Q           float64 `json:"q"`
	Nanoseconds float64 `json:"ns"`
}

// ladder are the quantiles that are kept, for a plot by the number of nines.
var ladder = []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 0.999999}

// NewLatency summarises the merged histograms of all workers. It keeps only
// quantiles that at least ten of the sampled calls lie beyond: a higher one
// would say no more than the maximum. nanoseconds converts the histogram's
// values.
func NewLatency(op string, h *hdrhistogram.Histogram, nanoseconds func(ticks int64) float64) Latency {
	l := Latency{Op: op, Count: h.TotalCount()}
	if l.Count == 0 {
		return l
	}
	l.Max = nanoseconds(h.Max())
	for _, q := range ladder {
		if q > 0.5 && float64(l.Count)*(1-q) < 10 {
			break
		}
		l.Quantiles = append(l.Quantiles, Quantile{q, nanoseconds(h.ValueAtQuantile(q * 100))})
	}
	return l
}

// At returns the nanoseconds at quantile q, which must be one of those kept:
// 0.5, 0.9, 0.99 and 0.999 among others, if there were enough calls.
func (l Latency) At(q float64) (ns float64, ok bool) {
	for _, have := range l.Quantiles {
		if have.Q == q {
			return have.Nanoseconds, true
		}
	}
	return 0, false
}
