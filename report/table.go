package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table aligns text: the first column and the columns in Left to the left, the others to the right.
type Table struct {
	Left  map[int]bool
	Rule  int  // draws a line above this row too; 0: none
	Plain bool // no line below the first row: it is not a header

	rows [][]string
}

// Add adds a row. Text from outside must be made safe first, with [OneLine].
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the rows in lines.
func (t *Table) Write(w io.Writer) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := -2
	for _, n := range widths {
		total += n + 2
	}
	for n, row := range t.rows {
		if n == 1 && !t.Plain || n == t.Rule && n > 1 {
			fmt.Fprintln(w, strings.Repeat("-", total))
		}
		fmt.Fprintln(w, t.line(row, widths))
	}
}

func (t *Table) line(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i > 0 {
			b.WriteString("  ")
		}
		if i == 0 || t.Left[i] {
			b.WriteString(cell + pad)
		} else {
			b.WriteString(pad + cell)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// buffered calls f with a buffer over w and returns the first error of writing.
func buffered(w io.Writer, f func(*bufio.Writer)) error {
	b := bufio.NewWriter(w)
	f(b)
	return b.Flush()
}
