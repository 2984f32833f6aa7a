package run

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/dataset/hub"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/engines"
	"batch.example/batch/run/grading"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/images"
)

// Process describes the process in which requests run. Getenv and Mask are required: [NewProcess]
// sets them. Its functions are called from many goroutines at once.
type Process struct {
	Argv     []string                             // its arguments, without secrets, for the manifest
	Getenv   func(string) string                  // its environment
	Home     string                               // the user's folder; empty: none
	Stdin    io.Reader                            // of --instances -
	Mask     *mask.Masker                         // hides secrets; secrets in a request are added
	Tell     func(text string)                    // called with messages for the user; nil ignores
	Download func(file string, done, total int64) // shows a download in bytes; nil ignores
	Log      *slog.Logger                         // of slow and skipped work; nil discards
}

// NewProcess returns a Process for a program that shows nothing, with these arguments,
// environment (NAME=value) and home. Their secrets are hidden in files.
func NewProcess(argv, environ []string, home string) Process {
	getenv := func(name string) string {
		for _, variable := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(variable, name+"="); ok {
				return value
			}
		}
		return ""
	}
	p := Process{Argv: config.MaskSpecs(argv), Getenv: getenv, Home: home, Mask: mask.New()}
	p.HideKnown(environ)
	return p
}

func (p Process) tell(text string) {
	if p.Tell != nil {
		p.Tell(text)
	}
}

// LoadConfig merges the files and values of a request over the default, then the request's
// other settings, then further ones.
func (p Process) LoadConfig(r Request, further ...config.Setting) (*config.Config, error) {
	opts := p.lookup(r)
	opts.Set = append(settings(r), further...)
	return config.Load(configs(r), opts)
}

// LoadTested is LoadConfig for a request of [Process.Tested]. Keys and values of the run that batch
// does not have now are left out.
func (p Process) LoadTested(r Request) (*config.Config, error) {
	opts := p.lookup(r)
	opts.Set, opts.Earlier = settings(r), true
	return config.Load(configs(r), opts)
}

// settings are the values that flags set.
func settings(r Request) (list []config.Setting) {
	var engines []any
	for _, address := range r.Engines {
		engines = append(engines, address)
	}
	for _, s := range []config.Setting{
		{Flag: "-m", Path: "model.model_name", Value: r.Model},
		{Flag: "--model-class", Path: "model.model_class", Value: r.ModelClass},
		{Flag: "--environment-class", Path: "environment.environment_class", Value: r.EnvironmentClass},
		{Flag: "--network", Path: "environment.network", Value: r.Network},
		{Flag: "--memory", Path: "environment.memory", Value: r.Memory},
		{Flag: "--disk", Path: "environment.disk", Value: r.Disk},
		{Flag: "--cpus", Path: "environment.cpus", Value: r.CPUs},
		{Flag: "--engine", Path: "environment.engines", Value: engines},
		{Flag: "--keep-git-history", Path: "environment.keep_git_history", Value: r.KeepGitHistory},
		{Flag: "--allow-commit-mismatch", Path: "environment.allow_commit_mismatch", Value: r.AllowCommitMismatch},
	} {
		if !reflect.ValueOf(s.Value).IsZero() { // otherwise the files decide
			list = append(list, s)
		}
	}
	return list
}

// Hide makes the mask hide the secrets in a configuration and in the variables that it forwards,
// and all matches of its patterns and of further ones.
func (p Process) Hide(cfg *config.Config, patterns []string) error {
	p.Mask.Add(cfg.Secrets()...)
	p.Mask.Add(cfg.MCPSecrets(p.Getenv)...)
	for _, name := range cfg.Environment.Forwarded() {
		p.Mask.Add(mask.PassedOn(name, p.Getenv(name))...)
	}
	return p.HideMatches(append(slices.Clone(cfg.Run.MaskPatterns), patterns...))
}

// HideAndWarn is Hide, and then tells the warnings about the configuration.
func (p Process) HideAndWarn(cfg *config.Config, patterns []string) error {
	if err := p.Hide(cfg, patterns); err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		p.tell(w)
	}
	return nil
}

// HideMatches makes the mask hide all matches of patterns. An invalid regular expression is a
// Usage fault.
func (p Process) HideMatches(patterns []string) error {
	for _, pattern := range patterns {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return fault.New(fault.Usage, "reading --mask", err).WithHint("expected a regular expression in Go's syntax, such as 'corp-[0-9a-f]{32}'")
		}
		p.Mask.AddPatterns(re)
	}
	return nil
}

