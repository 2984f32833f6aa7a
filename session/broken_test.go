package session_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/session"
)

func TestAFullStoreFailsTheTurnAndLosesNothing(t *testing.T) {
	full := &atomic.Bool{}
	breaking(t, memories(full), fault.Host, func(*testing.T) { full.Store(true) }, func(*testing.T) { full.Store(false) })
}

// breaking breaks a store in the middle of a turn, each time at another point. The turn must
// fail with a fault of a kind. Then the store is fixed, and the same session tries the turn
// again: nothing is asked or done twice, and what was answered in between is kept. More than
// 8 KiB are recorded after each point.
func breaking(t *testing.T, s stores, kind fault.Kind, breaks, mends func(t *testing.T)) {
	long := strings.Repeat("long ", 2<<10)
	for _, point := range []string{"call 1", "action 1", "call 2", "action 2", "call 3"} {
		t.Run(point, func(t *testing.T) {
			c := s.begin(t, bash("one "+long), bash("two "+long), say("done "+long))
			did := map[string]int{}
			at := func(name string) {
				if did[name]++; name == point {
					breaks(t)
				}
			}
			c.model.before = func() { at(fmt.Sprint("call ", did["calls"]+1)); did["calls"]++ }
			c.env.before = func() { at(fmt.Sprint("action ", did["actions"]+1)); did["actions"]++ }
			c.broken("work", kind)
			c.broken("", kind)
			mends(t)
			if res := c.say("", journal.TurnFinished); res.Turn != 1 || res.Answer != "done "+long {
				t.Errorf("the last try: %+v", res)
			}
			if did["calls"] != 3 || did["actions"] != 2 {
				t.Errorf("%d calls and %d actions, want 3 and 2: %v", did["calls"], did["actions"], did)
			}
			want := c.said(session.Query{})
			c.again()
			if got := c.said(session.Query{}); strings.Join(got, "|") != strings.Join(want, "|") || c.State().Calls != 3 {
				t.Errorf("opened again, %d messages are %d, and the state is %+v", len(want), len(got), c.State())
			}
		})
	}
}

// broken has a turn that fails because the store does.
func (c *chat) broken(words string, kind fault.Kind) {
	c.t.Helper()
	res, err := c.Turn(c.t.Context(), c.input(words))
	if fault.KindOf(err) != kind || res != nil && res.End != journal.TurnFailed {
		c.t.Fatalf("with a broken store: %+v, %v (%v); want a failed turn, a fault of the kind %v", res, err, fault.KindOf(err), kind)
	}
	if fault.HintOf(err) == "" {
		c.t.Errorf("%v: there is no hint", err)
	}
}
