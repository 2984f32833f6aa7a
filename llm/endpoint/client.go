package endpoint

import (
	"bytes"
	"context"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// Client is an [llm.Model] of one protocol. It is safe for concurrent use; its fields must not be changed.
type Client struct {
	At     *Endpoint
	URL    *url.URL
	Header http.Header

	// Relayed returns the address of a relayed request, for a protocol in which it says what is asked for.
	// Nil: it is URL.
	Relayed func(*llm.Relay) *url.URL

	Encode   func(*llm.Request) (history.Body, error)     // writes a request
	Streams  func(asked bool, answer *http.Response) bool // reports whether the answer is a stream of events, which was asked for or not
	Streamed func(answer *http.Response) (*llm.Response, error)
	Whole    func(body []byte, header http.Header) (*llm.Response, error)
}

// Client returns a client whose requests go to u. Header has the protocol's own headers; the key's and those
// of the config are added. The caller sets the functions.
func (e *Endpoint) Client(u *url.URL, header http.Header) Client {
	if e.APIKey != "" {
		e.protocol.setKey(header, e.APIKey)
	}
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	return Client{At: e, URL: u, Header: header}
}

// RetryPolicy returns the retry policy set by the config and its Kwargs, for [llm.Calls].
func (c *Client) RetryPolicy() llm.RetryPolicy { return c.At.Retry }

// Wire returns the name of the client's protocol, see [Protocol].
func (c *Client) Wire() string { return c.At.protocol.Wire }

// Dropped returns the model_kwargs that are left out because the provider does not take them.
func (c *Client) Dropped() []string { return c.At.Dropped }

// Generate implements [llm.Model] with one request, see [Endpoint.Ask]. A reply that did not end normally is a
// fault.
func (c *Client) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	if req.Relay != nil {
		return c.relay(ctx, req)
	}
	body, err := c.Encode(req)
	if err != nil {
		return nil, &llm.Unpaid{Err: fault.New(fault.Bug, c.At.Op(), err)}
	}
	return c.At.Ask(ctx, req, func(try context.Context) (*http.Response, *llm.Response, error) {
		answer, err := c.At.Send(c.post(try, c.URL, c.Header, body))
		if err != nil {
			return answer, nil, err
		}
		defer answer.Body.Close()
		resp, err := c.read(answer, c.At.Stream)
		if err == nil {
			resp, err = c.At.ended(resp)
		}
		return answer, resp, err
	})
}

// relay makes one request that a program wrote. Whether its reply is whole is for the program to judge.
func (c *Client) relay(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	header := req.Relay.Header.Clone()
	maps.Copy(header, c.Header)
	u := c.URL
	if c.Relayed != nil {
		u = c.Relayed(req.Relay)
	}
	return c.At.Ask(ctx, req, func(try context.Context) (*http.Response, *llm.Response, error) {
		answer, err := c.At.Send(c.post(try, u, header, history.Body{req.Relay.Body}))
		if answer != nil && answer.StatusCode >= http.StatusBadRequest {
			said, err := io.ReadAll(answer.Body) // it is in memory
			if err == nil {
				answer.Body = io.NopCloser(bytes.NewReader(said))
				req.Relay.Refused(answer.StatusCode, answer.Header, said)
			}
		}
		if err != nil {
			return answer, nil, err
		}
		defer answer.Body.Close()
		answer.Body = teed{io.TeeReader(answer.Body, req.Relay.Begin(answer.Header)), answer.Body}
		resp := &llm.Response{}
		if !req.Relay.Count {
			resp, err = c.read(answer, req.Relay.Stream)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body) // what comes after the last event
		}
		return answer, resp, err
	})
}

// teed is a body that is passed on as it is read.
type teed struct {
	io.Reader
	io.Closer
}

// post returns the request of one try. Requests share the header, which transports do not change.
func (c *Client) post(ctx context.Context, u *url.URL, header http.Header, body history.Body) *http.Request {
	r := (&http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Header: header}).WithContext(ctx)
	body.Attach(r)
	return r
}

func (c *Client) read(answer *http.Response, asked bool) (*llm.Response, error) {
	if c.Streams(asked, answer) {
		return c.Streamed(answer)
	}
	whole, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return c.Whole(whole, answer.Header)
}

// HasEvents reports whether an answer says that it is a stream of events, whatever was asked for.
func HasEvents(_ bool, answer *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}
