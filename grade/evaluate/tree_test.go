package evaluate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/tier"
)

// inWords lists changes: "+new", "-gone", "~changed", "@link".
func inWords(e *Evidence, dir string) string {
	var list []string
	for _, c := range e.Changes {
		mark := "~"
		if _, err := os.Lstat(filepath.Join(dir, c.Path)); err != nil {
			mark = "-"
		} else if c.Created {
			mark = "+"
		}
		if c.Link {
			mark += "@"
		}
		list = append(list, mark+c.Path)
	}
	return strings.Join(list, " ")
}

// The changes come from the tree, whatever the form of the patch.
func TestChangesAreTheTreesOwn(t *testing.T) {
	const body = "@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n"
	for name, tt := range map[string]struct{ patch, want string }{
		"git's form":          {"diff --git a/t/run.py b/t/run.py\n--- a/t/run.py\n+++ b/t/run.py\n" + body, "~t/run.py"},
		"without a prefix":    {"--- /dev/null\n+++ notes.txt\n@@ -0,0 +1 @@\n+x\n--- t/run.py\n+++ t/run.py\n" + body, "+notes.txt ~t/run.py"},
		"a date after blanks": {"--- /dev/null\n+++ b/glob.py 2020-01-01 00:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+x\n", "+glob.py"},
		"a context diff":      {"*** a/t/run.py\n--- b/t/run.py\n***************\n*** 1,3 ****\n  1\n! 2\n  3\n--- 1,3 ----\n  1\n! zwei\n  3\n", "~t/run.py"},
		"an index line":       {"Index: b/t/run.py\n" + body, "~t/run.py"},
		"indented":            {strings.ReplaceAll("--- a/t/run.py\n+++ b/t/run.py\n"+body, "\n", "\n  "), "~t/run.py"},
		"a rename":            {"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n", "-a +b"},
		"a copy":              {"diff --git a/a b/c\nsimilarity index 100%\ncopy from a\ncopy to c\n", "+c"},
		"a mode":              {"diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", "~a"},
		"a link for a folder": {"diff --git a/t/run.py b/t/run.py\ndeleted file mode 100644\n--- a/t/run.py\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-1\n-2\n-3\n-4\ndiff --git a/t b/t\nnew file mode 120000\n--- /dev/null\n+++ b/t\n@@ -0,0 +1 @@\n+d\n\\ No newline at end of file\n", "+@t -t/run.py"},
		"an ignored file":     {"diff --git a/x.pyc b/x.pyc\nnew file mode 100644\n--- /dev/null\n+++ b/x.pyc\n@@ -0,0 +1 @@\n+x\n", "+x.pyc"},
		"odd names":           {"diff --git \"a/n\\n\\t\\303\\244\" \"b/n\\n\\t\\303\\244\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/n\\n\\t\\303\\244\"\n@@ -0,0 +1 @@\n+x\n", "+n\n\tä"},
		"the same content":    {"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+a\n", "~a"},
		"after a failed try":  {"diff --git a/t/run.py b/t/run.py\n--- a/t/run.py\n+++ b/t/run.py\n@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n 3\n", "~t/run.py +t/run.py.orig"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repo(t, map[string]string{"t/run.py": "1\n2\n3\n4\n", "a": "a\n", "d/e": "e\n", ".gitignore": "*.pyc\n"})
			e := evaluateLocally(t, dir, Job{Patch: []byte(tt.patch), Script: "true"})
			if got := inWords(e, dir); !e.Applied || got != tt.want {
				t.Errorf("applied %v by %q (%s): %q, want %q", e.Applied, e.How, e.Refused, got, tt.want)
			}
		})
	}
}

