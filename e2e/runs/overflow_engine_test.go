package runs

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/llm/stub"
	"batch.example/batch/run/telemetry/otlptest"
	"batch.example/batch/vocab"
)

// cramped is a model whose context is soon full: each of its commands writes much.
type cramped struct {
	t      *testing.T
	window int // bytes of a request

	mu                        sync.Mutex
	steps, summaries, refused int
	cost                      float64
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
	turns := r.Turns()
	usage := vocab.Usage{Input: int64(len(r.Body) / 4), Output: 50}
	m.cost += float64(usage.Input)*inputRate + float64(usage.Output)*outputRate
	if strings.Contains(turns[len(turns)-1].Text(), "Write a summary of the work so far") {
		m.summaries++
		return stub.Answer{Content: "I did the first steps.", Usage: usage}
	}
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
	tier.Rest(t, "agent/compaction", "llm", "session", "solver", "journal", "results/*.go", "runner", "agent/*.go", "run/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	policy := func(name string, more ...string) []string {
		return append([]string{"-c", "agent.context_policy=" + name, "-c", "agent.context_keep=4"}, more...)
	}
	limit := []string{"-c", "agent.context_limit=8000"}
	for _, c := range []struct {
		name               string
		args               []string
		status             vocab.Status
		refused, summaries int
	}{
		{"no policy", nil, vocab.StatusContextWindowExceeded, 1, 0},
		{"shorten", policy("shorten", limit...), vocab.StatusSubmitted, 0, 0},
		{"drop", policy("drop", limit...), vocab.StatusSubmitted, 0, 0},
		{"summarize", policy("summarize", limit...), vocab.StatusSubmitted, 0, 1},
		{"summarize when refused", policy("summarize", "-c", "agent.context_limit=100000"), vocab.StatusSubmitted, 1, 1},
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
				if model.refused != c.refused || min(model.summaries, 1) != c.summaries {
					t.Errorf("%d refused requests, %d summaries; want %d, %d", model.refused, model.summaries, c.refused, c.summaries)
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

// A summary whose answer has arrived is paid for once, also when the run is killed before
// the conversation is rewritten by it.
func TestASummaryIsPaidOnceOverAKill(t *testing.T) {
	tier.Rest(t, "agent/compaction", "llm", "session", "solver", "journal", "results/*.go", "runner", "agent/*.go", "run/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	w := wires[2]
	args := []string{"--slice", ":1", "-w", "1", "-c", "agent.context_policy=summarize", "-c", "agent.context_keep=4", "-c", "agent.context_limit=8000"}
	calm, calmDir := &cramped{t: t, window: crampedWindow}, wireDir(t, w)
	calmServer := calm.serve()
	collector := otlptest.New(t, nil)
	cmd := e2e.Batch(t, calmDir, slices.Concat(w.runArgs(), args)...)
	cmd.Env = append(cmd.Env, w.base+"="+calmServer.Base(w.protocol), w.key+"="+e2e.PlantedKey, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if tree := otlptest.Tree(collector.Spans()); strings.Count(tree, "chat stub-1 (client)") != calm.steps+calm.summaries || strings.Count(tree, "batch.summary=true") != calm.summaries {
		t.Errorf("not a span for each of %d steps and %d summaries in\n%s", calm.steps, calm.summaries, tree)
	}
	at := placeOf(t, calmDir, journal.TypeRewrite)

	model, dir := &cramped{t: t, window: crampedWindow}, wireDir(t, w)
	server := model.serve()
	if out, code := w.run(t, dir, server, append(args, "--inject", fmt.Sprintf("journal.append:%d=kill", at))...); code != -1 {
		t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
	}
	if model.summaries != 1 {
		t.Fatalf("%d summaries before the kill, want 1", model.summaries)
	}
	if out, code := w.command(t, dir, server, e2e.PlantedKey, "resume", "out", "-q"); code != e2e.ExitOK {
		t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitOK, out)
	}
	if model.steps != calm.steps || model.summaries != calm.summaries || model.cost != calm.cost {
		t.Errorf("%d steps, %d summaries, paid %v; want %d, %d, %v as in a run that was not killed",
			model.steps, model.summaries, model.cost, calm.steps, calm.summaries, calm.cost)
	}
	for i, want := range calmServer.Requests() {
		if got := server.Requests(); i >= len(got) || string(got[i].Body) != string(want.Body) {
			t.Errorf("request %d of %d differs from the run that was not killed", i+1, len(got))
		}
	}
	if r := e2e.Record(t, dir); r.Status != vocab.StatusSubmitted || r.Resumed != 1 || math.Abs(r.Cost-calm.cost) > 1e-9 {
		t.Errorf("%s, resumed %d, cost %v; want %s, resumed 1, cost %v", r.Status, r.Resumed, r.Cost, vocab.StatusSubmitted, calm.cost)
	}
}

// placeOf is the place, from 1, of the first record of a type in the only journal.
func placeOf(t *testing.T, dir, typ string) int {
	t.Helper()
	records := e2e.OnlyJournal(t, dir)
	i := slices.IndexFunc(records, func(r journal.Record) bool { return r.Type == typ })
	if i < 1 || records[i-1].Type != journal.TypeSummary {
		t.Fatalf("no %s after a summary in the journal", typ)
	}
	var d journal.RewriteData
	if err := json.Unmarshal(records[i].Data, &d); err != nil || len(d.Edits) == 0 {
		t.Errorf("%v, or no edits in %s", err, records[i].Data)
	}
	return i + 1
}
