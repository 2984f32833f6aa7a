package printable

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Writer applies [Text] to a stream. It holds back an incomplete character, and a carriage
// return, until the next byte arrives. It is safe for concurrent use.
type Writer struct {
	w io.Writer

	mu   sync.Mutex
	held []byte
}

// NewWriter returns a Writer that writes to w. Call [Writer.Flush] after the last write.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Unwrap returns the underlying writer, which changes nothing.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write implements io.Writer. An error comes from the underlying writer, and may be
// about earlier bytes.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	if err := w.write(len(w.held) - begun(w.held)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the bytes that were held back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(len(w.held))
}

// write writes the first n of the held bytes.
func (w *Writer) write(n int) error {
	if n == 0 {
		return nil
	}
	_, err := w.w.Write(appendText(make([]byte, 0, n), w.held[:n]))
	w.held = append([]byte(nil), w.held[n:]...) // usually nothing: an agent's log waits most of the time
	return err
}

// begun returns the number of bytes at the end of p that only the next bytes can complete.
func begun(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax); n++ {
		last := p[len(p)-n:]
		if utf8.RuneStart(last[0]) {
			if n == 1 && last[0] == '\r' || !utf8.FullRune(last) {
				return n
			}
			break
		}
	}
	return 0
}
