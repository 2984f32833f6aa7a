package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"
)

const (
	usualLimit = time.Minute
	pingLimit  = 10 * time.Second // for a sign of life, which the client asks for twice
	slowLimit  = 5 * time.Minute  // for what takes an engine with many or large images long

	// RemoveLimit is what the engine gets to remove a container.
	RemoveLimit = 30 * time.Second

	endless time.Duration = math.MaxInt64 // of a call that has another end
)

// limitOf returns how long the engine may keep the caller of one call waiting:
// for the head of its answer, and then each time for more of the body. A pull
// waits for a registry and not for the engine, so who asks for it ends it.
func limitOf(method, path string) time.Duration {
	switch call := callName(method, path); {
	case call == "ping":
		return pingLimit
	case call == "pull", call == "events":
		return endless
	case call == "copy" && method == http.MethodPut, // answered when everything is unpacked
		call == "remove" && strings.Contains(path, "/images/"),
		strings.HasSuffix(path, "/images/json"):
		return slowLimit
	case call == "remove":
		return RemoveLimit
	}
	return usualLimit
}

// NoAnswer is the error of a call that ran into its limit. To errors.Is it is
// [context.DeadlineExceeded]; that the caller's own time ended is another error.
type NoAnswer struct {
	Call  string
	Limit time.Duration
}

func (n *NoAnswer) Error() string {
	return fmt.Sprintf("the engine did not answer within %v (%s)", n.Limit, n.Call)
}

func (*NoAnswer) Is(target error) bool { return target == context.DeadlineExceeded }

// Unanswered reports whether err came from a call that ran into its limit.
func Unanswered(err error) bool {
	_, ok := errors.AsType[*NoAnswer](err)
	return ok
}

// limited is a transport that ends each call at its limit, and lets the engine's
// health know. It is registered with the transport next and hands each call back to
// it, under a context with a mark by which it knows the call again.
type limited struct {
	next   http.RoundTripper
	before asked
	engine *Conn
}

type limitedKey struct{}

// RoundTrip implements http.RoundTripper.
func (t limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(limitedKey{}) != nil {
		return nil, http.ErrSkipAltProtocol
	}
	if resp, err := t.before.RoundTrip(r); !errors.Is(err, http.ErrSkipAltProtocol) {
		return resp, err
	}
	c := t.begin(r)
	resp, err := t.next.RoundTrip(r.WithContext(c.ctx))
	c.timer.Stop()
	if err != nil {
		c.cancel(nil)
		return nil, c.why(err)
	}
	resp.Body = &limitedBody{resp.Body, c}
	return resp, nil
}

// begin starts the time that the engine has for its answer to r.
func (t limited) begin(r *http.Request) *call {
	c := &call{asked: r.Context(), limit: t.engine.LimitOf(r.Method, r.URL.Path)}
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(c.asked, limitedKey{}, true))
	name := callName(r.Method, r.URL.Path)
	c.timer = time.AfterFunc(c.limit, func() {
		err := &NoAnswer{name, c.limit}
		if name != "ping" { // by which the engine's health is found out
			t.engine.Suspect(err)
		}
		c.cancel(err)
	})
	return c
}

// call is one call under way.
type call struct {
	asked  context.Context // the caller's
	ctx    context.Context // ends at the limit, too
	cancel context.CancelCauseFunc
	limit  time.Duration
	timer  *time.Timer
}

// why says what made the call fail with err: the limit, its caller, or else err.
func (c *call) why(err error) error {
	if cause := context.Cause(c.ctx); Unanswered(cause) {
		return cause
	}
	if c.asked.Err() != nil {
		return c.asked.Err()
	}
	return err
}

// limitedBody is the body of an answer. Each part of it has its time.
type limitedBody struct {
	io.ReadCloser
	call *call
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	b.call.timer.Reset(b.call.limit)
	n, err := b.ReadCloser.Read(p)
	b.call.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.call.why(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *limitedBody) Close() error {
	err := b.ReadCloser.Close()
	b.call.cancel(nil)
	return err
}
