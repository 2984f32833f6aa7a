package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// maxReceived is the number of bytes of a message on a program's stdout, and of an answer over HTTP.
const maxReceived = 32 << 20

var errTooMuch = errors.New("the server sent too much")

// messages is a reader of a program's stdout that leaves out lines that are no messages, such as a
// banner: it hands them to said. The protocol forbids them, and clients pass over them. It ends at a line
// that is too long, and notes that.
type messages struct {
	io.Closer
	from    *bufio.Reader
	said    io.Writer
	tooMuch *atomic.Bool
	line    []byte // the rest of the message that is read
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.line) == 0 {
		line, err := m.next()
		if text := bytes.TrimSpace(line); bytes.HasPrefix(text, []byte("[")) && json.Valid(text) || bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"jsonrpc"`)) {
			m.line = line
		} else if len(text) > 0 {
			_, _ = m.said.Write(append(text, '\n'))
		}
		if err != nil && len(m.line) == 0 {
			return 0, err
		}
	}
	n := copy(p, m.line)
	m.line = m.line[n:]
	return n, nil
}

// next returns the next line.
func (m *messages) next() (line []byte, err error) {
	for {
		part, err := m.from.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxReceived {
			m.tooMuch.Store(true)
			return nil, errTooMuch
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// limited is an answer over HTTP that fails when it is too long, and notes that.
type limited struct {
	io.ReadCloser
	left    int
	tooMuch *atomic.Bool
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= n; l.left < 0 {
		l.tooMuch.Store(true)
		return 0, errTooMuch
	}
	return n, err
}
