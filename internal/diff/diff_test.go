package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"batch.example/batch/internal/diff"
)

const patch = `From 1234
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@ def f():
 one
--- two
+++ three

\ No newline at end of file
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-y
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
diff --git a/p.png b/p.png
Binary files a/p.png and b/p.png differ
diff --git a/q.png b/q.png
--- plain.py	2020-01-01
+++ plain.py	2020-01-02
@@ -5,9 +5,9 @@
-z
+w
# the end
`

func TestADiffIsRead(t *testing.T) {
	want := []diff.File{
		{Old: "a/a.py", New: "b/a.py", Git: true, Hunks: []diff.Hunk{{
			Old: diff.Range{Start: 1, Lines: 3}, New: diff.Range{Start: 1, Lines: 3},
			Lines: []diff.Line{{' ', "one"}, {'-', "-- two"}, {'+', "++ three"}, {' ', ""}}, Whole: true,
		}}},
		{New: "b/new.py", Git: true, Created: true, Hunks: []diff.Hunk{{New: diff.Range{Start: 1, Lines: 1}, Lines: []diff.Line{{'+', "x"}}, Whole: true}}},
		{Old: "a/gone.py", Git: true, Deleted: true, Hunks: []diff.Hunk{{Old: diff.Range{Start: 1, Lines: 1}, Lines: []diff.Line{{'-', "y"}}, Whole: true}}},
		{Old: "a/old name", New: "b/new name", Git: true, Renamed: true},
		{Old: "a/p.png", New: "b/p.png", Git: true, Omitted: true},
		{Old: "plain.py", New: "plain.py", Git: true, Hunks: []diff.Hunk{{
			Old: diff.Range{Start: 5, Lines: 9}, New: diff.Range{Start: 5, Lines: 9}, Lines: []diff.Line{{'-', "z"}, {'+', "w"}},
		}}},
	}
	got := diff.Read(patch)
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(diff.File{}, "Start", "Text"), cmpopts.IgnoreFields(diff.Hunk{}, "Start", "Text")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if lines := got[0].Lines('+'); len(lines) != 1 || lines[0] != "++ three" {
		t.Errorf("added: %q", lines)
	}
	if head := got[1].Head(); head != "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n" {
		t.Errorf("head: %q", head)
	}
	if text := got[0].Hunks[0].Text; !strings.HasPrefix(text, "@@ -1,3 ") || !strings.HasSuffix(text, "\n\n\\ No newline at end of file\n") {
		t.Errorf("hunk: %q", text)
	}
	checkBytes(t, patch)
}

// hunk changes a line, and edit the lines of a file that git writes.
const hunk = "@@ -1 +1 @@\n-a\n+b\n"

func edit(old, name string) string { return "--- " + old + "\n+++ " + name + "\n" + hunk }

func TestNamesAndKindsOfFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		patch string
		want  []diff.File
	}{
		"nothing":             {"", nil},
		"words":               {"I have fixed it.\n--- a\n", nil},
		"a hunk of no file":   {hunk, nil},
		"a combined diff":     {"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n", []diff.File{{Old: "a/x", New: "b/x"}}},
		"an empty file":       {"diff --git a/a b c.txt b/a b c.txt\nnew file mode 100644\nindex 0000000..e69de29\n", []diff.File{{Old: "a/a b c.txt", New: "b/a b c.txt", Git: true, Created: true}}},
		"a mode":              {"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n", []diff.File{{Old: "a/run", New: "b/run", Git: true}}},
		"a link":              {"diff --git a/l b/l\nindex 1..2 120000\n", []diff.File{{Old: "a/l", New: "b/l", Git: true, Symlink: true}}},
		"a new link":          {"diff --git a/l b/l\nnew file mode 120000\n", []diff.File{{Old: "a/l", New: "b/l", Git: true, Created: true, Symlink: true}}},
		"a copy":              {"diff --git a/o b/n\nsimilarity index 100%\ncopy from o\ncopy to n\n", []diff.File{{Old: "a/o", New: "b/n", Git: true, Copied: true}}},
		"quoted":              {"diff --git \"a/\\303\\244\\t.py\" \"b/\\303\\244\\t.py\"\nold mode 100644\n", []diff.File{{Old: "a/ä\t.py", New: "b/ä\t.py", Git: true}}},
		"quoted in one place": {"diff --git \"a/\\\"x\" b/y z\n", []diff.File{{Old: `a/"x`, New: "b/y z", Git: true}}},
		"a quoted rename":     {"diff --git a/x \"b/\\\"y\\\"\"\nrename from x\nrename to \"\\\"y\\\"\"\n", []diff.File{{Old: "a/x", New: `b/"y"`, Git: true, Renamed: true}}},
		"quotes with no end":  {"diff --git \"a/x b/x\n", []diff.File{{Old: `"a/x`, New: "b/x", Git: true}}},
		"not UTF-8":           {"diff --git a/\xe4 b/\xe4\n" + edit("a/\xe4", "b/\xe4"), []diff.File{{Old: "a/\xe4", New: "b/\xe4", Git: true}}},
		"a tab after a blank": {"diff --git a/a b b/a b\n" + edit("a/a b\t", "b/a b\t"), []diff.File{{Old: "a/a b", New: "b/a b", Git: true}}},
		"no prefixes":         {"diff --git a b/c a b/c\n", []diff.File{{Old: "a b/c", New: "a b/c", Git: true}}},
		"prefixes of another": {"diff --git i/x b y w/x b y\n", []diff.File{{Old: "i/x b y", New: "w/x b y", Git: true}}},
		"CRLF":                {strings.ReplaceAll("diff --git a/x b/x\n"+edit("a/x", "b/x"), "\n", "\r\n"), []diff.File{{Old: "a/x", New: "b/x", Git: true}}},
		"no newline at the end": {
			"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b",
			[]diff.File{{Old: "a/x", New: "b/x"}, {Old: "a/y", New: "b/y"}},
		},
		"headers in a hunk": {"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/hidden\n+++ b/hidden\n diff --git a/z b/z\n", []diff.File{{Old: "a/x", New: "b/x"}}},
		"a broken hunk":     {"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\nold mode 100644\n", []diff.File{{Old: "a/x", New: "b/x"}, {Old: "a/y", New: "b/y", Git: true}}},
		"a huge hunk":       {"--- a/x\n+++ b/x\n@@ -1,99999999999999999999999 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n", []diff.File{{Old: "a/x", New: "b/x"}}},
		"a binary patch": {
			"diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n\nliteral 0\nHcmV?d00001\n\ndiff --git a/y b/y\nGIT binary patch\ndelta 1\nIcmZ\n\n" + edit("z", "z"),
			[]diff.File{{Old: "a/x.png", New: "b/x.png", Git: true, Binary: true}, {Old: "a/y", New: "b/y", Git: true, Binary: true}, {Old: "z", New: "z"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, diff.Read(tt.patch), cmpopts.IgnoreFields(diff.File{}, "Start", "Text", "Hunks")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			checkBytes(t, tt.patch)
		})
	}
}

