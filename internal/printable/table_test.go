package printable_test

import (
	"bytes"
	"testing"

	"batch.example/batch/internal/printable"
)

func TestTable(t *testing.T) {
	list := &printable.Table{}
	numbers := printable.Numbers(2)
	for _, table := range []*printable.Table{list, numbers} {
		if !table.Empty() {
			t.Error("a new table has rows")
		}
		table.Add("é", "number", "a\nb")
		table.Row("long", 1, "")
		table.Rule()
		table.Row("x", 23, "y\x1b")
	}
	for _, c := range []struct {
		table *printable.Table
		want  string
	}{
		{list, "é     number  a b\nlong  1       \n---------------------\nx     23      " + `y\u001b` + "\n"},
		{numbers, "é     number  a b\n---------------------\nlong       1\n---------------------\nx         23  " + `y\u001b` + "\n"},
		{&printable.Table{}, ""},
	} {
		var b bytes.Buffer
		if err := c.table.Write(&b); err != nil || b.String() != c.want {
			t.Errorf("got %v and\n%s\nwant\n%s", err, b.String(), c.want)
		}
	}
}
