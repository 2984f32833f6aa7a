package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/runner"
)

func folders(cells []sweeps.Cell) (list []string) {
	for _, c := range cells {
		list = append(list, c.Folder)
	}
	return list
}

func TestNamesOfCells(t *testing.T) {
	twice := make([][]string, 2)
	for _, c := range []struct {
		what string
		grid grid
		want string
	}{
		{"a model", grid{models: []variant{{model: "openai/gpt-5"}}, attempts: twice}, "gpt-5@1 gpt-5@2"},
		{"one name at two providers", grid{models: []variant{{model: "openai/gpt-5"}, {model: "azure/gpt-5"}}, attempts: twice[:1]}, "openai-gpt-5@1 azure-gpt-5@1"},
		{"two configurations", grid{models: []variant{{model: "m"}}, configs: []variant{{specs: []string{"default"}}, {specs: []string{"conf/my.yaml"}}}, attempts: twice[:1]}, "m+default@1 m+my@1"},
		{"values", grid{models: []variant{{model: "m"}}, configs: []variant{{specs: []string{"agent.step_limit=5"}}, {specs: []string{"agent.step_limit=9"}}}, attempts: twice[:1]}, "m+step_limit=5@1 m+step_limit=9@1"},
		{"given names", grid{models: []variant{{name: "Cold / 0", model: "m"}}, configs: []variant{{name: "x", specs: []string{"tools"}}}, attempts: twice[:1]}, "Cold---0+x@1"},
		{"a hostile name", grid{models: []variant{{model: "scripted/../../etc"}, {name: "..", model: "n"}}, attempts: twice[:1]}, "etc@1 cell@1"},
	} {
		cells, err := c.grid.cells(run.Request{}, nil)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := strings.Join(folders(merge(&sweeps.Index{}, cells)), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestAnIndexKeepsTheNamesOfItsCells(t *testing.T) {
	cells := func(g grid) []sweeps.Cell {
		t.Helper()
		list, err := g.cells(run.Request{}, []string{"--subset=demo"})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	one := variant{model: "openai/m"}
	var x sweeps.Index
	merge(&x, cells(grid{models: []variant{one}, attempts: make([][]string, 2)}))
	for _, c := range []struct {
		what string
		grid grid
		want string
	}{
		{"the same", grid{models: []variant{one}, attempts: make([][]string, 2)}, "m@1 m@2"},
		{"the base as a configuration beside another one", grid{models: []variant{one}, configs: []variant{{specs: []string{"default"}}, {specs: []string{"tools"}}}, attempts: make([][]string, 1)}, "m@1 m+tools@1"},
		{"a further attempt", grid{models: []variant{one}, attempts: make([][]string, 3)}, "m@1 m@2 m@3"},
		{"the name with other values", grid{models: []variant{one}, common: []string{"agent.step_limit=3"}, attempts: make([][]string, 2)}, "m-2@1 m-2@2"},
		{"that one again", grid{models: []variant{one}, common: []string{"agent.step_limit=3"}, attempts: make([][]string, 1)}, "m-2@1"},
		{"a name in other letters", grid{models: []variant{{model: "a/m", name: "M"}}, attempts: make([][]string, 1)}, "M-3@1"},
	} {
		if got := strings.Join(folders(merge(&x, cells(c.grid))), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	for _, c := range x.Cells {
		if c.Argv[0] != "run" {
			t.Errorf("%s: argv %q, want a run", c.Folder, c.Argv)
		}
	}
}

func TestKeysAreNotInTheIndex(t *testing.T) {
	g := grid{models: []variant{{model: "openai/m"}}, common: []string{"model.model_kwargs.api_key=sk-secret-key"}, attempts: make([][]string, 1)}
	cells, err := g.cells(run.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var x sweeps.Index
	chosen := merge(&x, cells)
	dir := t.TempDir()
	if err := x.Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, sweeps.File))
	if err != nil || strings.Contains(string(text), "sk-secret") {
		t.Errorf("%v, %s; want no key", err, text)
	}
	if !strings.Contains(strings.Join(chosen[0].Argv, " "), "sk-secret-key") {
		t.Errorf("%q; want the key, for this process", chosen[0].Argv)
	}
	if !slices.Contains(chosen[0].Request.Configs, "model.model_kwargs.api_key=sk-secret-key") {
		t.Errorf("%q; want the key, for this process", chosen[0].Request.Configs)
	}
	if _, err := run.CellRequest(dir, x.Cells[0], appWith(t, nil).process()); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want a usage fault that names the secret", err)
	}
}

func FuzzSweepFile(f *testing.F) {
	for _, text := range []string{
		"models: [a]\n", "models: [{name: x, model: y, config: [z]}]\nattempts: 3", "attempts: [[a=1], [b=2]]", "subset: demo\nslice: ':2'\nworkers: 4\ngrade: true",
		"config: {a: b}", "models: &a [*a]", "? [a]\n: b", "workers: [1, 2]", "models: null", "---\n---\n", "cost_limit_total: .nan", "attempts: 99999999999999999999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags, c := sweepFlags{each: &cobra.Command{}}, &cobra.Command{}
		flags.add(c.Flags())
		g, err := readSweepFile(path, c.Flags(), &flags)
		if err != nil {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "s.yaml") {
				t.Errorf("%v; want a usage fault that names the file", err)
			}
			return
		}
		cells, err := g.cells(flags.run.Request, flags.eachArgs())
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, cell := range merge(&sweeps.Index{}, cells) {
			if !filepath.IsLocal(cell.Folder) || strings.ContainsAny(cell.Folder, "/\\\x00") || seen[strings.ToLower(cell.Folder)] {
				t.Errorf("folder %q in %v", cell.Folder, folders(cells))
			}
			seen[strings.ToLower(cell.Folder)] = true
		}
	})
}

func TestCellsOfOneNameAreRefused(t *testing.T) {
	for what, g := range map[string]grid{
		"one model twice":     {models: []variant{{model: "m"}, {model: "m"}}},
		"one name":            {models: []variant{{model: "a", name: "x"}, {model: "b", name: "X"}}},
		"files with one name": {models: []variant{{model: "m"}}, configs: []variant{{specs: []string{"a/my.yaml"}}, {specs: []string{"b/my.yaml"}}}},
	} {
		g.attempts = make([][]string, 1)
		if _, err := g.cells(run.Request{}, nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "two cells of the grid would be called") {
			t.Errorf("%s: got %v, want a usage fault", what, err)
		}
	}
}

func TestFlagsReplaceWhatAFileHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	text := "models: [a, b]\nsubset: lite\nworkers: 8\nretry: [transient=1, bug=2]\nattempts: 4\nconfig: [x.yaml]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags, c := sweepFlags{each: &cobra.Command{}}, &cobra.Command{}
	flags.add(c.Flags())
	if err := c.ParseFlags([]string{"-m", "c", "--workers", "2", "--set", "y=1"}); err != nil {
		t.Fatal(err)
	}
	g, err := readSweepFile(path, c.Flags(), &flags)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.models) != 1 || g.models[0].model != "c" || len(g.attempts) != 4 {
		t.Errorf("got %+v, want model c in 4 attempts", g)
	}
	if diff := cmp.Diff([]string{"x.yaml", "y=1"}, g.common); diff != "" {
		t.Errorf("what all cells have (-want +got):\n%s", diff)
	}
	want := []string{"--subset=lite", "--workers=2", "--retry=transient=1", "--retry=bug=2"}
	if diff := cmp.Diff(want, flags.eachArgs()); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

func TestAnIndexWithoutCommandsIsRefused(t *testing.T) {
	for _, argv := range [][]string{nil, {}, {"sweep"}} {
		_, err := run.CellRequest("s", sweeps.Cell{Folder: "a@1", Argv: argv}, appWith(t, nil).process())
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "sweep.json") {
			t.Errorf("%q: got %v, want a usage fault that names the index", argv, err)
		}
	}
}

