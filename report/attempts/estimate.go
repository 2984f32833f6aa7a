package attempts

import (
	"bytes"
	"fmt"
	"math"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report/stats"
)

// Estimate is the mean of a rate over instances. Values that cannot be computed are nil.
type Estimate struct {
	Value    *float64        `json:"value"`
	SE       *float64        `json:"se"`               // clustered by repository
	Interval *stats.Interval `json:"ci"`               // 95 %
	Method   stats.Method    `json:"method,omitempty"` // of the interval
}

// newEstimate estimates the mean of values, one per instance and in 0..1. repositories has the
// repository of each value.
func newEstimate(values []float64, repositories []string) Estimate {
	mean, se := stats.ClusteredMean(values, repositories)
	e := Estimate{Value: known(mean), SE: known(se)}
	if len(values) == 0 {
		return e
	}
	if i, method := (stats.Bootstrap{}).Rate(values, repositories); i.Known() {
		e.Interval, e.Method = &i, method
	}
	return e
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func (e Estimate) rate() string {
	if e.Value == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100**e.Value)
}

func (e Estimate) error() string {
	if e.SE == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100**e.SE)
}

func (e Estimate) interval() string {
	if e.Interval == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f-%.1f%%", 100*e.Interval.Low, 100*e.Interval.High)
}

// writeScope adds a note if the interval does not generalize to other repositories.
func (e Estimate) writeScope(b *bytes.Buffer) {
	if e.Method == stats.ByInstance {
		fmt.Fprintln(b, printable.Words(fmt.Sprintf("note: with instances of fewer than %d repositories, intervals are of these repositories, not of others like them", stats.Bootstrap{}.Least()), "  ", width))
	}
}
