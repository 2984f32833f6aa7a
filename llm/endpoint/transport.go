package endpoint

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"batch.example/batch/llm/internal/history"
)

// newClient returns the client of requests, based on given or a new one. It cuts endless answers and stalled
// streams, and follows redirects only within one server.
func newClient(given *http.Client, streams bool, idle time.Duration) *http.Client {
	client := http.Client{Transport: Transport()}
	if given != nil {
		client = *given
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = &watchful{next: client.Transport, always: streams, idle: idle}
	client.Transport = bounded{client.Transport}
	client.CheckRedirect = withinOrigin
	return &client
}

// errCircle is the cause of a request with too many redirects.
var errCircle = errors.New("too many redirects")

// withinOrigin follows redirects only on the server that the user named: net/http would send the conversation
// to any other server too, together with keys in headers that it does not know, such as X-Api-Key.
func withinOrigin(next *http.Request, before []*http.Request) error {
	named := before[0].URL
	switch {
	case next.URL.Scheme != named.Scheme || next.URL.Host != named.Host:
		return http.ErrUseLastResponse
	case len(before) >= 10:
		return errCircle
	}
	return nil
}

// maxAnswer bounds an answer, in bytes: it is far above the longest that a model writes, and all agents
// together can keep such answers in memory.
const maxAnswer = 64 << 20

// errTooLarge is the cause of an answer that was cut at maxAnswer.
var errTooLarge = errors.New("the answer is too large")

// bounded cuts answers at maxAnswer.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{answer.Body, maxAnswer}
	}
	return answer, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Transport returns a new transport for the requests of many agents: it keeps a connection for each agent
// instead of two per host, and sends a conversation without copying it.
func Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	t.WriteBufferSize, t.ReadBufferSize = 1<<10, 2<<10 // for headers: bodies bypass both buffers
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			return conn{tcp}, err
		}
		return c, err
	}
	return t
}

// conn writes a body in pieces with one system call. Without it, net/http copies each piece through a new
// buffer.
type conn struct{ *net.TCPConn }

// ReadFrom implements [io.ReaderFrom].
func (c conn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if pieces, ok := limited.R.(*history.Pieces); ok && pieces.Len() == limited.N {
			n, err := pieces.WriteTo(c.TCPConn)
			limited.N -= n
			return n, err
		}
	}
	return c.TCPConn.ReadFrom(r)
}

// errStalled is the cause of a stream that was cut after a too long pause.
var errStalled = errors.New("the stream stalled")

// watched is the key of a context whose request is answered by a stream, although the endpoint's own are not.
type watched struct{}

// watchful cuts a streamed answer that pauses for longer than idle, or that does not begin within
// the longer of idle and DefaultRequestTimeout.
type watchful struct {
	next   http.RoundTripper
	always bool // all answers are streamed; otherwise those to [watched] requests
	idle   time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (w *watchful) RoundTrip(r *http.Request) (*http.Response, error) {
	if !w.always && r.Context().Value(watched{}) == nil {
		return w.next.RoundTrip(r)
	}
	ctx, cut := context.WithCancelCause(r.Context())
	late := time.AfterFunc(max(w.idle, DefaultRequestTimeout), func() { cut(errStalled) })
	answer, err := w.next.RoundTrip(r.WithContext(ctx))
	late.Stop()
	if err != nil {
		cut(nil)
		return nil, stalled(ctx, err)
	}
	answer.Body = &watchedBody{ReadCloser: answer.Body, ctx: ctx, cut: cut, idle: w.idle}
	return answer, nil
}

type watchedBody struct {
	io.ReadCloser
	ctx  context.Context
	cut  context.CancelCauseFunc
	idle time.Duration
}

// Read implements [io.Reader].
func (b *watchedBody) Read(p []byte) (int, error) {
	late := time.AfterFunc(b.idle, func() { b.cut(errStalled) })
	n, err := b.ReadCloser.Read(p)
	late.Stop()
	if err != nil && err != io.EOF {
		err = stalled(b.ctx, err)
	}
	return n, err
}

// Limits for the data after a stream's last event.
const (
	lingering = 100 * time.Millisecond
	trailing  = 4 << 10 // bytes
)

// Close implements [io.Closer]. It reads the end of the stream, which readers skip after the last event,
// because only then the connection can be reused.
func (b *watchedBody) Close() error {
	defer b.cut(nil)
	late := time.AfterFunc(lingering, func() { b.cut(nil) })
	_, _ = io.CopyN(io.Discard, b.ReadCloser, trailing)
	late.Stop()
	return b.ReadCloser.Close()
}

// stalled returns errStalled if the stream stalled, otherwise err.
func stalled(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}