// Files that are left out are as before, and all others are as in the whole patch.
func TestLeavingFilesOut(t *testing.T) {
	patch := "diff --git a/t/run.py b/t/run.py\n--- a/t/run.py\n+++ b/t/run.py\n@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n" +
		"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n" +
		"diff --git a/new/deep/conftest.py b/new/deep/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/new/deep/conftest.py\n@@ -0,0 +1 @@\n+x\n" +
		"diff --git a/d/e b/d/e\ndeleted file mode 100644\n--- a/d/e\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n" +
		"diff --git a/d b/d\nnew file mode 120000\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+t\n\\ No newline at end of file\n"
	files := map[string]string{"t/run.py": "1\n2\n3\n4\n", "a": "a\n", "d/e": "e\n"}
	whole := repo(t, files)
	e := evaluateLocally(t, whole, Job{Patch: []byte(patch), Script: "true"})
	if got := inWords(e, whole); got != "~a +@d -d/e +new/deep/conftest.py ~t/run.py" {
		t.Fatalf("the patch changes %q (%s)", got, e.Refused)
	}
	dir := repo(t, files)
	evaluateLocally(t, dir, Job{Patch: []byte(patch), Without: []string{"t/run.py", "new/deep/conftest.py", "d/e"}, Script: "true"})
	want := repo(t, map[string]string{"t/run.py": "1\n2\n3\n4\n", "a": "b\n", "d/e": "e\n"})
	if got, want := tree(t, dir), tree(t, want); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("the folders of a file that was left out are there")
	}
}

// Older versions of patch(1) write to paths that git refuses. Git would read a forged object instead
// of the file that is reset, and a lock would turn the patch's failure into an infrastructure failure.
func TestPatchesThatReachGitOrLeaveTheTreeAreRefused(t *testing.T) {
	hook := "--- /dev/null\n+++ b/.git/hooks/post-checkout\n@@ -0,0 +1 @@\n+x\n"
	link := func(to string) string {
		return "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+" + to + "\n\\ No newline at end of file\n"
	}
	// Only patch(1) can apply this patch.
	const fuzzy = "diff --git a/t b/t\n--- a/t\n+++ b/t\n@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n 3\n"
	forged := func(name string) string { return fuzzy + "--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n" }
	for name, patch := range map[string]string{
		"a hook": hook, "a hook by patch(1)": fuzzy + hook,
		"a pack": forged(".git/objects/pack/x.pack"), "an object": forged(".git/objects/aa/bb"),
		"a lock": forged(".git/index.lock"), "a branch": forged(".git/refs/heads/x"), "in capitals": forged("sub/.GIT/x"),
		"an absolute path": "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-x\n+root::0:0::/:/bin/sh\n",
		"a context diff":   "*** a/.git/description\n--- b/.git/description\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n",
		"an index line":    "Index: .git/description\n@@ -1 +1 @@\n-a\n+b\n",
		"ed":               "1c\nb\n.\n",
		"ed behind":        fuzzy + "--- a/t\n1c\nb\n.\n",
		"an absolute link": fuzzy + link("/tmp"), "a link that goes up": fuzzy + link("../x"),
		"through its own": link(".git") + "diff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n",
		"above":           "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
		"a submodule's":   fuzzy + "--- /dev/null\n+++ b/sub/.git/config\n@@ -0,0 +1 @@\n+x\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := repo(t, map[string]string{"t": "1\n2\n3\n4\n", "sub/x": "x\n"})
			write(t, dir, map[string]string{".git/description": "a\n"})
			e := evaluateLocally(t, dir, Job{Patch: []byte(patch), Script: "true"})
			if name == "ed behind" && e.Applied && inWords(e, dir) == "~t +t.orig" { // patch(1) has left it out
				return
			}
			if e.Applied || e.Refused == "" || e.Script != "" {
				t.Errorf("applied by %q: %q", e.How, inWords(e, dir))
			}
		})
	}
}

