package export_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results/export"
	"batch.example/batch/results/trajectory"
)

// What is exported is read again as the same steps. The text that the model was shown takes the
// place of the output, which is not in the file.
func TestATIFIsReadAgain(t *testing.T) {
	for _, form := range []string{"toolcall", "text", "tools"} {
		dir := filepath.Join("testdata", form)
		got := write(t, export.Options{}, dir)
		want, err := trajectory.Source{Dir: dir, Instance: "demo__roman-8", Attempt: -1}.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := trajectory.Parse(got.atif["demo__roman-8.json"])
		if err != nil {
			t.Fatal(err)
		}
		if v.Instance != want.Instance || v.Info.ExitStatus != want.Info.ExitStatus || v.Info.Submission != string(want.Patch.Text) || v.Model != want.Model {
			t.Errorf("%s: got %q, %q, %q", form, v.Instance, v.Info.ExitStatus, v.Model)
		}
		if d := cmp.Diff(briefSteps(want), briefSteps(v)); d != "" {
			t.Errorf("%s (-exported +read):\n%s", form, d)
		}
	}
}

type briefStep struct {
	Number             int
	Thought, Reasoning string
	Refused            bool
	Commands           []string
	Exits              []int
	Seconds            []float64
	Cost               float64
	Input, Output      int64
}

func briefSteps(v *trajectory.View) (list []briefStep) {
	for _, s := range v.Steps {
		b := briefStep{Number: s.Number, Thought: s.Thought, Reasoning: s.Reasoning, Refused: s.Refused, Cost: s.Cost, Input: s.Usage.Input, Output: s.Usage.Output}
		for _, a := range s.Actions {
			b.Commands = append(b.Commands, a.Tool+"|"+a.Command)
			if a.Exit != nil && a.State == trajectory.Done {
				b.Exits, b.Seconds = append(b.Exits, *a.Exit), append(b.Seconds, a.Seconds)
			}
		}
		list = append(list, b)
	}
	return list
}