func TestHunksKeepWhatTheyAre(t *testing.T) {
	for text, want := range map[string]diff.Hunk{
		"@@ -1,2 +3 @@\r\n-a\r\n \r\n":         {Old: diff.Range{Start: 1, Lines: 2}, New: diff.Range{Start: 3, Lines: 1}, Lines: []diff.Line{{'-', "a"}, {' ', ""}}, Whole: true},
		"@@ -1,2 +1,2 @@\n-\xe4\n+\xe4\r\n\n":  {Old: diff.Range{Start: 1, Lines: 2}, New: diff.Range{Start: 1, Lines: 2}, Lines: []diff.Line{{'-', "\xe4"}, {'+', "\xe4"}, {' ', ""}}, Whole: true},
		"@@ -1 +1,0 @@\n+a\n-b\n":              {Old: diff.Range{Start: 1, Lines: 1}, New: diff.Range{Start: 1}, Lines: []diff.Line{{'+', "a"}, {'-', "b"}}},
		"@@ -1,2 +1,2 @@ \n-a\n\\ No newline":  {Old: diff.Range{Start: 1, Lines: 2}, New: diff.Range{Start: 1, Lines: 2}, Lines: []diff.Line{{'-', "a"}}},
		"@@ -1 +1 @@\n-a\n+b\n\\ No newline\n": {Old: diff.Range{Start: 1, Lines: 1}, New: diff.Range{Start: 1, Lines: 1}, Lines: []diff.Line{{'-', "a"}, {'+', "b"}}, Whole: true},
		"@@ -7,0 +8,0 @@":                      {Old: diff.Range{Start: 7}, New: diff.Range{Start: 8}, Whole: true},
	} {
		const head = "--- a/x\n+++ b/x\n"
		want.Start, want.Text = len(head), text
		files := diff.Read(head + text)
		if d := cmp.Diff([]diff.Hunk{want}, files[0].Hunks); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
		checkBytes(t, head+text)
		for _, after := range []string{"+c\n", "words\n", "-- \n2.39\n"} {
			if !want.Whole || !strings.HasSuffix(text, "\n") {
				continue
			}
			if files := diff.Read(head + text + after); files[0].Hunks[0].Text != text || files[0].Text != head+text+after {
				t.Errorf("%q with %q after it: %+v", text, after, files[0])
			}
		}
	}
}

// checkBytes reports where the parts of a diff are not its bytes.
func checkBytes(t *testing.T, text string) {
	t.Helper()
	files := diff.Read(text)
	if len(files) == 0 {
		return
	}
	at := files[0].Start
	for _, f := range files {
		if f.Start != at || !strings.HasPrefix(text[at:], f.Text) || !strings.HasPrefix(f.Text, f.Head()) {
			t.Errorf("the part at %d is %q", f.Start, f.Text)
		}
		within := at + len(f.Head())
		at += len(f.Text)
		for _, h := range f.Hunks {
			if h.Start < within || h.Start+len(h.Text) > at || !strings.HasPrefix(text[h.Start:], h.Text) || !strings.HasPrefix(h.Text, "@@ -") {
				t.Errorf("the hunk at %d is %q", h.Start, h.Text)
			}
			within = h.Start + len(h.Text)
			lines := slices.Collect(strings.Lines(h.Text))
			lines = slices.DeleteFunc(lines[1:], func(line string) bool { return line[0] == '\\' })
			if len(lines) != len(h.Lines) {
				t.Errorf("%d lines are read of %q", len(h.Lines), h.Text)
				continue
			}
			for i, l := range h.Lines {
				if !strings.Contains(lines[i], l.Text) || lines[i][0] != l.Kind && l.Kind != ' ' {
					t.Errorf("the line %q is read as %c %q", lines[i], l.Kind, l.Text)
				}
			}
		}
	}
	if at != len(text) {
		t.Errorf("the last part ends at %d of %d", at, len(text))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(patch)
	f.Add("--- \"a/\\303\\244\"\n+++ b/x\n@@ -1 +1 @@\n")
	f.Add("--- a\n+++ b\n@@ -1,99999999999999999999 +1 @@\n+++ b\n")
	f.Add("diff --git \"a/\\\nrename to \"\n")
	f.Add("diff --git a/x b/x\r\nGIT binary patch\r\nliteral 0\r\nHcmV?d00001\r\n\r\n--- x\n+++ y\n@@ -1 +1 @@\r\n\r\n\\ No newline")
	f.Fuzz(checkBytes)
}
