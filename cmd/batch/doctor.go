package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/hub"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/run"
	"batch.example/batch/run/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	r := run.NewRequest()
	var try, agent, image string
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine can run batch, and say what to do",
		Long: `Check the Docker engine, memory, disk, the registry of the images, the model's
key and the dataset hub, and say how to get what is missing. The registry
is asked for one image of SWE-bench, through the engine and with its logins.
With -m, or a model in -c FILE, one small call is made to the model, with the
settings of a run: it reports which model answered, tokens, price and time.
One more asks whether the model takes images. Without one, no model is called.
With --try IMAGE, which the engine must have, a container is started with the
settings of a run, a command runs in it, and the container is removed; on
Kubernetes, a pod, whose network is probed.

With --agent, only the program is checked that is the agent of a configuration:
it works in an instance of the demo, or in --image IMAGE, and batch plays its
provider, without a key. See batch help agents for what is printed.

  batch doctor
  batch doctor -m openai/gpt-5 -c swebench.yaml
  batch doctor --agent claude-code

Exit codes: 0 a run can work (warnings aside), 1 it cannot, 2 usage.`,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case agent != "":
				return a.doctorOfAgent(c.Context(), r, agent, image, asJSON)
			case image != "":
				return fault.Newf(fault.Usage, "--image is for --agent").WithHint("to start a container of an image: `batch doctor --try %s`", image)
			}
			return a.doctor(c.Context(), r, try, asJSON)
		},
	}
	c.Flags().StringVarP(&r.Model, "model", "m", "", "call this model once: "+strings.Join(catalogue.Names(), ", "))
	c.Flags().StringVar(&r.ImagePrefix, "image-prefix", "", "ask this registry or mirror for images, as for batch run")
	c.Flags().StringArrayVarP(&r.Configs, "config", "c", nil, "YAML `FILE` or key=value, as for batch run; may be repeated")
	c.Flags().StringVar(&try, "try", "", "start a container of this `IMAGE`, run a command in it and remove it")
	c.Flags().StringVar(&agent, "agent", "", "check the program of this configuration (`NAME` of batch's own, or a file), with a played provider")
	c.Flags().StringVar(&image, "image", "", "with --agent: let it work in a container of this `IMAGE`, which has a repository in environment.cwd")
	addEngine(c.Flags(), &r.Engines)
	c.Flags().BoolVar(&asJSON, "json", false, "print the checks as one JSON object")
	return c
}

// sampleInstance is an instance of Verified and Lite. Doctor asks the registry for its image.
const sampleInstance = "sympy__sympy-20590"

func (a *app) doctor(ctx context.Context, r run.Request, try string, asJSON bool) error {
	cfg, err := a.process().LoadConfig(r)
	if err != nil {
		return err
	}
	if err := a.process().HideAndWarn(cfg, nil); err != nil {
		return err
	}
	sandboxes, err := a.process().Sandboxes(cfg, r)
	if err != nil {
		return err
	}
	program, _ := os.Executable() //nolint:errcheck // without it, nothing is said about PATH
	look := doctor.Config{
		Hub: hub.FromEnv(a.getenv, a.home), Dir: ".", Getenv: a.getenv,
		Image: dataset.Instance{ID: sampleInstance}.ImageName(r.ImagePrefix), Program: program, Model: cfg.Model.ModelName != "",
		Options: sandboxes.Options, Try: sandboxes.Container, MaxCPUs: sandboxes.MaxCPUs,
	}
	look.Try.Image = try
	for _, e := range sandboxes.Engines {
		look.Engines = append(look.Engines, doctor.Engine{Address: e.Address, Connect: e.Connect})
	}
	out := a.stdout
	if asJSON {
		out = io.Discard
	}
	checks := doctor.Look(ctx, look)
	failed := printChecks(out, checks)
	if look.Model {
		asked := doctor.Ask(ctx, run.ModelSettings(cfg, a.getenv), offered(cfg))
		checks, failed = append(checks, asked...), failed+printChecks(out, asked)
	}
	return a.diagnose(ctx, checks, failed, asJSON)
}

// doctorOfAgent tries the program that is the agent of a configuration.
func (a *app) doctorOfAgent(ctx context.Context, r run.Request, agent, image string, asJSON bool) (err error) {
	r.Configs = append([]string{agent}, r.Configs...)
	cfg, err := a.process().LoadConfig(r)
	if err != nil {
		return err
	}
	if err := a.process().HideAndWarn(cfg, nil); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fault.New(fault.Host, "finding this program", err)
	}
	t := doctor.AgentTrial{Request: r, Process: a.process(), Image: image}
	t.Batch = func(ctx context.Context, args ...string) *exec.Cmd { return exec.CommandContext(ctx, program, args...) }
	if t.Dir, err = os.MkdirTemp("", "batch-doctor-"); err != nil {
		return fault.New(fault.Host, "making a folder for the trials", err)
	}
	defer os.RemoveAll(t.Dir)                                                             //nolint:errcheck // a folder for temporary files
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // the trials remove their containers
	defer stop()
	var checks []doctor.Check
	failed := 0
	err = doctor.TryAgent(ctx, t, func(c doctor.Check) {
		checks = append(checks, c)
		if !asJSON {
			printChecks(a.stdout, checks[len(checks)-1:])
		}
		if c.State == doctor.Bad {
			failed++
		}
	})
	if err != nil {
		return err
	}
	return a.diagnose(ctx, checks, failed, asJSON)
}

// diagnose prints the checks as JSON if that is wanted, and returns the error of those that failed.
func (a *app) diagnose(ctx context.Context, checks []doctor.Check, failed int, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(map[string]any{"checks": checks, "failed": failed}); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed > 0:
		return fault.Newf(fault.Host, "%s failed", printable.Count(failed, "check", "checks"))
	}
	return nil
}

// offered returns the tools that a run with the configuration offers its model, as far as a
// server may refuse a request for them.
func offered(cfg *config.Config) []llm.Tool {
	if cfg.ActionForm().Kind == agent.Text {
		return nil
	}
	return []llm.Tool{agent.BashTool().Tool}
}

// printChecks returns how many failed.
func printChecks(out io.Writer, checks []doctor.Check) (failed int) {
	for _, k := range checks {
		fmt.Fprintf(out, "%-5s %-7s %s\n", k.State, k.Name, printable.Line(k.Text))
		if k.Hint != "" {
			fmt.Fprintf(out, "%14s%s\n", "", strings.ReplaceAll(k.Hint, "\n", "\n"+strings.Repeat(" ", 14)))
		}
		if k.State == doctor.Bad {
			failed++
		}
	}
	return failed
}
