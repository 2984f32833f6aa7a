package run

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/internal/printable"
	"batch.example/batch/journal"
	"batch.example/batch/llm/limit"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
	"batch.example/batch/run/grading"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
)

// Setup is a request with its configuration, and after [Setup.Over] also with its instances.
// [Setup.Config] returns the run; before, a caller may change the exported fields.
type Setup struct {
	Request
	Process  Process
	Settings *config.Config

	Dataset   *dataset.Dataset
	Instances []dataset.Instance // the selected ones

	// Asked is the request for the manifest, and Argv its command line. NewSetup sets them from
	// this process. A process that continues the last `batch run` with other values keeps that
	// run's.
	Asked   Request
	Argv    []string
	Command string // of batch; NewSetup sets "run"

	Continuing
	Control *control.Begin // as in [Config]

	Limits      *limit.Pool          // of the keys; runs that share one share the limits
	KeyFromTurn bool                 // turns bring keys of their own
	Git         func() *manifest.Git // nil: not known
	WidthWhy    string               // how Workers was chosen, if the engine chose it

	loop *agent.Loop
}

// Continuing says what a run does with what its directory has from earlier commands.
type Continuing struct {
	Redo    bool     // also run the instances that have a result
	Again   bool     // first remove the results of the selected instances; the manifest keeps the earlier run's dataset
	Fresh   bool     // with Again: unfinished attempts start from the beginning too
	Settled bool     // an earlier command made the directory: hints do not suggest another one
	Accept  []string // names of accepted differences from the settings of the directory's results, see [manifest.Difference.Covers]
}

// NewSetup reads the configuration of a request, makes the request's paths absolute, and makes
// the mask of the process hide the secrets.
func NewSetup(r Request, p Process) (*Setup, error) {
	given := r.Subset
	r, err := p.Absolute(r)
	if err == nil {
		err = CheckRequest(r)
	}
	if err != nil {
		return nil, err
	}
	cfg, err := p.LoadConfig(r)
	if err != nil {
		return nil, err
	}
	if err := p.HideAndWarn(cfg, r.MaskPatterns); err != nil {
		return nil, err
	}
	if r.Output == "" {
		r.Output = DefaultOutput(given, cfg.Model.ModelName)
	}
	if err := RefuseSweep(r.Output); err != nil {
		return nil, err
	}
	return &Setup{Request: r, Process: p, Settings: cfg, Asked: r, Argv: p.Argv, Command: "run", Limits: new(limit.Pool)}, nil
}

// Load opens the dataset of the request, selects from it and returns the run.
func (s *Setup) Load(ctx context.Context) (Config, error) {
	ds, selected, err := s.Process.LoadDataset(ctx, s.Request)
	if err != nil {
		return Config{}, err
	}
	if err := s.Over(ds, selected); err != nil {
		return Config{}, err
	}
	s.Measure(ctx)
	return s.Config()
}

// Continue opens the last `batch run` into dir again, as `batch resume` does. Change, if not nil,
// changes the request for this time: the manifest keeps the original one. The caller must Close
// the Run.
func Continue(ctx context.Context, dir string, p Process, change func(*Request)) (*Run, error) {
	asked, m, err := ReadRequest(dir, p)
	if err != nil {
		return nil, err
	}
	r := asked
	if change != nil {
		change(&r)
	}
	s, err := NewSetup(r, p)
	if err != nil {
		return nil, err
	}
	s.Asked, s.Argv, s.Settled = asked, m.Argv, true
	c, err := s.Load(ctx)
	if err != nil {
		return nil, err
	}
	git := ProbeGit(ctx, r.Dir)
	c.Git = git.Known
	run, err := Open(ctx, c)
	if err != nil {
		git.Stop()
		return nil, err
	}
	run.ended = git.Stop
	return run, nil
}

