package harness

import (
	"xidlab/core"
	"xidlab/harness/result"
)

// counters returns what the manager has counted by now, if it is asked and can
// tell.
func (r *sliceRun) counters() []core.Counter {
	if e, ok := r.manager.(core.Explainer); ok && r.explain {
		return e.Counters()
	}
	return nil
}

// grown turns counters into what they grew by since they were as in before; it
// leaves gauges as they are.
func grown(before, counters []core.Counter) []core.Counter {
	for i := range counters {
		if c := &counters[i]; !c.Gauge {
			c.Value -= before[i].Value
		}
	}
	return counters
}

// An explanation is the counters of a row's slices.
type explanation struct {
	all    []core.Counter // values are sums
	gauges [][]float64    // of each of all
}

func (e *explanation) add(slice []core.Counter) {
	if e.all == nil {
		e.all, e.gauges = append(e.all, slice...), make([][]float64, len(slice))
		for i := range e.all {
			e.all[i].Value = 0
		}
	}
	for i, c := range slice {
		e.all[i].Value += c.Value
		e.gauges[i] = append(e.gauges[i], float64(c.Value))
	}
}

// counters returns those that are not 0, for a row of so many units.
func (e *explanation) counters(units float64) (list []result.Counter) {
	for i, c := range e.all {
		value := float64(c.Value) / units * 1000
		if c.Gauge {
			value = result.Summarize(e.gauges[i]).Median
		}
		if value != 0 {
			list = append(list, result.Counter{Name: c.Name, Meaning: c.Meaning, Gauge: c.Gauge, Value: value})
		}
	}
	return list
}
