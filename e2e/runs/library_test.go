package runs

import (
	"os"
	"path/filepath"
	"slices"
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
