package attempt_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

const commit = "-c user.name=t -c user.email=t@localhost commit -qm "

// watched is a host that counts the scripts that are run.
type watched struct {
	*host
	adopted  bool
	bashless bool
	scripts  int
}

func (w *watched) Script(ctx context.Context, script string) (vocab.Output, error) {
	w.scripts++
	if w.bashless {
		return vocab.Output{ExitCode: 127, Bytes: []byte("sh: bash: not found")}, nil
	}
	return w.host.Script(ctx, script)
}

func (w *watched) Facts() sandbox.Facts {
	f := w.host.Facts()
	f.Adopted = w.adopted
	return f
}

// rows makes attempts at one row, in one run directory, in the host's sandbox.
type rows struct {
	t      *testing.T
	box    *watched
	in     dataset.Instance
	store  *results.Store
	config attempt.Config
	steps  int  // at most
	calls  int  // of the model
	outage bool // the model answers once, and then no more
}

func newRows(t *testing.T, in dataset.Instance, box *host) *rows {
	t.Helper()
	store, err := results.Open(t.TempDir(), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	in.ID = "a__1"
	return &rows{t: t, steps: 1, box: &watched{host: box}, in: in, store: store}
}

func (r *rows) Open(context.Context, sandbox.Opening) (attempt.Sandbox, error) { return r.box, nil }

func (r *rows) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	r.calls++
	if r.outage && r.calls > 1 {
		return nil, fault.Newf(fault.Transient, "the provider is away")
	}
	return scripted.Script{"a": {bash("true")}}.Model("a", scripted.Config{}).Generate(ctx, req)
}

// solve makes an attempt, or resumes the unfinished one.
func (r *rows) solve() (*results.Result, error) {
	c := r.config
	c.Loop, c.Sandboxes, c.Store, c.ModelName = newLoop(r.t, r.steps), r, r.store, "test"
	c.Models = func(dataset.Instance, int) (llm.Model, error) { return r, nil }
	return attempt.New(c).Do(r.t.Context(), attempt.Attempt{
		Job: r.in, Report: func(vocab.Event) {}, Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
	})
}

