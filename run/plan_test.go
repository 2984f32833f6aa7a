package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// mixed is a directory in which the first four of five instances have a result, an
// unfinished attempt, a failed one, and an unfinished one of other settings.
func mixed(t *testing.T) (dir string, c Config) {
	t.Helper()
	dir = t.TempDir()
	c = demoRun(t, dir, 5)
	r, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	attempt := func(i int, under manifest.Settings, end *results.Record) {
		a, err := r.store.Begin(c.Instances[i].ID, under)
		if err == nil && end != nil {
			end.InstanceID, end.Attempt = c.Instances[i].ID, a.Number()
			_, err = r.store.Put(t.Context(), &results.Result{Record: *end})
		}
		if err := errors.Join(err, a.Close()); err != nil {
			t.Fatal(err)
		}
	}
	other := r.settingsOf(c.Instances[3])
	other.Salvage = !other.Salvage
	attempt(0, r.settingsOf(c.Instances[0]), &results.Record{Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted})
	attempt(1, r.settingsOf(c.Instances[1]), nil)
	attempt(2, r.settingsOf(c.Instances[2]), &results.Record{
		Status: vocab.StatusInstanceFault, Outcome: vocab.OutcomeInfrastructure, Blame: fault.Instance.String(), Error: "no image",
	})
	attempt(3, other, nil)
	if err := errors.Join(r.store.WriteManifest(r.manifest), r.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, c
}

func TestAPlanDescribesTheRun(t *testing.T) {
	dir, c := mixed(t)
	type row struct {
		Action Action
		Why    string
	}
	all := map[string][]row{
		"accepted": {
			{Keep, "Submitted"},
			{Resume, "before the first step"},
			{Retry, "after InstanceFault: no image"},
			{Retry, "from the beginning: settings changed"},
			{Fresh, ""},
		},
		"again": {
			{Retry, "replaces Submitted"},
			{Resume, "before the first step"},
			{Retry, "after InstanceFault: no image"},
			{Retry, "from the beginning: settings changed"},
			{Fresh, ""},
		},
		"from the beginning": {
			{Retry, "replaces Submitted"},
			{Retry, "from the beginning"},
			{Retry, "after InstanceFault: no image"},
			{Retry, "from the beginning"},
			{Fresh, ""},
		},
	}
	for name, want := range all {
		c := c
		c.Accept = []string{"all"}
		c.Again, c.Fresh = name != "accepted", name == "from the beginning"
		before := files(t, dir)
		plan, err := NewPlan(t.Context(), c)
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(before, files(t, dir)); diff != "" {
			t.Errorf("%s: a plan changed the directory:\n%s", name, diff)
		}
		got := map[string]row{}
		for _, p := range plan.Instances {
			got[p.ID] = row{p.Action, p.Why}
		}
		for i, in := range c.Instances {
			if got[in.ID] != want[i] {
				t.Errorf("%s: instance %d: %+v, want %+v", name, i, got[in.ID], want[i])
			}
		}
	}
}

func TestARunFollowsItsPlan(t *testing.T) {
	_, c := mixed(t)
	c.Accept, c.ByImage, c.Grading = []string{"all"}, true, &Grading{}
	plan, err := NewPlan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if plan.Ungraded != 1 || r.ToGrade() != 1 {
		t.Errorf("%d predictions to grade, and %d in the plan; want the one that has no verdict", r.ToGrade(), plan.Ungraded)
	}
	var planned []string
	for _, p := range plan.Instances {
		if p.Action != Keep {
			planned = append(planned, p.ID)
		}
	}
	if todo := ids(r.todo); !slices.Equal(planned, todo) || len(todo) != 4 {
		t.Errorf("planned %v, runs %v; want planned %v, 4 todo", planned, todo, todo)
	}
}

func TestAPlanNamesAnEmptySubmission(t *testing.T) {
	dir := t.TempDir()
	c := demoRun(t, dir, 1)
	r, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	end := results.Record{InstanceID: c.Instances[0].ID, Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeEmpty}
	_, err = r.store.Put(t.Context(), &results.Result{Record: end})
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	c.Again = true
	plan, err := NewPlan(t.Context(), c)
	if err != nil || plan.Instances[0].Why != "replaces Submitted (empty)" {
		t.Errorf("got %+v, %v; want why %q, no error", plan, err, "replaces Submitted (empty)")
	}
}

// `batch resume` and `batch retry` have neither -o nor --redo-existing.
func TestHintsNameOnlyFlagsOfTheCommand(t *testing.T) {
	dir, unfinished := mixed(t)
	for name, c := range map[string]Config{"results": demoRun(t, dir, 5, "agent.step_limit=7"), "unfinished": unfinished} {
		for _, settled := range []bool{false, true} {
			c.Settled = settled
			_, err := NewPlan(t.Context(), c)
			if hint := fault.HintOf(err); strings.Contains(hint, "-o`") == settled || settled && strings.Contains(hint, "--redo") ||
				!strings.Contains(hint, "--accept-changes") {
				t.Errorf("%s, settled %v: %q", name, settled, hint)
			}
		}
	}
}

// A plan refuses everything that a run refuses, with the same message.
func TestAPlanRefusesWhatARunRefuses(t *testing.T) {
	dir, mix := mixed(t)
	used := t.TempDir()
	r, err := Open(t.Context(), demoRun(t, used, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	file := filepath.Join(t.TempDir(), "file")
	torn := t.TempDir()
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(filepath.Join(torn, "preds.json"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{
		"unfinished attempts": mix,
		"another step limit":  demoRun(t, dir, 5, "agent.step_limit=7"),
		"in use":              demoRun(t, used, 1),
		"a file":              demoRun(t, file, 1),
		"below a file":        demoRun(t, filepath.Join(file, "out", "deep"), 1),
		"unreadable":          demoRun(t, torn, 1),
		"questions":           demoRun(t, t.TempDir(), 1, "agent.ask=true"),
	} {
		_, planned := NewPlan(t.Context(), c)
		r, opened := Open(t.Context(), c)
		if opened == nil {
			t.Errorf("%s: it runs, want a opened", name)
			_ = r.Close()
			continue
		}
		if planned == nil || planned.Error() != opened.Error() || fault.HintOf(planned) != fault.HintOf(opened) ||
			fault.KindOf(planned) != fault.KindOf(opened) {
			t.Errorf("%s: the plan says %v (%s), the run %v (%s)", name, planned, fault.HintOf(planned), opened, fault.HintOf(opened))
		}
	}
}

func TestAPlanSaysThatResultsOfAnotherToolStay(t *testing.T) {
	dir := t.TempDir()
	c := demoRun(t, dir, 2)
	preds := `{"` + c.Instances[0].ID + `": {"model_name_or_path": "m", "instance_id": "` + c.Instances[0].ID + `", "model_patch": "x"}}`
	if err := os.WriteFile(filepath.Join(dir, "preds.json"), []byte(preds), 0o644); err != nil {
		t.Fatal(err)
	}
	var told string
	c.Tell = func(text string) { told += text }
	if _, err := NewPlan(t.Context(), c); err != nil || !strings.Contains(told, "1 result of another tool stays in "+dir) {
		t.Errorf("it said %q, %v", told, err)
	}
	c.Instances = c.Instances[:1]
	told = ""
	if _, err := NewPlan(t.Context(), c); err != nil || told != "" {
		t.Errorf("of nothing to do it said %q, %v", told, err)
	}
}

func TestAPlanDoesNotCreateTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	plan, err := NewPlan(t.Context(), demoRun(t, dir, 2))
	if err != nil || plan.Count(Fresh) != 2 || plan.Exhausted {
		t.Errorf("got %+v, %v; want 2 fresh instances, exhausted false, no error", plan, err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plan created the directory: %v", err)
	}
}

func TestARunThatGradesNeedsAModelThatNamesAFolder(t *testing.T) {
	c := demoRun(t, filepath.Join(t.TempDir(), "run"), 1)
	c.Settings.Model.ModelName = ".."
	if _, err := NewPlan(t.Context(), c); err != nil {
		t.Errorf("without grading: %v", err)
	}
	c.Grading = &Grading{}
	if _, err := NewPlan(t.Context(), c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "model_name_or_path") {
		t.Errorf("got %v, want a Usage fault about the model", err)
	}
}

// files returns the content of a directory, with its times.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = info.ModTime().String()
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] += string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
