package progress

import (
	"bytes"
	"log/slog"
	"testing"
)

func TestQuietShowsOnlyWhatIsUrgent(t *testing.T) {
	var out bytes.Buffer
	d := NewQuiet(&out)
	log := slog.New(LogHandler(d.Event))
	for _, e := range everyType() {
		d.Event(e)
	}
	log.Warn("a pull waits")
	log.Error("the patch holds a secret", "instance", "a\x1b", "secrets", []string{"TOKEN"})
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if got, want := out.String(), "batch: a\\u001b: the patch holds a secret (secrets [TOKEN])\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
