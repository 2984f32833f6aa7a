package mask

import (
	"io"
	"slices"
	"sync"
)

// maxHeld is about how many bytes are kept back at most.
const maxHeld = 64 << 10

// Writer hides secrets in a stream, also those that come in several pieces.
// It keeps back what may be the beginning of one until the rest comes, and
// with patterns the last line until it ends. It is safe for concurrent use.
type Writer struct {
	m *Masker
	w io.Writer

	mu   sync.Mutex
	held []byte
}

// Writer returns a Writer in front of w. [Writer.Flush] must be called when
// all is written.
func (m *Masker) Writer(w io.Writer) *Writer { return &Writer{m: m, w: w} }

// Unwrap returns the writer behind w, which hides nothing.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write implements io.Writer. An error is that of the writer behind, perhaps
// about earlier bytes.
func (w *Writer) Write(b []byte) (int, error) {
	if w.m == nil {
		return w.w.Write(b)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.m.known.Load()
	w.held = append(w.held, b...)
	cut := t.begun(w.held)
	if len(t.patterns) > 0 && len(w.held) < maxHeld {
		cut = min(cut, lineEnd(w.held))
	}
	if err := w.write(t, cut); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes what was kept back, and has the writer behind do so too where it
// can.
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

// write hands on what is held, up to cut or to where a secret begins that lies
// across it: another may begin within that one and end later.
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
	w.held = append(w.held[:0], w.held[cut:]...)
	return err
}
