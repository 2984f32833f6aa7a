package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
)

const (
	// maxReceived is the number of bytes that a server may send between two calls, or in one answer
	// over HTTP.
	maxReceived = 32 << 20
	// maxLines bounds the messages in them; each message is a line.
	maxLines = 20_000
)

var errTooMuch = errors.New("the server sent too much")

// allowance counts the bytes and lines that a server may still send.
type allowance struct{ bytes, lines atomic.Int64 }

func (a *allowance) renew() {
	a.bytes.Store(maxReceived)
	a.lines.Store(maxLines)
}

// take counts what was received.
func (a *allowance) take(p []byte) error {
	if a.bytes.Add(-int64(len(p))) < 0 || a.lines.Add(-int64(bytes.Count(p, []byte{'\n'}))) < 0 {
		return errTooMuch
	}
	return nil
}

// messages is a reader of a program's stdout that leaves out lines that are no messages, such as a
// banner: it hands them to said. The protocol forbids them, and clients pass over them.
type messages struct {
	io.Closer
	from *bufio.Reader
	said io.Writer
	line []byte // the rest of the message that is read
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.line) == 0 {
		line, err := m.from.ReadBytes('\n')
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

// limited is a reader that fails when the allowance is used up, and notes that.
type limited struct {
	io.ReadCloser
	left    *allowance
	tooMuch *atomic.Bool
}

// Read implements io.Reader.
func (l limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if failed := l.left.take(p[:n]); failed != nil {
		l.tooMuch.Store(true)
		return 0, failed
	}
	return n, err
}
