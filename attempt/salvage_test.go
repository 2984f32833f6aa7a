package attempt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// attemptIn makes one attempt in box with the given budget.
func attemptIn(t *testing.T, box *host, model llm.Model, salvage bool, budget *runner.Budget) (result *results.Result, dir string, err error) {
	t.Helper()
	c := attempt.Config{Loop: newLoop(t, 3), Sandboxes: hosts{box: box}, Salvage: salvage}
	result, store, err := solveWith(t, c, dataset.Instance{ID: "a__1"}, model, budget)
	if _, err := store.Put(context.Background(), result); err != nil {
		t.Fatal(err)
	}
	return result, store.Dir(), err
}

// working changes files, commits one of them, and never submits.
func working() llm.Model {
	return scripted.Script{"*": {
		{Bash: `printf 'th\351\n' > latin1.txt; echo new > new.txt; git add new.txt; git -c user.name=t -c user.email=t@localhost commit -qm work`, Cost: 0.25},
		{Bash: "rm f.txt; echo '[core' >> .git/config; echo garbage > .git/index", Cost: 0.25},
		{Bash: "true", Cost: 0.25},
	}}.Model("a__1", scripted.Config{})
}

// clone is another tree at the first commit of box.
func clone(t *testing.T, box *host) *host {
	t.Helper()
	c := &host{dir: filepath.Join(t.TempDir(), "testbed")}
	if out, err := box.Execute(t.Context(), "", "git clone -q . "+c.dir); err != nil || out.ExitCode != 0 {
		t.Fatalf("got %v %s; want exit code 0, no error", err, out.Bytes)
	}
	return c
}

func TestASalvagedPatchIsTheWorkOfTheAttempt(t *testing.T) {
	for _, salvage := range []bool{false, true} {
		box := repo(t, map[string]string{"f.txt": "a\n", "latin1.txt": latin1})
		fresh, other := clone(t, box), clone(t, box)
		result, dir, err := attemptIn(t, box, working(), salvage, runner.NewBudget(0, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		patch, err := os.ReadFile(filepath.Join(dir, "a__1", "a__1.salvaged.patch"))
		if err != nil || string(patch) != string(result.Salvage) || utf8.Valid(patch) {
			t.Fatalf("%v; the file holds %q, the result %q", err, patch, result.Salvage)
		}
		if _, err := os.Stat(filepath.Join(dir, "a__1", "a__1.patch")); err == nil {
			t.Error("a change that was not submitted is stored as a submission")
		}
		apply(t, fresh, string(patch))
		holdsTheWork(t, fresh)

		text := result.Notes.Salvage
		if !utf8.ValidString(text) || !strings.Contains(text, "GIT binary patch") {
			t.Errorf("the trajectory's text is %q", text)
		}
		apply(t, other, text)
		holdsTheWork(t, other)

		rec := result.Record
		if rec.Outcome != vocab.OutcomeLimit || rec.Salvaged != salvage || (result.Prediction == text) != salvage {
			t.Errorf("salvage %v: record %+v, prediction %q", salvage, rec, result.Prediction)
		}
		if marked := strings.HasPrefix(result.Notes.Prediction, "salvaged: "); marked != salvage {
			t.Errorf("asked for %v: note %q, want marked %v", salvage, result.Notes.Prediction, salvage)
		}
		if salvage && rec.PatchBytes != len(patch) {
			t.Errorf("%d bytes of patch, want %d", rec.PatchBytes, len(patch))
		}
	}
}

func holdsTheWork(t *testing.T, h *host) {
	t.Helper()
	if h.read(t, "latin1.txt") != "th\xe9\n" || h.read(t, "new.txt") != "new\n" {
		t.Error("the salvaged patch does not make the agent's working tree")
	}
	if _, err := os.Stat(filepath.Join(h.dir, "f.txt")); err == nil {
		t.Error("the patch does not delete f.txt")
	}
}

// A run that changed nothing has no change to predict.
func TestAnUnchangedWorkingTreeHasNoPrediction(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\n"})
	idle := scripted.Script{"*": slices.Repeat([]scripted.Reply{{Bash: "true"}}, 3)}.Model("a__1", scripted.Config{})
	result, _, err := attemptIn(t, box, idle, true, runner.NewBudget(0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if result.Record.Outcome != vocab.OutcomeLimit || result.Record.Salvaged || result.Prediction != "" || result.Notes.Prediction != "" {
		t.Errorf("got %+v, prediction %q, note %q; want outcome %v, salvaged false, no prediction",
			result.Record, result.Prediction, result.Notes.Prediction, vocab.OutcomeLimit)
	}
}

func TestAnAttemptThatContinuesIsNotSalvaged(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\n", "latin1.txt": latin1})
	result, dir, err := attemptIn(t, box, working(), true, runner.NewBudget(0.5, 0, 0))
	if !errors.Is(err, runner.ErrBudget) || result.Salvage != nil || result.Prediction != "" {
		t.Errorf("got %v, salvaged %q; want error %v, salvage nil, no prediction", err, result.Salvage, runner.ErrBudget)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "a__1", "*.patch")); len(found) > 0 {
		t.Errorf("left %q, want no found", found)
	}
}

func TestAMissingWorkingTreeCannotBeSalvaged(t *testing.T) {
	for name, command := range map[string]string{
		"no repository": "rm -rf .git",
		"no objects":    "rm -rf .git/objects",
	} {
		box := repo(t, map[string]string{"f.txt": "a\n"})
		base := strings.TrimSpace(box.git(t, "rev-parse HEAD"))
		if _, err := box.Execute(t.Context(), "", command); err != nil {
			t.Fatal(err)
		}
		if patch, err := boxgit.WorktreeDiff(t.Context(), box, base); err == nil {
			t.Errorf("%s: a patch of %d bytes, want an error", name, len(patch))
		}
		if left, err := os.ReadDir(box.tmp()); err != nil || len(left) > 0 {
			t.Errorf("%s: left in /tmp: %v, %v; want no process, no error", name, left, err)
		}
	}
}
