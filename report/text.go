package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
)

// Dollars is [printable.Dollars].
func Dollars(v float64) string { return printable.Dollars(v) }

// UpTo formats a cost and the cost that calls of unknown cost may add: "$6.00; up to $10.00 with 8
// calls of unknown cost", or "$6.00 without 8 calls of unknown cost" without an upper bound.
func UpTo(cost float64, u results.Unanswered) string { return Dollars(cost) + upTo(cost, u) }

// upTo returns the part of UpTo after the cost; it is empty if there is nothing to add.
func upTo(cost float64, u results.Unanswered) string {
	switch {
	case u.Held > 0:
		return fmt.Sprintf("; up to %s with %s", Dollars(cost+u.Held), u.Words())
	case u.Unpriced > 0:
		return " without " + u.Words()
	}
	return ""
}

// Seconds formats a duration in seconds in a suitable unit.
func Seconds(v float64) string {
	switch {
	case v <= 0:
		return "0s"
	case v < 10:
		return fmt.Sprintf("%.1fs", v)
	case v < 60:
		return fmt.Sprintf("%.0fs", v)
	}
	n := int64(v + 0.5)
	if n < 3600 {
		return fmt.Sprintf("%dm%02ds", n/60, n%60)
	}
	return fmt.Sprintf("%dh%02dm", n/3600, n/60%60)
}

func percent(part, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*part/whole)
}

// OneLine makes text safe for a table: white space becomes single spaces, control characters are
// escaped, and a text longer than width is cut and ends in "...". A width below 4 cuts nothing.
func OneLine(text string, width int) string {
	clean := strings.Join(strings.Fields(printable.Line(text)), " ")
	if width <= 3 || utf8.RuneCountInString(clean) <= width {
		return clean
	}
	return strings.TrimRight(string([]rune(clean)[:width-3]), " ") + "..."
}

// writeParagraph writes text in at most so many indented lines.
func writeParagraph(b *bufio.Writer, text string, lines int) {
	const indent = "    "
	text = OneLine(text, lines*(width-len(indent)))
	b.WriteString(indent)
	writeWords(b, text, indent)
}

// writeWords writes text. If indent is not empty, the first line has already begun; each further
// line begins with indent. A word longer than a line gets a line of its own and is not broken: it
// may be an image's name.
func writeWords(b *bufio.Writer, text, indent string) {
	fmt.Fprintln(b, printable.Words(text, indent, width))
}

// buffered runs f over a buffer of w and returns the first error of writing.
func buffered(w io.Writer, f func(*bufio.Writer)) error {
	b := bufio.NewWriter(w)
	f(b)
	return b.Flush()
}
