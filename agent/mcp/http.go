package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
)

// caller makes the requests to one server over HTTP: with its headers, only to its
// address, and for no longer than its context.
type caller struct {
	next    *http.Transport
	headers map[string]string
	to      *url.URL
	alive   context.Context //nolint:containedctx // it ends all requests of a connection at once
	tooMuch *atomic.Bool

	mu     sync.Mutex
	status int   // of the last refusal; 0: none
	failed error // of the last request that got no answer
}

// RoundTrip implements http.RoundTripper.
func (c *caller) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != c.to.Scheme || r.URL.Host != c.to.Host {
		return nil, fmt.Errorf("the server refers to another address, %s", r.URL.Host) // which must not get the headers
	}
	asked := r.Context()
	ctx, end := context.WithCancel(asked)
	release := context.AfterFunc(c.alive, end)
	r = r.Clone(ctx)
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	resp, err := c.next.RoundTrip(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		release()
		end()
		if asked.Err() == nil {
			c.failed = err
		}
		return nil, err
	}
	c.failed = nil
	if resp.StatusCode >= http.StatusMultipleChoices {
		c.status = resp.StatusCode
	}
	resp.Body = &body{limited{resp.Body, maxReceived, c.tooMuch}, func() { release(); end() }}
	return resp, nil
}

// why returns the last refusal and the last failure.
func (c *caller) why() (status int, failed error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status, c.failed
}

// body is the body of an answer; its end frees the request.
type body struct {
	limited
	free func()
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.free()
	return b.limited.Close()
}
