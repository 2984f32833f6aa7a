package demo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository commits the task's files as in its image, and returns the folder.
func repository(t *testing.T, k task) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range k.repo {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, nil, "init", "-q")
	git(t, dir, nil, "add", "-A", "-f")
	git(t, dir, nil, "commit", "-q", "-m", "Initial import")
	return dir
}

// git runs one command without any configuration of the user or system.
func git(t *testing.T, dir string, stdin []byte, args ...string) string {
	t.Helper()
	const name, mail, date = "Batch Demo", "demo@batch.example", "2024-01-01T00:00:00+0000"
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_DEFAULT_HASH=sha1",
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail, "GIT_COMMITTER_DATE=" + date,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestGitMakesTheCommitAndTakesThePatches(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for _, k := range readTasks(t) {
		t.Run(k.ID, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, k)
			if got := strings.TrimSpace(git(t, dir, nil, "rev-parse", "HEAD")); got != k.BaseCommit {
				t.Errorf("the files make commit %s, task.yaml says %s", got, k.BaseCommit)
			}
			git(t, dir, k.test, "apply", "--check", "-")
			git(t, dir, k.gold, "apply", "--index", "-")
			if got := git(t, dir, nil, "diff", "--cached", "-M"); got != string(k.gold) {
				t.Error("git diff of the solution is not gold.patch, byte for byte")
			}
			git(t, dir, k.test, "apply", "-")
		})
	}
}
