package progress

import (
	"bytes"
	"testing"

	"batch.example/batch/vocab"
)

func TestQuietShowsOnlyWhatIsUrgent(t *testing.T) {
	var out bytes.Buffer
	d := NewQuiet(&out)
	for _, e := range everyType() {
		d.Event(e)
	}
	d.Event(vocab.Event{Type: vocab.EventMessage, Text: "a pull waits"})
	d.Event(vocab.Event{Type: vocab.EventMessage, Text: "the patch holds a secret (secrets [TOKEN])", Instance: "a\x1b", Urgent: true})
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if got, want := out.String(), "batch: a\\u001b: the patch holds a secret (secrets [TOKEN])\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
