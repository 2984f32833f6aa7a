package attempt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// The state of an attempt is in its record although its resume fails at once.
func TestAFailedResumeKeepsTheStateOfTheAttempt(t *testing.T) {
	p := newPlaying(t, plays["submits"])
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	dir := p.crashed(lines[:len(lines)-6], false)
	h, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	gone := fault.Newf(fault.Transient, "the engine is away")
	s := attempt.New(attempt.Config{
		Loop: p.loop, ModelName: "test", Store: store, Now: clock,
		Sandboxes: opens(func(o sandbox.Opening) (attempt.Sandbox, error) {
			if o.Instance.ID != "a" || o.Attempt != 1 || o.Container != "c" {
				t.Errorf("asked for %+v, want ID %q, attempt 1, container %q", o, "a", "c")
			}
			o.Report("pull")
			return nil, gone
		}),
		Models: func(_ dataset.Instance, heard int) (llm.Model, error) {
			if heard != len(h.Before())+1 {
				t.Errorf("the model has said %d replies, want %d", heard, len(h.Before())+1)
			}
			return scripted.Noop(scripted.Config{}), nil
		},
	})
	var phases []string
	r, err := s.Do(t.Context(), attempt.Attempt{
		Job: dataset.Instance{ID: "a"}, Report: func(p vocab.Event) { phases = append(phases, fmt.Sprint(p.Phase, p.Step)) },
		Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
	})
	if !errors.Is(err, gone) {
		t.Fatal(err)
	}
	steps := len(h.Before()) + 1
	rec := r.Record
	if rec.Steps != steps || rec.Cost != 0.5*float64(steps) || rec.ModelID != "scripted" || rec.Resumed != 1 || !rec.Started.Equal(h.Started) {
		t.Errorf("got %+v after %d replies, want their steps and cost, resumed once", rec, steps)
	}
	if rec.Usage.Input < 3000 || rec.Time.Total != h.Elapsed.Seconds() {
		t.Errorf("usage %+v, time %+v, %v elapsed; want input at least 3000, total %v",
			rec.Usage, rec.Time, h.Elapsed, h.Elapsed.Seconds())
	}
	if want := []string{fmt.Sprint("pull", steps)}; !cmp.Equal(phases, want) {
		t.Errorf("reported %q, want %q", phases, want)
	}
}

// facts is a host's sandbox with its own settings.
type facts struct {
	*host
	f sandbox.Facts
}

func (f facts) Facts() sandbox.Facts { return f.f }

