package progress

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/docker/go-units"
	"golang.org/x/term"

	"batch.example/batch/internal/printable"
)

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
