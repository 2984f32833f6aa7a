package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
)

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