// LoadDataset opens the dataset of a request and selects from it.
func (p Process) LoadDataset(ctx context.Context, r Request) (ds *dataset.Dataset, selected []dataset.Instance, err error) {
	sel := dataset.Selection{Filter: r.Filter, Slice: r.Slice, Shuffle: r.Shuffle, Seed: r.Seed, Shard: r.Shard}
	switch {
	case r.Only != nil: // --slice would leave some of them out
		sel = dataset.Selection{Shuffle: r.Shuffle, Seed: r.Seed, IDs: r.Only}
	case r.InstancesFile != "":
		if sel.IDs, err = p.readIDs(r.InstancesFile); err != nil {
			return nil, nil, err
		}
	}
	h := hub.FromEnv(p.Getenv, p.Home)
	h.Progress = p.Download
	ds, err = dataset.Open(ctx, dataset.Source{
		Name: subset(r), ID: r.Dir != "" && !filepath.IsAbs(r.Subset), Split: r.Split, Revision: r.Revision, Demo: demo.Files(), Hub: h, Log: p.Log,
	})
	if err != nil {
		return nil, nil, err
	}
	for _, note := range ds.Notes {
		p.tell(note)
	}
	if selected, err = sel.Apply(ds.Instances); err == nil {
		selected, err = Narrow(ds, selected, r.Named)
	}
	if err != nil || len(r.Also) == 0 {
		return ds, selected, err
	}
	keep := map[string]bool{}
	for _, in := range selected {
		keep[in.ID] = true
	}
	for _, id := range r.Also {
		keep[id] = true
	}
	all, err := (dataset.Selection{Shuffle: r.Shuffle, Seed: r.Seed}).Apply(ds.Instances)
	return ds, slices.DeleteFunc(all, func(in dataset.Instance) bool { return !keep[in.ID] }), err
}

// Narrow keeps only the named ones of the selected instances of ds. Without names, it keeps
// all.
func Narrow(ds *dataset.Dataset, selected []dataset.Instance, named []string) ([]dataset.Instance, error) {
	if len(named) == 0 {
		return selected, nil
	}
	if _, err := (dataset.Selection{IDs: named}).Apply(ds.Instances); err != nil {
		if slices.Contains(dataset.ShortNames(), named[0]) {
			return nil, fault.Newf(fault.Usage, "%q is not an instance of %s", named[0], Title(ds)).
				WithHint("did you mean `--subset %s`?", named[0])
		}
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(selected), func(in dataset.Instance) bool { return !slices.Contains(named, in.ID) })
	if len(kept) == 0 {
		return nil, fault.Newf(fault.Usage, "selecting instances: the flags leave none of those named, such as %s", named[0]).
			WithHint("arguments narrow what --filter, --slice, --instances and --shard select: leave these out to run what you name")
	}
	return kept, nil
}

func (p Process) readIDs(path string) ([]string, error) {
	if path == "-" && p.Stdin == nil {
		return nil, fault.Newf(fault.Usage, "--instances -: there is no standard input")
	}
	if path == "-" {
		return dataset.ReadIDs(p.Stdin, "standard input")
	}
	file, err := os.Open(here(path))
	if err != nil {
		return nil, fault.New(fault.Usage, "reading --instances", err)
	}
	defer file.Close()
	return dataset.ReadIDs(file, here(path))
}

// Sandboxes says where instances of a request run and tests are graded.
func (p Process) Sandboxes(cfg *config.Config, r Request) (sandbox.Config, error) {
	list, err := p.Engines(cfg)
	if err != nil {
		return sandbox.Config{}, err
	}
	flags := cfg.Environment.Flags()
	switch {
	case flags.ReadOnly && (!cfg.Environment.KeepGitHistory || r.Grade):
		return sandbox.Config{}, fault.Newf(fault.Usage, "environment.run_args: --read-only: the history after base_commit cannot be removed, and no patch be tested").
			WithHint("leave --read-only out, or give --keep-git-history and do not grade")
	case flags.Network == "host" && len(cfg.Agent.Program.Command) > 0:
		return sandbox.Config{}, fault.Newf(fault.Usage, "environment.network is host: every process of the machine could use the gateway of the agent's program").
			WithHint("leave the network out: the program needs none to reach its model")
	case flags.Pull != "" && slices.ContainsFunc(list, func(e sandbox.Engine) bool { return engines.HasPods(e.Address) }):
		return sandbox.Config{}, fault.Newf(fault.Usage, "environment.run_args: --pull is not possible on Kubernetes").
			WithHint("use imagePullPolicy in environment.pod")
	}
	c := Environment(cfg, list, p.Getenv)
	if c.Private, err = private(r); err != nil {
		return sandbox.Config{}, err
	}
	c.Options.Patience, c.Options.Pulls = seconds(r.EngineWait), r.Pulls
	c.State, c.Prefix = sandbox.StateDir(p.Getenv, p.Home), r.ImagePrefix
	c.Images = images.Options{Budget: r.DiskBudget, Reserve: r.DiskReserve, Ahead: r.Prefetch, Pull: flags.Pull}
	return c, nil
}

