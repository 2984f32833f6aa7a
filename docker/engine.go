package docker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/fault"
)

// sureAPI came with Docker 23.0. An engine before it can hang for ever when two
// containers end at the same time: its network's locks are taken in two orders
// (https://github.com/moby/moby/issues/46661).
const sureAPI = "1.42"

// Engine is a connection to a Docker engine. It is safe for concurrent use.
type Engine struct {
	api   *client.Client
	host  string
	log   *slog.Logger
	owner owner
	login *configfile.ConfigFile
	auth  sync.Mutex // a credential helper is a process of its own: one at a time

	health    *health
	limitOf   func(method, path string) time.Duration
	unlimited unlimited
	listener  listener
	disks     disks
	init      boxInit
	creates   *semaphore.Weighted // containers being made
	removals  *semaphore.Weighted // and removed: apart, so that creates that hang hold up none
	slots     *semaphore.Weighted // images being pulled
	mu        sync.Mutex
	pulls     map[string]*pull
	gates     map[string]*gate               // by registry
	turns     map[string]*semaphore.Weighted // by image name
	pullers   sync.WaitGroup
	pace      pace

	pullTimeout time.Duration
	dataDir     atomic.Pointer[string] // once the engine has told
}

// Connect finds the engine c names, agrees with it on an API version and asks
// it for a sign of life. An engine that cannot be reached is a Host fault whose
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
	opts, err := ep.ClientOpts()
	if err != nil {
		return nil, fault.New(fault.Usage, "reading the settings for docker host "+ep.Host, err).
			WithHint("check DOCKER_CERT_PATH, or the certificates of the docker context")
	}
	opts = append(opts, client.WithVersion(c.APIVersion), client.WithUserAgent("batch"))
	if network, addr, ok := plainAddress(ep.Host, ep.TLSData != nil || ep.SkipTLSVerify); ok {
		opts = append(opts, client.WithDialContext(dialer(network, addr)))
	}
	e := &Engine{
		host: ep.Host, log: log, login: login, owner: self(), limitOf: limitOf,
		pulls: map[string]*pull{}, gates: map[string]*gate{}, turns: map[string]*semaphore.Weighted{}, pace: defaultPace, pullTimeout: c.PullTimeout,
		slots:   atMost(c.Pulls, defaultPulls),
		init:    boxInit{turn: semaphore.NewWeighted(1)},
		creates: atMost(c.Lives, defaultLives),
	}
	e.health = newHealth(e.signOfLife, ep.Host, c.Patience, log)
	e.api, err = client.NewClientWithOpts(append(opts, e.guard(c.Before))...)
	if err != nil {
		return nil, fault.New(fault.Usage, "preparing for docker host "+ep.Host, err).WithHint("check DOCKER_HOST")
	}
	if err := e.ping(ctx); err != nil {
		_ = e.Close()
		return nil, err
	}
	e.removals = atMost(c.Lives, defaultLives)
	if versions.LessThan(e.api.ClientVersion(), sureAPI) {
		e.removals = atMost(1, 1)
	}
	return e, nil
}

// Close ends the pulls under way and the wait for an engine that is away,
// waits for both and closes the idle connections. No Ensure may begin after it. Containers live on: removing them is their owner's task.
func (e *Engine) Close() error {
	e.mu.Lock()
	for _, p := range e.pulls {
		p.cancel()
	}
	e.mu.Unlock()
	e.pullers.Wait()
	e.health.close()
	return e.api.Close()
}

// Host is the address of the engine, such as unix:///var/run/docker.sock.
func (e *Engine) Host() string { return e.host }

// guard puts what every call has to pass in front of the client's transport. It
// stands behind the options that choose the transport.
func (e *Engine) guard(before asked) client.Opt {
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

func (e *Engine) ping(ctx context.Context) error {
	if err := e.signOfLife(ctx); err != nil {
		return unreachable(ctx, e.host, err)
	}
	e.api.NegotiateAPIVersion(ctx)
	return nil
}

// signOfLife asks over a new connection: an engine that is going down takes none,
// and still answers over those it has.
func (e *Engine) signOfLife(ctx context.Context) error {
	e.api.HTTPClient().CloseIdleConnections()
	_, err := e.api.Ping(ctx)
	return err
}

// atMost lets n, or otherwise when n is 0, do a thing at the same time.
func atMost(n, otherwise int) *semaphore.Weighted {
	if n <= 0 {
		n = otherwise
	}
	return semaphore.NewWeighted(int64(n))
}

// boundKey marks a context whose end must also end the connection dialled with it.
type boundKey struct{}

// bound returns a context for a call that takes the connection over: the
// client watches ctx only until it has sent the request, so the connection's
// own deadline has to follow ctx.
func bound(ctx context.Context) context.Context {
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
