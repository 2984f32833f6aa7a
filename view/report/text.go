package report

import (
	"fmt"
	"math"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
)

// Longest texts from outside, in characters.
const (
	shortText = 80
	nameText  = 120
	longText  = 300
)

// text returns text from outside on one line, without secrets.
func (s study) text(text string, most int) string { return report.OneLine(s.hide(text), most) }

// span formats an interval of rates.
func span(i stats.Interval) string {
	return fmt.Sprintf("%s to %s %%", printable.Share(i.Low), printable.Share(i.High))
}

// points formats a difference of rates in percentage points, with its sign.
func points(d float64) string {
	return signed(math.Round(1000*d)/10, func(v float64) string { return fmt.Sprintf("%.1f", v) })
}

// pointSpan formats an interval of differences.
func pointSpan(i stats.Interval) string { return points(i.Low) + " to " + points(i.High) }

// signed formats a difference with its sign.
func signed(v float64, show func(float64) string) string {
	switch {
	case v > 0:
		return "+" + show(v)
	case v < 0:
		return "−" + show(-v)
	default:
		return show(0)
	}
}

func signedDollars(v float64) string { return signed(v, printable.Dollars) }

// pValue formats a p value with few digits.
func pValue(p float64) string {
	switch {
	case math.IsNaN(p):
		return "–"
	case p < 0.001:
		return "< 0.001"
	case p < 0.1:
		return fmt.Sprintf("%.3f", p)
	default:
		return fmt.Sprintf("%.2f", p)
	}
}

// mean formats a mean of counts, without a fraction if it is whole.
func mean(v float64) string {
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// optional formats a value that may be unknown.
func optional(v *float64, show func(float64) string) string {
	if v == nil {
		return "–"
	}
	return show(*v)
}
