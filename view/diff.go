package view

import (
	"strings"
)

// fileDiff is a patch's part about one file.
type fileDiff struct {
	Name    string     `json:"name"`
	Added   int        `json:"added"`
	Removed int        `json:"removed"`
	Lines   []diffLine `json:"-"`
	Text    string     `json:"text"`
}

// diffLine is a line of a patch.
type diffLine struct {
	Class string // add, del, at or empty
	Text  string
}

// filesIn splits a patch into its files, in order. Lines before the first file belong to a file without a
// name.
func filesIn(patch string) []fileDiff {
	var list []fileDiff
	begin, end := 0, 0 // bounds of the current file in patch
	for line := range strings.Lines(patch) {
		name, begins := fileOf(line)
		if begins || len(list) == 0 {
			list, begin = append(list, fileDiff{Name: name}), end
		}
		end += len(line)
		f := &list[len(list)-1]
		f.Text = patch[begin:end]
		class := ""
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
			class = "at"
		case strings.HasPrefix(line, "+"):
			f.Added++
			class = "add"
		case strings.HasPrefix(line, "-"):
			f.Removed++
			class = "del"
		case strings.HasPrefix(line, "@@"):
			class = "at"
		}
		f.Lines = append(f.Lines, diffLine{class, strings.TrimSuffix(line, "\n")})
	}
	return list
}

// fileOf returns the file name in a line that begins a file's part.
func fileOf(line string) (name string, begins bool) {
	rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "diff --git ")
	if !ok {
		return "", false
	}
	if _, after, ok := strings.Cut(rest, " b/"); ok {
		return after, true
	}
	return rest, true
}
