package run

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
)

// Environment returns the settings of the sandboxes that a configuration describes, on
// engines. It reads the forwarded environment variables with getenv.
func Environment(cfg *config.Config, engines []sandbox.Engine, getenv func(string) string) sandbox.Config {
	env := cfg.Environment
	outer := map[string]string{}
	for _, name := range env.Forwarded() {
		if v := getenv(name); v != "" {
			outer[name] = v
		}
	}
	c := sandbox.Config{
		Container: container(env), Interpreter: env.Interpreter, Timeout: env.CommandTimeout(), Fresh: env.FreshShell(), Program: len(cfg.Agent.Program.Command) > 0, Longer: agent.KeepsWhole,
		Env:         append(environ(outer), environ(env.Env)...), // the later one wins
		ShareScrubs: sharesScrubs(cfg),
	}
	if flags := env.Flags(); flags.CPUs == env.CPUs { // only environment.cpus is reduced; the engine checks run_args
		c.MaxCPUs = flags.CPUs
	}
	c.Engines, c.Options.PullTimeout = engines, env.PullLimit()
	if len(env.Pod) > 0 {
		c.Options.Pod, _ = json.Marshal(env.Pod) // never fails: it was read from YAML or JSON
	}
	return c
}

func container(env config.EnvironmentConfig) engine.Spec {
	f := env.Flags()
	var mounts []engine.Mount
	for _, m := range f.Mounts {
		mounts = append(mounts, engine.Mount(m))
	}
	return engine.Spec{
		WorkDir: env.Cwd, Unattended: unattended(env.Lifetime()), Env: environ(f.Env),
		User: f.User, Network: f.Network, Platform: f.Platform,
		Memory: f.Memory, MemorySwap: f.MemorySwap, ShmSize: f.ShmSize, CPUs: f.CPUs, PidsLimit: f.Pids, Disk: f.Disk,
		CapAdd: f.CapAdd, CapDrop: f.CapDrop, SecurityOpt: f.SecurityOpt, ExtraHosts: f.ExtraHosts,
		Mounts: mounts, Tmpfs: f.Tmpfs, Ulimits: f.Ulimits, ReadOnly: f.ReadOnly,
	}
}

func environ(vars map[string]string) []string {
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}

// unattended returns how long the container of a killed run waits for a resume before it
// ends by itself: longer than its agent may work.
func unattended(lifetime time.Duration) time.Duration {
	if lifetime == 0 {
		return 0
	}
	return 2*lifetime + time.Hour
}

// sharesScrubs reports whether the result of a history scrub depends only on the image.
func sharesScrubs(cfg *config.Config) bool {
	env := cfg.Environment
	flags := env.Flags()
	_, elsewhere := env.Env["GIT_DIR"]
	return !env.KeepGitHistory && cfg.Run.EnvStartupCommand == "" && flags.User == "" && !elsewhere &&
		flags.Env["GIT_DIR"] == "" && !slices.Contains(env.Forwarded(), "GIT_DIR")
}