// RefuseSweep refuses the folder of a sweep as the directory of a single run or of grades.
func RefuseSweep(dir string) error {
	if !sweeps.Is(dir) {
		return nil
	}
	word := printable.ShellWord(dir)
	return fault.Newf(fault.Usage, "%s is the folder of a sweep: each of its cells is a run directory of its own", dir).
		WithHint("choose another directory with `-o`; to add cells: `batch sweep ... -o %s`; to continue them: `batch resume %s`", word, word)
}

// Over sets the selected instances of ds. It refuses settings with which they would fail.
func (s *Setup) Over(ds *dataset.Dataset, selected []dataset.Instance) (err error) {
	s.Dataset, s.Instances = ds, selected
	s.loop, err = Prepare(s.Settings, selected)
	return err
}

// Measure resolves the numbers of workers that the engine chooses.
func (s *Setup) Measure(ctx context.Context) {
	list, err := s.Process.Engines(s.Settings)
	if err != nil {
		return // [Setup.Config] returns it too
	}
	if most := workersOf(list); most > 0 && s.Workers > most {
		s.WidthWhy = fmt.Sprintf("--workers %d: %d, as many as the engines take", s.Workers, most)
		s.Workers = most
	}
	if s.Workers == 0 {
		s.Workers, s.WidthWhy = WidthOf(ctx, list, s.Settings.Environment.Flags().Memory, len(s.Instances), s.Process.Cores())
	}
	if s.Grade && s.GradeWorkers == 0 {
		s.GradeWorkers = sandbox.Cores(sandbox.MeasureAll(ctx, list, s.Process.Cores()))
	}
}

// Config returns the run. All checks come before any change of the directory.
func (s *Setup) Config() (c Config, err error) {
	if err := checkFiles(min(s.Workers, len(s.Instances)), countImages(s.Instances), sandbox.OpenFiles()); err != nil {
		return c, err
	}
	model, warnings, err := FindModel(s.Settings, s.CostLimit, s.access())
	if err != nil {
		return c, err
	}
	if err := checkAsked(s.Request, model.Provider); err != nil {
		return c, err
	}
	for _, warning := range warnings {
		s.Process.tell(warning)
	}
	servers, err := s.Settings.MCPServers(s.Process.Getenv)
	if err != nil {
		return c, err
	}
	for i := range servers {
		servers[i].Dir = from(s.Dir)
	}
	retries, err := runner.ParseRetries(s.Retry)
	if err != nil {
		return c, err
	}
	shard, err := dataset.ParseShard(s.Shard)
	if err != nil {
		return c, err
	}
	sandboxes, err := s.Process.Sandboxes(s.Settings, s.Request)
	if err != nil {
		return c, err
	}
	if sandboxes.Container.Files, err = agentFiles(s.Settings, from(s.Dir), sandboxes.Engines); err != nil {
		return c, err
	}
	if err := s.Process.ForTasks(&sandboxes, s.Settings, s.Request, s.Instances); err != nil {
		return c, err
	}
	sweep, beside := "", 0.0
	if s.CostLimit > 0 {
		if sweep, beside, err = sweeps.Beside(s.Output); err != nil {
			return c, err
		}
	}
	return Config{
		Output: s.Output, Settings: s.Settings, Loop: s.loop, Instances: s.Instances,
		Model: model, Sandboxes: sandboxes,
		Store: results.Options{Durability: journal.Durability(s.Durability), Mask: s.Process.Mask},
		About: s.about(), Git: s.Git, Argv: s.Process.Argv, MaskPatterns: s.MaskPatterns,
		Width: runner.NewWidth(s.Workers), WidthWhy: s.WidthWhy, ByImage: s.Order != manifest.OrderGiven,
		Retries: retries, CostLimit: s.CostLimit, Shards: shard.N, Sweep: sweep, Beside: beside, Salvage: s.Salvage,
		Pictures: Pictures{Assets: s.Assets, Downloads: downloads(sandboxes.State)},
		Grading:  s.Grading(), Tasks: s.Process.TaskSettings(s.Request), Servers: servers, Tell: s.Process.tell, Continuing: s.Continuing, Control: s.Control,
	}, nil
}

