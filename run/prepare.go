package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
	"batch.example/batch/sandbox"
	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// Prepare returns the agent that all instances share. It refuses what would
// fail, or be paid for in vain, with every instance.
func Prepare(cfg *config.Config, selected []dataset.Instance) (*agent.Loop, error) {
	if err := dataset.CheckTasks(selected); err != nil {
		return nil, err
	}
	loop, err := agent.NewLoop(cfg.Loop())
	if err != nil {
		return nil, err
	}
	return loop, checkTemplates(cfg, loop, selected)
}

// checkTemplates renders all that instances will render, with the variables
// that they will have.
func checkTemplates(cfg *config.Config, loop *agent.Loop, selected []dataset.Instance) error {
	env, command := unopened{}, startup(cfg.Run.EnvStartupCommand)
	turn := func(in dataset.Instance) agent.Turn {
		t := solver.Task(in)
		t.Env = env
		return t
	}
	if err := loop.Check(turn(selected[0])); err != nil { // a selection is never empty
		return err
	}
	for _, in := range selected {
		if err := loop.CheckTask(turn(in)); err != nil {
			return fmt.Errorf("instance %s: %w", in.ID, err)
		}
		if _, err := command(in); err != nil {
			return err
		}
	}
	return nil
}

// startup renders run.env_startup_command, whose variables are a row's columns.
func startup(template string) func(dataset.Instance) (string, error) {
	return func(in dataset.Instance) (string, error) {
		if template == "" {
			return "", nil
		}
		command, err := agent.RenderTemplate("run.env_startup_command", template, in.Fields)
		if err != nil {
			return "", fault.New(fault.Usage, "instance "+in.ID, err).WithHint("this template knows the columns of the instance's row: %s",
				strings.Join(slices.Sorted(maps.Keys(in.Fields)), ", "))
		}
		return command, nil
	}
}

// unopened is an environment that is only looked at.
type unopened struct{}

// Execute implements agent.Environment.
func (unopened) Execute(context.Context, string) (vocab.Output, error) {
	return vocab.Output{}, fault.Newf(fault.Bug, "executing a command in an environment that is not open")
}

// Vars implements agent.Environment.
func (unopened) Vars() map[string]any { return sandbox.Vars() }

// ByImage orders instances so that those that share an image, or probably
// layers of it, run near each other: by repository, its version and the image.
func ByImage(list []dataset.Instance, prefix string) []dataset.Instance {
	return imagecache.Group(list, func(in dataset.Instance) []string {
		image := in.ImageName(prefix)
		return []string{cmp.Or(in.Repo, imagecache.Repository(image)), in.Version, image}
	})
}

// Predicted returns the ids in a directory's preds.json. It only reads: a dry
// run takes no lock and mends nothing.
func Predicted(dir string) map[string]bool {
	var preds map[string]json.RawMessage
	done := map[string]bool{}
	data, err := os.ReadFile(filepath.Join(dir, "preds.json"))
	if err != nil || json.Unmarshal(data, &preds) != nil {
		return done
	}
	for id := range preds {
		done[id] = true
	}
	return done
}

// DefaultOutput names the run directory after what is run, so that the same
// command finds it again.
func DefaultOutput(subset, model string) string {
	name := strings.TrimSuffix(filepath.Base(subset), filepath.Ext(subset)) + "-" + model
	clean := strings.Map(func(r rune) rune {
		if r == '/' || r == '*' || r == '?' || r == ':' || r == ' ' {
			return '-'
		}
		return r
	}, name)
	return filepath.Join("runs", clean)
}
