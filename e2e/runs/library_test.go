package runs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results"
	"batch.example/batch/run"
)

// A program continues a run that was killed, from another folder than the one that its relative
// paths start in, and pays for no answer twice.
func TestAProgramResumesARun(t *testing.T) {
	tier.Rest(t, "run/*.go")
	c := newCharging(t, 0.01, silentTwice())
	c.killed(t, c.run(t, 2), 2)
	paid := c.calls.Load()

	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(c.dir, "out")
	environ := append(os.Environ(), "OPENAI_BASE_URL="+c.URL, "OPENAI_API_KEY="+e2e.PlantedKey)
	p := run.NewProcess([]string{"a program", "--password=hunter2"}, environ, t.TempDir())
	r, err := run.Continue(t.Context(), dir, p, func(r *run.Request) { r.Workers = 1 })
	if err != nil {
		t.Fatal(err)
	}
	err = r.Work(t.Context(), nil, nil)
	if closing := r.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}

	if sum := r.Summary(); sum.Missing != 0 || len(sum.Asked) != 2 {
		t.Errorf("%d of %d instances have no result", sum.Missing, len(sum.Asked))
	}
	snap, err := results.Read(dir)
	if err != nil || len(snap.Patches) != 2 {
		t.Fatalf("%v; %d predictions, want 2", err, len(snap.Patches))
	}
	if m := snap.Manifest; len(m.Runs) != 2 || !slices.Equal(m.Runs[1].Argv, []string{"a program", "--password=********"}) || m.Request.Workers != 2 {
		t.Errorf("runs %+v, request %+v; want two runs, and the request of the first", m.Runs, m.Request)
	}
	if again := c.calls.Load() - paid; again != 2 {
		t.Errorf("%d more calls, want the two that had no answer", again)
	}
	if now, err := os.Getwd(); err != nil || now != here {
		t.Errorf("works in %s, %v; want %s", now, err, here)
	}
}

// The program with which the comment of package run begins runs a model of its own, and grades.
func TestTheLibrarysProgram(t *testing.T) {
	tier.Rest(t, "run/*.go")
	e2e.NeedDocker(t)
	text, err := os.ReadFile(filepath.Join(tier.Root, "run", "example_own_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "own")
	text = []byte(strings.NewReplacer("package run_test", "package main", "func Example()", "func main()").Replace(string(text)))
	overlay := fmt.Sprintf(`{"Replace": {%q: %q}}`, filepath.Join(tier.Root, "own", "main.go"), source)
	if err := errors.Join(os.WriteFile(source, text, 0o600), os.WriteFile(filepath.Join(dir, "overlay.json"), []byte(overlay), 0o600)); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./own")
	build.Dir = tier.Root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	own := exec.CommandContext(t.Context(), program)
	own.Dir, own.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=")
	out, err := own.CombinedOutput()
	if want := "demo__roman-8 submitted resolved\ndemo__slug-1 submitted resolved\n"; err != nil || string(out) != want {
		t.Errorf("%v: it prints\n%swant\n%s", err, out, want)
	}
}
