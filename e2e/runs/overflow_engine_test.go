package runs

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// cramped is a model whose context is soon full: each of its commands writes much.
type cramped struct {
	t      *testing.T
	window int // bytes of a request

	mu             sync.Mutex
	steps, refused int
	cost           float64
}

const (
	crampedSteps  = 10
	crampedWindow = 40_000
	crampedOutput = `head -c 5000 /dev/zero | tr '\0' x; echo step %d | tee -a work.txt`
)

func (m *cramped) serve() *stub.Server { return stub.NewServerFunc(m.t, m.answer) }

func (m *cramped) answer(_ int, r *stub.Request) stub.Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(r.Body) > m.window {
		m.refused++
		return stub.TooLong()
	}
	usage := vocab.Usage{Input: int64(len(r.Body) / 4), Output: 50}
	m.cost += float64(usage.Input)*inputRate + float64(usage.Output)*outputRate
	m.steps++
	a := stub.Bash(fmt.Sprintf(crampedOutput, m.steps))
	switch m.steps {
	case crampedSteps - 1:
		a = stub.Bash("git add -N work.txt; git diff > /tmp/patch.txt")
	case crampedSteps:
		a = stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat /tmp/patch.txt")
	}
	a.Reasoning, a.Usage = fmt.Sprintf("thought %d", m.steps), usage
	return a
}

func TestAConversationThatIsTooLongInAllProtocols(t *testing.T) {
	tier.Rest(t, "agent/compaction", "llm", "attempt/session", "attempt/*.go", "journal", "results/*.go", "runner", "agent/*.go", "run/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	policy := func(name string, more ...string) []string {
		return append([]string{"-c", "agent.context_policy=" + name, "-c", "agent.context_keep=4"}, more...)
	}
	limit := []string{"-c", "agent.context_limit=8000"}
	for _, c := range []struct {
		name    string
		args    []string
		status  vocab.Status
		refused int
	}{
		{"no policy", nil, vocab.StatusContextWindowExceeded, 1},
		{"shorten", policy("shorten", limit...), vocab.StatusSubmitted, 0},
		{"drop", policy("drop", limit...), vocab.StatusSubmitted, 0},
		{"drop when refused", policy("drop", "-c", "agent.context_limit=100000"), vocab.StatusSubmitted, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachWire(t, func(t *testing.T, w wire) {
				model, dir := &cramped{t: t, window: crampedWindow}, wireDir(t, w)
				out, code := w.run(t, dir, model.serve(), append(c.args, "--slice", ":1", "-w", "1")...)
				if code != e2e.ExitOK {
					t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitOK, out)
				}
				r := e2e.Record(t, dir)
				if r.Status != c.status || r.Attempt != 1 || r.Steps != model.steps || math.Abs(r.Cost-model.cost) > 1e-9 {
					t.Errorf("%s (%s), attempt %d, %d steps, cost %v; want %s, attempt 1, %d steps, cost %v",
						r.Status, r.Error, r.Attempt, r.Steps, r.Cost, c.status, model.steps, model.cost)
				}
				if model.refused != c.refused {
					t.Errorf("%d refused requests, want %d", model.refused, c.refused)
				}
				if c.status != vocab.StatusSubmitted {
					return
				}
				for _, p := range e2e.Predictions(t, filepath.Join(dir, "out")) {
					if n := strings.Count(p, "\n+step "); n != crampedSteps-2 {
						t.Errorf("%d lines in the patch, want one of each of %d steps:\n%s", n, crampedSteps-2, p)
					}
				}
			})
		})
	}
}
