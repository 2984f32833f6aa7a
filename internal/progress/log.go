package progress

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"batch.example/batch/internal/printable"
)

const (
	maxPending = 1 << 20  // bytes of log lines that wait for a slow terminal
	maxPartial = 64 << 10 // bytes of a log line without its end
)

// LogWriter returns a writer whose lines appear above the painted block, with
// what the terminal would act on shown as escapes. It is safe for concurrent use, never waits for
// the terminal and never fails; when the terminal falls far behind, lines are
// left out and counted. An unfinished line is shown at its end or at Close;
// lines written after Close go straight to the terminal.
func (t *Terminal) LogWriter() io.Writer { return logWriter{t} }

type logWriter struct{ t *Terminal }

func (w logWriter) Write(p []byte) (int, error) {
	t := w.t
	t.mu.Lock()
	t.log.write(p)
	closed := t.closed
	if !closed {
		t.poke()
	}
	t.mu.Unlock()
	if !closed {
		return len(p), nil
	}
	<-t.done // the last picture comes first, and needs the lock
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, line := range t.log.take() {
		if _, err := io.WriteString(t.w, line+"\r\n"); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// logBuffer holds clean lines until they are painted.
type logBuffer struct {
	partial []byte
	lines   []string
	size    int
	dropped int
}

// write splits p into lines and keeps the rest for later.
func (b *logBuffer) write(p []byte) {
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		b.partial = append(b.partial, line...)
		if !ended {
			break
		}
		b.flush()
		p = rest
	}
	if len(b.partial) > maxPartial {
		b.flush()
	}
}

// flush ends the partial line.
func (b *logBuffer) flush() {
	if len(b.partial) == 0 {
		return
	}
	b.add(string(b.partial))
	b.partial = b.partial[:0]
}

func (b *logBuffer) add(line string) {
	if b.size > maxPending {
		b.dropped++
		return
	}
	line = strings.TrimRight(printable.Line(line), " ")
	b.lines = append(b.lines, line)
	b.size += len(line)
}

// take hands over the lines that are complete.
func (b *logBuffer) take() []string {
	lines := b.lines
	if b.dropped > 0 {
		lines = append(lines, fmt.Sprintf("(%d log lines not shown)", b.dropped))
	}
	b.lines, b.size, b.dropped = nil, 0, 0
	return lines
}
