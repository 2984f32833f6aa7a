package session_test

import (
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
)

// The disk is full in the middle of a turn, each time at another point. The turn fails with the
// disk's fault. When there is room again, the same session tries the turn again: nothing is asked or
// done twice, and what was answered in between is kept.
func TestAFullDiskFailsTheTurnAndLosesNothing(t *testing.T) {
	for _, point := range []string{"call 1", "action 1", "call 2", "action 2", "call 3"} {
		t.Run(point, func(t *testing.T) {
			c := begin(t, bash("one"), bash("two"), say("done"))
			loop, err := newLoop()
			must(t, err)
			disk := &full{Store: c.store}
			c.Session = session.New(session.Config{ContextID: c.id, Store: disk, Loop: loop})
			must(t, c.Start(t.Context()))
			did := map[string]int{}
			at := func(name string) {
				if did[name]++; name == point {
					disk.flush = fault.Newf(fault.Host, "the disk is full").WithHint("make room")
					disk.sync = disk.flush
				}
			}
			c.model.before = func() { at(fmt.Sprint("call ", did["calls"]+1)); did["calls"]++ }
			c.env.before = func() { at(fmt.Sprint("action ", did["actions"]+1)); did["actions"]++ }
			for _, words := range []string{"work", ""} {
				res, err := c.Turn(t.Context(), c.input(words))
				if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" || res != nil && res.End != journal.TurnFailed {
					t.Fatalf("on a full disk: %+v, %v (%s); want a failed turn, a Host fault with a hint", res, err, fault.HintOf(err))
				}
			}
			disk.flush, disk.sync = nil, nil
			if res := c.say("", journal.TurnFinished); res.Turn != 1 || res.Answer != "done" {
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