// private returns what a container must not see: the run directory, of a cell the folder of its sweep, with
// the sockets and the patches of others, and the dataset's files with their solutions.
func private(r Request) (paths []string, err error) {
	for _, path := range []string{cmp.Or(sweeps.Of(r.Output), r.Output), r.Subset} {
		if path == "" {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, fault.New(fault.Host, "finding the current directory", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Engines returns the engines of a configuration, at least one.
func (p Process) Engines(cfg *config.Config) ([]sandbox.Engine, error) {
	named := cfg.Environment.Engines
	if len(cfg.Environment.Pod) > 0 && !slices.ContainsFunc(named, func(e config.Engine) bool { return engines.HasPods(e.Address) }) {
		return nil, fault.New(fault.Usage, "environment.pod: no engine is a Kubernetes cluster", nil).WithHint("give --engine kubernetes, or leave environment.pod out")
	}
	if len(named) == 0 {
		connect, err := engines.At(cfg.Environment.EnvironmentClass, p.Getenv, p.Home)
		return sandbox.One(connect), err
	}
	var list []sandbox.Engine
	for _, e := range named {
		connect, err := engines.At(e.Address, p.Getenv, p.Home)
		if err != nil {
			return nil, err
		}
		list = append(list, sandbox.Engine{Address: e.Address, Connect: connect, Workers: e.Workers, Memory: e.Bytes(), CPUs: e.CPUs})
	}
	return list, nil
}

// Cores returns how many of this machine's cores this process may use: those that the system lets it use, and
// no more than Slurm gave its task, which some clusters do not enforce.
func (p Process) Cores() int {
	n := runtime.NumCPU()
	for _, name := range []string{"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"} {
		if given, err := strconv.Atoi(p.Getenv(name)); err == nil && given > 0 {
			n = min(n, given)
		}
	}
	return n
}

// GradeCache returns the cache of this machine's test logs; nil without a home.
func (p Process) GradeCache() *grading.Cache {
	state := sandbox.StateDir(p.Getenv, p.Home)
	if state == "" {
		return nil
	}
	return &grading.Cache{Dir: filepath.Join(state, "grades"), Log: p.Log}
}

// sent lists variables with secrets that batch itself sends to servers, without the
// providers' variables.
var sent = []string{
	"HF_TOKEN", "HF_ENDPOINT", "DOCKER_HOST", "HTTP_PROXY", "HTTPS_PROXY",
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
}

func isSent(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(sent, name) || slices.ContainsFunc(catalogue.Providers(), func(p catalogue.Provider) bool {
		return p.Key != "" && (name == p.Key || name == p.Key+"S") || p.Base != "" && name == p.Base
	})
}

// HideKnown makes the mask hide all secrets that the process was started with: its variables (see
// package mask), the hub's token and the user's docker logins.
func (p Process) HideKnown(environ []string) {
	p.Mask.Add(mask.InEnvironment(environ, isSent)...)
	for _, provider := range catalogue.Providers() {
		keys, variable := provider.Keys(p.Getenv)
		for _, key := range keys {
			p.Mask.Add(mask.Of(variable, key)...)
		}
	}
	p.Mask.Add(mask.Secret{Name: "HF_TOKEN", Value: hub.FromEnv(p.Getenv, p.Home).Token})
	p.Mask.Add(telemetrySecrets(p.Getenv)...)
	if path := engines.Logins(p.Getenv, p.Home); path != "" {
		data, _ := os.ReadFile(path) // a file that cannot be read gives batch no logins either
		p.Mask.Add(mask.InDockerConfig(data)...)
	}
	p.Mask.Add(mask.InDockerConfig([]byte(p.Getenv("DOCKER_AUTH_CONFIG")))...)
}

// headerVariables have the headers of every request to a collector, such as its key.
var headerVariables = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}

// telemetrySecrets returns the secrets in a collector's headers: a list of NAME=VALUE
// separated by commas, percent-encoded or not.
func telemetrySecrets(getenv func(string) string) (secrets []mask.Secret) {
	for _, variable := range headerVariables {
		for header := range strings.SplitSeq(getenv(variable), ",") {
			name, value, _ := strings.Cut(header, "=")
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
			for _, s := range mask.PassedOn(strings.TrimSpace(name), strings.TrimSpace(value)) {
				secrets = append(secrets, mask.Secret{Name: variable, Value: s.Value})
			}
		}
	}
	return secrets
}
