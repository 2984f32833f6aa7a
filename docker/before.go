package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/docker/docker/client"
)

// asking makes the client ask before each call, see [Config.Before]. It stands
// behind the options that choose the transport.
func asking(before func(string) error) client.Opt {
	return func(c *client.Client) error {
		tr, ok := c.HTTPClient().Transport.(*http.Transport)
		if !ok {
			return errors.New("the client has a transport of its own")
		}
		tr.RegisterProtocol("http", asked(before))
		dial := tr.DialContext
		tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			// A call that takes its connection over is made past the transport.
			if ctx.Value(boundKey{}) != nil {
				if err := before("attach"); err != nil {
					return nil, err
				}
			}
			return dial(ctx, network, addr)
		}
		return nil
	}
}

// asked is a transport that only asks, and leaves the call to the real one.
type asked func(call string) error

// RoundTrip implements http.RoundTripper.
func (a asked) RoundTrip(r *http.Request) (*http.Response, error) {
	err := a(callName(r.Method, r.URL.Path))
	if err == nil {
		return nil, http.ErrSkipAltProtocol
	}
	if r.Body != nil {
		_ = r.Body.Close() // a transport closes it, also when it fails
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

// callName is the word by which [Config.Before] knows a call.
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