func TestATrajectoryRecordsItsSettings(t *testing.T) {
	box := facts{repo(t, map[string]string{"f.txt": "a\n"}), sandbox.Facts{
		Container: "c", Image: vocab.Image{Ref: "img:1", ID: "sha256:1"},
	}}
	config := map[string]any{"agent": map[string]any{"step_limit": 7}, "environment": map[string]any{"cwd": "/x", "network_mode": "none", "image": "asked"}}
	result, store, err := solveWith(t, attempt.Config{
		Loop: newLoop(t, 20), Sandboxes: opens(func(sandbox.Opening) (attempt.Sandbox, error) { return box, nil }),
		Settings: func(dataset.Instance) manifest.Settings {
			return manifest.Settings{Config: config, Prompts: "their source", Version: "test"}
		},
	}, dataset.Instance{ID: "a__1"}, scripted.Noop(scripted.Config{}), runner.NewBudget(0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	info := saved(t, store, result).Info
	want := map[string]any{
		"agent": map[string]any{"step_limit": 7.0}, "prompts": "their source",
		"environment": map[string]any{"cwd": "/x", "network_mode": "none", "image": "img:1"},
		"agent_type":  "batch.agent.Loop", "model_type": "batch.llm", "environment_type": "batch.docker",
	}
	if d := cmp.Diff(want, info.Config); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}
	if env := config["environment"].(map[string]any); len(env) != 3 || env["image"] != "asked" {
		t.Errorf("the settings were changed: %v", env)
	}
	if info.MiniVersion == "" || info.BatchVersion != "test" || result.Record.ImageID != "sha256:1" || result.Record.Image != "img:1" {
		t.Errorf("got %+v, %+v; want some mini version, batch version %q, image ID %q, image %q",
			info, result.Record, "test", "sha256:1", "img:1")
	}
	plain, store, err := solveWith(t, attempt.Config{Loop: newLoop(t, 20), Sandboxes: hosts{box: box.host}},
		dataset.Instance{ID: "a__1"}, scripted.Noop(scripted.Config{}), runner.NewBudget(0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if c := saved(t, store, plain).Info.Config; len(c) != 4 || c["prompts"] != nil {
		t.Errorf("without settings: %v, want 4 c, prompts nil", c)
	}
}

// saved stores a result and returns its trajectory.
func saved(t *testing.T, store *results.Store, r *results.Result) results.Trajectory {
	t.Helper()
	if _, err := store.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return trajectory(t, store, r.Record.InstanceID)
}

func trajectory(t *testing.T, store *results.Store, id string) (tr results.Trajectory) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(store.Dir(), id, id+".traj.json"))
	if err == nil {
		err = json.Unmarshal(text, &tr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// scripts is a sandbox in which batch's scripts end as a test sets.
type scripts struct {
	*host
	out vocab.Output
	err error
}

func (s scripts) Script(context.Context, string) (vocab.Output, error) { return s.out, s.err }

func TestAFailedPreparationIsAFaultBeforeAPaidCall(t *testing.T) {
	for name, c := range map[string]struct {
		out  vocab.Output
		err  error
		kind fault.Kind
		want string
	}{
		"no end":            {vocab.Output{TimedOut: true, ExitCode: -1}, nil, fault.Instance, "no end within"},
		"the engine fails":  {vocab.Output{}, fault.Newf(fault.Transient, "the engine is away"), fault.Transient, "away"},
		"it says something": {vocab.Output{Bytes: []byte("what?"), ExitCode: 7}, nil, fault.Instance, "preparing the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			box := scripts{repo(t, map[string]string{"f.txt": "a\n"}), c.out, c.err}
			asked := &counting{Model: scripted.Noop(scripted.Config{})}
			_, _, err := solveWith(t, attempt.Config{
				Loop: newLoop(t, 20), ScrubGitHistory: true,
				Sandboxes: opens(func(sandbox.Opening) (attempt.Sandbox, error) { return box, nil }),
			}, dataset.Instance{ID: "a__1"}, asked, runner.NewBudget(0, 0, 0))
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || asked.calls > 0 {
				t.Errorf("got %v (%v) after %d calls; want fault kind %v, with %q, calls at most 0",
					err, fault.KindOf(err), asked.calls, c.kind, c.want)
			}
			if c.kind == fault.Instance && !strings.Contains(fault.HintOf(err), "--keep-git-history") {
				t.Errorf("hint %q, want %q in the hint of an instance's fault",
					fault.HintOf(err), "--keep-git-history")
			}
		})
	}
}

func TestAStartupCommandThatFailsIsTheInstancesFault(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		err     error
		kind    fault.Kind
		want    string
	}{
		"a command that fails":            {"echo why; exit 3", nil, fault.Instance, `exit code 3, output "why\n"`},
		"a template that does not render": {"", fault.Newf(fault.Usage, "no such variable"), fault.Usage, "no such variable"},
	} {
		box := repo(t, map[string]string{"f.txt": "a\n"})
		asked := &counting{Model: scripted.Noop(scripted.Config{})}
		_, _, err := solveWith(t, attempt.Config{
			Loop: newLoop(t, 20), Sandboxes: hosts{box: box},
			Startup: func(dataset.Instance) (string, error) { return c.command, c.err },
		}, dataset.Instance{ID: "a__1"}, asked, runner.NewBudget(0, 0, 0))
		if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || asked.calls > 0 {
			t.Errorf("%s: got %v (%v) after %d calls; want fault kind %v, with %q, calls at most 0",
				name, err, fault.KindOf(err), asked.calls, c.kind, c.want)
		}
	}
}

// prints is a shell that prints the given texts, one per command.
type prints struct {
	texts []string
	ran   []string
}

func (p *prints) Script(_ context.Context, command string) (vocab.Output, error) {
	p.ran = append(p.ran, command)
	text := ""
	if len(p.texts) > 0 {
		text, p.texts = p.texts[0], p.texts[1:]
	}
	return vocab.Output{Bytes: []byte(text), Total: int64(len(text))}, nil
}

func TestADiffIsReadInPiecesUntilComplete(t *testing.T) {
	for name, c := range map[string]struct {
		texts  []string
		want   string
		failed bool
		runs   int
	}{
		"at once":            {[]string{"3\nabc"}, "abc", false, 1},
		"in pieces":          {[]string{"7\nabc", "de", "fg"}, "abcdefg", false, 3},
		"empty":              {[]string{"0\n"}, "", false, 1},
		"a piece is missing": {[]string{"7\nabc", "de"}, "", true, 4}, // the last command cleans up
		"no size":            {[]string{"x\nabc"}, "", true, 2},
		"nothing at all":     {nil, "", true, 2},
		"too large":          {[]string{fmt.Sprint(64<<20+1, "\nabc")}, "", true, 2},
	} {
		env := &prints{texts: c.texts}
		patch, err := boxgit.WorktreeDiff(t.Context(), env)
		if string(patch) != c.want && !c.failed || (err != nil) != c.failed || len(env.ran) != c.runs {
			t.Errorf("%s: got %q, %v after %d commands; want %q, err != nil: %v, %d commands run",
				name, patch, err, len(env.ran), c.want, c.failed, c.runs)
		}
		if c.failed && (fault.KindOf(err) != fault.Instance || !strings.HasPrefix(env.ran[len(env.ran)-1], "rm -rf /tmp/.batch-salvage-")) {
			t.Errorf("%s: got %v and the last command %q; want an Instance fault and the removal of the file", name, err, env.ran[len(env.ran)-1])
		}
	}
}

// ends is a shell in which each command ends as given.
type ends struct {
	out vocab.Output
	err error
}

func (e ends) Script(context.Context, string) (vocab.Output, error) { return e.out, e.err }

func TestAnIncompleteDiffIsAFault(t *testing.T) {
	whole := vocab.Output{Bytes: []byte("3\nabc"), Total: 5}
	away := fault.Newf(fault.Transient, "the engine is away")
	failed, short := whole, whole
	failed.ExitCode, short.Total = 7, 6
	for name, env := range map[string]ends{
		"the command failed": {failed, nil}, "a part is missing": {short, nil}, "no engine": {vocab.Output{}, away},
	} {
		patch, err := boxgit.WorktreeDiff(t.Context(), env)
		if patch != nil || fault.KindOf(err) != fault.Instance || errors.Is(err, away) != (env.err != nil) {
			t.Errorf("%s: got %q, %v; want patch nil, an Instance fault, errors.Is(err, away): %v",
				name, patch, err, env.err != nil)
		}
	}
	if patch, err := boxgit.WorktreeDiff(t.Context(), ends{whole, nil}); err != nil || string(patch) != "abc" {
		t.Errorf("got %q, %v; want patch %q, no error", patch, err, "abc")
	}
}

// A replay that the sandbox interrupts is a fault of that kind, not a divergence.
func TestAnInterruptedReplayIsAFault(t *testing.T) {
	p := newPlaying(t, plays["submits"])
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 4"`)) })
	store, err := results.Open(p.crashed(lines[:cut], false), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	asked := &counting{Model: scripted.Noop(scripted.Config{})}
	s := attempt.New(attempt.Config{
		Loop: p.loop, ModelName: "test", Store: store, Now: clock,
		Sandboxes: opens(func(sandbox.Opening) (attempt.Sandbox, error) { return &broken{world: &world{}, at: 2}, nil }),
		Models:    func(dataset.Instance, int) (llm.Model, error) { return asked, nil },
	})
	r, err := s.Do(t.Context(), attempt.Attempt{
		Job: dataset.Instance{ID: "a"}, Report: func(vocab.Event) {},
		Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
	})
	if fault.KindOf(err) != fault.Transient || asked.calls > 0 || r.Record.Differences > 0 {
		t.Errorf("got %v after %d calls, %+v; want a Transient fault, calls at most 0, differences at most 0",
			err, asked.calls, r.Record)
	}
}

// The phases of an attempt add up to its total.
func TestPhasesCoverTheWholeAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := results.Open(t.TempDir(), results.Options{FlushEvery: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		s := attempt.New(attempt.Config{
			Loop: newLoop(t, 20), ModelName: "test", Store: store,
			Sandboxes: opens(func(o sandbox.Opening) (attempt.Sandbox, error) {
				time.Sleep(time.Second / 2) // removes leftovers of an earlier run
				o.Report("pull")
				time.Sleep(time.Second)
				o.Report("start")
				time.Sleep(4 * time.Second)
				return &named{world: &world{takes: 3 * time.Second}, id: "c", leaves: 2 * time.Second}, nil
			}),
			Startup: func(dataset.Instance) (string, error) { return "do the startup", nil },
			Models: func(dataset.Instance, int) (llm.Model, error) {
				return scripted.Script{"a": []scripted.Reply{bash("submit")}}.Model("a", scripted.Config{Delay: time.Minute}), nil
			},
		})
		r, err := s.Do(t.Context(), attempt.Attempt{
			Job: dataset.Instance{ID: "a"}, Queued: time.Hour, Report: func(vocab.Event) {},
			Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := results.Phases{Queue: 3600, Pull: 1, Start: 4.5, Prepare: 3, Model: 60, Commands: 3, Finish: 2, Total: 73.5}
		if r.Record.Time != want {
			t.Errorf("%+v, want %+v", r.Record.Time, want)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
