package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/run/sweep"
)

// sweepFlags are the flags of `batch sweep`.
type sweepFlags struct {
	output   string
	models   []string
	agents   []string // as configs
	configs  []string // of the grid: one configuration each
	common   []string // -c of all cells
	attempts int

	run  *runFlags      // what all cells run
	each *cobra.Command // has its flags
}

func (a *app) sweepCommand() *cobra.Command {
	f := sweepFlags{each: &cobra.Command{}}
	c := &cobra.Command{
		Use:   "sweep [FILE]",
		Short: "Run a grid of models, agents, configurations and attempts",
		Long: `Run every model with every agent and every configuration, once or several
times, over the same instances: each cell of this grid is a run directory of
its own, in the folder of the sweep. All cells share the engine, the workers,
the images and the cost limit; an instance runs in all cells before the next
one begins, so that its image is pulled once. Run the same command again, or
` + "`batch resume FOLDER`" + `, to continue.

  batch sweep --subset verified -m openai/gpt-5 -m anthropic/claude-sonnet-4-5 \
      --attempts 3 -w 16 --grade --cost-limit-total 200 -o runs/sweep
  batch sweep --subset lite -m openai/gpt-5 -c default -c tools -o runs/tools
  batch sweep --subset lite -m anthropic/claude-sonnet-4-5 --agent default \
      --agent claude-code -o runs/agents
  batch sweep sweep.yaml -w 8

Models, agents, configurations and attempts that are added later become new
cells; finished ones stay. FILE is YAML. Its keys are the flags of this command,
with lists for models, agents, configs and attempts. Members of lists may be
named, and may have values of their own:

  subset: verified
  slice: ":50"
  models:
    - openai/gpt-5
    - name: sonnet-cold
      model: anthropic/claude-sonnet-4-5
      config: [model.model_kwargs.temperature=0]
  configs: [default, {name: short, config: [agent.step_limit=50]}]
  config: [agent.cost_limit=3]              # of all cells, as --set
  attempts:
    - [model.model_kwargs.seed=1]
    - [model.model_kwargs.seed=2]
  output: runs/sweep

Flags on the command line replace the file's values. ` + "`batch status`, `compare`,\n`report`, `attempts` and `export`" + ` take the folder of a sweep.

Exit codes: 0 every instance of every cell has a result, 1 some cells could not
continue, 2 usage, 3 some instances have no result, or with --grade no verdict,
4 the folder is in use, 130 interrupted.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.run.own = c.Flags()
			if len(args) == 1 {
				g, err := sweep.ReadFile(args[0], fileKeys{c.Flags()})
				if err != nil {
					return err
				}
				return a.sweep(c.Context(), f.over(g, c.Flags()), f)
			}
			return a.sweep(c.Context(), f.grid(), f)
		},
	}
	f.add(c.Flags())
	return c
}

func (f *sweepFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.output, "output", "o", "", "folder of the sweep (required)")
	fs.StringArrayVarP(&f.models, "model", "m", nil, "a model; may be repeated: "+strings.Join(catalogue.Names(), ", "))
	fs.StringArrayVar(&f.agents, "agent", nil, "the configuration of an agent: one that batch brings, such as claude-code or default (batch's own),\nor a YAML FILE; may be repeated: see batch help agents")
	fs.StringArrayVarP(&f.configs, "config", "c", nil, "a configuration of the grid: a YAML `FILE`, batch's own default, text or tools, or key=value\n(of one key only: see --set); may be repeated")
	fs.StringArrayVar(&f.common, "set", nil, "YAML FILE or key=value that all cells have; may be repeated")
	fs.IntVar(&f.attempts, "attempts", 1, "how often each model runs with each configuration")
	own := newRunFlags()
	f.run = &own
	own.addDryRun(fs)
	inSection(fs, "Grid")
	own.add(f.each.Flags())
	for _, name := range []string{"grade", "salvage", "redo-existing"} {
		fs.AddFlag(f.each.Flags().Lookup(name))
	}
	inSection(fs, "Run")
	f.each.Flags().VisitAll(func(flag *pflag.Flag) {
		if fs.Lookup(flag.Name) == nil {
			fs.AddFlag(flag)
		}
	})
}

// fileKeys are the flags that the file of a sweep may have as keys.
type fileKeys struct{ flags *pflag.FlagSet }

// Names implements sweep.Keys.
func (k fileKeys) Names() (names []string) {
	k.flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains([]string{"model", "agent", "set", "help", "dry-run", "detach", begunFlag}, f.Name) {
			names = append(names, f.Name)
		}
	})
	return names
}

// Given implements sweep.Keys: a flag of the command line stays.
func (k fileKeys) Given(name string) bool { return k.flags.Changed(name) }

// Set implements sweep.Keys.
func (k fileKeys) Set(name string, values []string) error {
	for _, v := range values {
		if err := k.flags.Set(name, v); err != nil {
			return err
		}
	}
	return nil
}

// grid returns the grid that flags describe.
func (f *sweepFlags) grid() sweep.Grid {
	g := sweep.Grid{Common: f.common, Attempts: make([][]string, max(0, f.attempts))}
	for _, m := range f.models {
		g.Models = append(g.Models, sweep.Variant{Model: m})
	}
	for _, a := range f.agents {
		g.Agents = append(g.Agents, sweep.Variant{Specs: []string{a}})
	}
	for _, c := range f.configs {
		g.Configs = append(g.Configs, sweep.Variant{Specs: []string{c}})
	}
	return g
}

// over returns the grid of a file; flags replace its parts.
func (f *sweepFlags) over(g sweep.Grid, flags *pflag.FlagSet) sweep.Grid {
	given := f.grid()
	if flags.Changed("model") {
		g.Models = given.Models
	}
	if flags.Changed("agent") {
		g.Agents = given.Agents
	}
	if flags.Changed("config") {
		g.Configs = given.Configs
	}
	if flags.Changed("attempts") || len(g.Attempts) == 0 {
		g.Attempts = given.Attempts
	}
	g.Common = append(slices.Clone(g.Common), f.common...)
	return g
}

// checkConfigs refuses -c values that may be meant together, as `batch run` takes them: here each
// would be a configuration without the others. Values of one key, also beside the base, can only
// be a grid.
func (f *sweepFlags) checkConfigs() error {
	keys, files := map[string]bool{}, 0
	for _, spec := range f.configs {
		if config.IsKeyValue(spec) {
			key, _, _ := strings.Cut(spec, "=")
			keys[key] = true
		} else if spec != "default" {
			files++
		}
	}
	if len(keys) == 0 || len(keys) == 1 && files == 0 {
		return nil
	}
	return fault.Newf(fault.Usage, "-c %s: these would be %d configurations, each without the values of the others", strings.Join(config.MaskSpecs(f.configs), " -c "), len(f.configs)).
		WithHint("for values that all cells have: `--set KEY=VALUE`; for these configurations: name them in the file of a sweep, see `batch sweep --help`")
}

// eachArgs returns the flags for each cell that were given, as arguments.
func (f *sweepFlags) eachArgs() (args []string) {
	f.each.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		for _, v := range valuesOf(flag) {
			args = append(args, "--"+flag.Name+"="+v)
		}
	})
	return args
}

// sweep runs the cells of a grid, in the folder of the sweep.
func (a *app) sweep(ctx context.Context, g sweep.Grid, f sweepFlags) error {
	if f.output == "" {
		return fault.Newf(fault.Usage, "which folder is the sweep in?").WithHint("name it with `-o`, such as -o runs/sweep")
	}
	if err := f.checkConfigs(); err != nil {
		return err
	}
	cells, err := g.Cells(f.run.Request, f.eachArgs())
	if err != nil {
		return err
	}
	setup, err := sweep.New(f.output, cells, a.process())
	if err != nil {
		return err
	}
	return a.runSweep(ctx, setup, *f.run)
}
