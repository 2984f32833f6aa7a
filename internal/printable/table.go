package printable

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table aligns rows of cells. Each cell is shown in one line, even if it has line ends.
type Table struct {
	tw  *tabwriter.Writer
	out *bufio.Writer // between it and what masks each of its many small writes
}

// NewTable returns a table that is written to w.
func NewTable(w io.Writer) Table {
	out := bufio.NewWriter(w)
	return Table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), out}
}

// Row adds a row to what Flush writes.
func (t Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = Line(fmt.Sprint(c))
	}
	_, _ = io.WriteString(t.tw, strings.Join(texts, "\t")+"\n") // into memory
}

// Flush writes the table.
func (t Table) Flush() error { return cmp.Or(t.tw.Flush(), t.out.Flush()) }
