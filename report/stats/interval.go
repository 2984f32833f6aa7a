package stats

import "math"

// Interval is a confidence interval. Both ends belong to it.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Known reports whether the interval could be computed. JSON cannot hold the NaN of one
// that could not.
func (i Interval) Known() bool { return !math.IsNaN(i.Low) && !math.IsNaN(i.High) }

// Contains reports whether x is in the interval. An unknown interval contains nothing.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

var unknown = Interval{Low: math.NaN(), High: math.NaN()}
