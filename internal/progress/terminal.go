package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/go-units"
	"golang.org/x/term"

	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

const (
	repaintGap   = 100 * time.Millisecond // the shortest time between two updates
	repaintEvery = time.Second            // the longest, because ages change without events
	defaultCols  = 80
	defaultRows  = 24
)

// Terminal paints a run in place at the bottom of a terminal: the bar, counts by exit status and a line per
// running instance, never higher than the screen. Messages, retries and the errors of instances scroll by
// above. Only the Terminal may write to the terminal until Close, which leaves the last state on the screen.
type Terminal struct {
	w    io.Writer
	size func() (cols, rows int)
	wake chan struct{}
	stop chan struct{}
	done chan struct{} // closed when the painter has ended

	mu     sync.Mutex
	state  *state
	log    logBuffer
	closed bool

	// Owned by the painter, and readable after done is closed.
	painted []string
	cols    int // columns of the screen when painted was drawn
	err     error
}

// NewTerminal starts painting a run of total instances, workers of them at once, to w. The size of the screen
// is read before each painting; the default is 80 by 24, if size is nil or returns nothing positive.
func NewTerminal(w io.Writer, size func() (cols, rows int), total, workers int) *Terminal {
	if size == nil {
		size = func() (int, int) { return 0, 0 }
	}
	t := &Terminal{
		w: w, size: size,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		state: newState(total, workers, time.Now()),
	}
	go t.paintUntilClosed()
	return t
}

// Event updates the display; see [Display].
func (t *Terminal) Event(e vocab.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e = t.state.apply(e)
	if line := Notice(e); line != "" {
		t.log.add(line)
	}
	t.poke()
}

// poke requests a painting soon. One request covers many changes.
func (t *Terminal) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Close paints the last state and ends the painter; see [Display].
func (t *Terminal) Close() error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.stop)
	}
	t.mu.Unlock()
	<-t.done
	return t.err
}

func (t *Terminal) paintUntilClosed() {
	defer close(t.done)
	tick := time.NewTicker(repaintEvery)
	defer tick.Stop()
	for {
		select {
		case <-t.wake:
		case <-tick.C:
		case <-t.stop:
			t.paint()
			return
		}
		t.paint()
		select {
		case <-time.After(repaintGap):
		case <-t.stop:
		}
	}
}

// paint writes the whole display in one Write. After a failed Write it gives up the terminal.
func (t *Terminal) paint() {
	cols, rows := t.size()
	if cols <= 0 || rows <= 0 {
		cols, rows = defaultCols, defaultRows
	}
	t.mu.Lock()
	logs := t.log.take()
	// The cursor is on the line below the block, which needs a row too.
	lines := frame(t.state, time.Now(), cols, rows-1)
	t.mu.Unlock()
	same := slices.Equal(lines, t.painted) && (cols == t.cols || len(lines) == 0)
	if t.err != nil || same && len(logs) == 0 {
		return
	}
	up := rowsOn(t.painted, t.cols, cols)
	_, t.err = io.WriteString(t.w, picture(up, logs, lines))
	t.painted, t.cols = lines, cols
}

// rowsOn returns the number of rows that lines, painted on a screen of was columns, take now: a terminal
// wraps them again after it becomes narrower.
func rowsOn(lines []string, was, cols int) int {
	if cols >= was {
		return len(lines)
	}
	n := 0
	for _, line := range lines {
		n += max(1, (width(line)+cols-1)/cols)
	}
	return n
}

// picture returns the text that moves the cursor to the top of a block of up rows and replaces it by logs and
// a new block. Wrapping is off while the block is written: a line that is too wide for the terminal is
// truncated, not wrapped. Rows are erased one by one, because some terminals save an erased screen in their
// history, which would then contain each painting of the block.
func picture(up int, logs, lines []string) string {
	var b strings.Builder
	top := "\r"
	if up > 0 {
		top = fmt.Sprintf("\r\x1b[%dA", up)
	}
	b.WriteString(top)
	if len(logs) > 0 {
		b.WriteString(strings.Repeat("\x1b[K\r\n", up) + "\x1b[K" + top)
	}
	for _, line := range logs {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\x1b[?7l")
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[?7h\x1b[J")
	return b.String()
}

// TerminalOf returns the terminal that w finally writes to, if there is one.
func TerminalOf(w io.Writer) (*os.File, bool) {
	for {
		outer, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			break
		}
		w = outer.Unwrap()
	}
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

const eraseLine = "\r\x1b[K"

// Download returns a function that shows a download on w's terminal, or nil if w is not a terminal.
func Download(w io.Writer) func(file string, done, total int64) {
	f, ok := TerminalOf(w)
	if !ok {
		return nil
	}
	var mu sync.Mutex
	var last time.Time
	return func(file string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if done < total && time.Since(last) < 100*time.Millisecond {
			return
		}
		last = time.Now()
		end := ""
		if done >= total {
			end = "\n"
		}
		_, _ = f.WriteString(eraseLine + "downloading " + printable.Line(file) + " " + units.HumanSize(float64(done)) + " of " + units.HumanSize(float64(total)) + end)
	}
}

// OnNewLine returns a writer to w. On a terminal, it first clears a line with the progress of a download.
func OnNewLine(w io.Writer) io.Writer {
	if f, ok := TerminalOf(w); ok {
		return onNewLine{w, f}
	}
	return w
}

type onNewLine struct {
	io.Writer
	terminal *os.File
}

// Write implements io.Writer.
func (w onNewLine) Write(p []byte) (int, error) {
	_, _ = w.terminal.WriteString(eraseLine)
	return w.Writer.Write(p)
}

const maxPending = 1 << 20 // bytes of lines waiting for a slow terminal

// logBuffer holds lines until they are painted above the block. If the terminal falls far behind, lines are
// dropped and counted.
type logBuffer struct {
	lines   []string
	size    int
	dropped int
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

// take returns the lines and empties the buffer.
func (b *logBuffer) take() []string {
	lines := b.lines
	if b.dropped > 0 {
		lines = append(lines, fmt.Sprintf("(%s not shown)", printable.Count(b.dropped, "line", "lines")))
	}
	b.lines, b.size, b.dropped = nil, 0, 0
	return lines
}
