package starter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
)

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
}

func TestTheRowsOfTheExampleAreComplete(t *testing.T) {
	needGit(t)
	dir := filepath.Join(t.TempDir(), "a", "b")
	w, err := Write(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), dataset.Source{Name: filepath.Join(dir, "rows.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Instances) != 3 || w.Rows != 3 || w.Image != "shop-dataset" {
		t.Errorf("got %d rows, %+v; want 3 instances, rows 3, image %q", len(d.Instances), w, "shop-dataset")
	}
	for _, in := range d.Instances {
		if in.ImageName("") != w.Image || in.Repo != "example/shop" || len(in.FailToPass) != 1 ||
			!strings.Contains(in.TestPatch, "+def "+strings.TrimPrefix(in.FailToPass[0], "tests/test_prices.py::")+"()") {
			t.Errorf("%+v", in)
		}
		if len(in.PassToPass) < 3 || in.LogParser != "parse_log_pytest" || in.EvalType != "pass_and_fail" ||
			!strings.Contains(in.EvalScript, "\n"+in.TestPatch+"EOF_") || !strings.Contains(in.EvalScript, "\npython3 tests/run.py\n") {
			t.Errorf("%s cannot be graded: %+v", in.ID, in)
		}
		if strings.Contains(in.Patch, "tests/") || strings.Contains(in.TestPatch, "shop/") {
			t.Errorf("%s: the patch and the test patch are not separated", in.ID)
		}
	}
	if err := dataset.CheckGold(d.Instances); err != nil {
		t.Error(err)
	}
	for _, name := range w.Files {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestTheEvalScript(t *testing.T) {
	t.Parallel()
	patch := "diff --git a/tests/a.py b/tests/a.py\n--- a/tests/a.py\n+++ b/tests/a.py\n@@ -1 +1 @@\n--- a/comment\n+b\n" +
		"diff --git a/tests/b.py b/tests/b.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/b.py\n@@ -0,0 +1 @@\n+b\n"
	c := change{parent: "abc", testPatch: patch}
	got := evalScript(c, "pytest -rA")
	want := "git checkout abc -- tests/a.py\ngit apply -v - <<'EOF_114329324912'\n" + patch + "EOF_114329324912\n" +
		": '>>>>> Start Test Output'\npytest -rA\n: '>>>>> End Test Output'\ngit checkout abc -- tests/a.py\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want at its end %s", got, want)
	}
	for name, script := range map[string]string{
		"no command":         evalScript(c, ""),
		"the word EOF in it": evalScript(change{testPatch: "x\nEOF_114329324912\n"}, "true"),
	} {
		if script != "" {
			t.Errorf("%s: got %s, want none", name, script)
		}
	}
	if got := evalScript(change{}, "make test"); strings.Contains(got, "git apply") || !strings.Contains(got, "\nmake test\n") {
		t.Errorf("got %s of a change without tests, want the command alone", got)
	}
}

func TestAFailedInitLeavesNothing(t *testing.T) {
	needGit(t)
	for name, c := range map[string]Config{
		"a repository that is not there": {Repo: "nowhere"},
		"the name of an image":           {Image: "a b"},
		"a file in the way of DIR":       {},
	} {
		dir := t.TempDir()
		c.Dir = filepath.Join(dir, "x", "y")
		if c.Repo == "" && c.Image == "" {
			if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Write(t.Context(), c)
		left, _ := filepath.Glob(filepath.Join(dir, "x", "*"))
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" || len(left) > 0 {
			t.Errorf("%s: got %v, left %q; want a Usage fault, a hint, nothing left", name, err, left)
		}
	}
}

// The commands on the package's page equal the commands of the generated README, which a test in
// cmd/batch runs.
func TestThePageShowsTheCommandsOfTheReadme(t *testing.T) {
	needGit(t)
	dir := filepath.Join(t.TempDir(), "my-dataset")
	if _, err := Write(t.Context(), Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for line := range strings.Lines(string(page)) {
		command, ok := strings.CutPrefix(line, "//\t")
		if !ok || !strings.HasPrefix(command, "docker build") && !strings.HasPrefix(command, "batch ") || strings.Contains(command, "dataset init") {
			continue
		}
		if shown++; !strings.Contains(string(readme), "\n$ "+command) {
			t.Errorf("a command of the page is not in the README: %s", command)
		}
	}
	if shown != 6 {
		t.Errorf("%d commands are on the page", shown)
	}
}

func TestNames(t *testing.T) {
	for url, want := range map[string]string{
		"git@git.example.com:team/tool.git\n":          "team/tool",
		"https://github.com/team/tool":                 "team/tool",
		"https://u:p@git.example.com/a/b/tool.git/":    "b/tool",
		"ssh://git@git.example.com:22/team/tool.git\n": "team/tool",
		"/srv/git/tool.git":                            "folder",
		"../tool":                                      "folder",
	} {
		if got := remoteName(url, "folder"); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
	for name, want := range map[string]string{"team/My Tool": "my-tool-dataset", "...": "my-dataset", "a_b": "a-b-dataset"} {
		if got := imageName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := instanceID("team/my tool", "0123456789"); got != "team__my-tool-01234567" {
		t.Errorf("got %q, want %q", got, "team__my-tool-01234567")
	}
	for name, want := range map[string]bool{
		"tests/a.py": true, "a/test_b.py": true, "b_test.go": true, "src/x.spec.ts": true, "FooTest.java": true, "conftest.py": true,
		"src/test/java/A.java": true, "a/testdata/x": true, "latest.py": false, "contest.py": false, "src/inspect.py": false, "attestation/a.go": false,
	} {
		if isTest(name) != want {
			t.Errorf("%s: got %t, want %v", name, !want, want)
		}
	}
}

func TestTheGitConfigurationOfARepositoryRunsNothing(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	if _, err := Write(t.Context(), Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	r := repository{dir: filepath.Join(dir, exampleRepo)}
	ran := filepath.Join(dir, "ran")
	if _, err := r.git(t.Context(), "config", "core.fsmonitor", "touch '"+ran+"' #"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.git(t.Context(), "status"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("git ran the repository's core.fsmonitor")
	}
}

func TestAFailureOnTheWayToTheDirectoryLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join("new", strings.Repeat("n", 300)), filepath.Join("link", "new")} {
		_, err := Write(t.Context(), Config{Dir: filepath.Join(dir, path)})
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		if fault.KindOf(err) != fault.Usage || len(left) != 1 {
			t.Errorf("%.10s: got %v, left %q; want a Usage fault, and only the link", path, err, left)
		}
	}
}

// Git refuses a repository for many reasons, and only its own message says which.
func TestTheWordsOfGitAreKept(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	if _, err := Write(t.Context(), Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, exampleRepo)
	refused := func(want string) {
		t.Helper()
		_, err := Write(t.Context(), Config{Dir: filepath.Join(dir, "other"), Repo: repo})
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "failed") {
			t.Errorf("got %v; want a Usage fault with %q", err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(repo, ".git", "refs", "heads", "broken"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repo, ".git", "HEAD"), []byte("ref: refs/heads/broken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("broken")
	if err := os.WriteFile(filepath.Join(repo, ".git", "config"), []byte("[core\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("config")
}
