package printable

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Wrapped joins names with commas in lines of at most width columns, except for longer
// names. The first line begins with label, the others with indent.
func Wrapped(label, indent string, names []string, width int) string {
	b := strings.Builder{}
	b.WriteString(label)
	column := uniseg.StringWidth(label)
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		long := uniseg.StringWidth(name)
		switch {
		case i > 0 && column+1+long > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		case i > 0:
			b.WriteString(" ")
			column++
		}
		b.WriteString(name)
		column += long
	}
	return b.String()
}
