package run

import (
	"errors"
	"os"
	"slices"
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/sandbox"
)

// demoRun is a run over the first instances of the demo, with a model that submits nothing.
func demoRun(t *testing.T, output string, n int, specs ...string) Config {
	t.Helper()
	cfg, err := config.Load(append([]string{"model.model_name=noop"}, specs...), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: "demo", Demo: demo.Files()})
	if err != nil {
		t.Fatal(err)
	}
	instances := ds.Instances[:n]
	loop, err := Prepare(cfg, instances)
	if err != nil {
		t.Fatal(err)
	}
	model, warnings, err := FindModel(cfg, 0, Access{})
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	home, _ := os.UserHomeDir()
	boxes := Environment(cfg, sandbox.One(docker.FromEnv(os.Getenv, home).Open), os.Getenv)
	boxes.State = t.TempDir()
	return Config{Output: output, Settings: cfg, Loop: loop, Instances: instances, Model: model, Sandboxes: boxes}
}

func TestADirectoryIsOneRunsAtATime(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(t.Context(), demoRun(t, dir, 2))
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Summary(); r.Todo() != 2 || s.Missing != 2 || s.Began || len(s.Asked) != 2 {
		t.Errorf("got %d to do, %+v; want todo 2, missing 2, began false, 2 requests", r.Todo(), s)
	}
	_, err = Open(t.Context(), demoRun(t, dir, 2))
	if _, locked := errors.AsType[*results.LockedError](err); !locked {
		t.Errorf("a second run opened the directory too: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r, err = Open(t.Context(), demoRun(t, dir, 2))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A run needs no observer, does not repeat finished work, and adds nothing to a directory
// with other settings.
// The settings need a model of the catalogue, whatever the caller runs.
func TestResultsOfACallersOwnModelAreFiledUnderItsName(t *testing.T) {
	c := demoRun(t, t.TempDir(), 1)
	for name, model := range map[string]Model{"noop": c.Model, "mine/gold": {Name: "mine/gold", Open: c.Model.Open}} {
		c.Model = model
		r, err := newRun(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.settingsOf(r.Instances[0]).Model; got != name || c.Settings.Model.ModelName != "noop" {
			t.Errorf("%s: filed under %q, the caller's settings have %q", name, got, c.Settings.Model.ModelName)
		}
	}
}

func TestARunIsALibrary(t *testing.T) {
	dir := t.TempDir()
	c := demoRun(t, dir, 1)
	engine, err := docker.Connect(t.Context(), docker.FromEnv(os.Getenv, os.Getenv("HOME")))
	if err == nil {
		var here bool
		if _, here, err = engine.Image(t.Context(), c.Instances[0].ImageName(""), ""); err == nil && !here {
			err = fault.New(fault.Host, "the demo's images are not built: run scripts/demo-images", nil)
		}
		_ = engine.Close()
	}
	if err != nil {
		if os.Getenv("BATCH_DOCKER") == "require" {
			t.Fatal(err)
		}
		t.Skipf("no Docker: %v", err)
	}
	for _, todo := range []int{1, 0} {
		r, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Todo() != todo {
			t.Errorf("%d to do, want %d", r.Todo(), todo)
		}
		if err := r.Work(t.Context(), nil, nil); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		s := r.Summary()
		if s.Missing != 0 || s.Final != todo || s.Began != (todo > 0) || !slices.Contains(s.Asked, s.Records[0].InstanceID) {
			t.Errorf("got %+v, want missing 0, final %v, began %v, %v in the requests",
				s, todo, (todo > 0), s.Records[0].InstanceID)
		}
	}
	if _, err := Open(t.Context(), demoRun(t, dir, 2, "agent.step_limit=7")); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Errorf("another step limit: %v, want a Usage fault, a hint", err)
	}
}
