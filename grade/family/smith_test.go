package family

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/dataset/datasettest"
	"batch.example/batch/grade"
)

// repository makes a git repository with files, and returns its folder.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -q -m base")
	return dir
}

// run runs a bash script in dir and returns its output.
func run(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-ux", "-o", "pipefail")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

func TestAReversedDiffTakesItBack(t *testing.T) {
	dir := repository(t, map[string]string{"a.py": "1\n2\n3\n", "sub/old.py": "x\ny\nz\n", "gone.py": "g", "mode.sh": "m\n"})
	run(t, dir, `printf '1\ntwo\n3' > a.py; git mv sub/old.py sub/new.py; echo w >> sub/new.py; rm gone.py; chmod +x mode.sh; printf 'new\n' > "with blank.py"; git add -A`)
	diff := run(t, dir, "{ set +x; } 2>/dev/null; git diff --cached -M HEAD")
	back, err := reverse(diff)
	if err != nil {
		t.Fatalf("%v\n%s", err, diff)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "back"), []byte(back), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "git apply --index .git/back && git diff --cached --exit-code HEAD")
	again, err := reverse(back)
	if err != nil {
		t.Fatal(err)
	}
	if again != diff {
		t.Errorf("reversed twice:\n%s\nwant\n%s", again, diff)
	}
}

func TestWhatCannotBeReversed(t *testing.T) {
	for _, diff := range []string{
		"diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n",
		"diff --git a/x b/x\nGIT binary patch\nliteral 0\n",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\nhello\n",
		"@@ nonsense\n",
	} {
		if back, err := reverse(diff); err == nil {
			t.Errorf("%q became %q, want an error", diff, back)
		}
	}
}

func TestRealPatchesReversedTwice(t *testing.T) {
	for _, in := range datasettest.Rows(t, "Verified-test") {
		for _, diff := range []string{in.Patch, in.TestPatch} {
			back, err := reverse(diff)
			if err != nil && strings.Contains(err.Error(), "cannot be taken back") {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", in.ID, err)
				continue
			}
			if again, err := reverse(back); err != nil || again != diff {
				t.Errorf("%s: reversed twice (%v) it differs", in.ID, err)
			}
		}
	}
}

