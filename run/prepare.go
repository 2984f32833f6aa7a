package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// Prepare returns the agent that all instances share. It refuses settings that would make
// instances fail, or cost money without a result.
func Prepare(cfg *config.Config, selected []dataset.Instance) (*agent.Loop, error) {
	if err := checkTaskFolders(selected); err != nil {
		return nil, err
	}
	if err := dataset.CheckTasks(selected); err != nil {
		return nil, err
	}
	if (catalogue.Config{Model: cfg.Model.ModelName, Provider: cfg.Model.Provider}).NeedsGold() {
		if err := dataset.CheckGold(selected); err != nil {
			return nil, err
		}
	}
	loop, err := agent.NewLoop(cfg.Loop())
	if err != nil {
		return nil, err
	}
	return loop, checkTemplates(cfg, loop, selected)
}

// checkTemplates renders all templates of all instances, with the variables that they
// will have.
func checkTemplates(cfg *config.Config, loop *agent.Loop, selected []dataset.Instance) error {
	command := Startup(cfg)
	turn := func(in dataset.Instance) agent.Turn {
		t := attempt.Task(in)
		t.Env = unopened{image: in.ImageName("")}
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

// Startup renders run.env_startup_command with a row's columns as variables. The text is
// empty if no command is set.
func Startup(cfg *config.Config) func(dataset.Instance) (string, error) {
	command, failed := cfg.StartupCommand()
	return func(in dataset.Instance) (string, error) {
		if failed != nil || command == nil {
			return "", failed
		}
		text, err := command.Render(in.Fields)
		if err != nil {
			return "", fmt.Errorf("instance %s: %w", in.ID, err)
		}
		return text, nil
	}
}

// unopened is an environment that has variables but cannot execute anything.
type unopened struct{ image string }

// Execute implements agent.Environment.
func (unopened) Execute(context.Context, string) (vocab.Output, error) {
	return vocab.Output{}, fault.Newf(fault.Bug, "executing a command in an environment that is not open")
}

// Vars implements agent.Environment.
func (u unopened) Vars() map[string]any { return sandbox.Vars(u.image) }

// byImage orders instances by repository, its version and the image, so that instances that
// share an image, or probably some of its layers, run near each other.
func byImage(list []Planned, prefix string) []Planned {
	return images.Group(list, func(in Planned) []string {
		image := in.ImageName(prefix)
		return []string{cmp.Or(in.Repo, images.Repository(image)), in.Version, image}
	})
}

// DefaultOutput returns a run directory named after the dataset and the model, so that the
// same command finds it again.
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
