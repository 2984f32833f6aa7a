package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/vocab"
)

func unknown() *manifest.Git { return nil }

// demo returns a sweep over two rows of the demo.
func demo(t *testing.T, dir string, p run.Process, g Grid, change func(*run.Request)) (*Setup, error) {
	t.Helper()
	base := run.NewRequest()
	base.Subset, base.Slice = "demo", ":2"
	if change != nil {
		change(&base)
	}
	cells, err := g.Cells(base, []string{"--subset=demo", "--slice=:2"})
	if err != nil {
		t.Fatal(err)
	}
	return New(dir, cells, p)
}

// opened loads a sweep and opens its runs, as a command does, without doing their work.
func opened(t *testing.T, s *Setup) []run.Config {
	t.Helper()
	if err := s.Load(t.Context(), unknown); err != nil {
		t.Fatal(err)
	}
	configs, err := s.Configs(nil)
	if err != nil {
		t.Fatal(err)
	}
	work, err := s.Open(t.Context(), configs)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * len(s.Cells); work.Todo() != want {
		t.Errorf("%d attempts are left, want %d", work.Todo(), want)
	}
	if err := work.Close(); err != nil {
		t.Fatal(err)
	}
	return configs
}

var two = Grid{Models: []Variant{{Model: "oracle"}, {Model: "noop"}}, Common: []string{"agent.step_limit=7"}, Attempts: make([][]string, 1)}

func TestASweepIsContinuedAsItWasBegun(t *testing.T) {
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "swept")
	if err := os.WriteFile(filepath.Join(from, "my.yaml"), []byte("agent: {cost_limit: 2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(from)
	g := two
	g.Common = append([]string{"my.yaml"}, g.Common...)
	s, err := demo(t, dir, testProcess(t), g, func(r *run.Request) { r.Workers, r.CostLimit = 3, 5 })
	if err != nil {
		t.Fatal(err)
	}
	first := opened(t, s)

	t.Chdir(t.TempDir())
	again, err := Read(dir, testProcess(t))
	if err != nil {
		t.Fatal(err)
	}
	if again.Index.CostLimit != 5 || len(again.Cells) != 2 {
		t.Fatalf("a limit of %v over %d cells, want 5 over 2", again.Index.CostLimit, len(again.Cells))
	}
	second := opened(t, again)
	for i, c := range again.Cells {
		if c.Folder != []string{"oracle@1", "noop@1"}[i] || c.Setup.Settings.Agent.CostLimit != 2 || c.Setup.Workers != 3 {
			t.Errorf("%s has %+v", c.Folder, c.Setup.Request)
		}
		if d := cmp.Diff(first[i].Settings.Resolved(), second[i].Settings.Resolved()); d != "" {
			t.Errorf("%s (-first +second):\n%s", c.Folder, d)
		}
		if second[i].Width != second[0].Width {
			t.Errorf("%s has a width of its own", c.Folder)
		}
	}
	if err := again.Retry(run.Choice{Outcomes: []string{"limit"}}); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v, want a usage fault: no cell has begun", err)
	}
}

// A cell that is continued alone has the sweep's limit, and counts the costs of the others.
func TestACellAloneHasTheLimitOfItsSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "swept")
	s, err := demo(t, dir, testProcess(t), two, func(r *run.Request) { r.CostLimit = 5 })
	if err != nil {
		t.Fatal(err)
	}
	opened(t, s)
	r, err := run.CellRequest(dir, s.Index.Cells[1], testProcess(t))
	if err != nil {
		t.Fatal(err)
	}
	alone, err := run.NewSetup(r, testProcess(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := alone.Load(t.Context())
	if err != nil || c.CostLimit != 5 || c.Sweep != dir {
		t.Errorf("%v; a limit of %v in sweep %q, want 5 in %s", err, c.CostLimit, c.Sweep, dir)
	}
}

func TestASweepThatCannotBeIsRefused(t *testing.T) {
	p := testProcess(t)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := demo(t, full, p, two, nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("got %v, want a usage fault", err)
	}
	if _, err := Read(full, p); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "is not the folder of a sweep") {
		t.Errorf("got %v, want a usage fault", err)
	}
	for what, cells := range map[string][]sweeps.Cell{"no cells": nil, "no request": {{Folder: "m@1"}}} {
		if _, err := New(filepath.Join(full, "new"), cells, p); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: got %v, want a usage fault", what, err)
		}
	}
	if err := (&sweeps.Index{}).Write(full); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(full, p); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no cells") {
		t.Errorf("got %v, want a usage fault", err)
	}

	dir := filepath.Join(t.TempDir(), "swept")
	s, err := demo(t, dir, p, two, nil)
	if err != nil {
		t.Fatal(err)
	}
	opened(t, s)
	m := manifest.Manifest{Command: "run", Dataset: manifest.Dataset{Name: "demo", Count: 3, Instances: []string{"a", "b", "c"}}}
	text, err := m.Text()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "oracle@1", manifest.File), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Read(dir, p); err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context(), unknown); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "has other instances") {
		t.Errorf("got %v, want a usage fault", err)
	}
	s.Accept = []string{"dataset"}
	if err := s.Load(t.Context(), unknown); err != nil {
		t.Errorf("accepted: %v", err)
	}
}

func TestWhatCellsSayInTheSameWordsIsSaidOnce(t *testing.T) {
	var said []string
	p := testProcess(t)
	p.Tell = func(text string) { said = append(said, text) }
	g := two
	g.Common = []string{"agent.mode=yolo"} // which warns
	s, err := demo(t, filepath.Join(t.TempDir(), "swept"), p, g, nil)
	if err == nil {
		err = s.Load(t.Context(), unknown)
	}
	if err != nil || len(said) != 1 {
		t.Errorf("%v, said %q; want one warning", err, said)
	}
}

