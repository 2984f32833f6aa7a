package mask

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// maxHeld is about the largest number of bytes that are held back.
const maxHeld = 64 << 10

// Writer hides secrets in a stream, even if they are split over several writes.
// It holds back bytes that may begin a secret until the rest comes, and with patterns, or with
// escapes of a terminal in it, the last line until it ends. It is safe for concurrent use.
type Writer struct {
	m *Masker
	w io.Writer

	mu   sync.Mutex
	held []byte
}

// Writer returns a Writer that writes to w. Call [Writer.Flush] after the last write.
func (m *Masker) Writer(w io.Writer) *Writer { return &Writer{m: m, w: w} }

// Unwrap returns the underlying writer, which hides nothing.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write implements io.Writer. An error comes from the underlying writer, and may be
// about earlier bytes.
func (w *Writer) Write(b []byte) (int, error) {
	if w.m == nil {
		return w.w.Write(b)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.m.known.Load()
	w.held = append(w.held, b...)
	cut := t.partialAt(w.held)
	if (len(t.patterns) > 0 || bytes.IndexByte(w.held[lineEnd(w.held):], escapeByte) >= 0) && len(w.held) < maxHeld {
		cut = min(cut, lineEnd(w.held))
	}
	if err := w.write(t, cut); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes the bytes that were held back, and flushes the underlying writer if it
// has a Flush.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m != nil {
		if err := w.write(w.m.known.Load(), len(w.held)); err != nil {
			return err
		}
	}
	if behind, ok := w.w.(interface{ Flush() error }); ok {
		return behind.Flush()
	}
	return nil
}

// write writes the held bytes up to cut, or up to the beginning of a secret that lies
// across cut: another one may begin within that secret and end later.
func (w *Writer) write(t *table, cut int) error {
	spans := t.find(w.held)
	for i := len(spans) - 1; i >= 0; i-- {
		if s := spans[i]; s.from < cut && cut < s.to {
			cut = s.from
		}
	}
	if len(w.held)-cut >= maxHeld {
		cut = len(w.held)
	}
	if cut == 0 {
		return nil
	}
	spans = slices.DeleteFunc(spans, func(s span) bool { return s.from >= cut })
	_, err := w.w.Write(hide(w.held[:cut], spans))
	w.held = append([]byte(nil), w.held[cut:]...) // usually nothing: an agent's log waits most of the time
	return err
}
