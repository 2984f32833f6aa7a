package evaluate

import (
	"slices"
	"strings"
	"testing"
)

func TestPathsOfAPatch(t *testing.T) {
	for name, tt := range map[string]struct {
		patch string
		want  []string
	}{
		"a change": {"diff --git a/x/y.py b/x/y.py\n--- a/x/y.py\n+++ b/x/y.py\n@@ -1 +1 @@\n-a\n+b\n", []string{"x/y.py"}},
		"two files": {
			"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
			[]string{"x", "y"},
		},
		"a new file":        {"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n", []string{"n"}},
		"a deleted file":    {"diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", []string{"n"}},
		"a rename":          {"diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n", []string{"old name", "new name"}},
		"quoted":            {"diff --git \"a/\\303\\244\\t.py\" \"b/\\303\\244\\t.py\"\n--- \"a/\\303\\244\\t.py\"\n+++ \"b/\\303\\244\\t.py\"\n@@ -1 +1 @@\n-a\n+b\n", []string{"ä\t.py"}},
		"plain":             {"Some text\n--- x/a.c\t2020-01-01\n+++ x.new/a.c\t2020-01-02\n@@ -1 +1 @@\n-a\n+b\n", []string{"a.c"}},
		"headers in a hunk": {"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/hidden\n+++ b/hidden\n diff --git a/z b/z\n", []string{"x"}},
		"binary":            {"diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n\nliteral 0\nHcmV?d00001\n\ndiff --git a/y b/y\nold mode 100644\nnew mode 100755\n", []string{"x.png", "y"}},
		"dots":              {"diff --git a/./x b/./x\n--- a/./x\n+++ b/y/../x\n@@ -1 +1 @@\n-a\n+b\n", []string{"x"}},
		"a submodule":       {"diff --git a/sub b/sub\nindex 1..2 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n", []string{"sub"}},
		"no patch":          {"I have fixed it.\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Paths([]byte(tt.patch)); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A plain diff does not say how many folders of its names belong to the repository.
func TestWhatAPlainDiffMayName(t *testing.T) {
	for patch, want := range map[string]string{
		"--- tests/run.py\n+++ tests/run.py\n@@ -1 +1 @@\n-a\n+b\n":                             "run.py tests/run.py",
		"--- /dev/null\n+++ b/glob.py 2020-01-01 00:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+a\n": "glob.py b/glob.py",
		"--- a/x.c\t2020-01-01 00:00:00\n+++ b/x.c\t2020-01-01 00:00:00\n@@ -1 +1 @@\n-a\n+b\n": "x.c a/x.c b/x.c",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n":                           "x",
		"--- /dev/null\n+++ notes.txt\n@@ -0,0 +1 @@\n+notes\n":                                 "notes.txt",
	} {
		var got []string
		for _, c := range Named([]byte(patch)) {
			got = append(got, c.Path)
		}
		for _, name := range strings.Fields(want) {
			if !slices.Contains(got, name) {
				t.Errorf("%q: got %q, want %s", patch, got, want)
			}
		}
	}
}

func TestWhatIsATest(t *testing.T) {
	for name, want := range map[string]bool{
		"tests/test_a.py": true, "test_a.py": true, "pkg/a_test.go": true, "src/a.test.ts": true, "src/test/java/AppTest.java": true,
		"astropy/io/tests/data.fits": true, "spec/models/user_spec.rb": true, "t/basic.t": true, "tests/run.sh": true, "lib/__tests__/a.js": true,
		"src/a.py": false, "django/test/client.py": false, "pkg/contest.go": false, "src/main/java/test/App.java": false,
		"docs/testing.md": false, "latest.py": false, "src/attest.c": false, "setup.py": false,
	} {
		if got := IsTest(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
