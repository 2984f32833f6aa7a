package sweep

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		grid Grid
		want string
	}{
		{"a model", Grid{Models: []Variant{{Model: "openai/gpt-5"}}, Attempts: twice}, "gpt-5@1 gpt-5@2"},
		{"one name at two providers", Grid{Models: []Variant{{Model: "openai/gpt-5"}, {Model: "azure/gpt-5"}}, Attempts: twice[:1]}, "openai-gpt-5@1 azure-gpt-5@1"},
		{"two configurations", Grid{Models: []Variant{{Model: "m"}}, Configs: []Variant{{Specs: []string{"default"}}, {Specs: []string{"conf/my.yaml"}}}, Attempts: twice[:1]}, "m+default@1 m+my@1"},
		{"two agents", Grid{Models: []Variant{{Model: "m"}}, Agents: []Variant{{Specs: []string{"default"}}, {Specs: []string{"codex"}}}, Configs: []Variant{{Name: "x"}}, Attempts: twice[:1]}, "m+default+x@1 m+codex+x@1"},
		{"values", Grid{Models: []Variant{{Model: "m"}}, Configs: []Variant{{Specs: []string{"agent.step_limit=5"}}, {Specs: []string{"agent.step_limit=9"}}}, Attempts: twice[:1]}, "m+step_limit=5@1 m+step_limit=9@1"},
		{"given names", Grid{Models: []Variant{{Name: "Cold / 0", Model: "m"}}, Configs: []Variant{{Name: "x", Specs: []string{"tools"}}}, Attempts: twice[:1]}, "Cold---0+x@1"},
		{"a hostile name", Grid{Models: []Variant{{Model: "scripted/../../etc"}, {Name: "..", Model: "n"}}, Attempts: twice[:1]}, "etc@1 cell@1"},
	} {
		cells, err := c.grid.Cells(run.Request{}, nil)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := strings.Join(folders(merge(&sweeps.Index{}, cells)), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestAnIndexKeepsTheNamesOfItsCells(t *testing.T) {
	cells := func(g Grid) []sweeps.Cell {
		t.Helper()
		list, err := g.Cells(run.Request{}, []string{"--subset=demo"})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	one := Variant{Model: "openai/m"}
	var x sweeps.Index
	merge(&x, cells(Grid{Models: []Variant{one}, Attempts: make([][]string, 2)}))
	for _, c := range []struct {
		what string
		grid Grid
		want string
	}{
		{"the same", Grid{Models: []Variant{one}, Attempts: make([][]string, 2)}, "m@1 m@2"},
		{"the base as a configuration beside another one", Grid{Models: []Variant{one}, Configs: []Variant{{Specs: []string{"default"}}, {Specs: []string{"tools"}}}, Attempts: make([][]string, 1)}, "m@1 m+tools@1"},
		{"a further attempt", Grid{Models: []Variant{one}, Attempts: make([][]string, 3)}, "m@1 m@2 m@3"},
		{"the name with other values", Grid{Models: []Variant{one}, Common: []string{"agent.step_limit=3"}, Attempts: make([][]string, 2)}, "m-2@1 m-2@2"},
		{"that one again", Grid{Models: []Variant{one}, Common: []string{"agent.step_limit=3"}, Attempts: make([][]string, 1)}, "m-2@1"},
		{"a name in other letters", Grid{Models: []Variant{{Model: "a/m", Name: "M"}}, Attempts: make([][]string, 1)}, "M-3@1"},
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
	g := Grid{Models: []Variant{{Model: "openai/m"}}, Common: []string{"model.model_kwargs.api_key=sk-secret-key"}, Attempts: make([][]string, 1)}
	cells, err := g.Cells(run.Request{}, nil)
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
	if _, err := run.CellRequest(dir, x.Cells[0], testProcess(t)); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want a usage fault that names the secret", err)
	}
}

func TestCellsOfOneNameAreRefused(t *testing.T) {
	for what, g := range map[string]Grid{
		"one model twice":     {Models: []Variant{{Model: "m"}, {Model: "m"}}},
		"one name":            {Models: []Variant{{Model: "a", Name: "x"}, {Model: "b", Name: "X"}}},
		"files with one name": {Models: []Variant{{Model: "m"}}, Configs: []Variant{{Specs: []string{"a/my.yaml"}}, {Specs: []string{"b/my.yaml"}}}},
	} {
		g.Attempts = make([][]string, 1)
		if _, err := g.Cells(run.Request{}, nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "two cells of the grid would be called") {
			t.Errorf("%s: got %v, want a usage fault", what, err)
		}
	}
}

func TestAnIndexWithoutCommandsIsRefused(t *testing.T) {
	for _, argv := range [][]string{nil, {}, {"sweep"}} {
		_, err := run.CellRequest("s", sweeps.Cell{Folder: "a@1", Argv: argv}, testProcess(t))
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "sweep.json") {
			t.Errorf("%q: got %v, want a usage fault that names the index", argv, err)
		}
	}
}

func TestCellsThatAreTheSameAreRefused(t *testing.T) {
	g := Grid{Models: []Variant{{Model: "m", Name: "a"}, {Model: "m", Name: "b"}}, Attempts: make([][]string, 1)}
	if _, err := g.Cells(run.Request{}, nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "a@1 and b@1 of the grid are the same") {
		t.Errorf("got %v, want a usage fault that names both", err)
	}
}

func TestAnAttemptKeepsItsValues(t *testing.T) {
	index := func(x *sweeps.Index, seeds ...string) error {
		g := Grid{Models: []Variant{{Model: "m"}}}
		for _, seed := range seeds {
			g.Attempts = append(g.Attempts, []string{"model.model_kwargs.seed=" + seed})
		}
		cells, err := g.Cells(run.Request{}, nil)
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
	for _, models := range [][]Variant{{{Model: "m", Name: "a"}}, {{Model: "n", Name: "a"}, {Model: "o", Name: "a-2"}}} {
		cells, err := Grid{Models: models, Attempts: make([][]string, 1)}.Cells(run.Request{}, nil)
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

func testProcess(t *testing.T) run.Process {
	t.Helper()
	return run.NewProcess([]string{"sweep"}, nil, t.TempDir())
}
