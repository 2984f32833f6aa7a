package grading

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// A change of anything that a verdict depends on judges again.
func TestWhatJudgesAgain(t *testing.T) {
	parser := filepath.Join(t.TempDir(), "parser")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(parser, []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	row := func() dataset.Instance {
		return dataset.Instance{
			ID: "a__1", Repo: "o/r", BaseCommit: "c", Image: "image", EvalScript: "true", LogParser: "parse_log_pytest",
			Patch: "gold", FailToPass: []string{"t"}, PassToPass: []string{"u"},
		}
	}
	planner := func() Planner { return Planner{Settings: Settings{Network: "none"}, Sandboxes: sandbox.Config{}} }
	for name, c := range map[string]struct {
		change   func(*Planner, *dataset.Instance)
		want     string // in the reason; empty: the verdict is kept
		standing string // likewise, for a run that is resumed
	}{
		"nothing":         {func(*Planner, *dataset.Instance) {}, "", ""},
		"a test to fix":   {func(_ *Planner, in *dataset.Instance) { in.FailToPass = append(in.FailToPass, "v") }, "expected tests", "expected tests"},
		"a test to keep":  {func(_ *Planner, in *dataset.Instance) { in.PassToPass = nil }, "expected tests", "expected tests"},
		"how they count":  {func(_ *Planner, in *dataset.Instance) { in.EvalType = "fail_only" }, "expected tests", "expected tests"},
		"the script":      {func(_ *Planner, in *dataset.Instance) { in.EvalScript = "false" }, "eval script", "eval script"},
		"the gold patch":  {func(_ *Planner, in *dataset.Instance) { in.Patch = "other" }, "gold patch", "gold patch"},
		"the base commit": {func(_ *Planner, in *dataset.Instance) { in.BaseCommit = "d" }, "files of the tests", "files of the tests"},
		"a parser":        {func(p *Planner, _ *dataset.Instance) { p.Options.Parser = parser }, "parser", "parser"},
		"the network":     {func(p *Planner, _ *dataset.Instance) { p.Network = "bridge" }, "network", ""},
		"the time limit":  {func(p *Planner, _ *dataset.Instance) { p.Timeout = time.Hour }, "limits", ""},
		"memory":          {func(p *Planner, _ *dataset.Instance) { p.Sandboxes.Container.Memory = 1 << 30 }, "limits", ""},
		"the agent's own": {func(p *Planner, _ *dataset.Instance) { p.Sandboxes.Container.Network = "bridge" }, "", ""},
		"what prepares it": {func(p *Planner, _ *dataset.Instance) {
			p.Startup = func(dataset.Instance) (string, error) { return "true", nil }
		}, "prepares", "prepares"},
	} {
		t.Run(name, func(t *testing.T) {
			before, in := planner(), row()
			task, err := before.find(in)
			if err != nil {
				t.Fatal(err)
			}
			g := grades.Grade{
				InstanceID: in.ID, Verdict: vocab.VerdictResolved, Script: digest([]byte(task.Script)), Parser: task.Parser, Rules: before.Rules.String(),
				Basis: before.basisOf(before.Sandboxes)(in, task),
			}
			for standing, want := range map[bool]string{false: c.want, true: c.standing} {
				p, changed := planner(), row()
				c.change(&p, &changed)
				p.Standing = standing
				keep, why, stale := p.decide(p.Job(changed, results.Prediction{InstanceID: in.ID}), g, "", p.basisOf(p.Sandboxes))
				ofRow := c.standing != "" // under other settings, the verdict is still right under its own
				if keep != (want == "") || stale != (!keep && ofRow) || !keep && !strings.Contains(why, want) {
					t.Errorf("standing %v: kept %v, stale %v, %q; want %q", standing, keep, stale, why, want)
				}
			}
			old := g
			old.Basis = grades.Basis{}
			if keep, why, stale := before.decide(before.Job(in, results.Prediction{}), old, "", before.basisOf(before.Sandboxes)); keep || stale || !strings.Contains(why, "not recorded") {
				t.Errorf("of an earlier version: kept %v, stale %v, %q", keep, stale, why)
			}
		})
	}
	t.Run("another text of the same parser", func(t *testing.T) {
		p, in := planner(), row()
		p.Options.Parser = parser
		write("one")
		task, err := p.find(in)
		if err != nil {
			t.Fatal(err)
		}
		was := p.basisOf(p.Sandboxes)(in, task)
		write("two")
		if why := p.basisOf(p.Sandboxes)(in, task).Changed(was); !strings.Contains(why, "program that reads the log") {
			t.Errorf("%q", why)
		}
	})
}
