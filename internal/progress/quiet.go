package progress

import (
	"io"

	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

// NewQuiet returns a display that writes only urgent messages to w.
func NewQuiet(w io.Writer) Display { return quiet{newQueue(w)} }

type quiet struct{ out *queue }

func (q quiet) Event(e vocab.Event) {
	if e.Urgent {
		q.out.put([]byte("batch: " + printable.Line(Notice(e)) + "\n"))
	}
}

func (q quiet) Close() error { return q.out.close() }
