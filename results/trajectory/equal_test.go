package trajectory_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
)

const demo = "demo__roman-8"

// recorded returns the journal of a recorded attempt.
func recorded(t testing.TB, form string) []byte {
	t.Helper()
	text, err := os.ReadFile(results.JournalPath(filepath.Join("..", "export", "testdata", form), demo))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// directory returns a run directory with a journal of an instance.
func directory(t testing.TB, text []byte) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = results.JournalPath(dir, demo)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// both leaves out what only a view has: indexes in its messages.
var both = cmp.Options{
	cmpopts.IgnoreFields(trajectory.Step{}, "Reply"),
	cmpopts.IgnoreFields(trajectory.Action{}, "Answer"),
	cmpopts.IgnoreUnexported(trajectory.Action{}),
}

// same fails if the pages of an attempt differ from its view.
func same(t *testing.T, dir string, number int, m *mask.Masker) {
	t.Helper()
	s := trajectory.Source{Dir: dir, Instance: demo, Attempt: number}
	v, err := s.Read(m)
	if err != nil {
		t.Fatal(err)
	}
	a, err := trajectory.NewCache(1).Attempt(s, m)
	if err != nil {
		t.Fatal(err)
	}
	o, err := a.Overview()
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Marks) != len(v.Steps) || len(o.Problems) > 0 {
		t.Fatalf("the index has %d steps and the problems %v, the view has %d steps", len(o.Marks), o.Problems, len(v.Steps))
	}
	var got []trajectory.Step
	for i := range o.Marks {
		p, err := a.Page(i+1, i+1, trajectory.Options{Clip: -1})
		if err != nil || len(p.Steps) != 1 || len(p.Problems) > 0 {
			t.Fatalf("page %d: %v, %+v", i+1, err, p)
		}
		got = append(got, p.Steps[0])
	}
	if d := cmp.Diff(v.Steps, got, both); d != "" {
		t.Errorf("the pages and the view differ (-view +pages):\n%s", d)
	}
	whole, err := a.Page(1, len(o.Marks), trajectory.Options{Clip: -1})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(v.Prompts, whole.Prompts); d != "" {
		t.Errorf("prompts (-view +page):\n%s", d)
	}
	if v.Exit != nil && (whole.End == nil || whole.End.Status != v.Exit.Status || whole.End.Reason != v.Exit.Reason || whole.End.Hint != v.Exit.Hint) {
		t.Errorf("end: got %+v, want %+v", whole.End, v.Exit)
	}
}

// An attempt is read at each instant of its life: after each record of its journal.
func TestPagesHaveWhatTheViewOfTheAttemptHas(t *testing.T) {
	for _, form := range []string{"toolcall", "text", "tools"} {
		t.Run(form, func(t *testing.T) {
			whole := recorded(t, form)
			dir, path := directory(t, nil)
			for end := 0; end < len(whole); {
				end += bytes.IndexByte(whole[end:], '\n') + 1
				if err := os.WriteFile(path, whole[:end], 0o600); err != nil {
					t.Fatal(err)
				}
				same(t, dir, -1, mask.New(mask.Secret{Name: "WORD", Value: "Roman numerals"}))
			}
		})
	}
}
