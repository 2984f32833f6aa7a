package progress

import (
	"bytes"
	"encoding/json"
	"io"
	"time"
)

// JSON writes every event as one JSON object on a line of its own, in the
// order of the calls. None is left out; what a slow reader has not taken yet
// is kept in memory.
type JSON struct{ out *queue }

// NewJSON returns a display that writes to w.
func NewJSON(w io.Writer) *JSON { return &JSON{out: newQueue(w)} }

// Event writes e; see [Display].
func (j *JSON) Event(e Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		// Only a cost that is no number, or a year past 9999, brings us here.
		j.Event(Event{Type: Message, Instance: e.Instance, Text: "an event that is no JSON", Error: err.Error()})
		return
	}
	j.out.put(b.Bytes())
}

// Close waits until all is written; see [Display].
func (j *JSON) Close() error { return j.out.close() }
