package daemon

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// resource is a resource that an engine may be unable to limit: a rootless engine can
// limit only what was delegated to its user.
type resource int

const (
	cpus resource = iota
	memory
	swap
	processes
	resources // how many there are
)

// String returns the name of the resource in messages.
func (r resource) String() string {
	return [...]string{"CPUs", "memory", "swap", "processes"}[r]
}

func (r resource) flag() string {
	return [...]string{"--cpus", "--memory", "--memory-swap", "--pids-limit"}[r]
}

// unlimited records what one engine cannot limit, as far as that is known.
type unlimited struct {
	mu      sync.Mutex
	queried bool // the engine was
	lacks   [resources]bool
	warned  [resources]bool // somebody was warned

	noQuota bool // for the disk of a container, which is watched instead
}

// Unlimited lists what is known of what the engine cannot limit.
func (e *Conn) Unlimited() (list []string) {
	u := &e.unlimited
	u.mu.Lock()
	defer u.mu.Unlock()
	for r, lacks := range u.lacks {
		if lacks {
			list = append(list, resource(r).String())
		}
	}
	return list
}

// note records what the engine reports. Podman reports for every machine
// with cgroup v2 that it cannot limit CPUs and swap, so its report is not used: it refuses
// what it cannot limit. But on cgroup v1 without root it ignores all limits, and reports that it
// has them.
func (u *unlimited) note(in system.Info, v types.Version) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queried = true
	if IsPodman(v) {
		if in.CgroupVersion == "1" && IsRootless(in) {
			u.lacks = [resources]bool{cpus: true, memory: true, swap: true, processes: true}
		}
		return
	}
	u.lacks[cpus] = u.lacks[cpus] || !in.CPUCfsQuota
	u.lacks[memory] = u.lacks[memory] || !in.MemoryLimit
	u.lacks[swap] = u.lacks[swap] || in.MemoryLimit && !in.SwapLimit
	u.lacks[processes] = u.lacks[processes] || !in.PidsLimit
}

// IsPodman reports whether the engine is Podman.
func IsPodman(v types.Version) bool {
	for _, c := range v.Components {
		if strings.Contains(c.Name, "Podman") {
			return true
		}
	}
	return false
}

// IsRootless reports whether the engine runs without root. Podman 4 does not say so where Docker
// does, but keeps its images in the user's home.
func IsRootless(in system.Info) bool {
	return slices.Contains(in.SecurityOptions, "name=rootless") || strings.Contains(in.DockerRootDir, "/.local/share/containers/")
}

var controllers = map[string]resource{"cpu": cpus, "memory": memory, "memory.swap": swap, "pids": processes}

var (
	refusedController = lazy.Regexp("controller `?(cpu|memory|pids)`? is not available") // crun
	missingFile       = lazy.Regexp(`/(cpu|memory\.swap|memory|pids)\.[a-z]+: (?:no such file|permission denied)`)
)

// RefusedQuota reports whether err says that the engine's storage driver has no
// quota for a container.
func RefusedQuota(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "storage-opt") || strings.Contains(text, "storage option") || strings.Contains(text, "not enabled quotas")
}

// LearnLimit reports whether err, from creating or starting a container, means that the
// engine cannot limit something. [Conn.DropUnlimited] then leaves that out.
func (e *Conn) LearnLimit(err error) bool {
	if err == nil {
		return false
	}
	quota := RefusedQuota(err)
	text := strings.ToLower(err.Error())
	found, known := cpus, strings.Contains(text, "nanocpus can not be set")
	for _, pattern := range []*regexp.Regexp{refusedController(), missingFile()} {
		if m := pattern.FindStringSubmatch(text); m != nil {
			found, known = controllers[m[1]], true
		}
	}
	u := &e.unlimited
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case quota:
		u.noQuota = true
	case known:
		u.lacks[found] = true
	}
	return quota || known
}

// trim removes from h what cannot be limited, and returns what it has removed
// for the first time.
func (u *unlimited) trim(h *container.HostConfig) (news []resource) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.noQuota {
		h.StorageOpt = nil
	}
	leave := func(r resource, wanted bool, out func()) {
		if !u.lacks[r] || !wanted {
			return
		}
		out()
		if !u.warned[r] {
			u.warned[r] = true
			news = append(news, r)
		}
	}
	leave(cpus, h.NanoCPUs > 0, func() { h.NanoCPUs = 0 })
	leave(memory, h.Memory > 0, func() { h.Memory, h.MemorySwap = 0, 0 })
	leave(swap, h.Memory > 0 && h.MemorySwap > 0, func() { h.MemorySwap = -1 })
	leave(processes, h.PidsLimit != nil && *h.PidsLimit > 0, func() { h.PidsLimit = nil })
	return news
}

// About asks the engine about itself, and records what it cannot limit.
func (e *Conn) About(ctx context.Context) (in system.Info, v types.Version, err error) {
	const op = "querying the docker engine"
	if err := e.Ready(ctx); err != nil {
		return in, v, err
	}
	if in, err = e.API.Info(ctx); err == nil {
		v, err = e.API.ServerVersion(ctx)
	}
	if err != nil {
		return in, v, e.Blame(err, fault.Host, op)
	}
	e.unlimited.note(in, v)
	return in, v, nil
}

// DropUnlimited removes from h what the engine cannot limit, and warns about it once.
func (e *Conn) DropUnlimited(ctx context.Context, h *container.HostConfig) error {
	e.unlimited.mu.Lock()
	queried := e.unlimited.queried
	e.unlimited.mu.Unlock()
	if !queried {
		if _, _, err := e.About(ctx); err != nil {
			return err
		}
	}
	var names, flags []string
	for _, r := range e.unlimited.trim(h) {
		names, flags = append(names, r.String()), append(flags, r.flag())
	}
	if len(names) > 0 {
		e.Log.Warn("this engine cannot limit " + strings.Join(names, ", ") + ": containers run without " + strings.Join(flags, ", "))
	}
	return nil
}
