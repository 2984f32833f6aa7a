package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
)

// beforeFunc is a Config.Before as a transport: it calls the function and leaves the call
// itself to the transport that it is registered with. Nil calls nothing.
type beforeFunc func(call string) error

// RoundTrip implements http.RoundTripper.
func (a beforeFunc) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if a != nil {
		err = a(callName(r.Method, r.URL.Path))
	}
	if err == nil {
		return nil, http.ErrSkipAltProtocol
	}
	if r.Body != nil {
		_ = r.Body.Close() // a transport closes it even when it fails
	}
	var status interface{ StatusCode() int }
	if !errors.As(err, &status) {
		return nil, err
	}
	text, _ := json.Marshal(map[string]string{"message": err.Error()}) // a map of strings can always be written
	return &http.Response{
		StatusCode: status.StatusCode(), Status: http.StatusText(status.StatusCode()),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}

// dial calls the function before dialing a connection that a call takes over: such a
// call bypasses the transport.
func (a beforeFunc) dial(next dialFunc) dialFunc {
	if a == nil {
		return next
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if ctx.Value(boundKey{}) != nil {
			if err := a("attach"); err != nil {
				return nil, err
			}
		}
		return next(ctx, network, addr)
	}
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// callName returns the name of a call for Config.Before.
func callName(method, path string) string {
	words := strings.Split(strings.Trim(path, "/"), "/")
	if len(words) > 1 && strings.HasPrefix(words[0], "v1.") {
		words = words[1:]
	}
	last := strings.TrimLeft(words[len(words)-1], "_")
	switch {
	case method == http.MethodDelete:
		return "remove"
	case words[0] == "images" && last == "create":
		return "pull"
	case words[0] == "images":
		return "image"
	case last == "json" && len(words) == 2:
		return "list"
	case last == "json":
		return "inspect"
	case last == "archive":
		return "copy"
	}
	return last
}
