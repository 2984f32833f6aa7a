package sweep

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
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
	var configs []run.Config
	for _, c := range s.Cells {
		config, err := c.Setup.Config()
		if err != nil {
			t.Fatal(err)
		}
		configs = append(configs, config)
	}
	if err := s.Check(t.Context(), configs); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := s.Config(configs)
	if err != nil {
		t.Fatal(err)
	}
	work, err := run.OpenSweep(t.Context(), config)
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

// A cell that is continued alone has the sweep's limit, and counts what the others have cost.
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
	if _, err := Read(full, p); !os.IsNotExist(err) && !strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		t.Errorf("got %v, want that it does not exist", err)
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
	text, err := m.Text(func(text []byte) []byte { return text })
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
		t.Errorf("%v, said %q; want one warning", err, slices.Compact(said))
	}
}
