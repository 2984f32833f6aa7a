package boxgit_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/sample"
	"batch.example/batch/internal/tier"
)

// plain runs the script for containers without bash.
func (r repo) plain(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", boxgit.Plain, "gitscrub"}, args...)...)
	cmd.Dir, cmd.Env = r.work, append(os.Environ(), r.env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// Without bash, what is not refused is scrubbed as well as with it, and the usual repositories are not refused.
func TestWithoutBashNothingIsLeft(t *testing.T) {
	tier.Rest(t, "internal/boxgit/plain.sh", "internal/boxgit/cases_test.go")
	t.Parallel()
	usual := []string{"a branch", "a branch, HEAD detached", "a subfolder as the directory", "a clone", "packed refs and packs", "reflogs", "shallow"}
	for _, tt := range sample.Some(t, 6, cases) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			work := tt.work
			if work == "" {
				work = "repo"
			}
			r := hostile(t, tt.script, work)
			before, whole := r.observe(t), files(t, r.dir, "")
			index, _ := os.ReadFile(filepath.Join(r.work, ".git", "index"))
			_ = os.Remove(filepath.Join(r.dir, "ran"))
			out, code := r.plain(t, "", boxgit.Keep)
			if code == 0 && !strings.Contains(out, "gitscrub: ") || files(t, r.dir, "") != whole {
				t.Errorf("looking at it: exit code %d, or changed files\n%s", code, out)
			}
			out, code = r.plain(t, "", boxgit.Scrub)
			if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
				t.Error("something that the repository configured was run")
			}
			if code != 0 {
				if !strings.Contains(out, "without bash in the image") {
					t.Errorf("exit code %d\n%s", code, out)
				}
				if slices.Contains(usual, tt.name) {
					t.Errorf("refused: %s", out)
				}
				return
			}
			if again, _ := os.ReadFile(filepath.Join(r.work, ".git", "index")); !bytes.Equal(index, again) {
				t.Error("the index has changed")
			}
			if left, _ := r.bash(t, found); strings.TrimSpace(left) != "" && !tt.incomplete {
				t.Errorf("found, want nothing:\n%s", left)
			}
			if after := r.observe(t); after != before && !tt.differs {
				t.Errorf("shown: %s\nwas: %s", after, before)
			}
			if tt.check != "" {
				if out, code := r.bash(t, tt.check); code != 0 {
					t.Errorf("the check fails: %s", out)
				}
			}
		})
	}
}

func TestWithoutBashTheCommitOfAnImageIsReported(t *testing.T) {
	t.Parallel()
	r := hostile(t, `begin repo; git rev-parse HEAD~1 > ../base; ahead`, "repo")
	base := strings.TrimSpace(read(t, filepath.Join(r.dir, "base")))
	for id, want := range map[string]string{"": "that is not the id of a commit", base: "HEAD is ", base[:9]: "HEAD is ", "0123456789": "does not have that commit"} {
		out, code := r.plain(t, boxgit.ID(id), boxgit.Keep)
		with, _ := r.bash(t, boxgit.Script, boxgit.ID(id), boxgit.Keep)
		got := boxgit.ReadBase([]byte(out), code).Mismatch(id, "")
		if same := boxgit.ReadBase([]byte(with), 0).Mismatch(id, ""); got != same || !strings.Contains(got, want) {
			t.Errorf("%q: %s, with bash %s, want %s", id, got, same, want)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
