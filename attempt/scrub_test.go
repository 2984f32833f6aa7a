package attempt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/runner"
)

// ahead is a repository that has the solution on another branch, checked out
// before the commit that the task begins with.
func ahead(t *testing.T) (box *host, future string) {
	t.Helper()
	box = repo(t, map[string]string{"f.txt": "a\n"})
	box.git(t, "branch base")
	box.write(t, "f.txt", "the solution\n")
	box.git(t, "-c user.name=t -c user.email=t@localhost commit -qam future")
	return box, strings.TrimSpace(box.git(t, "rev-parse HEAD"))
}

// attemptOn makes one attempt with a startup command and scrubbing.
func attemptOn(t *testing.T, box *host, scrub bool) (log string, err error) {
	t.Helper()
	_, store, err := solveWith(t, attempt.Config{
		Loop: newLoop(t, 20), Sandboxes: hosts{box: box}, ScrubGitHistory: scrub,
		Startup: func(dataset.Instance) (string, error) { return "git checkout -q base", nil },
	}, dataset.Instance{ID: "a__1"}, scripted.Noop(scripted.Config{}), runner.NewBudget(0, 0, 0))
	data, readErr := os.ReadFile(filepath.Join(store.Dir(), "a__1", "agent.log"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(data), err
}

func TestTheHistoryIsScrubbedAfterTheStartupCommand(t *testing.T) {
	box, future := ahead(t)
	log, err := attemptOn(t, box, true)
	if err != nil || !strings.Contains(log, `msg="git history" verdict=scrubbed refs=1 `) {
		t.Errorf("got %v, log %s; want %q in the log, no error", err, log, `msg="git history" verdict=scrubbed refs=1 `)
	}
	if out, err := box.Execute(t.Context(), "", "git cat-file -e "+future); err != nil || out.ExitCode == 0 {
		t.Errorf("the future commit is still in the repository: %v", err)
	}
	if got := box.git(t, "rev-parse --abbrev-ref HEAD") + box.git(t, "status --porcelain") + box.read(t, "f.txt"); got != "base\na\n" {
		t.Errorf("the repository was changed: %q", got)
	}
}

func TestTheHistoryIsKeptOnRequest(t *testing.T) {
	box, future := ahead(t)
	if _, err := attemptOn(t, box, false); err != nil {
		t.Error(err)
	}
	box.git(t, "cat-file -e "+future)
}
