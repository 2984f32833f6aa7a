package docker

import (
	"context"
	"log/slog"
	"sync/atomic"

	"batch.example/batch/docker/containers"
	"batch.example/batch/docker/images"
	"batch.example/batch/docker/internal/daemon"
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
