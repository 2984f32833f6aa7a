package report

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/printable"
)

// dollars shows cents, and small sums with enough digits to be seen.
func dollars(v float64) string {
	if v != 0 && v < 0.01 && v > -0.01 {
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}

// seconds shows a duration in the unit a person would choose.
func seconds(v float64) string {
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

// oneLine makes text safe for a table: white space becomes single spaces, what
// a terminal would act on is shown instead, and what is longer than width ends
// in "...". Widths below 4 leave the length as it is.
func oneLine(text string, width int) string {
	clean := strings.Join(strings.Fields(printable.Line(text)), " ")
	if width <= 3 || utf8.RuneCountInString(clean) <= width {
		return clean
	}
	return strings.TrimRight(string([]rune(clean)[:width-3]), " ") + "..."
}

// writeParagraph writes text in at most so many indented lines. A word longer
// than a line has one of its own: an image's name should stay whole.
func writeParagraph(b *bufio.Writer, text string, lines int) {
	const indent = "    "
	text = oneLine(text, lines*(width-len(indent)))
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(indent)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			fmt.Fprintln(b, indent+line)
			line = word
		}
	}
	fmt.Fprintln(b, indent+line)
}
