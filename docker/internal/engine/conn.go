// Package engine is one connection to one Docker engine: what every call has to
// pass, whether the engine answers, what it cannot limit, and whom its errors blame.
// It knows neither images nor containers.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	ctxdocker "github.com/docker/cli/cli/context/docker"
	"github.com/docker/docker/client"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/fault"
)

// Conn is a connection to a Docker engine. It is safe for concurrent use.
type Conn struct {
	API   *client.Client
	signs *client.Client // asks for signs of life
	Host  string
	Log   *slog.Logger
	// LimitOf says how long the engine may keep the caller of a call waiting. It may
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
	Before     func(call string) error // asked before each call; nil: nobody is
	Log        *slog.Logger
}

// Open connects, agrees with the engine on an API version and asks it for a sign
// of life. The caller must Close the connection.
func Open(ctx context.Context, c Config) (*Conn, error) {
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
	e := &Conn{Host: ep.Host, Log: c.Log, LimitOf: limitOf}
	e.health = newHealth(e.SignOfLife, ep.Host, c.Patience, c.Log)
	if e.API, err = client.NewClientWithOpts(slices.Concat(opts, []client.Opt{e.guard(c.Before)})...); err == nil {
		e.signs, err = client.NewClientWithOpts(slices.Concat(opts, []client.Opt{unkept, e.guard(c.Before)})...)
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "preparing for docker host "+ep.Host, err).WithHint("check DOCKER_HOST")
	}
	if err := e.SignOfLife(ctx); err != nil {
		_ = e.Close()
		return nil, unreachable(ctx, e.Host, err)
	}
	e.API.NegotiateAPIVersion(ctx)
	return e, nil
}

// Close ends the wait for an engine that is away and what was begun with Go, waits
// for both and closes the idle connections.
func (e *Conn) Close() error {
	e.health.close()
	return errors.Join(e.API.Close(), e.signs.Close())
}

// SignOfLife asks over a new connection: an engine that is going down takes none,
// and still answers over those it has.
func (e *Conn) SignOfLife(ctx context.Context) error {
	_, err := e.signs.Ping(ctx)
	return err
}

// unkept has a client make a new connection for each call.
func unkept(c *client.Client) error {
	tr, ok := c.HTTPClient().Transport.(*http.Transport)
	if !ok {
		return errors.New("the client has a transport of its own")
	}
	tr.DisableKeepAlives = true
	return nil
}

// guard puts what every call has to pass in front of the client's transport. It
// stands behind the options that choose the transport.
func (e *Conn) guard(before asked) client.Opt {
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

// AtMost lets n, or otherwise when n is 0, do a thing at the same time.
func AtMost(n, otherwise int) *semaphore.Weighted {
	if n <= 0 {
		n = otherwise
	}
	return semaphore.NewWeighted(int64(n))
}

// Sleep waits for d or the end of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// boundKey marks a context whose end must also end the connection dialled with it.
type boundKey struct{}

// Bound returns a context for a call that takes the connection over: the
// client watches ctx only until it has sent the request, so the connection's
// own deadline has to follow ctx.
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
