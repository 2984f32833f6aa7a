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
