package evaluate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/vocab"
)

// localBox runs scripts in bash on this machine. It isolates nothing: it is only for harmless
// patches.
type localBox struct {
	t    *testing.T
	ran  []string
	fail error // returned by Run
}

func (b *localBox) Write(_ context.Context, name string, mode fs.FileMode, data []byte) error {
	b.t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(name)) })
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, mode)
}

func (b *localBox) Run(ctx context.Context, c vocab.Command) (vocab.Output, error) {
	b.ran = append(b.ran, c.Script)
	if b.fail != nil {
		return vocab.Output{}, b.fail
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", c.Script)
	cmd.Dir = c.Dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return vocab.Output{}, err
	}
	return vocab.Output{Bytes: out, Total: int64(len(out)), ExitCode: cmd.ProcessState.ExitCode()}, nil
}

// repo is a git repository with one commit of the files.
func repo(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "base")
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil { //nolint:gosec // as in a repository
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// tree lists everything in the working tree, with contents and modes.
func tree(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", `export GIT_INDEX_FILE=$(mktemp -u) && git add -A -f . && git ls-files -s; rm -f "$GIT_INDEX_FILE"`)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// evaluateLocally runs a job with a script that prints nothing.
func evaluateLocally(t *testing.T, dir string, j Job) *Evidence {
	t.Helper()
	j.Workdir = dir
	e, err := Run(t.Context(), &localBox{t: t}, j)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var lines = strings.Join(strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"), "\n") + "\n"

// Every kind of git diff arrives in the container byte for byte.
func TestPatchesOfEveryKindAreExact(t *testing.T) {
	base := map[string]string{
		"a.txt": lines, "crlf.txt": "a\r\nb\r\nc\r\n", "none.txt": "no newline", "gone.txt": "x\n", "moved.txt": lines,
		"bin": "\x00\x01\xff", "latin.txt": "caf\xe9\n", "dir/ä b.txt": "x\n", "run.sh": "echo\n",
	}
	from, to := repo(t, base), repo(t, base)
	write(t, to, map[string]string{
		"a.txt": strings.Replace(lines, "7", "seven", 1), "crlf.txt": "a\r\nB\r\nc\r\n", "none.txt": "still none", "new/file.txt": "new\r\n",
		"empty": "", "bin": "\x00\x02\xff\n", "latin.txt": "caf\xe9s \xff\n", "dir/ä b.txt": "y\n",
	})
	for _, command := range [][]string{{"git", "mv", "moved.txt", "dir/moved now.txt"}, {"rm", "gone.txt"}, {"chmod", "+x", "run.sh"}, {"ln", "-s", "a.txt", "link"}} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = to
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	git(t, to, "add", "-A")
	patch := git(t, to, "diff", "--cached", "--binary", "-M")
	e := evaluateLocally(t, from, Job{Patch: []byte(patch), Script: "true"})
	if got, want := tree(t, from), tree(t, to); got != want || e.How != "git apply --verbose" {
		t.Errorf("applied by %q: got\n%s\nwant\n%s", e.How, got, want)
	}
}

// harness is the harness's chain, literally, without its reverse check.
func harness(t *testing.T, dir, file string, r logparse.Rules) (how string) {
	t.Helper()
	sh := func(script string) bool {
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = dir
		return cmd.Run() == nil
	}
	for i, command := range chain(r) {
		if i > 0 && r == logparse.V5 {
			sh("git checkout -- . ; git clean -fd")
		}
		if sh(command + " " + file) {
			return command
		}
	}
	return ""
}

// Patches that do not fit must end as in the harness: applied by the same command, with the same
// files afterwards.
func TestTheChainDoesWhatTheHarnessDoes(t *testing.T) {
	base := map[string]string{"a.txt": lines, "b.txt": lines, "c.txt": "x\n"}
	change := func(name, text string) string {
		dir := repo(t, base)
		write(t, dir, map[string]string{name: text})
		return git(t, dir, "diff")
	}
	good := change("a.txt", strings.Replace(lines, "7\n", "seven\n", 1))
	end := change("a.txt", lines+"21\n")
	for name, patch := range map[string]string{
		"fits":                     good,
		"wrong line numbers":       strings.ReplaceAll(good, "@@ -4,7 +4,7 @@", "@@ -9,7 +9,7 @@"),
		"wrong context at the rim": strings.Replace(good, "\n 4\n", "\n four\n", 1),
		"wrong context":            strings.NewReplacer("\n 4\n", "\n four\n", "\n 10\n", "\n ten\n", "\n 5\n", "\n five\n").Replace(good),
		"hopeless":                 strings.NewReplacer("\n-7\n", "\n-seventy\n").Replace(good),
		"one good, one hopeless":   good + strings.NewReplacer("a.txt", "b.txt", "\n-7\n", "\n-seventy\n").Replace(good),
		"wrong count":              strings.Replace(good, "-4,7 +4,7", "-4,9 +4,9", 1),
		"a file that is not there": strings.ReplaceAll(good, "a.txt", "missing.txt"),
		"a file that is there":     "diff --git a/c.txt b/c.txt\nnew file mode 100644\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+y\n",
		"applied already":          change("c.txt", "z\n") + strings.ReplaceAll(end, "21", "1\n+2"),
		"blanks at line ends":      strings.ReplaceAll(good, "\n 5\n", "\n5 \n"),
		"CRLF":                     strings.ReplaceAll(good, "\n", "\r\n"),
		"cut":                      good[:len(good)-8],
		"no newline at its end":    strings.TrimRight(good, "\n"),
		"text around it":           "Here it is:\n\n" + good + "\nDone.\n",
		"in a fence":               "```diff\n" + good + "```\n",
		"no a/ and b/":             strings.NewReplacer("a/a.txt", "a.txt", "b/a.txt", "a.txt").Replace(good),
		"no patch":                 "I have fixed it.\n",
		"a new file too":           "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+y\n" + strings.Replace(good, "\n 4\n", "\n four\n", 1),
	} {
		for _, rules := range []logparse.Rules{logparse.V5, logparse.V4} {
			t.Run(name+" "+rules.String(), func(t *testing.T) {
				ours, official := repo(t, base), repo(t, base)
				file := filepath.Join(t.TempDir(), "patch.diff")
				if err := os.WriteFile(file, []byte(patch), 0o600); err != nil {
					t.Fatal(err)
				}
				want := harness(t, official, file, rules)
				t.Logf("the harness: %q", want)
				e := evaluateLocally(t, ours, Job{Patch: []byte(patch), Script: "true", Rules: rules})
				if e.How != want || e.Applied != (want != "") || (e.Refused == "") != e.Applied {
					t.Errorf("applied by %q (%s), in the harness by %q", e.How, e.Refused, want)
				}
				if got, want := tree(t, ours), tree(t, official); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				if !e.Applied && !strings.Contains(string(e.RunLog), swebench.ApplyFailed) || e.Applied && !strings.Contains(string(e.RunLog), appliedText) {
					t.Errorf("run_instance.log lacks the harness's line:\n%s", e.RunLog)
				}
			})
		}
	}
}

func TestACutPatchIsNamed(t *testing.T) {
	const patch = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-x\n+y\n 2"
	const cut = "does not end with a newline"
	for text, want := range map[string]bool{patch: true, patch + "\n": false} {
		e := evaluateLocally(t, repo(t, map[string]string{"a.txt": lines}), Job{Patch: []byte(text)})
		if e.Applied || strings.Contains(e.Refused, cut) != want {
			t.Errorf("%q: applied %v, %q", text, e.Applied, e.Refused)
		}
	}
}

// An image may have changed or added files on purpose. The official steps remove these changes when
// the first command of the chain fails, and this is noted.
func TestWhatTheOfficialStepsTakeFromTheImageIsNamed(t *testing.T) {
	dir := repo(t, map[string]string{"a.txt": lines, "b.txt": lines, ".gitignore": "built\n"})
	write(t, dir, map[string]string{"b.txt": "of the image\n", "generated/ä x.py": "x\n", "built": "x\n"})
	plain := "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n"
	if e := evaluateLocally(t, dir, Job{Patch: []byte(plain), Script: "cat b.txt"}); len(e.Lost) > 0 || !strings.Contains(string(e.Log.Text), "of the image") {
		t.Errorf("lost %q\n%s", e.Lost, e.Log.Text)
	}
	git(t, dir, "checkout", "a.txt")
	offset := strings.Replace(plain, " 1\n", " one\n", 1) // only patch(1) finds the place
	e := evaluateLocally(t, dir, Job{Patch: []byte(offset), Script: "ls; cat b.txt"})
	if !slices.Equal(e.Lost, []string{"b.txt", "generated/ä x.py"}) {
		t.Errorf("lost %q", e.Lost)
	}
	if text := string(e.Log.Text); strings.Contains(text, "of the image") || strings.Contains(text, "generated") || !strings.Contains(text, "built") {
		t.Errorf("the tree is not what the harness makes of it:\n%s", text)
	}
}

func TestTestFilesAreResetWhateverStandsInTheirPlace(t *testing.T) {
	base := map[string]string{"src/x.py": "x\n", "tests/a.py": "a\n", "tests/sub/b.py": "b\n", "tests/it's [1].py": "c\n", "src/new.py": "keep\n"}
	for name, spoil := range map[string]string{
		"nothing":                  "true",
		"edited":                   "echo y > tests/a.py; echo y > tests/sub/b.py",
		"deleted":                  "rm -r tests",
		"a file for the folder":    "rm -r tests; echo > tests",
		"a link for the folder":    "rm -r tests; ln -s src tests",
		"a link to nowhere":        "rm -r tests; ln -s /nowhere tests",
		"a folder for the file":    "rm tests/a.py; mkdir -p tests/a.py/x; echo > tests/a.py/x/y",
		"a link for the file":      "rm tests/a.py; ln -s ../src/x.py tests/a.py",
		"new ones are there":       "echo mine > tests/new.py; mkdir tests/newer; echo > tests/newer/test.py",
		"new ones are folders":     "mkdir -p tests/new.py/x; echo > tests/new.py/x/y",
		"in the index":             "echo mine > tests/new.py; echo y > tests/a.py; git add -A",
		"a link in the index":      "rm -r tests; ln -s src tests; git add -A",
		"a folder below is a link": "rm -r tests/sub; ln -s ../src tests/sub",
	} {
		t.Run(name, func(t *testing.T) {
			dir := repo(t, base)
			commit := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
			cmd := exec.Command("bash", "-c", spoil)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s", out)
			}
			e := evaluateLocally(t, dir, Job{
				Patch: []byte("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n"), BaseCommit: commit,
				TestFiles: []string{"tests/a.py", "tests/sub/b.py", "tests/it's [1].py", "tests/new.py", "tests/newer/test.py"},
				Script:    "git apply -v - <<'EOF_1'\ndiff --git a/tests/new.py b/tests/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/new.py\n@@ -0,0 +1 @@\n+official\nEOF_1\ncat tests/a.py tests/sub/b.py tests/it*.py tests/new.py src/x.py src/new.py",
			})
			if text := string(e.Log.Text); !strings.Contains(text, "\na\nb\nc\nofficial\nx\nkeep\n") {
				t.Errorf("want the files of the base commit and the test patch, got:\n%s", text)
			}
		})
	}
}

func TestAPathOfTheTestsOutsideOfTheRepositoryIsTheRowsFault(t *testing.T) {
	for _, name := range []string{"../x", "/x", "", ".git/config"} {
		dir := repo(t, map[string]string{"a": "a\n"})
		_, err := Run(t.Context(), &localBox{t: t}, Job{Workdir: dir, Patch: []byte("diff --git a/n b/n\nnew file mode 100644\n"), TestFiles: []string{name}, Script: "true"})
		if err == nil {
			t.Errorf("%q: no error", name)
		}
	}
}

func TestNoRepositoryIsNotThePatchsFault(t *testing.T) {
	_, err := Run(t.Context(), &localBox{t: t}, Job{Workdir: t.TempDir(), Patch: []byte("x"), Script: "true"})
	if err == nil || !strings.Contains(err.Error(), "no git repository") {
		t.Errorf("got %v", err)
	}
}

func TestAFaultLeavesNoEvidence(t *testing.T) {
	lost := errors.New("the engine is gone")
	e, err := Run(t.Context(), &localBox{t: t, fail: lost}, Job{Patch: []byte("x"), Script: "true"})
	if e != nil || !errors.Is(err, lost) {
		t.Errorf("got %v, %v", e, err)
	}
}

func TestAPatchOfWhichNothingIsLeft(t *testing.T) {
	dir := repo(t, map[string]string{"a.txt": lines})
	e := evaluateLocally(t, dir, Job{
		Patch:   []byte("diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/conftest.py\n@@ -0,0 +1 @@\n+n\n"),
		Without: []string{"conftest.py"}, Script: "ls",
	})
	if !e.Applied || strings.Contains(string(e.Log.Text), "\nconftest.py") {
		t.Errorf("applied %v:\n%s", e.Applied, e.Log.Text)
	}
}

// fullBox has no room for what git apply writes.
type fullBox struct {
	*localBox
	full vocab.Output
}

func (b fullBox) Run(ctx context.Context, c vocab.Command) (vocab.Output, error) {
	if strings.Contains(c.Script, "apply --verbose") {
		return b.full, nil
	}
	return b.localBox.Run(ctx, c)
}

// A few bytes of a patch can order to write gigabytes. That is not an infrastructure failure, which
// would remove the prediction from the rate.
func TestAPatchThatDoesNotFitIsRefused(t *testing.T) {
	for name, full := range map[string]vocab.Output{
		"memory": {OOM: true, ExitCode: 137, Restarted: true},
		"disk":   {Disk: &vocab.DiskUse{Used: 2, Limit: 1, Killed: true}, ExitCode: 137},
	} {
		dir := repo(t, map[string]string{"a": "1\n"})
		e, err := Run(t.Context(), fullBox{&localBox{t: t}, full}, Job{Workdir: dir, Patch: []byte(edit("a")), Script: "true"})
		if err != nil || e.Applied || !strings.HasPrefix(e.Refused, "applying it takes more") {
			t.Errorf("%s: %v, %+v", name, err, e)
		}
	}
}
