package mcp

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"batch.example/batch/fault"
)

// grace is the time that the SDK may take to return once its context has ended. After that, it
// hangs on a server that does not read, and the connection is cut.
const grace = 2 * time.Second

// connection is one connection to a server. It does not survive a failure.
type connection struct {
	session *sdk.ClientSession
	tooMuch atomic.Bool
	cut     func() // ends the program or the requests, without asking the server
	blame   func(error) blame
	dead    chan struct{} // closed when the session has ended
	wait    sync.WaitGroup
}

// blame is the reason of a failed connection.
type blame struct {
	kind fault.Kind
	why  error
	hint string
}

// handshakes are the protocol's versions to begin with. All servers of 2025 know the first;
// a server that only knows a later version refuses it. The protocol asks for the other order,
// but then a server that does not answer unknown methods would hang.
var handshakes = []string{"2025-11-25", "2026-07-28"}

// connect connects to the server.
func connect(ctx context.Context, s Server, dial Dial, said *diary) (*connection, error) {
	var first error
	for _, version := range handshakes {
		c, err := connectAs(ctx, s, dial, said, version)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if _, refused := refusal(err); !refused {
			break
		}
	}
	return nil, first
}

// connectAs connects to the server with a handshake of that version of the protocol.
func connectAs(ctx context.Context, s Server, dial Dial, said *diary, version string) (*connection, error) {
	c := &connection{dead: make(chan struct{})}
	var transport sdk.Transport
	var err error
	if s.URL != "" {
		transport, err = c.overHTTP(s)
	} else {
		transport, err = c.overStdio(ctx, s, dial, said)
	}
	if err != nil {
		return nil, err
	}
	about := &sdk.Implementation{Name: "batch", Version: "1"}
	options := &sdk.ClientOptions{ // no sampling, no elicitation, no roots: the server gets nothing but calls
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	}
	err = c.within(ctx, func(ctx context.Context) (err error) {
		c.session, err = sdk.NewClient(about, options).Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
		return err
	})
	if err != nil {
		c.cut()
		c.wait.Wait()
		return nil, c.fault(err, "connecting to the MCP server "+s.Name, s.Name)
	}
	c.wait.Go(func() {
		defer close(c.dead)
		_ = c.session.Wait() // the call that notices reports why
	})
	return c, nil
}

// overStdio starts the server's program.
func (c *connection) overStdio(ctx context.Context, s Server, dial Dial, said *diary) (sdk.Transport, error) {
	start := startProcess
	if s.Inside {
		start = dial
	}
	stream, err := start(ctx, Program{Name: s.Name, Args: s.Command, Env: s.Env, Dir: s.Dir, Stderr: said})
	if err != nil {
		return nil, err
	}
	c.cut = func() { _ = stream.Close() } // what is left ends with the container, or does not read its stdin
	c.blame = func(err error) blame {
		code, ended := stream.Exit()
		last := said.lastLine()
		if last != "" {
			err = fmt.Errorf("%w; it wrote: %s", err, last)
		}
		if ended && code >= 0 && isEnd(err) {
			err = fmt.Errorf("its program ended with exit code %d: %w", code, err)
		}
		return blame{fault.Usage, err, "check that it is an MCP server: agent.mcp_servers." + s.Name + ".command"}
	}
	from := &messages{Closer: stream, from: bufio.NewReader(stream), said: said, tooMuch: &c.tooMuch}
	return &sdk.IOTransport{Reader: from, Writer: stream, MaxLineLength: -1}, nil
}

// overHTTP prepares for requests to the server.
func (c *connection) overHTTP(s Server) (sdk.Transport, error) {
	to, err := url.Parse(s.URL)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading agent.mcp_servers."+s.Name+".url", err)
	}
	alive, end := context.WithCancel(context.Background())
	next := http.DefaultTransport.(*http.Transport).Clone()
	calls := &caller{next: next, headers: s.Headers, to: to, alive: alive, tooMuch: &c.tooMuch}
	c.cut = func() {
		end()
		next.CloseIdleConnections()
	}
	c.blame = func(err error) blame { return blameHTTP(s, calls, err) }
	return &sdk.StreamableClientTransport{
		Endpoint: s.URL, DisableStandaloneSSE: true, MaxEventSize: -1,
		HTTPClient: &http.Client{
			Transport: calls,
			// The headers must not reach another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func blameHTTP(s Server, calls *caller, err error) blame {
	key := "agent.mcp_servers." + s.Name
	status, failed := calls.why()
	switch {
	case failed != nil && isCertificate(failed):
		return blame{fault.Usage, failed, "check " + key + ".url"}
	case failed != nil:
		return blame{fault.Transient, failed, "check that the server runs, and " + key + ".url"}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return blame{fault.Usage, err, "check " + key + ".headers"}
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return blame{fault.Transient, err, ""}
	case status != 0:
		return blame{fault.Usage, fmt.Errorf("it answered with status %d: %w", status, err), "check " + key + ".url: expected an address for MCP over streamable HTTP"}
	}
	return blame{fault.Transient, err, ""}
}

func isCertificate(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}

// fault returns err with blame.
func (c *connection) fault(err error, op, server string) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Newf(fault.Transient, "%s: it did not answer in time", op).
			WithHint("check that it is an MCP server, or raise agent.mcp_servers.%s.timeout", server)
	}
	b := c.blame(err)
	return fault.New(b.kind, op, b.why).WithHint("%s", b.hint)
}

// within calls f, which must return soon after ctx ends: otherwise it hangs on a server that
// does not read what it is sent, and the connection is cut.
func (c *connection) within(ctx context.Context, f func(context.Context) error) error {
	returned := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-returned:
			return
		case <-ctx.Done():
		}
		select {
		case <-returned:
		case <-time.After(grace):
			c.cut()
		}
	})
	err := f(ctx)
	close(returned)
	watch.Wait()
	return err
}

// ended reports whether the session has ended.
func (c *connection) ended() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// close ends the connection and its program or requests.
func (c *connection) close() {
	ctx, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	_ = c.within(ctx, func(context.Context) error { return c.session.Close() }) // what remains is cut
	c.cut()
	c.wait.Wait()
}

// broke is the reason that the model is shown for a call without a result.
func (c *connection) broke() string {
	if c.tooMuch.Load() {
		return fmt.Sprintf("The tool's result has more than %d MB. It was not kept.", maxReceived>>20)
	}
	return "The connection to the tool's server broke during the call."
}

// isEnd reports whether err means that the other side has ended the connection.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, syscall.EPIPE)
}
