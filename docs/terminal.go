package docs

import (
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/lazy"
)

var image = lazy.Regexp(`(?m)^!\[.*\n\n?`)

var link = lazy.Regexp(`\[([^\]]*)\]\([^)]*\)`)

// forTerminal returns a page's Markdown as text without its title: headings are underlined,
// the contents of fences are indented, links are words, each row of a table is a paragraph, and
// images are left out.
func forTerminal(markdown string) string {
	var b strings.Builder
	var header []string
	fenced, list := false, false
	for line := range strings.Lines(image().ReplaceAllString(markdown, "")) {
		row := strings.HasPrefix(line, "|")
		list = strings.HasPrefix(line, "- ") || list && strings.HasPrefix(line, "  ")
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced && line != "\n":
			b.WriteString("    " + line)
		case strings.HasPrefix(line, "# "), strings.HasPrefix(line, "<!--"), strings.HasPrefix(line, "|---"):
		case strings.HasPrefix(line, "## "):
			heading := line[len("## "):]
			b.WriteString(heading + strings.Repeat("-", utf8.RuneCountInString(heading)-1) + "\n")
		case row && header == nil:
			header = cells(line)
		case row:
			writeRow(&b, header, cells(line))
		case strings.HasPrefix(line, "    "):
			b.WriteString(line)
		case list:
			b.WriteString("  " + plain(line))
		default:
			b.WriteString(plain(line))
		}
		if !row {
			header = nil
		}
	}
	return strings.TrimLeft(b.String(), "\n")
}

// plain returns a line of prose with the text of its links.
func plain(line string) string {
	if !strings.Contains(line, "](") {
		return line
	}
	return link().ReplaceAllString(line, "$1")
}

// cells are the cells of a table's row, which begins and ends with |.
func cells(row string) []string {
	list := strings.Split(strings.TrimSpace(row), "|")
	list = list[1 : len(list)-1]
	for i := range list {
		list[i] = plain(strings.TrimSpace(list[i]))
	}
	return list
}

// writeRow writes the first cell, and below it the others behind the names of their columns.
func writeRow(b *strings.Builder, header, row []string) {
	width := 0
	for _, name := range header[1:] {
		width = max(width, utf8.RuneCountInString(name))
	}
	b.WriteString("    " + row[0] + "\n")
	for i, cell := range row[1:] {
		name := header[1:][i]
		b.WriteString("      " + name + strings.Repeat(" ", width-utf8.RuneCountInString(name)) + "  " + cell + "\n")
	}
}
