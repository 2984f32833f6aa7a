package evaluate

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
)

// part is the part of a patch about one file.
type part struct {
	raw      []byte // its exact bytes
	from, to string // paths before and after, relative to the repository's root; empty: none
	created  bool   // there may have been no such file before
	deleted  bool
	link     bool     // it is a symbolic link afterwards
	hunks    bool     // its hunks have begun
	plain    bool     // it is not in git's form
	others   []string // other paths that a plain diff may mean: git and patch(1) guess
}

// paths returns the one or two paths that a part names.
func (p *part) paths() []string {
	list := make([]string, 0, 2)
	for _, name := range []string{p.from, p.to} {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Paths returns every path that a patch changes, creates, deletes, or renames from or to, without
// duplicates.
func Paths(patch []byte) []string {
	var list []string
	for _, p := range split(patch) {
		for _, name := range p.paths() {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// only returns the part of a patch about a file, or nil if there is none or it is about another file
// too.
func only(patch []byte, name string) *part {
	for _, p := range split(patch) {
		if paths := p.paths(); slices.Contains(paths, name) {
			if len(paths) > 1 {
				return nil
			}
			return p
		}
	}
	return nil
}

// split returns the parts of a patch, as git apply finds them: by git's header lines, or by the two
// lines of a plain unified diff. Text before the first part is dropped.
func split(patch []byte) []*part {
	var parts []*part
	var at *part
	var left [2]int // remaining lines of the current hunk, in the old and the new file
	start := 0
	begin := func(offset int) {
		if at != nil {
			at.raw = patch[start:offset]
		}
		at, start = &part{}, offset
		parts = append(parts, at)
	}
	for offset := 0; offset < len(patch); {
		line := patch[offset:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case inHunk(&left, text):
		case strings.HasPrefix(text, "diff --git "):
			begin(offset)
			at.from, at.to = headerPaths(strings.TrimPrefix(text, "diff --git "))
		case strings.HasPrefix(text, "--- ") && bytes.HasPrefix(patch[offset+len(line):], []byte("+++ ")):
			if at == nil || at.hunks {
				begin(offset)
				at.plain = true
			}
			at.from = sidePath(text)
			at.guess(text)
		case strings.HasPrefix(text, "+++ ") && at != nil && !at.hunks:
			at.to = sidePath(text)
			at.guess(text)
			at.created = at.created || at.from == "" && at.to != ""
		case at != nil && hunk().MatchString(text):
			left = hunkLines(text)
			at.created = at.created || !at.hunks && left[0] == 0 // plain diffs say no more about a new file
			at.hunks = true
		case at != nil && !at.hunks:
			at.extended(text)
		}
		offset += len(line)
	}
	if at != nil {
		at.raw = patch[start:]
	}
	return parts
}

// extended reads one of git's lines between the first line of a part and its hunks.
func (p *part) extended(text string) {
	name := func(prefix string) string { return clean(unquote(strings.TrimPrefix(text, prefix))) }
	switch {
	case strings.HasPrefix(text, "rename from "):
		p.from = name("rename from ")
	case strings.HasPrefix(text, "rename to "):
		p.to, p.created = name("rename to "), true
	case strings.HasPrefix(text, "copy from "):
		p.from = name("copy from ")
	case strings.HasPrefix(text, "copy to "):
		p.to, p.created = name("copy to "), true
	case strings.HasPrefix(text, "new file mode "):
		p.created, p.link = true, strings.HasSuffix(text, " 120000")
	case strings.HasPrefix(text, "deleted file mode "):
		p.deleted = true
	case strings.HasPrefix(text, "new mode "), strings.HasPrefix(text, "index "):
		p.link = p.link || strings.HasSuffix(text, " 120000")
	case text == "GIT binary patch":
		p.hunks = true // the lines are base 85: none looks like a header
	}
}

var hunk = lazy.Regexp(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// hunkLines returns the numbers of lines of the old and the new file that follow.
func hunkLines(text string) (left [2]int) {
	m := hunk().FindStringSubmatch(text)
	for i := range left {
		left[i] = 1
		if m[i+1] != "" {
			left[i], _ = strconv.Atoi(m[i+1]) // a number that is too large is a broken hunk
		}
	}
	return left
}

// inHunk reports whether a line belongs to the current hunk, which has left lines to come. A line
// that cannot belong to it ends the hunk.
func inHunk(left *[2]int, text string) bool {
	if left[0] <= 0 && left[1] <= 0 {
		return false
	}
	switch {
	case text == "" || text[0] == ' ':
		left[0]--
		left[1]--
	case text[0] == '-':
		left[0]--
	case text[0] == '+':
		left[1]--
	case text[0] == '\\':
	default:
		*left = [2]int{}
		return false
	}
	return true
}

// sidePath returns the path in a "--- " or "+++ " line.
func sidePath(text string) string {
	name := text[len("--- "):]
	if !strings.HasPrefix(name, `"`) {
		name, _, _ = strings.Cut(name, "\t") // a time may follow
	}
	name = unquote(name)
	if name == "/dev/null" {
		return ""
	}
	return strip(name)
}

// date matches the time after a name in a plain diff.
var date = lazy.Regexp(`[ \t]+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*$`)

// guess records other paths that a line of a plain diff may mean.
func (p *part) guess(text string) {
	name, _, _ := strings.Cut(date().ReplaceAllString(text[len("--- "):], ""), "\t")
	if name = unquote(name); !p.plain || name == "/dev/null" {
		return
	}
	for _, other := range []string{clean(strings.TrimLeft(name, "/")), strip(name)} {
		if other != "" && !slices.Contains(p.others, other) {
			p.others = append(p.others, other)
		}
	}
}

// headerPaths returns the two paths of git's first line. If they may contain blanks, they are
// equal.
func headerPaths(text string) (from, to string) {
	if strings.HasPrefix(text, `"`) {
		if end := closing(text); end > 0 {
			return strip(unquote(text[:end])), strip(unquote(strings.TrimPrefix(text[end:], " ")))
		}
	}
	if first, second, ok := strings.Cut(text, ` "`); ok {
		return strip(first), strip(unquote(`"` + second))
	}
	for i := range text {
		if text[i] == ' ' && strip(text[:i]) != "" && strip(text[:i]) == strip(text[i+1:]) {
			return strip(text[:i]), strip(text[i+1:])
		}
	}
	first, second, _ := strings.Cut(text, " ") // a rename: other lines have the paths
	return strip(first), strip(second)
}

// strip removes the first folder, as git apply and patch -p1 do.
func strip(name string) string {
	_, rest, _ := strings.Cut(strings.TrimLeft(name, "/"), "/")
	return clean(rest)
}

func clean(name string) string {
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

// closing returns the offset after the quote that closes the one at the beginning, or 0.
func closing(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// unquote undoes git's C-style quoting of unusual paths. Go reads the same escapes.
func unquote(name string) string {
	if strings.HasPrefix(name, `"`) {
		if end := closing(name); end > 0 {
			if s, err := strconv.Unquote(name[:end]); err == nil {
				return s
			}
		}
	}
	return name
}
