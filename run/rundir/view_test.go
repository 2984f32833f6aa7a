package rundir_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/run/rundir"
	"batch.example/batch/vocab"
)

// The instances of a sweep have their cells.
func TestTheViewOfACell(t *testing.T) {
	var shown []vocab.Event
	v := rundir.NewView(func(e vocab.Event) { shown = append(shown, e) })
	v.Event(vocab.Event{Type: vocab.EventRunStart})
	cell := v.Cell("c")
	cell.Event(vocab.Event{Type: vocab.EventPhase, Instance: "a"})
	cell.Event(vocab.Event{Type: vocab.EventMessage, Text: "of the log"})
	cell.Say("words")
	rundir.NewView(nil).Cell("d").Say("to none")
	v.Event(shown[1]) // a view may pass on what another one shows
	if len(shown) != 5 || shown[1].Name() != "c/a" || shown[4].Name() != "c/a" || shown[2].Cell != "" || shown[3].Text != "c: words" {
		t.Errorf("shown %+v", shown)
	}
	for _, e := range shown {
		if e.Time.IsZero() {
			t.Errorf("%s has no time", e.Type)
		}
	}
}

func TestAPersonIsShownWarningsAndErrors(t *testing.T) {
	var shown []vocab.Event
	log := slog.New(rundir.LogHandler(func(e vocab.Event) {
		e.Time = time.Time{}
		shown = append(shown, e)
	}))
	log.Info("a step")
	log.With("instance", "a").Warn("a pull waits", "stack", "goroutine 1", "err", errors.New("no route"))
	log.Error("the patch holds a secret", "instance", "a\x1b", "secrets", []string{"TOKEN"})
	want := []vocab.Event{
		{Type: vocab.EventMessage, Instance: "a", Text: "a pull waits: no route"},
		{Type: vocab.EventMessage, Instance: "a\x1b", Text: "the patch holds a secret (secrets [TOKEN])", Urgent: true},
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
}