func TestTreesOfBothFormsOfFind(t *testing.T) {
	dir := repo(t, map[string]string{"a b": "x\n", "d/c": "y\n"})
	if err := os.Symlink("d", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	list := func(script string) map[string]treeFile {
		t.Helper()
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		tree, ok := parseTree(out)
		if !ok {
			t.Fatalf("%q", out)
		}
		return tree
	}
	script := fmt.Sprintf(listTree, t.TempDir())
	gnu, other := list(script), list(strings.Replace(script, "-maxdepth 0 -printf ''", "-no-such-test", 1))
	if len(gnu) != len(other) || len(gnu) < 5 {
		t.Errorf("%d and %d entries", len(gnu), len(other))
	}
	for name, e := range gnu {
		if o, ok := other[name]; !ok || o.link != e.link || o.stat == "" {
			t.Errorf("%q: %+v and %+v", name, e, o)
		}
	}
	if !gnu["l"].link || gnu["l"].target != "d" || gnu["a b"].link {
		t.Errorf("%+v", gnu)
	}
	for _, text := range []string{"x", "a\x00b", "a\x00b\x00c", "\x00a\n\x00b\x00c\x00", "\x00a\n"} {
		if tree, ok := parseTree([]byte(text)); ok {
			t.Errorf("%q is %+v", text, tree)
		}
	}
}

func FuzzTree(f *testing.F) {
	f.Add([]byte("f 644 1 1 1.0\x00./a\x00\x00"))
	f.Add([]byte("\x0081a4 1 1 1\n\x00./a\x00"))
	f.Fuzz(func(_ *testing.T, out []byte) { parseTree(out) })
}

func TestANewModuleThatShadowsAnInstalledOne(t *testing.T) {
	dir := repo(t, map[string]string{".venv/lib/python3.9/site-packages/plug.py": "", ".venv/lib/python3.9/site-packages/big/x.py": "", "own/x.py": "", "plug2.py": ""})
	patch := newFile("plug.py") + newFile("big/y.py") + newFile("own/plug.py") + newFile("tests/plug.py") + newFile("other.py") + newFile("src/plug.py") + newFile("a-b.py")
	e := evaluateLocally(t, dir, Job{Patch: []byte(patch), Script: "true"})
	var got []string
	for _, d := range Deciders(Job{Script: "true"}, e.Changes) {
		got = append(got, fmt.Sprintf("%s %d", d.Path, d.Tier))
	}
	if want := "big/y.py 1, plug.py 1, tests/plug.py 1"; strings.Join(got, ", ") != want {
		t.Errorf("deciders %q, want %q", got, want)
	}
}

// Python runs an unchecked cache instead of the file that was reset.
func TestCachesOfTheTestsAreRemoved(t *testing.T) {
	dir := repo(t, map[string]string{"tests/test_a.py": "a\n", "tests/a.py": "a\n"})
	patch := newFile("tests/__pycache__/test_a.cpython-311.pyc") + newFile("tests/__pycache__/test_a.cpython-311.opt-1.pyc") + newFile("tests/test_a.pyc") + newFile("tests/__pycache__/a.cpython-311.pyc")
	e := evaluateLocally(t, dir, Job{Patch: []byte(patch), BaseCommit: "HEAD", TestFiles: []string{"tests/test_a.py"}, Script: "find tests -name '*.pyc'"})
	if text := string(e.Log.Text); strings.Contains(text, "tests/__pycache__/test_a") || strings.Contains(text, "tests/test_a.pyc") || !strings.Contains(text, "tests/__pycache__/a.cpython-311.pyc") {
		t.Errorf("left are\n%s", text)
	}
	if list := Deciders(Job{Script: "true", TestFiles: []string{"tests/test_a.py"}}, e.Changes); len(list) != 4 || list[0].Tier != TierRunner {
		t.Errorf("deciders %+v", list)
	}
}

// git apply may fail after it has written some files, and ignored files survive the clean-up.
func TestWhatAFailedTryLeftIsThePatchs(t *testing.T) {
	const plugins = "p.egg-info/entry_points.txt"
	own := strings.Repeat("x\n", 20) // so that the patch applies again
	image := func() string {
		dir := repo(t, map[string]string{".gitignore": "*.egg-info\n", "README.md": "x\n", "empty.txt": ""})
		write(t, dir, map[string]string{plugins: own})
		return dir
	}
	// Git takes the second part for a new file behind README.md, patch(1) for empty.txt.
	patch := "diff --git a/" + plugins + " b/" + plugins + "\n--- a/" + plugins + "\n+++ b/" + plugins + "\n@@ -7,6 +7,7 @@\n x\n x\n x\n+evil\n x\n x\n x\n" +
		"--- a/empty.txt\t1970-01-01 00:00:00.000000000 +0000\n+++ b/README.md/x\t2020-01-01 00:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+x\n"
	dir := image()
	e := evaluateLocally(t, dir, Job{Patch: []byte(patch), Script: "true"})
	if got := inWords(e, dir); !e.Applied || got != "~empty.txt ~"+plugins+" +"+plugins+".orig" {
		t.Errorf("applied by %q (%s): %q", e.How, e.Refused, got)
	}
	dir = image()
	evaluateLocally(t, dir, Job{Patch: []byte(patch), Without: []string{plugins}, Script: "true"})
	if text, err := os.ReadFile(filepath.Join(dir, plugins)); err != nil || string(text) != own {
		t.Errorf("what was left out is %q, %v", text, err)
	}
}

func TestManyFilesAreLeftOut(t *testing.T) {
	tier.Rest(t)
	var patch strings.Builder
	var without []string
	for i := range 2000 {
		name := fmt.Sprintf("node_modules/%s/%d.js", strings.Repeat("x", 80), i)
		without = append(without, name)
		patch.WriteString(newFile(name))
	}
	dir := repo(t, map[string]string{"a": "a\n"})
	e := evaluateLocally(t, dir, Job{Patch: []byte(patch.String()), Without: without, Script: "ls"})
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); !e.Applied || len(e.Changes) != len(without) || err == nil {
		t.Errorf("applied %v (%s), %d changes, node_modules: %v", e.Applied, e.Refused, len(e.Changes), err)
	}
}

