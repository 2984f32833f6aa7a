// Package daemon is one connection to one Docker engine. It limits the time of every
// call, tracks whether the engine answers and what it cannot limit, and turns its errors
// into faults. It does not deal with images or containers.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	ctxdocker "github.com/docker/cli/cli/context/docker"
	"github.com/docker/docker/client"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/fault"
)

// Conn is a connection to a Docker engine. It is safe for concurrent use.
type Conn struct {
	API    *client.Client
	pinger *client.Client // makes a new connection for each ping
	Host   string
	Log    *slog.Logger
	// LimitOf returns how long the engine may take to answer a call. It may
	// be changed before the first call.
	LimitOf func(method, path string) time.Duration

	*health
	unlimited unlimited
	listening sync.Once
}

// Config says how to connect.
type Config struct {
	Endpoint   ctxdocker.Endpoint
	APIVersion string                  // empty: agree on one
	Patience   time.Duration           // 0 means 5 minutes
	Before     func(call string) error // called before each call; may be nil
	Log        *slog.Logger
}

// Open connects, pings the engine and agrees with it on an API version. The caller
// must Close the connection.
func Open(ctx context.Context, c Config) (*Conn, error) {
	ep := c.Endpoint
	e := &Conn{Host: ep.Host, Log: c.Log, LimitOf: limitOf}
	e.health = newHealth(e.Ping, ep.Host, c.Patience, c.Log)
	var err error
	if e.API, err = c.client(e.guard(c.Before)); err == nil {
		e.pinger, err = c.client(noKeepAlive, e.guard(c.Before))
	}
	if err != nil {
		return nil, err
	}
	if err := e.Ping(ctx); err != nil {
		_ = e.Close()
		return nil, unreachable(ctx, e.Host, err)
	}
	e.API.NegotiateAPIVersion(ctx)
	return e, nil
}

// client returns a client of the API. Each needs options of its own: over ssh, these contain the
// transport that the client changes.
func (c Config) client(more ...client.Opt) (*client.Client, error) {
	ep := c.Endpoint
	opts, err := ep.ClientOpts()
	if err != nil {
		return nil, fault.New(fault.Usage, "reading the settings for docker host "+ep.Host, err).
			WithHint("check DOCKER_CERT_PATH, or the certificates of the docker context")
	}
	opts = append(opts, client.WithVersion(c.APIVersion), client.WithUserAgent("batch"))
	if network, addr, ok := PlainAddress(ep.Host, ep.TLSData != nil || ep.SkipTLSVerify); ok {
		opts = append(opts, client.WithDialContext(dialer(network, addr)))
	}
	made, err := client.NewClientWithOpts(append(opts, more...)...)
	if err != nil {
		return nil, fault.New(fault.Usage, "preparing for docker host "+ep.Host, err).WithHint("check DOCKER_HOST")
	}
	return made, nil
}

// Close cancels the wait for an engine that is away and the functions started with Go,
// waits for both and closes the idle connections.
func (e *Conn) Close() error {
	e.health.close()
	return errors.Join(e.API.Close(), e.pinger.Close())
}

// Ping pings the engine over a new connection: an engine that shuts down accepts no new
// connections, but still answers over those it has.
func (e *Conn) Ping(ctx context.Context) error {
	_, err := e.pinger.Ping(ctx)
	return err
}

// noKeepAlive makes a client use a new connection for each call.
func noKeepAlive(c *client.Client) error {
	tr, ok := c.HTTPClient().Transport.(*http.Transport)
	if !ok {
		return errors.New("the client has a transport of its own")
	}
	tr.DisableKeepAlives = true
	return nil
}

// guard puts the time limits and Config.Before in front of the client's transport. It
// must come after the options that choose the transport.
func (e *Conn) guard(before beforeFunc) client.Opt {
	return func(c *client.Client) error {
		tr, ok := c.HTTPClient().Transport.(*http.Transport)
		if !ok {
			return errors.New("the client has a transport of its own")
		}
		front := limited{next: tr, before: before, engine: e}
		tr.RegisterProtocol("http", front)
		tr.RegisterProtocol("https", front)
		if tr.DialContext != nil {
			tr.DialContext = before.dial(tr.DialContext)
		}
		return nil
	}
}

// AtMost returns a semaphore for n holders, or for otherwise holders if n is 0.
func AtMost(n, otherwise int) *semaphore.Weighted {
	if n <= 0 {
		n = otherwise
	}
	return semaphore.NewWeighted(int64(n))
}

// boundKey marks a context whose end must also end the connection dialed with it.
type boundKey struct{}

// Bound returns a context for a call that takes over the connection: the
// client watches ctx only until it has sent the request, so the end of ctx must
// set the connection's deadline.
func Bound(ctx context.Context) context.Context {
	return context.WithValue(ctx, boundKey{}, true)
}

func dialer(network, addr string) dialFunc {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if ctx.Value(boundKey{}) != nil {
			context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
		}
		return conn, nil
	}
}
