package report

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"

	"batch.example/batch/internal/printable"
)

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
