package runs

import (
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
)

// A reply without a known price is not free: bills are lower bounds, and limits end what could
// pass them.
func TestAReplyOfUnknownCostIsNotFree(t *testing.T) {
	tier.Rest(t, "llm/price", "llm/*.go", "attempt/session", "attempt/*.go", "journal", "results/*.go", "runner", "agent/*.go", "run/*.go")
	t.Parallel()
	odd := func(n int64, r *stub.Request) stub.Answer {
		a := e2e.WorkAndSubmit(r)
		if n == 2 {
			a = stub.Bash("true")
			a.NoUsage = true
		}
		return a
	}
	for name, test := range map[string]struct {
		args   []string
		code   int
		calls  int64
		status string
		said   string
	}{
		"the default limit":  {nil, 0, 2, "LimitsExceeded", "cost $1.00; up to $2.00 with 1 call of unknown cost"},
		"no limit":           {[]string{"-c", "agent.cost_limit=0"}, 0, 3, "Submitted", "cost $2.00; up to $3.00 with 1 call of unknown cost"},
		"costs do not count": {[]string{"-c", "model.cost_tracking=ignore_errors"}, 0, 3, "Submitted", "cost $2.00"},
		"no price known":     {[]string{"-m", "openai/other"}, 0, 3, "Submitted", "cost $2.00; up to $3.00 with 1 call of unknown cost"},
		"a total limit":      {[]string{"-c", "agent.cost_limit=0", "--cost-limit-total", "100"}, 1, 2, "", "the total cost limit cannot be enforced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCharging(t, 1, odd)
			code, out := e2e.ExitCode(t, c.run(t, 1, append(test.args, "-q")...))
			text := strings.Join(strings.Fields(out), " ")
			if n := c.calls.Load(); code != test.code || n != test.calls || !strings.Contains(text, test.said) || !strings.Contains(text, test.status) {
				t.Errorf("exit code %d after %d calls, want %d, %d, %q and %q in\n%s", code, n, test.code, test.calls, test.status, test.said, out)
			}
			if test.status == "LimitsExceeded" {
				if s := e2e.Status(t, c.dir); s.Lost != 1 || s.Held != 1 || s.Unpriced != 1 {
					t.Errorf("status has %+v", s.Unanswered)
				}
			}
		})
	}
}
