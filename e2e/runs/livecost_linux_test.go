package runs

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
)

// The display of a resumed run does not count twice what its attempts cost before.
func TestALiveCostIsNotDoubledByAResume(t *testing.T) {
	tier.Rest(t, "report", "run/*.go", "journal", "results/*.go")
	t.Parallel()
	c := newCharging(t, 0.5, func(n int64, r *stub.Request) stub.Answer {
		a := stub.Bash("true")
		switch {
		case n == 4:
			a.Fault = stub.Silence
		case r.Replies() == 4:
			a = stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
		}
		a.Delay = 300 * time.Millisecond // the display is painted meanwhile
		return a
	})
	c.killed(t, c.run(t, 1, "-q"), 1)
	screen := e2e.OnTerminal(t, c.command(t, "resume", "out"))
	live, bill, _ := strings.Cut(screen, "exit status")
	seen := regexp.MustCompile(`\$([0-9.]+)`).FindAllStringSubmatch(live, -1)
	for _, amount := range seen {
		if dollars, err := strconv.ParseFloat(amount[1], 64); err != nil || dollars > 2.5 {
			t.Errorf("while it runs, the display says %s (%v); want $2.50 at most", amount[0], err)
		}
	}
	if want := "cost $2.50; up to $3.00 with 1 call of unknown cost"; len(seen) < 4 || !strings.Contains(bill, want) {
		t.Errorf("%d amounts were painted; want several, and %q in\n%s", len(seen), want, bill)
	}
}