func (r *rows) log() string {
	data, err := os.ReadFile(filepath.Join(r.store.Dir(), "a__1", "agent.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// container is the journal's last container record.
func (r *rows) container() *journal.ContainerData {
	h, err := journal.ReadHistory(filepath.Join(r.store.Dir(), "a__1", "journal.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	return h.Container
}

func TestAnImageAtAnotherCommitIsAFaultBeforeAPaidCall(t *testing.T) {
	for name, scrub := range map[string]bool{"scrubbed": true, "with its history": false} {
		t.Run(name, func(t *testing.T) {
			box, future := ahead(t)
			base := strings.TrimSpace(box.git(t, "rev-parse base"))
			r := newRows(t, dataset.Instance{BaseCommit: base}, box)
			r.config.ScrubGitHistory = scrub
			result, err := r.solve()
			if fault.KindOf(err) != fault.Instance || !strings.Contains(fault.HintOf(err), "--allow-commit-mismatch") {
				t.Errorf("got a fault of kind %v: %v; hint %q; want an Instance fault, %q",
					fault.KindOf(err), err, fault.HintOf(err), "--allow-commit-mismatch")
			}
			mismatch := "HEAD is " + future[:12] + ", one commit on top of it, which changes files that setting up an environment does not: f.txt"
			if want := "the image is not at base_commit " + base + ": " + mismatch; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			if r.calls != 0 || r.container() != nil {
				t.Errorf("got %d calls, container %+v; want calls 0, container nil", r.calls, r.container())
			}
			want := &journal.CommitData{Head: future, Files: []string{"f.txt"}, Total: 1, Mismatch: mismatch}
			if diff := cmp.Diff(want, result.Notes.Commit); diff != "" {
				t.Errorf("commit (-want +got):\n%s", diff)
			}
			if log := r.log(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "changed=1 files=[f.txt] mismatch=") {
				t.Error(log)
			}
		})
	}
}

func TestAnImageAtAnotherCommitRunsIfAllowed(t *testing.T) {
	box, future := ahead(t)
	base := strings.TrimSpace(box.git(t, "rev-parse base"))
	r := newRows(t, dataset.Instance{BaseCommit: base}, box)
	r.config.ScrubGitHistory, r.config.AllowCommitMismatch = true, true
	result, err := r.solve()
	if err != nil || r.calls != 1 {
		t.Fatalf("got %v after %d calls; want calls 1, no error", err, r.calls)
	}
	if c := r.container(); c.Base != future || c.Commit == nil || c.Commit.Head != future || !strings.Contains(c.Commit.Mismatch, "f.txt") {
		t.Errorf("got %+v, want base %v, a commit, head %v, %q in the mismatch", c, future, future, "f.txt")
	}
	if diff := cmp.Diff(r.container().Commit, result.Notes.Commit); diff != "" {
		t.Errorf("commit (-want +got):\n%s", diff)
	}
	if log := r.log(); !strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}

func TestAnImageWithAnUnknownCommitRunsIfAllowed(t *testing.T) {
	unknown := strings.Repeat("0123456789", 4)
	r := newRows(t, dataset.Instance{BaseCommit: unknown}, repo(t, map[string]string{"f.txt": "a\n"}))
	r.box.bashless = true
	if _, err := r.solve(); fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "exit code 127") || r.calls > 0 {
		t.Fatalf("got %v after %d calls; want an Instance fault with %q, calls at most 0", err, r.calls, "exit code 127")
	}
	r.config.AllowCommitMismatch = true
	if _, err := r.solve(); err != nil || r.container().Commit.Mismatch == "" {
		t.Fatalf("got %v, want some mismatch, no error", err)
	}
	r.box.bashless = false
	result, err := r.solve()
	head := strings.TrimSpace(r.box.git(t, "rev-parse HEAD"))
	want := &journal.CommitData{Head: head, Mismatch: "the repository does not have that commit; HEAD is " + head[:12]}
	if diff := cmp.Diff(want, result.Notes.Commit); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestTheBaseCommitIsKeptWhenAnotherIsCheckedOut(t *testing.T) {
	box, future := ahead(t)
	box.git(t, "checkout -q base")
	r := newRows(t, dataset.Instance{BaseCommit: future}, box)
	r.config.ScrubGitHistory, r.config.AllowCommitMismatch = true, true
	if _, err := r.solve(); err != nil {
		t.Fatal(err)
	}
	if got := box.git(t, "show "+future+":f.txt"); got != "the solution\n" {
		t.Errorf("got %q, want %q", got, "the solution\n")
	}
}

func TestASetupCommitIsNoted(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\n", "setup.py": "a\n"})
	base := strings.TrimSpace(box.git(t, "rev-parse HEAD"))
	box.write(t, "setup.py", "b\n")
	box.git(t, commit+"SWE-bench setup.py")
	box.write(t, "f.txt", "not committed\n")
	r := newRows(t, dataset.Instance{BaseCommit: strings.ToUpper(base[:8]) + "\n", Patch: "--- a/f.txt\n+++ b/f.txt\n"}, box)
	result, err := r.solve()
	if err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSpace(box.git(t, "rev-parse HEAD"))
	want := &journal.CommitData{Head: head, Files: []string{"setup.py"}, Total: 1}
	if diff := cmp.Diff(want, r.container().Commit); diff != "" {
		t.Errorf("journal: %s, want no difference", diff)
	}
	if diff := cmp.Diff(want, result.Notes.Commit); diff != "" {
		t.Errorf("trajectory: %s, want no difference", diff)
	}
	log := r.log()
	for _, text := range []string{
		`msg="the image is at its row's commit" base_commit=` + base[:8] + ` head=` + head + ` changed=1 files=[setup.py]`,
		`msg="the image's working tree has changes that are not committed" files=1 names=f.txt`,
	} {
		if !strings.Contains(log, text) {
			t.Errorf("want %s in\n%s", text, log)
		}
	}
}

func TestRowsWithoutACommitAreNotChecked(t *testing.T) {
	for name, in := range map[string]string{"none": "", "blank": " \n"} {
		t.Run(name, func(t *testing.T) {
			box := &host{dir: filepath.Join(t.TempDir(), "no repository")}
			if err := os.Mkdir(box.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			r := newRows(t, dataset.Instance{BaseCommit: in}, box)
			result, err := r.solve()
			if err != nil || result.Notes.Commit != nil || r.container().Commit != nil {
				t.Errorf("got %v, %+v; want commit nil, no error", err, result.Notes.Commit)
			}
		})
	}
}

// atBase has the startup command check out the row's commit.
func atBase(in dataset.Instance) (string, error) { return "git checkout -q " + in.BaseCommit, nil }

func TestTheImageIsCheckedAndScrubbedAfterTheStartupCommand(t *testing.T) {
	box, _ := ahead(t)
	base := strings.TrimSpace(box.git(t, "rev-parse base"))
	r := newRows(t, dataset.Instance{BaseCommit: base}, box)
	r.config.ScrubGitHistory, r.config.Startup, r.outage, r.steps = true, atBase, true, 2
	if _, err := r.solve(); fault.KindOf(err) != fault.Transient {
		t.Fatal(err)
	}
	if c := r.container(); c.Base != base || c.Commit != nil {
		t.Errorf("got %+v, want base %v, commit nil", c, base)
	}
	if r.box.scripts != 3 { // one checks, one scrubs, one salvages
		t.Errorf("%d scripts were run, want 3", r.box.scripts)
	}
}

func TestAResumedAttemptIsCheckedOnlyInANewContainer(t *testing.T) {
	box, future := ahead(t)
	r := newRows(t, dataset.Instance{BaseCommit: strings.TrimSpace(box.git(t, "rev-parse base"))}, box)
	r.config.ScrubGitHistory, r.config.AllowCommitMismatch, r.outage, r.steps = true, true, true, 2
	looked := func() int { return strings.Count(r.log(), "the image is not at its row's commit") }
	if _, err := r.solve(); fault.KindOf(err) != fault.Transient || looked() != 1 {
		t.Fatalf("got a fault of kind %v: %v, looked at %d times; want a Transient fault, looked 1", fault.KindOf(err), err, looked())
	}
	first := r.container()
	box.git(t, commit+"agent --allow-empty") // a commit that the agent made

	r.box.adopted, r.config.AllowCommitMismatch = true, false
	result, err := r.solve()
	if fault.KindOf(err) != fault.Transient || r.calls != 3 || looked() != 1 {
		t.Fatalf("%v after %d calls, checked %d times", err, r.calls, looked())
	}
	if c := r.container(); !c.Adopted || c.Base != future || !cmp.Equal(c.Commit, first.Commit) || !cmp.Equal(result.Notes.Commit, first.Commit) {
		t.Errorf("got commit %+v, want %+v as before; trajectory %+v", c, first, result.Notes.Commit)
	}

	r.box.adopted = false
	if _, err := r.solve(); fault.KindOf(err) != fault.Instance || r.calls != 3 || looked() != 2 {
		t.Errorf("%v after %d calls, checked %d times", err, r.calls, looked())
	}
}
