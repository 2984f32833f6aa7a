package docker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/events"
)

// tell has the witness hear of what happens to a container.
func (w *witness) tell(id string, what ...events.Action) {
	for _, action := range what {
		w.take(events.Message{Action: action, Actor: events.Actor{ID: id}})
	}
}

func TestAContainerEndedItselfUnlessSomebodyAskedForItsEnd(t *testing.T) {
	const start, kill, stop, die, destroy = events.ActionStart, events.ActionKill, events.ActionStop, events.ActionDie, events.ActionDestroy
	for name, c := range map[string]struct {
		heard []events.Action
		want  bool
	}{
		"it ended":                        {[]events.Action{start, die}, true},
		"its start was before we heard":   {[]events.Action{die}, true},
		"killed":                          {[]events.Action{start, kill, die}, false},
		"stopped":                         {[]events.Action{start, stop, die}, false},
		"killed once, and started again":  {[]events.Action{start, kill, die, start, die}, true},
		"it ended once, and was killed":   {[]events.Action{start, die, start, kill, die}, false},
		"removed: nothing is known of it": {[]events.Action{start, die, destroy}, false},
		"it runs":                         {[]events.Action{start}, false},
		"nothing was heard":               {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWitness()
				w.tell("other", kill, die)
				w.tell("a", c.heard...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if got := w.endedItself(ctx, "a"); got != c.want {
					t.Errorf("ended itself: %v", got)
				}
			})
		})
	}
}

// An end may be heard of later than it is asked about, after other news.
func TestAnEndIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWitness()
		for n, id := range []string{"other", "a", "another", "a"} {
			time.AfterFunc(time.Duration(n+1)*time.Second, func() {
				w.tell(id, map[bool]events.Action{true: events.ActionDie, false: events.ActionStart}[n != 1])
			})
		}
		began := time.Now()
		if !w.endedItself(t.Context(), "a") || time.Since(began) != 4*time.Second {
			t.Errorf("known after %v", time.Since(began))
		}
	})
}

func TestAWitnessForgetsWhatIsRemoved(t *testing.T) {
	w := newWitness()
	w.tell("a", events.ActionStart, events.ActionKill, events.ActionDie, events.ActionDestroy)
	w.tell("b", events.ActionStart)
	if len(w.endings) > 0 {
		t.Errorf("it keeps %v", w.endings)
	}
}
