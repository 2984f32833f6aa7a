package main

import (
	"errors"
	"strings"
	"testing"

	"batch.example/batch/internal/mask"
)

// The command that is named must run with the cost limit that it is named for.
func TestTheCommandThatContinuesASweep(t *testing.T) {
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
		s := &sweep{app: &app{stderr: &out}, flags: runFlags{output: "my out", argv: strings.Fields(c.argv)}}
		s.flags.totalCost = c.limit
		if err := s.interruption(errInterrupted); !errors.Is(err, errInterrupted) {
			t.Error(err)
		}
		if want := "batch: interrupted; continue with " + c.next + "\n"; out.String() != want {
			t.Errorf("%s, limit %v: got %q, want %q", c.argv, c.limit, out.String(), want)
		}
		if got := s.limitReached(c.limit); c.reached != "" && !strings.HasSuffix(got, ", such as "+c.reached) {
			t.Errorf("%s, limit %v: got %q, want it to end with %q", c.argv, c.limit, got, c.reached)
		}
	}
}
