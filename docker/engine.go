package docker

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/docker/docker/api/types/system"

	"batch.example/batch/docker/containers"
	"batch.example/batch/docker/images"
	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/sandbox/engine"
)

// Engine is a connection to a Docker engine, with its images and its containers.
// It is safe for concurrent use.
type Engine struct {
	*images.Store
	*containers.Fleet

	conn    *daemon.Conn
	dataDir atomic.Pointer[string] // nil until the engine has reported it
}

// Connect finds the engine that c names, agrees with it on an API version and pings
// it. An engine that cannot be reached is a Host fault whose
// hint says what to do. The caller must Close the engine.
func Connect(ctx context.Context, c Config) (*Engine, error) {
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	login := c.loadFile(log)
	ep, err := c.endpoint(login)
	if err != nil {
		return nil, err
	}
	conn, err := daemon.Open(ctx, daemon.Config{
		Endpoint: ep, APIVersion: c.APIVersion, Patience: c.Patience, Before: c.Before, Log: log,
	})
	if err != nil {
		return nil, err
	}
	store := images.New(conn, login, c.Pulls, c.PullTimeout)
	store.Builds = c.Builds
	return &Engine{Store: store, Fleet: containers.New(conn, store, c.Creates), conn: conn}, nil
}

// Close cancels the running pulls and the wait for an engine that is away, waits
// until both have ended, and closes the idle connections. No Ensure may begin after
// it. Containers stay: their owner has to remove them.
func (e *Engine) Close() error {
	e.Store.Close()
	return e.conn.Close()
}

// Host is the address of the engine, such as unix:///var/run/docker.sock.
func (e *Engine) Host() string { return e.conn.Host }

// Ready returns at once while the engine answers. After a call has lost it, or
// exceeded its time limit, Ready waits until it answers again; if that takes
// longer than [Config.Patience], Ready returns a Host fault. The methods of an Engine
// and [containers.Container.Remove] call Ready themselves; [containers.Container.Run]
// never does, since its container may be gone.
func (e *Engine) Ready(ctx context.Context) error { return e.conn.Ready(ctx) }

// About asks the engine about itself.
func (e *Engine) About(ctx context.Context) (engine.About, error) {
	in, v, err := e.conn.About(ctx)
	if err != nil {
		return engine.About{}, err
	}
	network, _, _ := daemon.PlainAddress(e.conn.Host, false)
	out := engine.About{
		ID: in.ID, Address: e.conn.Host, Local: network == "unix",
		// One engine with two addresses has two ledgers of images: then batch evicts too few images
		// rather than one of the user's.
		Store: e.conn.Host + "\n" + in.Name + "\n" + in.DockerRootDir,
		Name:  in.Name, Version: v.Version, APIVersion: e.conn.API.ClientVersion(), OS: v.Os, Arch: v.Arch,
		System: in.OperatingSystem, Kernel: in.KernelVersion, CPUs: in.NCPU, Memory: in.MemTotal,
		RootDir: in.DockerRootDir, ImageDir: imageDir(in), StorageDriver: in.Driver, CgroupVersion: in.CgroupVersion,
		Containers: in.Containers, Running: in.ContainersRunning, Images: in.Images,
		Podman: daemon.IsPodman(v), Rootless: daemon.IsRootless(in), Warnings: in.Warnings, Unlimited: e.conn.Unlimited(),
	}
	return out, nil
}

// imageDir is where the engine's images are. With containerd's image store that is
// containerd's directory, which only containerd's configuration names: for the machine's
// own containerd, the directory that every package uses.
func imageDir(in system.Info) string {
	stored := slices.Contains(in.DriverStatus, [2]string{"driver-type", "io.containerd.snapshotter.v1"})
	if stored && in.Containerd != nil && strings.TrimPrefix(in.Containerd.Address, "/var") == "/run/containerd/containerd.sock" {
		return "/var/lib/containerd"
	}
	return in.DockerRootDir
}

// DiskFree returns the bytes that are free where the engine keeps its images.
// The engine's API does not report it, so it is known only if the engine is on this
// machine and this process may read its directory. It is cheap: only the
// first call asks the engine.
func (e *Engine) DiskFree(ctx context.Context) (free int64, known bool, err error) {
	network, _, _ := daemon.PlainAddress(e.conn.Host, false)
	if network != "unix" {
		return 0, false, nil
	}
	dir := e.dataDir.Load()
	if dir == nil {
		in, err := e.About(ctx)
		if err != nil {
			return 0, false, err
		}
		dir = &in.ImageDir
		if _, there := statfs(*dir); !there {
			dir = &in.RootDir
		}
		e.dataDir.Store(dir)
	}
	free, known = statfs(*dir)
	return free, known, nil
}

// statfs returns the bytes an unprivileged process could still write at dir.
func statfs(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
