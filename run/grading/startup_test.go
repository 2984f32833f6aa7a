package grading

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
)

func TestTheStartUpCommandPreparesTheContainer(t *testing.T) {
	t.Parallel()
	in := dataset.Instance{ID: "x__1", EvalScript: "true", LogParser: "parse_log_pytest", BaseCommit: "abc", FailToPass: []string{"a"}}
	setup := func(startup func(dataset.Instance) (string, error)) string {
		task, err := Settings{Startup: startup}.find(in)
		if err != nil {
			t.Fatal(err)
		}
		return task.Setup
	}
	if got := setup(nil); got != "" {
		t.Errorf("without one: got %q, want nothing", got)
	}
	got := setup(func(in dataset.Instance) (string, error) { return "git checkout -q " + in.BaseCommit, nil })
	if want := "git checkout -q abc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	failed := errors.New("no such column")
	if _, err := (Settings{Startup: func(dataset.Instance) (string, error) { return "", failed }}).find(in); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
}

func TestTheStartUpCommandComesBeforeThePreparationOfARow(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"cd / && echo first": "first\nsecond\n",
		"echo first; exit 0": "first\nsecond\n",
		"echo first # why":   "first\nsecond\n",
		"echo first; exit 3": "first\n",
	} {
		out, err := exec.Command("bash", "-c", both(command, "echo second")).Output()
		if string(out) != want || (err == nil) != (want == "first\nsecond\n") {
			t.Errorf("%q: got %q and %v, want %q", command, out, err, want)
		}
	}
}

// With Redo, or after a change of the eval script, the earlier verdict stands until there is
// another one. Until then, the command is not done.
func TestWhatIsGradedAgainIsMissingUntilItIs(t *testing.T) {
	d := Directory{plan: []Planned{{}, {}, {Keep: true}}}
	if got := d.Missing(); got != 2 {
		t.Errorf("before: %d missing, want 2", got)
	}
	d.sum = runner.Summary{Final: 1, Pending: 1}
	if got := d.Missing(); got != 1 {
		t.Errorf("interrupted: %d missing, want 1", got)
	}
}

// A plan refuses the same requests as Work does before it grades the first prediction.
func TestAPlanRefusesWhatCannotBeGraded(t *testing.T) {
	own := t.TempDir()
	store, err := results.Open(own, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := store.Begin("a__1", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]Request{
		"has attempts of its own": {Output: own, Import: []results.Prediction{{InstanceID: "a__1"}}},
		"cannot be the name":      {Output: t.TempDir(), Import: []results.Prediction{{InstanceID: "a__1", Model: ".."}}},
	} {
		if _, err := NewPlan(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a plan: got %v, want %q", err, want)
		}
		if _, err := Open(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("grading: got %v, want %q", err, want)
		}
	}
}
