// Package diff reads unified diffs, as git and diff -u write them: which files change, and which
// lines. It is for everything that looks into a patch, so that a patch is shown, judged and audited
// as the same changes.
//
// Reading never fails. As in git apply, text before, between and after the changes is ignored, and a
// hunk ends where its header says or where the text stops to be a hunk. Combined diffs (diff --cc)
// and context diffs have no hunks here.
//
// No byte of a patch is changed: the parts of the files, one after the other, are the diff without
// the text before the first part, and each hunk is a piece of its file's part. Line ends, names that
// are not UTF-8 and binary patches are in them as they were.
package diff

import (
	"cmp"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
)

// File is the part of a diff about one file.
type File struct {
	Start int    // offset of Text in the diff
	Text  string // the exact bytes, up to the next file's part

	// Old and New are the names before and after the change, as written but without quotes: a/x and
	// b/x, unless the diff was made without prefixes. Lines about renames and copies have none, so they
	// get them here. The name is empty for /dev/null, and if there is none. Without hunks, git writes
	// both names even of a new or deleted file.
	Old, New string

	Git     bool // the part begins with "diff --git"
	Created bool // it has git's line for new files
	Deleted bool // it has git's line for deleted files
	Renamed bool
	Copied  bool
	Symlink bool // the file is a symbolic link after the change
	Binary  bool // the change is a git binary patch
	Omitted bool // the file is binary, and the diff says only that it differs

	Hunks []Hunk
}

// Hunk is one change of a file, with the lines around it.
type Hunk struct {
	Start    int    // offset of Text in the diff
	Text     string // the exact bytes, with the header and lines such as "\ No newline at end of file"
	Old, New Range  // what the header says
	Lines    []Line
	Whole    bool // there are as many lines as the header says
}

// Range is a range of lines in a file. Start is the number of the first one, from 1.
type Range struct{ Start, Lines int }

// Line is a line of a hunk. Text has no end of line.
type Line struct {
	Kind byte // '+', '-' or ' '
	Text string
}

// Path returns the file's name without a/ or b/: after the change, or before it if the file is
// deleted.
func (f File) Path() string { return Trim(cmp.Or(f.New, f.Old)) }

// Head returns the text of the part before the first hunk.
func (f File) Head() string {
	if len(f.Hunks) == 0 {
		return f.Text
	}
	return f.Text[:f.Hunks[0].Start-f.Start]
}

// Lines returns the lines of one kind, in order.
func (f File) Lines(kind byte) []string {
	var texts []string
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Kind == kind {
				texts = append(texts, l.Text)
			}
		}
	}
	return texts
}

// Read returns the files of a diff, in order.
func Read(text string) []File {
	var files []File
	var f *File // the last one
	for at := 0; at < len(text); {
		size := cmp.Or(strings.IndexByte(text[at:], '\n')+1, len(text)-at)
		line := strings.TrimRight(text[at:at+size], "\r\n")
		git := strings.HasPrefix(line, "diff --git ")
		pair := strings.HasPrefix(line, "--- ") && strings.HasPrefix(text[at+size:], "+++ ")
		if git || pair && (f == nil || f.inBody()) {
			files = append(files, File{Start: at, Git: git})
			f = &files[len(files)-1]
		}
		switch m := hunkHeader().FindStringSubmatch(line); {
		case f == nil:
		case m != nil:
			h := readHunk(m, text[at:], size)
			h.Start, size = at, len(h.Text)
			f.Hunks = append(f.Hunks, h)
		case !f.inBody() && (pair || !strings.HasPrefix(line, "--- ")):
			f.readHeader(line)
		}
		at += size
		if f != nil {
			f.Text = text[f.Start:at]
		}
	}
	return files
}

// inBody reports whether the lines that describe the file are over.
func (f *File) inBody() bool { return f.Binary || len(f.Hunks) > 0 }

// readHeader reads a line before the hunks.
func (f *File) readHeader(line string) {
	var value string
	begins := func(with string) (ok bool) {
		value, ok = strings.CutPrefix(line, with)
		return ok
	}
	switch {
	case begins("diff --git "):
		f.Old, f.New = bothNames(value)
	case begins("--- "):
		f.Old = nameIn(value)
	case begins("+++ "):
		f.New = nameIn(value)
	case begins("rename from "):
		f.Renamed, f.Old = true, "a/"+Unquote(value)
	case begins("rename to "):
		f.Renamed, f.New = true, "b/"+Unquote(value)
	case begins("copy from "):
		f.Copied, f.Old = true, "a/"+Unquote(value)
	case begins("copy to "):
		f.Copied, f.New = true, "b/"+Unquote(value)
	case begins("deleted file mode "):
		f.Deleted = true
	case begins("new file mode "):
		f.Created = true
		fallthrough
	case begins("new mode "), begins("index "):
		f.Symlink = f.Symlink || strings.HasSuffix(line, " 120000")
	case begins("Binary files "):
		f.Omitted = true
	case line == "GIT binary patch":
		f.Binary = true
	}
}

var hunkHeader = lazy.Regexp(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// readHunk reads the hunk at the beginning of text. Its header has the numbers m and a size in bytes.
func readHunk(m []string, text string, size int) Hunk {
	number := func(digits string) int {
		n, _ := strconv.Atoi(cmp.Or(digits, "1")) // too large a number is the largest one
		return n
	}
	h := Hunk{Old: Range{number(m[1]), number(m[2])}, New: Range{number(m[3]), number(m[4])}}
	before, after := h.Old.Lines, h.New.Lines // still to come
	for line := range strings.Lines(text[size:]) {
		kind := line[0]
		if strings.Trim(line, "\r\n") == "" {
			kind = ' ' // editors remove the blank of an empty line
		}
		if strings.IndexByte(`+- \`, kind) < 0 || before <= 0 && after <= 0 && kind != '\\' {
			break
		}
		size += len(line)
		if kind == '\\' {
			continue
		}
		if kind != '+' {
			before--
		}
		if kind != '-' {
			after--
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		h.Lines = append(h.Lines, Line{kind, line[min(1, len(line)):]})
	}
	h.Text, h.Whole = text[:size], before == 0 && after == 0
	return h
}
