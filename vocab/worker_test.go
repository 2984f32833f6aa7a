package vocab_test

import (
	"testing"
	"time"

	"batch.example/batch/vocab"
)

func TestAWorkerFollowsFromItsEvents(t *testing.T) {
	at := time.Unix(1000, 0)
	w := vocab.NewWorker(vocab.Event{Time: at, Type: vocab.EventInstanceStart, Cell: "c", Instance: "a", Attempt: 2})
	if w.Cell != "c" || w.Instance != "a" || w.Attempt != 2 || !w.Started.Equal(at) {
		t.Fatalf("%+v", w)
	}
	for _, c := range []struct {
		event                         vocab.Event
		phase, doing, waiting, reason string
	}{
		{vocab.Event{Type: vocab.EventPhase, Phase: "commands", Doing: "ls", Engine: "e"}, "commands", "ls", "", ""},
		{vocab.Event{Type: vocab.EventPhase, Phase: vocab.PhasePaused}, "commands", "ls", "paused", ""},
		{vocab.Event{Type: vocab.EventPhase, Phase: "model"}, "model", "", "", ""},
		{vocab.Event{Type: vocab.EventCallRetry, Wait: time.Second, RateLimited: true, Error: "429"}, "model", "", "rate limit", "429"},
		{vocab.Event{Type: vocab.EventCallRetry, Wait: time.Second, Error: "503"}, "model", "", "back-off", "503"},
		{vocab.Event{Type: vocab.EventPhase, Phase: "commands", Doing: "ls"}, "commands", "ls", "", ""},
		{vocab.Event{Type: vocab.EventInstanceRetry, Wait: time.Second, Error: "lost"}, "commands", "", "retry", "lost"},
	} {
		at = at.Add(time.Minute)
		c.event.Time, c.event.Step, c.event.Cost = at, w.Step+1, 0.5
		step := w.Step + 1
		w.Apply(c.event)
		if w.Phase != c.phase || w.Doing != c.doing || w.Waiting != c.waiting || w.Reason != c.reason || w.Step != step || w.Cost != 0.5 || w.Engine != "e" || !w.Since.Equal(at) {
			t.Errorf("after %+v: %+v", c.event, w)
		}
		if waits := c.event.Wait > 0; waits != (w.Until != nil) || waits && !w.Until.Equal(at.Add(time.Second)) {
			t.Errorf("after %+v: until %v", c.event, w.Until)
		}
	}
}