func TestRealRowsHaveTasks(t *testing.T) {
	for _, file := range []string{"Verified-test", "Lite-dev", "Multilingual-test", "Multimodal-dev"} {
		t.Run(file, func(t *testing.T) {
			for _, in := range datasettest.Rows(t, file) {
				v5, err := Find(in, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if v5.Script != in.EvalScript || v5.Parser != in.LogParser || len(v5.Tests.FailToPass) != len(in.FailToPass) {
					t.Errorf("%s: the columns are not used", in.ID)
				}
				in.EvalScript, in.LogParser, in.EvalType = "", "", ""
				v4, err := Find(in, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if len(v4.TestFiles) == 0 || v4.Workdir != "/testbed" || !strings.Contains(v4.Script, grade.StartMarker("")) {
					t.Errorf("%s: derived %+v", in.ID, v4)
				}
			}
		})
	}
}

func TestTheBugOfSWESmithIsPutInOnce(t *testing.T) {
	dir := repository(t, map[string]string{"a.py": "good\n"})
	bug := "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-good\n+bad\n"
	for range 2 {
		run(t, dir, "bash <<'END'\n"+smithSetup(bug)+"END\ngit diff --exit-code HEAD")
		if data, _ := os.ReadFile(filepath.Join(dir, "a.py")); string(data) != "bad\n" {
			t.Fatalf("the file is %q", data)
		}
	}
	if n := run(t, dir, "git rev-list --count HEAD"); !strings.Contains(n, "\n2\n") {
		t.Errorf("commits: %s, want 2", n)
	}
	gold, err := reverse(bug)
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "git apply <<'END'\n"+gold+"END\ngit diff --exit-code HEAD~1")
}

func TestWhatTheImageOfMultiSWEBenchHasIsNotThePatchs(t *testing.T) {
	dir := repository(t, map[string]string{"a.go": "x\n"})
	for range 2 {
		run(t, dir, "mkdir -p out; echo built > out/a.o; echo z > z\n"+multiSWESetup)
	}
	if got := run(t, dir, "{ set +x; } 2> /dev/null; echo new > new.go; git add -A; git diff --cached --name-only HEAD"); got != "new.go\n" {
		t.Errorf("changed: %q, want new.go", got)
	}
}

func TestTheScriptOfPolyBenchRuns(t *testing.T) {
	dir := repository(t, map[string]string{"a.py": "x\n", "test_a.py": "old\n"})
	patch := "diff --git a/test_a.py b/test_a.py\n--- a/test_a.py\n+++ b/test_a.py\n@@ -1 +1 @@\n-old\n+new\n"
	out := run(t, dir, polyScript(dir, patch, "echo \"out $(cat test_a.py)\"; echo 'err' >&2; false"))
	_, tests, ok := strings.Cut(out, "\n"+grade.StartMarker("")+"\n")
	tests, _, ok2 := strings.Cut(tests, grade.EndMarker("")+"\n")
	if !ok || !ok2 || !strings.HasSuffix(tests, "\nout new\n") || strings.Index(tests, "\nerr\n") > strings.Index(tests, "out new\n") {
		t.Errorf("between the markers is %q, want standard error and then standard output", tests)
	}
	if strings.Count(out, grade.StartMarker("")) != 1 {
		t.Errorf("the marker is there more than once:\n%s", out)
	}
}

func FuzzReverse(f *testing.F) {
	f.Add("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@ f\n-a\n b\n\\ No newline at end of file\n")
	f.Add("diff --git a/x b/y\nold mode 1\nnew mode 2\nrename from x\nrename to y\n")
	f.Add("@@ -1 +1 @@\n-a\n+b")
	f.Fuzz(func(t *testing.T, diff string) {
		back, err := reverse(diff)
		if err != nil {
			return
		}
		if _, err := reverse(back); err != nil {
			t.Errorf("%q became %q, which is not a diff: %v", diff, back, err)
		}
	})
}

func FuzzDecoders(f *testing.F) {
	f.Add(`{"tests": [{"name": "a", "status": "PASSED"}]}`)
	f.Add("== short test summary info ==\nERROR x\nPASSED a::b::c - d\x1b[0m")
	f.Add("ERROR:\n... ok\n a PASSED\n")
	f.Add("WORKDIR /x\n['a', 2]")
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, err := r2eParse(t.Context(), text, 0); err != nil {
			t.Error(err)
		}
		proParse(text)
		workdirOf(text, "")
		checkedOut(lastLine(text))
		withoutTimes(text)
		if _, _, err := statusesOf("p", "id", []byte(text)); err == nil && !strings.Contains(text, "{") {
			t.Errorf("%q was read as statuses", text)
		}
		for _, repo := range []string{"", "python/mypy", "un33k/python-slugify", "tornadoweb/tornado", "paramiko/paramiko", "hips/autograd"} {
			_, parse := smithParser(repo)
			if _, _, err := parse(t.Context(), text, 0); err != nil {
				t.Error(err)
			}
		}
		for _, p := range polyParsers {
			p.parse(text)
		}
	})
}

// The hunk does not end at the end of the file, and the file of the diff has nothing after it.
func TestATestPatchIsAppliedAsItIs(t *testing.T) {
	dir := repository(t, map[string]string{"test_a.py": "1\n2\n3\n4\n5\n6\n7\n8\n"})
	const diff = "diff --git a/test_a.py b/test_a.py\n--- a/test_a.py\n+++ b/test_a.py\n@@ -1,5 +1,5 @@\n 1\n-2\n+$two '\n 3\n 4\n 5\n"
	run(t, dir, applyCommand("--3way --recount", diff)+needed+"\n[ \"$(sed -n 2p test_a.py)\" = \"\\$two '\" ]")
}
