package stats

import "math"

// normalBelow returns the probability that a standard normal variable is at most x.
func normalBelow(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// normalBound returns the z for which a standard normal variable is in -z..z with probability
// level.
func normalBound(level float64) float64 { return math.Sqrt2 * math.Erfinv(level) }
