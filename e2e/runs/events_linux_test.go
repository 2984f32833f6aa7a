package runs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/progress"
	"batch.example/batch/internal/progress/schematest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
)

// moody is a provider that answers the first call of every instance with a rate limit, and
// the second one with an error of its own.
func moody(t *testing.T) *stub.Server {
	var mu sync.Mutex
	calls := map[string]int{}
	return stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		mu.Lock()
		defer mu.Unlock()
		task := string(r.Messages[1].Content)
		calls[task]++
		switch calls[task] {
		case 1:
			a := stub.Refusal(429, "rate_limit_exceeded", "slow down")
			a.Header = map[string]string{"Retry-After-Ms": "50"}
			return a
		case 2:
			return stub.Refusal(500, "", "oops")
		}
		return e2e.WorkAndSubmit(r)
	})
}

// eventsOf runs the demo's first two instances over a moody provider.
func eventsOf(t *testing.T, dir, url string) []map[string]any {
	t.Helper()
	cmd := e2e.Batch(t, dir, "run", "--subset", "demo", "--slice", ":2", "-m", "openai/stub-1", "-o", "out", "-w", "2", "--json",
		"-c", "model.cost_tracking=ignore_errors")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+url, "OPENAI_API_KEY="+e2e.PlantedKey)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if strings.Contains(stderr.String(), "level=") {
		t.Errorf("a log line on standard error:\n%s", stderr.Bytes())
	}
	var events []map[string]any
	for line := range bytes.Lines(out) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

func TestTheEventsOfARunAreAsTheSchemaSays(t *testing.T) {
	tier.Rest(t, "internal/progress", "run/rundir", "runner", "cmd/batch", "report")
	e2e.NeedDocker(t)
	t.Parallel()
	schema := schematest.Compile(t, progress.Schema)
	dir := t.TempDir()
	events := eventsOf(t, dir, moody(t).URL)
	seen := map[string]int{}
	for _, e := range events {
		if err := schema.Validate(e); err != nil {
			t.Errorf("event %v: %v", e, err)
		}
		seen[e["type"].(string)]++
	}
	for kind, want := range map[string]int{"run_start": 1, "instance_start": 2, "call_retry": 4, "instance_end": 2, "run_end": 1} {
		if seen[kind] != want {
			t.Errorf("%d events of type %s, want %d", seen[kind], kind, want)
		}
	}
	end := slices.IndexFunc(events, func(e map[string]any) bool { return e["type"] == "run_end" })
	if end < 0 {
		t.Fatal("there is no event run_end")
	}
	begin := slices.IndexFunc(events, func(e map[string]any) bool { return e["type"] == "run_start" })
	for _, e := range slices.Concat(events[:max(begin, 0)], events[end+1:]) { // of other tests' crashed runs
		if e["type"] != "message" {
			t.Errorf("the event %v is not between run_start and run_end", e)
		}
	}
	first, last := events[max(begin, 0)], events[end]
	if abs, _ := filepath.EvalSymlinks(filepath.Join(dir, "out")); first["directory"] != abs && first["directory"] != filepath.Join(dir, "out") ||
		first["model"] != "openai/stub-1" || first["dataset"] != "demo" || first["instances"] != 2.0 || first["workers"] != 2.0 {
		t.Errorf("the first event is %v, want the run's directory, model, dataset, instances and workers", first)
	}
	if outcomes, _ := last["outcomes"].(map[string]any); last["done"] != 2.0 || outcomes["submitted"] != 2.0 {
		t.Errorf("run_end is %v, want 2 done and 2 submitted", last)
	}
	snap, err := results.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range snap.Records {
		p := r.Time
		sum := p.Pull + p.Start + p.Prepare + p.Replay + p.Model + p.Commands + p.Agent + p.Save + p.Finish
		if p.RateWait <= 0 || p.Backoff <= 0 || sum < 0.99*p.Total || sum > 1.01*p.Total {
			t.Errorf("%s: the phases sum to %v, want the total, with a rate wait and a backoff: %+v", r.InstanceID, sum, p)
		}
	}
}

func TestARetryIsShownByTheDisplayWithItsInstance(t *testing.T) {
	tier.Rest(t, "internal/progress", "run/rundir", "runner", "cmd/batch", "report")
	e2e.NeedDocker(t)
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		dir := t.TempDir()
		cmd := e2e.Batch(t, dir, "run", "--subset", "demo", "--slice", ":2", "-m", "openai/stub-1", "-o", "out", "-w", "2",
			"-c", "model.cost_tracking=ignore_errors")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+moody(t).URL, "OPENAI_API_KEY="+e2e.PlantedKey)
		var out string
		if terminal {
			out = e2e.OnTerminal(t, cmd)
		} else {
			b, _ := cmd.CombinedOutput()
			out = string(b)
		}
		if strings.Contains(out, "level=") {
			t.Errorf("the display shows a log line:\n%s", out)
		}
		for _, want := range []string{
			`demo__\S+: rate limited by the provider; next try in 0\.1 s \(2 of 11\)`,
			`demo__\S+: 500 internal server error: oops; next try in \d\.\d s \(3 of 11\)`,
		} {
			if n := len(regexp.MustCompile(want).FindAllString(out, -1)); n != 2 {
				t.Errorf("terminal %v: %d lines like %s, want one for each instance:\n%s", terminal, n, want, out)
			}
		}
		log, err := os.ReadFile(filepath.Join(dir, "out", "batch.log"))
		if want := regexp.MustCompile(`a model call failed and will be made again" instance=demo__`); err != nil || !want.Match(log) {
			t.Errorf("batch.log lacks the retry with its instance (%v):\n%s", err, log)
		}
	}
}
