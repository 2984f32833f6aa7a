package mcp

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"

	"batch.example/batch/internal/mask"
)

const (
	maxLine   = 1 << 10  // bytes of a line that a server writes
	maxLogged = 64 << 10 // bytes of such lines in the log, for each connection
	maxKept   = 300      // bytes of the last line, for errors
)

// diary writes what a program prints beside its messages to the log, line by line, with secrets
// hidden. It is safe for concurrent use.
type diary struct {
	log    *slog.Logger
	mask   *mask.Masker
	server string

	mu     sync.Mutex
	line   []byte
	cut    bool // the line is longer than maxLine
	last   string
	logged int
	full   bool
}

// Write implements io.Writer; it never fails.
func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte{'\n'})
		if room := maxLine - len(d.line); len(part) > room {
			part, d.cut = part[:room], true
		}
		d.line = append(d.line, part...)
		rest = after
		if ended {
			d.end()
		}
	}
	return len(p), nil
}

// end logs the line.
func (d *diary) end() {
	line := string(d.line)
	if d.cut {
		// The masker does not know a secret that was cut in two.
		line = line[:strings.LastIndexByte(line, ' ')+1] + "..."
	}
	d.line, d.cut = d.line[:0], false
	line = strings.ToValidUTF8(strings.TrimSpace(d.mask.Text(line)), string(utf8.RuneError))
	if line == "" {
		return
	}
	d.last = mask.Clip(line, maxKept)
	if d.logged += len(line); d.logged <= maxLogged {
		d.log.Info("an MCP server wrote", "server", d.server, "line", line)
	} else if !d.full {
		d.full = true
		d.log.Log(context.Background(), slog.LevelWarn, "an MCP server writes much beside its messages: the rest is left out", "server", d.server)
	}
}

// lastLine is the last line that was written, with secrets hidden.
func (d *diary) lastLine() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(bytes.TrimSpace(d.line)) > 0 {
		d.end()
	}
	return d.last
}