// Grading says how predictions are graded; nil: they are not.
func (s *Setup) Grading() *Grading {
	if !s.Grade {
		return nil
	}
	return &Grading{
		Settings: grading.Settings{
			Assets:  s.Assets,
			Options: family.Options{Workdir: s.Settings.Environment.Cwd}, Startup: Startup(s.Settings), Cache: s.Process.GradeCache(),
			AllowCommitMismatch: s.Settings.Environment.AllowCommitMismatch,
		},
		Width: runner.NewWidth(s.GradeWorkers),
	}
}

// about returns the manifest's facts about the request and its dataset.
func (s *Setup) about() manifest.Manifest {
	asked, name := Masked(s.Asked), s.Dataset.Name
	if name == subset(s.Request) { // also if it is continued in another folder
		name = shownFrom(asked.Dir, s.Subset)
	}
	return manifest.Manifest{
		Batch: Version(), Command: s.Command, Argv: s.Argv, Dir: s.Asked.Dir, Request: &asked, Seed: s.Seed,
		Dataset: manifest.Dataset{
			Name: name, Split: s.Dataset.Split, Revision: s.Dataset.Revision, Digest: s.Dataset.Digest, Selection: Selection(s.Request),
		},
	}
}

// Selection returns the flags that select instances, for people.
func Selection(r Request) string {
	parts := slices.Clone(r.Named)
	for _, p := range []struct{ flag, value string }{
		{"filter", r.Filter}, {"slice", r.Slice}, {"instances", shownFrom(r.Dir, r.InstancesFile)}, {"shard", r.Shard},
	} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("--%s %q", p.flag, p.value))
		}
	}
	if r.Shuffle {
		parts = append(parts, fmt.Sprintf("--shuffle --seed %d", r.Seed))
	}
	return strings.Join(parts, " ")
}

// Title names a dataset and the split that was read.
func Title(ds *dataset.Dataset) string {
	return manifest.Dataset{Name: ds.Name, Split: ds.Split}.Title()
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Named lists what a run directory that is continued makes this user do, and what only its request says:
// the addresses that get the user's keys and tasks, the programs that start on this machine, the
// variables that containers get, and another owner of the directory. It is sorted; a request without any
// has none. Engines are left out where the user chose them.
func (s *Setup) Named(enginesChosen bool) (list []string) {
	add := func(form string, args ...any) { list = append(list, fmt.Sprintf(form, args...)) }
	for _, key := range []string{"api_base", "base_url"} {
		if address, ok := s.Settings.Model.ModelKwargs[key].(string); ok {
			add("the model's address %s", address)
		}
	}
	if p := &s.Settings.Agent.Program; p.FilesFolder() {
		add("%s of this machine, for containers", p.Files)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Settings.Agent.MCPServers)) {
		server := s.Settings.Agent.MCPServers[name]
		if server.URL != "" {
			add("the MCP server %s", server.URL)
		} else if !server.Inside {
			add("the program %q on this machine, as the MCP server %s", server.Command, name)
		}
	}
	for _, variable := range s.Settings.Environment.Forwarded() {
		add("the variable %s, for containers", variable)
	}
	for _, m := range s.Settings.Environment.Flags().Mounts {
		add("%s of this machine, for containers", m.Source)
	}
	var engines []string
	if !enginesChosen {
		engines = slices.Clone(s.Engines)
	}
	for _, e := range s.Settings.Environment.Engines {
		engines = append(engines, e.Address)
	}
	for _, address := range engines {
		if strings.Contains(address, "://") && !strings.HasPrefix(address, "unix://") {
			add("the engine %s", address)
		}
	}
	if info, err := os.Stat(s.Output); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
			add("the files of user %d", st.Uid)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
