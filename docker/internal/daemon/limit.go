package daemon

import (
	"bytes"
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
	pingLimit  = 10 * time.Second // for a ping, which the client sends twice
	slowLimit  = 5 * time.Minute  // for calls that are slow with many or large images

	// RemoveLimit is how long the engine may take to remove a container.
	RemoveLimit = 30 * time.Second

	endless time.Duration = math.MaxInt64 // for a call that its caller ends
)

// limitOf returns how long the engine may take for one call: for the head of its answer,
// and then for each further part of the body. A pull
// waits for a registry and not for the engine, and a build for its commands, so their callers end them.
func limitOf(method, path string) time.Duration {
	switch call := callName(method, path); {
	case call == "ping":
		return pingLimit
	case call == "pull", call == "build", call == "events":
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

// NoAnswer is the error of a call that exceeded its limit. To errors.Is it is
// [context.DeadlineExceeded]; the end of the caller's own context is another error.
type NoAnswer struct {
	Call  string
	Limit time.Duration
}

func (n *NoAnswer) Error() string {
	return fmt.Sprintf("the engine did not answer within %v (%s)", n.Limit, n.Call)
}

func (*NoAnswer) Is(target error) bool { return target == context.DeadlineExceeded }

// Unanswered reports whether err came from a call that exceeded its limit.
func Unanswered(err error) bool {
	_, ok := errors.AsType[*NoAnswer](err)
	return ok
}

// limited is a transport that ends each call at its limit, and reports that to the
// engine's health. It is registered with the transport next and passes each call on to
// it, with a mark in the context by which it recognizes the call.
type limited struct {
	next   http.RoundTripper
	before beforeFunc
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
	resp.Body = &limitedBody{ReadCloser: resp.Body, call: c}
	return resp, nil
}

// begin starts the time that the engine has for its answer to r.
func (t limited) begin(r *http.Request) *call {
	name := callName(r.Method, r.URL.Path)
	c := &call{caller: r.Context(), limit: t.engine.LimitOf(r.Method, r.URL.Path), archive: name == "copy"}
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(c.caller, limitedKey{}, true))
	c.timer = time.AfterFunc(c.limit, func() {
		err := &NoAnswer{name, c.limit}
		if name != "ping" { // health itself sends the pings
			t.engine.NoteError(err)
		}
		c.cancel(err)
	})
	return c
}

// call is one running call.
type call struct {
	caller context.Context // the caller's
	ctx    context.Context // ends at the limit, too
	cancel context.CancelCauseFunc
	limit  time.Duration
	timer  *time.Timer

	archive bool // the answer is one, of any length
}

// why returns the reason that the call failed with err: the limit, its caller, or err itself.
func (c *call) why(err error) error {
	if cause := context.Cause(c.ctx); Unanswered(cause) {
		return cause
	}
	if c.caller.Err() != nil {
		return c.caller.Err()
	}
	return err
}

// longestAnswer bounds an answer, which is read whole unless it is an archive, and one message of a stream,
// which has a line of its own. An engine with 10,000 containers lists them in about 30 MB.
const longestAnswer = 64 << 20

var errEndless = fmt.Errorf("the engine's answer is longer than %d MiB", longestAnswer>>20)

// limitedBody is the body of an answer. The limit of time applies to each read.
type limitedBody struct {
	io.ReadCloser
	call *call
	size int // of the answer, or of the stream's message, so far
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	b.call.timer.Reset(b.call.limit)
	n, err := b.ReadCloser.Read(p)
	b.call.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.call.why(err)
	}
	b.size += n
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 && b.call.limit == endless {
		b.size = n - 1 - end
	}
	if b.size > longestAnswer && !b.call.archive {
		return 0, errEndless
	}
	return n, err
}

// Close implements io.Closer.
func (b *limitedBody) Close() error {
	err := b.ReadCloser.Close()
	b.call.cancel(nil)
	return err
}
