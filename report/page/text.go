package page

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
)

// plain returns text from outside on one line.
func plain(text string) string {
	return strings.Join(strings.Fields(printable.Line(text)), " ")
}

// cut is plain with a maximum number of characters.
func cut(text string, most int) string {
	text = plain(text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:most-1]), " ") + "…"
}

func percent(rate float64) string { return fmt.Sprintf("%.1f %%", 100*rate) }

// span formats an interval of rates.
func span(i stats.Interval) string {
	return fmt.Sprintf("%.1f to %.1f %%", 100*i.Low, 100*i.High)
}

// points formats a difference of rates in percentage points, with its sign.
func points(d float64) string {
	v := math.Round(1000*d) / 10
	switch {
	case v > 0:
		return fmt.Sprintf("+%.1f", v)
	case v < 0:
		return fmt.Sprintf("−%.1f", -v)
	default:
		return "0.0"
	}
}

// pointSpan formats an interval of differences.
func pointSpan(i stats.Interval) string { return points(i.Low) + " to " + points(i.High) }

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

// number formats a mean of counts, without a fraction if it is whole.
func number(v float64) string {
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

func duration(v float64) string { return report.Seconds(v) }

// signedDollars formats a difference of amounts.
func signedDollars(v float64) string {
	switch {
	case v > 0:
		return "+" + printable.Dollars(v)
	case v < 0:
		return "−" + printable.Dollars(-v)
	default:
		return printable.Dollars(0)
	}
}