func TestCellsThatAreTheSameAreRefused(t *testing.T) {
	g := grid{models: []variant{{model: "m", name: "a"}, {model: "m", name: "b"}}, attempts: make([][]string, 1)}
	if _, err := g.cells(run.Request{}, nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "a@1 and b@1 of the grid are the same") {
		t.Errorf("got %v, want a usage fault that names both", err)
	}
}

func TestAnAttemptKeepsItsValues(t *testing.T) {
	index := func(x *sweeps.Index, seeds ...string) error {
		g := grid{models: []variant{{model: "m"}}}
		for _, seed := range seeds {
			g.attempts = append(g.attempts, []string{"model.model_kwargs.seed=" + seed})
		}
		cells, err := g.cells(run.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		merge(x, cells)
		return checkMerged(x)
	}
	var x sweeps.Index
	if err := index(&x, "1", "2"); err != nil {
		t.Fatal(err)
	}
	if err := index(&x, "1", "2", "3"); err != nil {
		t.Errorf("a further attempt: %v", err)
	}
	if err := index(&x, "1", "5"); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "m@2 was made with other values") {
		t.Errorf("got %v, want a usage fault that names the cell", err)
	}
}

func TestNewCellsDoNotGetANameOfEachOther(t *testing.T) {
	var x sweeps.Index
	for _, models := range [][]variant{{{model: "m", name: "a"}}, {{model: "n", name: "a"}, {model: "o", name: "a-2"}}} {
		cells, err := grid{models: models, attempts: make([][]string, 1)}.cells(run.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		merge(&x, cells)
	}
	if err := checkMerged(&x); err != nil {
		t.Error(err)
	}
}

func TestCellsShareTheirWidths(t *testing.T) {
	list := []run.Config{
		{Width: runner.NewWidth(3)},
		{Width: runner.NewWidth(1), Grading: &run.Grading{Width: runner.NewWidth(2)}},
		{Width: runner.NewWidth(1), Grading: &run.Grading{Width: runner.NewWidth(1)}},
	}
	share(list)
	for _, c := range list {
		if c.Width != list[0].Width || c.Grading != nil && c.Grading.Width != list[1].Grading.Width {
			t.Errorf("%+v has widths of its own", c)
		}
	}
}