// The cache of test runs stores changes as JSON, which cannot hold bytes that are not UTF-8.
func TestChangesKeepTheirBytes(t *testing.T) {
	want := Change{Path: "evil\xe9.egg-info/x", Target: "\xff", Created: true, Link: true, Shadows: true}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Change
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestCommandsOfEdAreSeen(t *testing.T) {
	for text, want := range map[string]bool{
		"1d\n": true, "  1d\n  .\n": true, "1,2c  \n": true, "X 5a\r\n": true, "+1d\n": false, "-1d\n": false, "5c5\n": false, " text 1d\n": false,
	} {
		if got := strings.Contains(harden("patch -p1", []byte(text)), "--unified"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A file that the gold patch changes too is no reason to doubt a patch, but what else the patch makes
// of it is.
func TestAFileOfTheGoldPatchIsLeftOutAsTheGoldPatchMakesIt(t *testing.T) {
	files := map[string]string{"conftest.py": "1\n2\n3\n", "a.py": "1\n"}
	gold := "diff --git a/conftest.py b/conftest.py\n--- a/conftest.py\n+++ b/conftest.py\n@@ -1,3 +1,4 @@\n 1\n 2\n 3\n+gold\n" +
		"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+gold\n"
	patch := strings.ReplaceAll(gold, "gold", "mine")
	job := Job{Patch: []byte(patch), Gold: []byte(gold), Command: "true", Script: "cat conftest.py a.py"}
	e := evaluateLocally(t, repo(t, files), job)
	list := Deciders(job, e.Changes)
	if len(list) != 1 || list[0].Path != "conftest.py" {
		t.Fatalf("deciders %+v", list)
	}
	job.Without = []string{"conftest.py"}
	e = evaluateLocally(t, repo(t, files), job)
	if text := string(e.Log.Text); !strings.Contains(text, "1\n2\n3\ngold\nmine\n") {
		t.Errorf("the files are\n%s", text)
	}
	for name, same := range map[string]Job{"as in the gold patch": {Patch: []byte(gold), Gold: []byte(gold)}, "without a patch": {Gold: []byte(gold)}} {
		if list := Deciders(same, e.Changes); len(list) > 0 {
			t.Errorf("%s: deciders %+v", name, list)
		}
	}
}
