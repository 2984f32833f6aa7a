package printable

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table aligns rows of cells by their number of characters. The zero value is a list, whose
// columns are aligned to the left; [Numbers] returns the other form.
type Table struct {
	rows    [][]string
	numbers bool
	left    []int // columns of numbers that are aligned to the left
	rule    int   // a line is above this row; 0: none
}

// Numbers returns a table with a line below its first row, the header. Its columns are
// aligned to the right, except the first and the ones in left, which count from 0.
func Numbers(left ...int) *Table { return &Table{numbers: true, left: append(left, 0)} }

// Row adds a row. Each cell is shown as [Line] returns it.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	t.Add(texts...)
}

// Add is Row for texts.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Line(c)
	}
	t.rows = append(t.rows, row)
}

// Rule draws a line above the next row.
func (t *Table) Rule() { t.rule = len(t.rows) }

// Empty reports whether the table has no rows.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Write writes the table in one call of w.
func (t *Table) Write(w io.Writer) error {
	widths := t.widths()
	total := -2
	for _, n := range widths {
		total += n + 2
	}
	var b strings.Builder
	for n, row := range t.rows {
		if n > 0 && (n == t.rule || n == 1 && t.numbers) {
			b.WriteString(strings.Repeat("-", total) + "\n")
		}
		b.WriteString(t.line(row, widths) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func (t *Table) line(row []string, widths []int) string {
	cells := make([]string, len(row))
	for i, cell := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		switch {
		case t.numbers && !slices.Contains(t.left, i):
			cells[i] = pad + cell
		case i < len(row)-1:
			cells[i] = cell + pad
		default:
			cells[i] = cell
		}
	}
	line := strings.Join(cells, "  ")
	if t.numbers {
		line = strings.TrimRight(line, " ")
	}
	return line
}
