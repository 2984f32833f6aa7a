package view

import (
	"strings"

	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
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
	files := append([]diff.File{{Text: patch}}, diff.Read(patch)...)
	if len(files) > 1 {
		files[0].Text = patch[:files[1].Start]
	}
	var list []fileDiff
	for _, f := range files {
		if f.Text != "" {
			list = append(list, newFileDiff(f))
		}
	}
	return list
}

// newFileDiff counts the lines of a file's part by their first bytes: a model's patch may have hunks
// that git would not read.
func newFileDiff(f diff.File) fileDiff {
	d := fileDiff{Name: f.Path(), Text: f.Text}
	head := len(f.Head()) // still to come
	for line := range strings.Lines(f.Text) {
		class := ""
		switch {
		case head > 0 && headLine().MatchString(line), strings.HasPrefix(line, "@@"):
			class = "at"
		case line[0] == '+':
			d.Added++
			class = "add"
		case line[0] == '-':
			d.Removed++
			class = "del"
		}
		head -= len(line)
		d.Lines = append(d.Lines, diffLine{class, strings.TrimSuffix(line, "\n")})
	}
	return d
}

// headLine matches the lines before a hunk that are shown as such.
var headLine = lazy.Regexp(`^(?:\+\+\+|---|diff|index) `)
