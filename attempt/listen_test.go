package attempt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// heard is a listener that notes what it is called with.
type heard struct {
	types    []string
	ends     []results.Record
	panicsAt agent.EventType
}

func (h *heard) Event(e agent.Event) {
	h.types = append(h.types, string(e.Type))
	if e.Type == h.panicsAt {
		panic("a bug of the listener")
	}
}

func (h *heard) End(r results.Record) { h.ends = append(h.ends, r) }

// listened runs an attempt at instance a, as a pool does.
func listened(t *testing.T, boxes attempt.Sandboxes, dir string, listen attempt.Listen) error {
	t.Helper()
	store, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := attempt.New(attempt.Config{
		Loop: newLoop(t, 20), ModelName: "test", Sandboxes: boxes, Store: store, Listen: listen,
		Models: func(in dataset.Instance, _ int) (llm.Model, error) {
			return scripted.Script{"*": {{Content: "I submit.", Bash: "echo " + vocab.Marker + "; echo patch"}}}.Model(in.ID, scripted.Config{}), nil
		},
	})
	_, err = runner.Run(t.Context(), runner.Config{Retries: runner.Retries{}}, runner.NewRoster([]dataset.Instance{{ID: "a"}}), s)
	return err
}

func TestAListenerSeesAnAttemptFromItsBeginningToItsStoredResult(t *testing.T) {
	needGit(t)
	h, numbers := &heard{}, []int(nil)
	err := listened(t, hosts{box: repo(t, map[string]string{"f": "x\n"})}, t.TempDir(), func(_ dataset.Instance, attempt int) attempt.Listener {
		numbers = append(numbers, attempt)
		return h
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "messages request reply messages action output interrupt messages end"
	if got := strings.Join(h.types, " "); got != want || len(numbers) != 1 || numbers[0] != 1 {
		t.Errorf("heard %s of attempts %v; want %s of attempt 1", got, numbers, want)
	}
	if len(h.ends) != 1 {
		t.Fatalf("the attempt ended %d times, want once", len(h.ends))
	}
	if r := h.ends[0]; r.InstanceID != "a" || r.Attempt != 1 || r.Outcome != vocab.OutcomeSubmitted || r.Steps != 1 || r.PatchBytes != len("patch\n") {
		t.Errorf("it ended with %+v, want attempt 1 at a, submitted in one step, 6 bytes", r)
	}
}

func TestAListenerThatPanicsEndsNothingAndIsNotCalledAgain(t *testing.T) {
	needGit(t)
	h, dir := &heard{panicsAt: agent.EventRequest}, t.TempDir()
	if err := listened(t, hosts{box: repo(t, map[string]string{"f": "x\n"})}, dir, func(dataset.Instance, int) attempt.Listener { return h }); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.types, " "); got != "messages request" || len(h.ends) != 0 {
		t.Errorf("heard %s and %d ends, want nothing after the panic", got, len(h.ends))
	}
	log, err := os.ReadFile(filepath.Join(dir, "a", "agent.log"))
	if err != nil || !strings.Contains(string(log), "a bug of the listener") || !strings.Contains(string(log), "status=Submitted") {
		t.Errorf("agent.log does not say that the listener panicked and the attempt submitted: %v\n%s", err, log)
	}
}

func TestAnAttemptThatCannotBeOpenedIsSeenToEnd(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil { // where a folder has to be
		t.Fatal(err)
	}
	h, number := &heard{}, -1
	err := listened(t, nil, dir, func(_ dataset.Instance, attempt int) attempt.Listener {
		number = attempt
		return h
	})
	if err == nil || number != 0 || len(h.types) != 0 || len(h.ends) != 1 || h.ends[0].Outcome.Final() {
		t.Errorf("got %v, attempt %d, events %v, ends %+v; want an error, attempt 0, no event, and one end without a result", err, number, h.types, h.ends)
	}
}

func TestNoListenerIsNeeded(t *testing.T) {
	needGit(t)
	boxes := hosts{box: repo(t, map[string]string{"f": "x\n"})}
	if err := listened(t, boxes, t.TempDir(), func(dataset.Instance, int) attempt.Listener { return nil }); err != nil {
		t.Error(err)
	}
}
