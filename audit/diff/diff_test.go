package diff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/audit/diff"
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
		{Path: "a.py", Old: "a.py", Hunks: [][]diff.Line{{{' ', "one"}, {'-', "-- two"}, {'+', "++ three"}, {' ', ""}}}},
		{Path: "new.py", Hunks: [][]diff.Line{{{'+', "x"}}}},
		{Path: "gone.py", Old: "gone.py", Hunks: [][]diff.Line{{{'-', "y"}}}},
		{Path: "new name", Old: "old name"},
		{Path: "p.png", Old: "p.png"},
		{Path: "plain.py", Old: "plain.py", Hunks: [][]diff.Line{{{'-', "z"}, {'+', "w"}}}},
	}
	got := diff.Read(patch)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if lines := got[0].Lines('+'); len(lines) != 1 || lines[0] != "++ three" {
		t.Errorf("added: %q", lines)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(patch)
	f.Add("--- \"a/\\303\\244\"\n+++ b/x\n@@ -1 +1 @@\n")
	f.Add("@@ -1,99999999999999999999 +1 @@\n+++ b\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range diff.Read(text) {
			for _, kind := range []byte("+- ") {
				for _, line := range file.Lines(kind) {
					if !strings.Contains(text, line) {
						t.Errorf("the line %q is not in the text", line)
					}
				}
			}
		}
	})
}
