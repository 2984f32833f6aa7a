package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"
)

func width(s string) int { return uniseg.StringWidth(s) }

// clip truncates s on the right to at most cols columns.
func clip(s string, cols int) string {
	if len(s) <= cols || width(s) <= cols {
		return s
	}
	var used, end int
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > cols {
			break
		}
		_, end = g.Positions()
	}
	return s[:end]
}

// shorten truncates s on the left, where ids differ least, to at most cols columns.
func shorten(s string, cols int) string {
	if width(s) <= cols {
		return s
	}
	if cols <= 3 {
		return strings.Repeat(".", max(0, cols))
	}
	begin, used := 0, width(s)
	for g := uniseg.NewGraphemes(s); used > cols-3 && g.Next(); {
		used -= g.Width()
		_, begin = g.Positions()
	}
	return "..." + s[begin:]
}

// pad fills s with spaces on the right to cols columns.
func pad(s string, cols int) string {
	return s + strings.Repeat(" ", max(0, cols-width(s)))
}

// span returns d in at most six characters, in its two largest units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
	}
}
