package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

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

// Colors of a terminal, by purpose.
const (
	plain   = ""
	strong  = "1"
	quiet   = "2"
	good    = "32"
	bad     = "31"
	notice  = "33"
	command = "1;36"
)

// page writes text from outside in printable form and in lines of a given width.
type page struct {
	*bufio.Writer
	width int // in columns; 0: lines are not wrapped
	color bool
}

// paint colors text, which is printable.
func (p *page) paint(color, text string) string {
	if !p.color || color == plain || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// line writes one line of text after a gutter. It wraps it at words or, with hard, exactly at the
// width.
func (p *page) line(gutter, color, text string, hard bool) {
	text = strings.TrimSuffix(text, "\r") // the lines of the text end with CRLF
	text = strings.TrimRight(printable.Text(text), "\n")
	for _, part := range p.wrap(text, p.width-uniseg.StringWidth(gutter), hard) {
		fmt.Fprintln(p, strings.TrimRight(p.paint(quiet, gutter)+p.paint(color, part), " "))
	}
}

// lines writes each line of text.
func (p *page) lines(gutter, color, text string) {
	for _, line := range linesOf(text) {
		p.line(gutter, color, line, false)
	}
}

// linesOf returns the lines of a text without empty lines at the end.
func linesOf(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

const leastWidth = 20 // minimum columns for text on a narrow terminal

// wrap cuts a line into parts of at most width columns.
func (p *page) wrap(text string, width int, hard bool) []string {
	if p.width == 0 {
		return []string{text}
	}
	text = strings.TrimRight(withoutTabs(text), " ") // otherwise they could need a line of their own
	width = max(width, leastWidth)
	if hard {
		return printable.Cut(text, width)
	}
	return printable.Wrap(text, width)
}

// withoutTabs replaces tabs by spaces up to the next multiple of eight columns.
func withoutTabs(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			const stop = 8
			b.WriteString(strings.Repeat(" ", stop-uniseg.StringWidth(b.String())%stop))
		}
		b.WriteString(part)
	}
	return b.String()
}
