package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/run"
	"batch.example/batch/runner"
)

// The command that is named must run with the cost limit that it is named for.
func TestTheCommandThatContinuesARun(t *testing.T) {
	const secret = " -c model.model_kwargs.api_key=" + mask.Hidden
	for _, c := range []struct {
		argv    string // of the `batch run`
		limit   float64
		next    string // after an interrupt
		reached string // with all of the limit spent
	}{
		{"run", 0, "`batch resume 'my out'`", ""},
		{"run --cost-limit-total 1", 1, "`batch resume 'my out'`", "`batch resume 'my out' --cost-limit-total 2`"},
		{"run --cost-limit-total 1", 4, "`batch resume 'my out' --cost-limit-total 4`", "`batch resume 'my out' --cost-limit-total 8`"},
		{"run --cost-limit-total=1", 0, "`batch resume 'my out' --cost-limit-total 0`", ""},
		{"run" + secret, 0, "the same command", ""},
		{"run --cost-limit-total 1" + secret, 1, "the same command", "the same command with `--cost-limit-total 2`"},
	} {
		var out strings.Builder
		asked := requested(t, "", strings.Fields(c.argv)[1:]...)
		s := &invocation{app: &app{stderr: &out}, Setup: &run.Setup{Request: run.Request{Output: "my out", CostLimit: c.limit}, Asked: *asked}}
		if err := (session{app: s.app, again: s.resumeCommand(c.limit)}).interruption(errInterrupted); !errors.Is(err, errInterrupted) {
			t.Error(err)
		}
		if want := "batch: interrupted; continue with " + c.next + "\n"; out.String() != want {
			t.Errorf("%s, limit %v: got %q, want %q", c.argv, c.limit, out.String(), want)
		}
		if got := s.limitReached(runner.Stand{Spent: c.limit}); c.reached != "" && !strings.HasSuffix(got, ", such as "+c.reached) {
			t.Errorf("%s, limit %v: got %q, want it to end with %q", c.argv, c.limit, got, c.reached)
		}
	}
}

// A limit is reached with money left if that does not pay for another call.
func TestAReachedLimitSaysWhatIsReserved(t *testing.T) {
	at := runner.NewBudget(2, 1.5, 0.6).Stand()
	for want, part := range map[string]dataset.Shard{
		"limit of 2 USD reached: $1.50 is spent, $0.60 reserved for a next call":                                                          {},
		"limit of 1 USD reached, which is the part of --cost-limit-total 2 for shard 1/2: $1.50 is spent, $0.60 reserved for a next call": {I: 1, N: 2},
	} {
		if got := reached(2, part, at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What fails while an interrupted run ends must be said too.
func TestAnErrorAfterAnInterruptIsPrinted(t *testing.T) {
	for _, interruption := range []error{errInterrupted, context.Canceled} {
		var out strings.Builder
		s := session{app: &app{stderr: &out}}
		err := s.interruption(s.also(interruption, fault.Newf(fault.Host, "the disk is full")))
		if code := s.exit(err); code != exitInterrupted {
			t.Errorf("%v: exit code %d, want %d", interruption, code, exitInterrupted)
		}
		if want := "batch: the disk is full\nbatch: interrupted; continue with "; !strings.HasPrefix(out.String(), want) {
			t.Errorf("%v: got %q, want %q first", interruption, out.String(), want)
		}
	}
	failed := fault.Newf(fault.Host, "no engine")
	for _, err := range []error{(&invocation{}).also(failed, nil), (&invocation{}).also(nil, failed), (&invocation{}).also(failed, errIncomplete)} {
		if !errors.Is(err, failed) {
			t.Errorf("got %v, want %v in it", err, failed)
		}
	}
}