// ended gives an instance of a cell a result.
func ended(t *testing.T, s *Setup, cell int, id string) {
	t.Helper()
	store, err := results.Open(s.Cells[cell].Run.Output, results.Options{Durability: journal.Process})
	if err != nil {
		t.Fatal(err)
	}
	settings := manifest.Settings{Model: s.Cells[cell].Model}
	attempt, err := store.Begin(id, settings)
	if err == nil {
		_, err = store.Put(t.Context(), &results.Result{Record: results.Record{
			InstanceID: id, Attempt: attempt.Number(), Model: settings.Model, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted,
		}})
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

// Instances that run again are selected by id: neither the file that once selected them nor
// the other selected rows have to exist.
func TestChosenInstancesOfASweepRunAgain(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	rows := `{"instance_id":"a__b-1","problem_statement":"p","patch":"x"}` + "\n"
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rows.jsonl", rows+strings.Replace(rows, "-1", "-2", 1))
	write("ids", "a__b-1\na__b-2\n")
	dir := filepath.Join(t.TempDir(), "swept")
	s, err := demo(t, dir, testProcess(t), two, func(r *run.Request) { r.Subset, r.Slice, r.InstancesFile = "rows.jsonl", "", "ids" })
	if err != nil {
		t.Fatal(err)
	}
	opened(t, s)
	for i := range s.Cells {
		m := manifest.Manifest{Command: "run", Dataset: manifest.Dataset{Name: "rows.jsonl", Count: 2, Instances: []string{"a__b-1", "a__b-2"}}}
		text, err := m.Text()
		if err == nil {
			err = os.WriteFile(filepath.Join(s.Cells[i].Run.Output, manifest.File), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ended(t, s, 1, "a__b-1")
	write("rows.jsonl", rows)
	if err := os.Remove(filepath.Join(work, "ids")); err != nil {
		t.Fatal(err)
	}

	s, err = Read(dir, testProcess(t))
	if err != nil {
		t.Fatal(err)
	}
	folder := s.Cells[0].Folder
	for want, id := range map[string]string{"has no cell other": "other/a__b-1", "has no instance a__b-3": folder + "/a__b-3"} {
		if err := s.Retry(run.Choice{IDs: []string{id}}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", id, err, want)
		}
	}
	both := []string{s.Cells[1].Folder + "/a__b-2", folder + "/a__b-typo"}
	if err := s.Retry(run.Choice{IDs: both}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "a__b-typo") {
		t.Errorf("%q: %v, want no instance", both, err)
	}
	if err := s.Retry(run.Choice{IDs: []string{folder + "/a__b-2"}}); err != nil || len(s.Cells) != 1 || !slices.Equal(s.Cells[0].Run.Only, []string{"a__b-2"}) {
		t.Errorf("one cell's: %v, %d cells, %q", err, len(s.Cells), s.Cells[0].Run.Only)
	}
	if s, err = Read(dir, testProcess(t)); err != nil {
		t.Fatal(err)
	}
	s.LimitCost(4)
	s.Accept = []string{"all"}
	if err := s.Retry(run.Choice{Outcomes: []string{"submitted"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	configs, err := s.Configs(nil)
	if err != nil || len(configs) != 1 {
		t.Fatalf("%v, %d cells; want the one that has a result", err, len(configs))
	}
	c := configs[0]
	if !c.Again || !c.Settled || !slices.Equal(c.Accept, s.Accept) || len(c.Instances) != 1 || c.Instances[0].ID != "a__b-1" || c.CostLimit != 4 || s.Index.CostLimit != 4 {
		t.Errorf("again %v, settled %v, accept %q, %d instances, limits %v and %v", c.Again, c.Settled, c.Accept, len(c.Instances), c.CostLimit, s.Index.CostLimit)
	}
}

// keys implements Keys for a test.
type keys map[string][]string

func (k keys) Names() []string        { return []string{"subset", "workers", "cost-limit-total"} }
func (k keys) Given(name string) bool { return name == "subset" }
func (k keys) Set(name string, values []string) error {
	if name == "workers" && values[0] == "x" {
		return errors.New("expected a number")
	}
	k[name] = values
	return nil
}

func TestTheFileOfASweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	read := func(text string) (Grid, keys, error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		k := keys{}
		g, err := ReadFile(path, k)
		return g, k, err
	}
	g, k, err := read("subset: {x: y}\nworkers: 4\ncost_limit_total: [1, 2]\nmodels: [a, {name: n, model: b, config: [x=1]}]\nconfigs: [c]\nconfig: d\nattempts: [[s=1], [s=2, t=3]]\n")
	want := Grid{
		Models: []Variant{{Model: "a"}, {Name: "n", Model: "b", Specs: []string{"x=1"}}}, Configs: []Variant{{Specs: []string{"c"}}},
		Common: []string{"d"}, Attempts: [][]string{{"s=1"}, {"s=2", "t=3"}},
	}
	if d := cmp.Diff(want, g); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if d := cmp.Diff(keys{"workers": {"4"}, "cost-limit-total": {"1", "2"}}, k); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
	for text, want := range map[string]string{
		"models: [a]\nworkers: x": "s.yaml, line 2: workers: expected a number", "workers: 1\nworkers: 2": "line 2: workers is there twice",
		"worker: 1": "line 1: unknown key \"worker\"", "models: a": "line 1: models: expected a list", "workers: {a: b}": "line 1: workers: expected a text",
		"attempts: 0": "line 1: attempts: expected a number", "[]": "expected keys such as models", "models: [{name: x}]": "models: expected a model's name",
	} {
		if _, _, err := read(text); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
