// Package diff reads unified diffs, as git writes them: which files change, and which lines. It
// never fails: text that is not a part of a diff is ignored, and a hunk ends where its header
// says or where the text stops to be a hunk.
package diff

import (
	"cmp"
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

var hunk = lazy.Regexp(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// Read returns the files of a diff, in order.
func Read(text string) []File {
	var files []File
	before, after := 0, 0 // lines that the hunk still has
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if before > 0 || after > 0 {
			f := &files[len(files)-1]
			l := Line{' ', ""} // an empty line, whose space an editor removed
			if line != "" {
				l = Line{line[0], line[1:]}
			}
			switch l.Kind {
			case '+':
				after--
			case '-':
				before--
			case ' ':
				before, after = before-1, after-1
			case '\\':
				continue
			default:
				before, after = 0, 0
			}
			if strings.IndexByte("+- ", l.Kind) >= 0 {
				f.Hunks[len(f.Hunks)-1] = append(f.Hunks[len(f.Hunks)-1], l)
				continue
			}
		}
		kind, rest, _ := strings.Cut(line, " ")
		if kind == "diff" || kind == "---" && (len(files) == 0 || len(files[len(files)-1].Hunks) > 0) {
			files = append(files, File{})
		}
		if len(files) == 0 {
			continue
		}
		f := &files[len(files)-1]
		switch {
		case kind == "diff": // files without hunks, such as binary ones, have no other name
			if both := strings.TrimPrefix(rest, "--git "); len(both)%2 == 1 && both[len(both)/2] == ' ' {
				f.Path = name(both[len(both)/2+1:])
				f.Old = f.Path
			}
		case kind == "---":
			f.Old = name(rest)
			f.Path = f.Old
		case kind == "+++" && name(rest) != "":
			f.Path = name(rest)
		case strings.HasPrefix(line, "new file mode "):
			f.Old = ""
		case strings.HasPrefix(line, "rename from "):
			f.Old = strings.TrimPrefix(line, "rename from ")
		case strings.HasPrefix(line, "rename to "):
			f.Path = strings.TrimPrefix(line, "rename to ")
		case kind == "@@":
			if m := hunk().FindStringSubmatch(line); m != nil {
				before, after = count(m[1]), count(m[2])
				f.Hunks = append(f.Hunks, nil)
			}
		}
	}
	return files
}

// count is how many lines a header announces: one, if it has no number.
func count(text string) int {
	n, _ := strconv.Atoi(cmp.Or(text, "1")) //nolint:errcheck // a number that is too large is no header
	return n
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
