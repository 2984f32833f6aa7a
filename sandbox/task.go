package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// Tasks says how the containers of instances with a Task differ from others. The task's own word
// replaces Config's Container.
type Tasks struct {
	// Host returns a variable of this machine, and whether tasks may read it. Nil: they read none.
	Host func(name string) (value string, allowed bool)
	// The members of Config's Container that replace the task's word.
	Network, Memory, CPUs, Disk bool
}

const root = "root"

// commandPlace says how commands run in a sandbox: where, and of a task as whom.
type commandPlace struct {
	dir        string // empty: the container's
	user       string // of the agent's commands; empty: the container's
	standard   string // the user of commands for which a task names none
	entrypoint []string
	shown      map[string]any // template variables
}

// ofTask changes spec to what a task asks for, on an engine.
func (c Config) ofTask(spec *engine.Spec, t *harbor.Task, on *site) {
	spec.WorkDir = t.WorkDir
	if !c.Tasks.Network {
		spec.Network = map[string]string{harbor.Public: engine.Bridge}[t.Network]
	}
	if t.Memory > 0 && !c.Tasks.Memory {
		spec.Memory, spec.MemorySwap = t.Memory, 0
	}
	if t.CPUs > 0 && !c.Tasks.CPUs {
		spec.CPUs = t.CPUs
		if n := float64(on.about.CPUs); n > 0 {
			spec.CPUs = min(spec.CPUs, n)
		}
	}
	if t.Storage > 0 && !c.Tasks.Disk {
		spec.Disk = t.Storage
	}
	env, _ := harbor.Resolve(t.Env, c.host)
	spec.Env = append(slices.Clone(spec.Env), env...)
	if _, known := on.engine.(engine.Images); known && spec.User == "" {
		spec.User = root // the image's user is known, and gets its commands
	}
}

// host is Tasks.Host.
func (c Config) host(name string) (string, bool) {
	if c.Tasks.Host == nil {
		return "", false
	}
	return c.Tasks.Host(name)
}

// commandsOf says how commands run in a container of an instance.
func (h *Host) commandsOf(ctx context.Context, on *site, c engine.Container, in dataset.Instance) (commandPlace, error) {
	t := in.Task
	if t == nil {
		return commandPlace{dir: h.Container.WorkDir}, nil
	}
	image, _, err := imagesOf(on.engine).Image(ctx, c.ImageID())
	if err != nil {
		return commandPlace{}, err
	}
	user, _, _ := strings.Cut(image.User, ":")
	spec := engine.Spec{}
	h.ofTask(&spec, t, on)
	return commandPlace{
		dir: t.WorkDir, user: cmp.Or(t.AgentUser, user), standard: user, entrypoint: image.Entrypoint,
		shown: map[string]any{"cwd": cmp.Or(t.WorkDir, image.WorkDir, "/"), "network": cmp.Or(h.network(spec), "none")},
	}, nil
}

// network is the name of a task's network for its prompts.
func (h *Host) network(spec engine.Spec) string {
	if h.Tasks.Network {
		return h.Container.Network
	}
	return spec.Network
}

// switchUser runs a script, its second argument, as a user, its first: the name or number of one in
// /etc/passwd, or any number where the image has setpriv.
const switchUser = `shell=$(command -v bash || command -v sh)
while IFS=: read -r name x number rest; do
if [ "$name" = "$0" ] || [ "$number" = "$0" ]; then exec su -s "$shell" "$name" -c "$1"; fi
done </etc/passwd
case $0 in *[!0-9]*) echo "the image has no user $0"; exit 126;; esac
exec setpriv --reuid "$0" --regid "$0" --clear-groups "$shell" -c "$1"`

// as returns the interpreter that runs scripts as a user; other if that is the container's own.
func (p commandPlace) as(user string, other []string) []string {
	if user == "" || user == root || user == "0" {
		return other
	}
	return []string{"sh", "-c", switchUser, user}
}

// beginTask prepares a new container for a task: the folders of its logs exist, and the image's
// ENTRYPOINT runs.
func (s *Sandbox) beginTask(ctx context.Context) error {
	script := "set -e"
	for _, dir := range []string{harbor.LogsAgent, harbor.LogsVerifier, harbor.LogsArtifacts} {
		script += "\nmkdir -p " + dir + "\nchmod 777 " + dir
	}
	out, err := s.RunAs(ctx, root, nil, vocab.Command{Script: script, Dir: "/", Timeout: scriptLimit})
	if err == nil && out.ExitCode != 0 {
		err = fault.Newf(fault.Instance, "making /logs in a container of %s: exit code %d: %.500s", s.facts.Image.Ref, out.ExitCode, bytes.TrimSpace(out.Bytes)).
			WithHint("on this engine, the image's USER must be root")
	}
	if err != nil {
		return err
	}
	return s.Entrypoint(ctx)
}

// Entrypoint starts the ENTRYPOINT of a task's image, as the container's only other process, with the
// arguments that Harbor gives it. It does not wait for its end. Without one, it does nothing.
func (s *Sandbox) Entrypoint(ctx context.Context) error {
	list := s.at.entrypoint
	if len(list) == 0 {
		return nil
	}
	command := bash.Words(append(slices.Clone(list), "sh", "-c", "sleep infinity")...)
	_, err := s.RunAs(ctx, s.at.standard, nil, vocab.Command{Script: command + " </dev/null >/dev/null 2>&1 &", Timeout: scriptLimit})
	return err
}

// RunAs is [Sandbox.Run] as a user of a task's image: its name or number, or empty for the image's own
// user. The variables of env, NAME=value, are added to the container's. If the output may be wrong
// because the engine's disk is full, the error is [engine.ErrNoSpace].
func (s *Sandbox) RunAs(ctx context.Context, user string, env []string, c vocab.Command) (vocab.Output, error) {
	cmd := box.Command{
		Args: s.at.as(cmp.Or(user, s.at.standard), nil), Script: c.Script, Dir: cmp.Or(c.Dir, s.at.dir), Env: env,
		Timeout: c.Timeout, Limit: c.Limit, Fresh: true,
	}
	out, err := s.execute(ctx, cmd)
	if err == nil {
		err = s.spoiled(ctx, &out, false)
	}
	return out, err
}

// Read returns a file of the container, read by process 1: see [engine.Container].
func (s *Sandbox) Read(ctx context.Context, name string) ([]byte, error) {
	data, err := s.container.CopyOut(ctx, path.Clean(name))
	return data, s.host.elsewhere(s.site, err)
}
