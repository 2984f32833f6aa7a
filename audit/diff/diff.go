// Package diff reads unified diffs, as git writes them: which files change, and which lines. It
// never fails: text that is not a part of a diff is ignored, and a hunk ends where its header
// says or where the text stops to be a hunk.
package diff

import (
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
)

// File is one changed file.
type File struct {
	Path  string // after the change; before it, if the file is removed
	Old   string // before the change; empty for a new file
	Hunks [][]Line
}

// Line is a line of a hunk. Text has no end of line.
type Line struct {
	Kind byte // '+', '-' or ' '
	Text string
}

// Lines returns the lines of one kind, in order.
func (f File) Lines(kind byte) []string {
	var texts []string
	for _, h := range f.Hunks {
		for _, l := range h {
			if l.Kind == kind {
				texts = append(texts, l.Text)
			}
		}
	}
	return texts
}

// Read returns the files of a diff, in order.
func Read(text string) []File {
	p := parser{}
	for line := range strings.Lines(text) {
		p.line(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return p.files
}

// parser reads line by line.
type parser struct {
	files    []File
	old, new int // lines that the hunk still has
}

var hunk = lazy.Regexp(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

func (p *parser) line(line string) {
	switch {
	case p.old > 0 || p.new > 0:
		p.body(line)
	case strings.HasPrefix(line, "diff --git "):
		p.files = append(p.files, File{})
		p.names(strings.TrimPrefix(line, "diff --git "))
	case strings.HasPrefix(line, "--- "):
		if n := len(p.files); n == 0 || len(p.files[n-1].Hunks) > 0 {
			p.files = append(p.files, File{})
		}
		p.last().Old = name(line[4:])
		if p.last().Path == "" {
			p.last().Path = p.last().Old
		}
	case len(p.files) == 0:
	case strings.HasPrefix(line, "+++ "):
		if path := name(line[4:]); path != "" {
			p.last().Path = path
		} else {
			p.last().Path = p.last().Old
		}
	case strings.HasPrefix(line, "new file mode "):
		p.last().Old = ""
	case strings.HasPrefix(line, "rename from "):
		p.last().Old = strings.TrimPrefix(line, "rename from ")
	case strings.HasPrefix(line, "rename to "):
		p.last().Path = strings.TrimPrefix(line, "rename to ")
	case strings.HasPrefix(line, "@@ "):
		p.header(line)
	}
}

func (p *parser) last() *File { return &p.files[len(p.files)-1] }

// names takes the path from a line that names it twice. Files without hunks, such as
// binary ones, have no other.
func (p *parser) names(both string) {
	if half := len(both) / 2; len(both)%2 == 1 && both[half] == ' ' {
		path := name(both[half+1:])
		p.last().Path, p.last().Old = path, path
	}
}

func (p *parser) header(line string) {
	m := hunk().FindStringSubmatch(line)
	if m == nil {
		return
	}
	p.old, p.new = count(m[1]), count(m[2])
	p.last().Hunks = append(p.last().Hunks, nil)
}

// count is how many lines a header announces.
func count(text string) int {
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func (p *parser) body(line string) {
	h := &p.last().Hunks[len(p.last().Hunks)-1]
	kind := byte(' ') // an empty line, whose space an editor removed
	if line != "" {
		kind, line = line[0], line[1:]
	}
	switch kind {
	case '+':
		p.new--
	case '-':
		p.old--
	case ' ':
		p.old, p.new = p.old-1, p.new-1
	case '\\':
		return
	default:
		p.old, p.new = 0, 0
		p.line(string(kind) + line)
		return
	}
	*h = append(*h, Line{kind, line})
}

// name returns the path in a line of a header, without a/ or b/; empty for /dev/null.
func name(text string) string {
	if quoted, err := strconv.Unquote(text); err == nil && strings.HasPrefix(text, `"`) {
		text = quoted
	} else {
		text, _, _ = strings.Cut(text, "\t")
	}
	if text == "/dev/null" {
		return ""
	}
	for _, prefix := range []string{"a/", "b/"} {
		if rest, found := strings.CutPrefix(text, prefix); found {
			return rest
		}
	}
	return text
}
