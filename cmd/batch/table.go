package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"batch.example/batch/internal/printable"
)

// table aligns rows of cells. A cell is one line, whatever is in it.
type table struct{ tw *tabwriter.Writer }

func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// row adds a row to what flush writes.
func (t table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = printable.Line(fmt.Sprint(c))
	}
	_, _ = io.WriteString(t.tw, strings.Join(texts, "\t")+"\n") // into memory
}

// flush writes the table.
func (t table) flush() error { return t.tw.Flush() }
