package printable

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Wrapped joins names with commas in lines of at most width columns, except for longer
// names. The first line begins with label, the others with indent.
func Wrapped(label, indent string, names []string, width int) string {
	listed := make([]string, len(names))
	for i, name := range names {
		listed[i] = name
		if i < len(names)-1 {
			listed[i] += ","
		}
	}
	return label + strings.Join(filled(spaced(listed), uniseg.StringWidth(label), len(indent), width), "\n"+indent)
}

// Words breaks text between words into lines of at most width columns, except for longer
// words. Lines after the first begin with indent, and the first one has room for it too.
func Words(text, indent string, width int) string {
	return strings.Join(filled(spaced(strings.Fields(text)), len(indent), len(indent), width), "\n"+indent)
}

// Wrap breaks line between words into lines of at most width columns; longer words are cut.
// Spaces remain, except at the end of a line.
func Wrap(line string, width int) []string {
	var pieces []piece
	for rest := strings.TrimRight(line, " "); rest != ""; {
		word := strings.TrimLeft(rest, " ")
		space := rest[:len(rest)-len(word)]
		word, _, _ = strings.Cut(word, " ")
		rest = rest[len(space)+len(word):]
		if len(pieces) == 0 { // the line is indented
			space, word = "", space+word
		}
		for _, part := range Cut(word, width) {
			pieces = append(pieces, piece{space, part})
			space = ""
		}
	}
	return filled(pieces, 0, 0, width)
}

// Cut breaks line into lines of at most width columns, and of at least one character.
func Cut(line string, width int) []string {
	var parts []string
	from, used := 0, 0
	for g := uniseg.NewGraphemes(line); g.Next(); {
		start, _ := g.Positions()
		if used += g.Width(); used > width && start > from {
			parts = append(parts, line[from:start])
			from, used = start, g.Width()
		}
	}
	return append(parts, line[from:])
}

// piece is a part of a text that stays in one line, and the space between it and the piece
// before it in that line.
type piece struct{ space, text string }

func spaced(words []string) []piece {
	pieces := make([]piece, len(words))
	for i, word := range words {
		pieces[i] = piece{" ", word}
	}
	return pieces
}

// filled joins pieces in lines that end before column width. The first line begins at
// column, the others at indent.
func filled(pieces []piece, column, indent, width int) []string {
	var lines []string
	var line strings.Builder
	for i, p := range pieces {
		long := uniseg.StringWidth(p.text)
		switch {
		case i > 0 && column+len(p.space)+long > width:
			lines = append(lines, line.String())
			line.Reset()
			column = indent
		case i > 0:
			line.WriteString(p.space)
			column += len(p.space)
		}
		line.WriteString(p.text)
		column += long
	}
	return append(lines, line.String())
}
