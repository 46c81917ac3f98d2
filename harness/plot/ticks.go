package plot

import (
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"
)

// linearTicks divides an axis from 0 into 4 to 8 round steps.
type linearTicks struct{}

func (linearTicks) Ticks(lo, hi float64) []gonum.Tick {
	step := niceStep((hi - lo) / 8)
	var ticks []gonum.Tick
	for i := math.Ceil(lo / step); i*step <= hi*(1+1e-9); i++ {
		ticks = append(ticks, gonum.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks
}

// niceStep rounds up to 1, 2 or 5 times a power of ten.
func niceStep(x float64) float64 {
	if !(x > 0) {
		return 1
	}
	decade := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if x <= m*decade*(1+1e-9) {
			return m * decade
		}
	}
	return 10 * decade
}

// timeTicks labels a logarithmic axis of nanoseconds: powers of ten, or 1-2-5
// where there are few of those.
type timeTicks struct{}

func (timeTicks) Ticks(lo, hi float64) []gonum.Tick {
	dense := math.Log10(hi/lo) < 2.2
	var ticks []gonum.Tick
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow10(e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			label := ""
			if m == 1 || dense && (m == 2 || m == 5) {
				label = duration(v)
			}
			ticks = append(ticks, gonum.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

// duration writes nanoseconds with the unit that makes them short.
func duration(ns float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= u.size*(1-1e-9) {
			return strconv.FormatFloat(ns/u.size, 'g', 3, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(ns, 'g', 3, 64) + " ns"
}
