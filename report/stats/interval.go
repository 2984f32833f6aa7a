package stats

import "math"

// Interval is a confidence interval, including both ends.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Known reports whether the interval could be computed. Otherwise its ends are NaN, which JSON
// cannot hold.
func (i Interval) Known() bool { return !math.IsNaN(i.Low) && !math.IsNaN(i.High) }

// Contains reports whether x is in the interval. An unknown interval contains nothing.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

var unknown = Interval{Low: math.NaN(), High: math.NaN()}
