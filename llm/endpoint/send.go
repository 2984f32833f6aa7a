package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// maxRefusal bounds the size of an error answer, in bytes.
const maxRefusal = 1 << 20

// errRefused stands for an answer with an error status.
var errRefused = errors.New("the request was refused")

// Send sends a request. An answer with an error status is returned together with an error, with its body in
// memory. The caller must close the body of any other answer.
func (e *Endpoint) Send(r *http.Request) (*http.Response, error) {
	answer, err := e.HTTP.Do(r)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	answer.Body = io.NopCloser(bytes.NewReader(said))
	return answer, cmp.Or(err, errRefused)
}

// Sender returns a function that sends bodies in copies of blank, a request without a body.
func (e *Endpoint) Sender(blank *http.Request) func(ctx context.Context, body history.Body) (*http.Response, error) {
	return func(ctx context.Context, body history.Body) (*http.Response, error) {
		r := blank.WithContext(ctx) // all requests share the header, which transports do not change
		body.Attach(r)
		return e.Send(r)
	}
}

// Exchange makes calls: Send sends a body, see [Endpoint.Send], and the other functions read the answer.
type Exchange struct {
	Send     func(ctx context.Context, body history.Body) (*http.Response, error)
	Streams  func(answer *http.Response) bool // reports whether the answer is a stream of events
	Streamed func(answer *http.Response) (*llm.Response, error)
	Whole    func(body []byte, header http.Header) (*llm.Response, error)
}

// Make makes the one request of a call, see [Endpoint.Ask]. A reply that did not end normally is a fault.
func (x Exchange) Make(ctx context.Context, e *Endpoint, req *llm.Request, body history.Body) (*llm.Response, error) {
	return e.Ask(ctx, req, func(try context.Context) (*http.Response, *llm.Response, error) {
		answer, err := x.Send(try, body)
		if err != nil {
			return answer, nil, err
		}
		defer answer.Body.Close()
		resp, err := x.read(answer)
		if err == nil {
			resp, err = e.ended(resp)
		}
		return answer, resp, err
	})
}

func (x Exchange) read(answer *http.Response) (*llm.Response, error) {
	if x.Streams(answer) {
		return x.Streamed(answer)
	}
	whole, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return x.Whole(whole, answer.Header)
}

// HasEvents reports whether an answer says that it is a stream of events.
func HasEvents(answer *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}
