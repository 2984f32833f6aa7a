package printable

import (
	"fmt"
	"math"
	"strings"
)

// Count is a number with its noun: "1 instance", "2 instances".
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Some lists at most so many names, and the number of the others: "a, b and 3 more".
func Some(names []string, most int) string {
	text := strings.Join(names[:min(most, len(names))], ", ")
	if rest := len(names) - most; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// Percent shows a share: "12.5 %".
func Percent(share float64) string { return Share(share) + " %" }

// Share shows a share in percent without the sign: "12.5". Only shares of exactly 0 and 1 are shown as
// "0.0" and "100.0".
func Share(share float64) string {
	if 0 < share && share < 1 {
		share = min(max(share, 0.001), 0.999)
	}
	return fmt.Sprintf("%.1f", 100*share)
}

// Dollars shows a sum of US dollars: cents, and of a sum under a dollar the first two digits that
// count, so that $0.024 is not read as $0.02; six decimals at most.
func Dollars(v float64) string {
	size := math.Abs(v)
	if size >= 0.995 || size == 0 || math.IsNaN(size) {
		return fmt.Sprintf("$%.2f", v)
	}
	const least, most = 2, 6
	digits := min(most, int(math.Ceil(-math.Log10(size)))+1)
	text := fmt.Sprintf("$%.*f", max(least, digits), v)
	cents := strings.IndexByte(text, '.') + 1 + least
	return text[:cents] + strings.TrimRight(text[cents:], "0")
}
