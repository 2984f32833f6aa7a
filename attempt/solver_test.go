package attempt_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

const latin1 = "caf\xe9 au lait\n"

func newLoop(t testing.TB, steps int) *agent.Loop {
	t.Helper()
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate:      "You are a shell.",
		InstanceTemplate:    "{{task}}",
		ObservationTemplate: "{{output.returncode}} {{output.output}}",
		FormatErrorTemplate: "{{error}}",
		Limits:              vocab.Limits{Steps: steps},
	})
	if err != nil {
		t.Fatal(err)
	}
	return loop
}

// solve makes one attempt and returns its result and the run directory.
func solve(t *testing.T, boxes attempt.Sandboxes, in dataset.Instance, model llm.Model) (result *results.Result, dir string, err error) {
	t.Helper()
	result, store, err := solveWith(t, attempt.Config{Loop: newLoop(t, 20), Sandboxes: boxes}, in, model, runner.NewBudget(0, 0, 0))
	if result == nil {
		t.Fatalf("got no result together with the error %v", err)
	}
	return result, store.Dir(), err
}

// solveWith makes one attempt with the settings c, into its own run directory.
func solveWith(
	t *testing.T, c attempt.Config, in dataset.Instance, model llm.Model, budget *runner.Budget,
) (*results.Result, *results.Store, error) {
	t.Helper()
	store, err := results.Open(t.TempDir(), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c.ModelName, c.Store = "test", store
	if c.Settings == nil {
		c.Settings = func(dataset.Instance) manifest.Settings { return manifest.Settings{Version: "test"} }
	}
	c.Models = func(dataset.Instance, int) (llm.Model, error) { return model, nil }
	result, err := attempt.New(c).Do(t.Context(), attempt.Attempt{
		Job: in, Number: 1,
		Report:  func(vocab.Event) {},
		Reserve: budget.Reserve, Keep: closes, Kept: nothing,
	})
	return result, store, err
}

func TestTheOracleSubmitsTheExactGoldPatch(t *testing.T) {
	for name, change := range map[string][2]string{
		"plain text":          {"a\nb\n", "a\nc\n"},
		"CRLF":                {"a\r\nb\r\n", "a\r\nc\r\n"},
		"latin-1":             {latin1, "th\xe9 au lait\n"},
		"no newline at end":   {"a\nb", "a\nc"},
		"over 128 KiB":        {"a\n", strings.Repeat("0123456789abcdef\n", 20_000)},
		"quotes and escapes":  {"x\n", "'\"\\n$x`y`\\x41\n"},
		"carriage return mix": {"a\rb\r\nc\n", "a\rB\r\nc\n"},
	} {
		t.Run(name, func(t *testing.T) {
			box := repo(t, map[string]string{"f.txt": change[0]})
			box.write(t, "f.txt", change[1])
			gold := box.diff(t)
			result, _, err := solve(t, hosts{box: box}, dataset.Instance{ID: "a__1", Patch: gold}, scripted.Oracle([]byte(gold), scripted.Config{}))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(result.Submission, []byte(gold)) {
				t.Errorf("submission differs from the gold patch:\n%.500q\n%.500q", result.Submission, gold)
			}
			if result.Record.Outcome != vocab.OutcomeSubmitted || result.Record.PatchBytes != len(gold) {
				t.Errorf("record %+v, want outcome %v, patch bytes %v", result.Record, vocab.OutcomeSubmitted, len(gold))
			}
			if !utf8.ValidString(result.Prediction) {
				t.Error("the prediction is not UTF-8")
			}
			box.git(t, "checkout -q .")
			apply(t, box, result.Prediction)
			if got := box.read(t, "f.txt"); got != change[1] {
				t.Errorf("the prediction makes %.500q, want %.500q", got, change[1])
			}
		})
	}
}

func TestAPredictionOfUTF8IsTheSubmissionItself(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\r\n"})
	box.write(t, "f.txt", "é\r\n")
	gold := box.diff(t)
	result, _, err := solve(t, hosts{box: box}, dataset.Instance{ID: "a__1"}, scripted.Oracle([]byte(gold), scripted.Config{}))
	if err != nil || result.Prediction != gold {
		t.Errorf("%v; prediction %q, want %q", err, result.Prediction, gold)
	}
}

func TestOnlyFilesThatAreNotUTF8BecomeBinaryPatches(t *testing.T) {
	box := repo(t, map[string]string{"plain.txt": "a\n", "dir with space/latin [1].txt": latin1})
	box.write(t, "plain.txt", "b\n")
	box.write(t, "dir with space/latin [1].txt", "th\xe9\n")
	gold := box.diff(t)
	in := dataset.Instance{ID: "a__1", Repo: "a/b", Fields: map[string]any{"license": "mit"}}
	result, _, err := solve(t, hosts{box: box}, in, scripted.Oracle([]byte(gold), scripted.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	if r := result.Record; r.License != "mit" || r.Repo != "a/b" {
		t.Errorf("license %q of %q, want the row's", r.License, r.Repo)
	}
	if p := result.Prediction; !strings.Contains(p, "+b\n") || strings.Count(p, "GIT binary patch") != 1 {
		t.Errorf("want one text and one binary part:\n%s", p)
	}
	if result.Notes.Prediction == "" {
		t.Error("the log lacks the rewriting")
	}
}

func TestSettingsOfTheRepositoryDoNotReachThePatch(t *testing.T) {
	box := repo(t, map[string]string{".gitattributes": "*.pm diff=perl\n", "lib/l.pm": latin1, "t.txt": "a\n"})
	box.write(t, "lib/l.pm", "th\xe9\n")
	gold := box.diff(t)
	box.git(t, "config diff.noprefix true && git config diff.orderFile /nonexistent && git config diff.relative true")
	result, _, err := solve(t, hosts{box: box}, dataset.Instance{ID: "a__1"}, scripted.Oracle([]byte(gold), scripted.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	box.git(t, "config --remove-section diff && git checkout -q .")
	apply(t, box, result.Prediction)
	if got := box.read(t, "lib/l.pm"); got != "th\xe9\n" {
		t.Errorf("the prediction makes %q, want %q:\n%s", got, "th\xe9\n", result.Prediction)
	}

	box.git(t, "checkout -q . && git config diff.noprefix true")
	box.write(t, "t.txt", "salvaged\n")
	replies := slices.Repeat([]scripted.Reply{{Bash: "true"}}, 20)
	result, _, err = solve(t, hosts{box: box}, dataset.Instance{ID: "a__1"}, scripted.Script{"*": replies}.Model("a__1", scripted.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	box.git(t, "checkout -q .")
	apply(t, box, result.Notes.Salvage)
	if got := box.read(t, "t.txt"); got != "salvaged\n" {
		t.Errorf("applying the salvaged patch gives %q", got)
	}
}

func TestLostBytesOfAPatchThatDoesNotApplyAreReported(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\n"})
	broken := "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-nothing like it\n+caf\xe9\n"
	box.write(t, "../p", broken)
	model := scripted.Script{"a__1": {{Bash: "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat ../p"}}}.Model("a__1", scripted.Config{})
	result, _, err := solve(t, hosts{box: box}, dataset.Instance{ID: "a__1"}, model)
	if err != nil {
		t.Fatal(err)
	}
	if string(result.Submission) != broken {
		t.Errorf("submission %q, want submission %v", result.Submission, broken)
	}
	if p := result.Prediction; strings.Contains(p, "\ufffd") || !strings.Contains(p, `caf\xE9`) {
		t.Errorf("prediction %q, want no %q in the predictions, %q in the predictions", p, "\ufffd", `caf\xE9`)
	}
	if result.Notes.Prediction == "" {
		t.Error("the log lacks the escape")
	}
}

func TestAnEmptySubmissionHasItsOwnOutcome(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\n"})
	result, _, err := solve(t, hosts{box: box}, dataset.Instance{ID: "a__1"}, scripted.Noop(scripted.Config{}))
	if err != nil || result.Record.Outcome != vocab.OutcomeEmpty || result.Submission == nil {
		t.Errorf("got %v, %+v; want outcome %v, a submission, no error", err, result.Record, vocab.OutcomeEmpty)
	}
}

func TestASandboxThatCannotOpenIsAFaultOfTheAttempt(t *testing.T) {
	broken := fault.New(fault.Transient, "pulling image x", errors.New("429"))
	result, dir, err := solve(t, hosts{err: broken}, dataset.Instance{ID: "a__1"}, scripted.Noop(scripted.Config{}))
	if fault.KindOf(err) != fault.Transient || result.Record.Attempt != 1 {
		t.Errorf("got %v, %+v; want a Transient fault, attempt 1", err, result.Record)
	}
	if _, err := os.Stat(filepath.Join(dir, "a__1", "journal.jsonl")); err != nil {
		t.Error(err)
	}
}

func TestTheSandboxIsAlwaysClosed(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\n"})
	empty := scripted.Script{"a__1": nil}.Model("a__1", scripted.Config{}) // has no replies
	if _, _, err := solve(t, hosts{box: box}, dataset.Instance{ID: "a__1"}, empty); err == nil {
		t.Fatal("a model without replies returned no error")
	}
	if box.closed != 1 {
		t.Errorf("closed %d times, want closed 1", box.closed)
	}
}

func TestTheTrajectoryHasTheFormatOfMiniSWEAgent(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\n"})
	model := scripted.Script{"*": {
		{Content: "look", Bash: "cat f.txt", Cost: 0.25},
		{Content: "no command", Cost: 0.25},
		{Bash: `printf 'caf\351\n'`, Cost: 0.25},
		{Bash: "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", Cost: 0.25},
	}}.Model("a__1", scripted.Config{})
	result, store, err := solveWith(t, attempt.Config{Loop: newLoop(t, 20), Sandboxes: hosts{box: box}},
		dataset.Instance{ID: "a__1", ProblemStatement: "fix it"}, model, runner.NewBudget(0, 0, 0))
	if err == nil {
		_, err = store.Put(t.Context(), result)
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(store.Dir(), "a__1", "a__1.traj.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Info struct {
			ModelStats struct {
				Cost  float64 `json:"instance_cost"`
				Calls int     `json:"api_calls"`
			} `json:"model_stats"`
			ExitStatus string `json:"exit_status"`
		}
		Messages []struct {
			Role    string
			Content any
			Extra   map[string]any
		}
		Format     string `json:"trajectory_format"`
		InstanceID string `json:"instance_id"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range got.Messages {
		roles = append(roles, m.Role)
	}
	if r := strings.Join(roles, " "); r != "system user assistant tool user assistant tool assistant exit" {
		t.Errorf("roles: %s, want record %q", r, "system user assistant tool user assistant tool assistant exit")
	}
	if got.Format != "mini-swe-agent-1.1" || got.InstanceID != "a__1" || got.Info.ExitStatus != "Submitted" ||
		got.Info.ModelStats.Cost != 1 || got.Info.ModelStats.Calls != 4 {
		t.Errorf("got %s, want format %q, instance ID %q, exit status %q, cost 1, calls 4",
			data, "mini-swe-agent-1.1", "a__1", "Submitted")
	}
	if out := got.Messages[3].Extra["raw_output"]; out != "a\n" {
		t.Errorf("raw_output %q, want output %q", out, "a\n")
	}
	if extra := got.Messages[6].Extra; extra["raw_output"] != "caf\ufffd\n" || extra["raw_output_base64"] != "Y2Fm6Qo=" {
		t.Errorf("the extra of an output that is not UTF-8: %v", extra)
	}
	for i, finish := range map[int]string{2: "tool_calls", 4: "stop", 5: "tool_calls"} {
		response, _ := json.Marshal(got.Messages[i].Extra["response"])
		if !strings.Contains(string(response), `"finish_reason":"`+finish+`"`) {
			t.Errorf("the response in message %d is %s", i, response)
		}
	}
}
