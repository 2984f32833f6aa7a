package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

// some returns a pointer to v.
func some[T any](v T) *T { return &v }

// viewed returns an attempt with one of everything that can be displayed.
func viewed() *trajectory.View {
	var long strings.Builder
	for i := range 30 {
		fmt.Fprintf(&long, "line %d of an output\n", i+1)
	}
	return &trajectory.View{
		Instance: "org__repo-1", Dataset: "rows.jsonl", Model: "openai/gpt-5", Attempt: 2, Attempts: 2,
		Patch: &trajectory.Patch{Text: []byte("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n")},
		Record: &results.Record{
			InstanceID: "org__repo-1", Attempt: 2, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Steps: 4, Cost: 0.0123,
			Usage: vocab.Usage{Input: 1000, Cached: 400, Output: 50, Reasoning: 20}, PatchBytes: 62, Resumed: 1,
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Time:    results.Phases{Start: 1, Model: 6, RateWait: 2, Commands: 3, Total: 10},
		},
		Prompts: []trajectory.Message{{Role: "system", Text: "You fix defects."}, {Role: "user", Text: "It is broken.\n\x1b[31mred\x1b[0m"}},
		Steps: []trajectory.Step{
			{
				Mark: journal.Mark{Number: 1, Cost: 0.01, Seconds: 4.1, Waited: 2}, Priced: true, Thought: "I look at the files, all of them, since I do not know which of them has the defect that is described.",
				Reasoning: "Where to begin?", Usage: &vocab.Usage{Input: 500, Output: 25},
				Actions: []trajectory.Action{
					{Command: "ls\n", Output: long.String(), State: trajectory.Done, Exit: some(0), Seconds: 0.0123},
					{Command: "make\ttest", Output: "\tfailed\n", State: trajectory.Done, Exit: some(2), Seconds: 62, Kept: 8, Total: 1008},
					{Command: "sleep 100", State: trajectory.Done, Exit: some(-1), Note: "The command timed out after 60 seconds."},
					{Command: "true", State: trajectory.Unknown},
				},
			},
			{Mark: journal.Mark{Number: 2}, Thought: "no command", Notes: []trajectory.Message{{Role: "FormatError", Text: "Call the tool bash."}}},
			{Mark: journal.Mark{Number: 3}, Actions: []trajectory.Action{{Tool: "editor", Command: "path: f\nview: 1", Output: strings.Repeat("x", 3000), State: trajectory.Done}}},
			{Mark: journal.Mark{Number: 4, Cost: 0.0023}, Priced: true, Actions: []trajectory.Action{{Command: "echo " + vocab.Marker, State: trajectory.Submitted, Exit: some(0)}}},
		},
	}
}

func shown(t *testing.T, v *trajectory.View, o report.Reading) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.Trajectory(&b, v, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ofGrade() *trajectory.View {
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("tests/test_core.py::test_%d", i))
	}
	v := &trajectory.View{Dir: "runs/a", Instance: "org__repo-1", Attempt: 1, Attempts: 1, Running: false}
	v.Record = &results.Record{
		InstanceID: "org__repo-1", Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Quarantined: true,
		Grade: &grades.Grade{
			Verdict: vocab.VerdictUnresolved, Why: "2 of 3 FAIL_TO_PASS tests fail",
			FailToPass: grades.Tests{Passed: []string{"a"}, Failed: []string{"test with spaces", "test\x1b[31mred"}},
			PassToPass: grades.Tests{Passed: []string{"b"}, Failed: many},
			Suspicious: []string{"resolved only with conftest.py of the patch"},
			Unstable:   true, Verdicts: []vocab.Verdict{vocab.VerdictUnresolved, vocab.VerdictResolved},
			Log: "logs/run_evaluation/a/openai__x/org__repo-1",
		},
	}
	return v
}

func TestTrajectory(t *testing.T) {
	running := viewed()
	running.Running, running.Patch, running.Steps = true, nil, running.Steps[:1]
	running.Steps[0].Actions[3].State = trajectory.Running
	running.Asked = time.Date(2026, 1, 2, 3, 4, 15, 0, time.UTC)
	broken := viewed()
	broken.Patch, broken.Steps = &trajectory.Patch{Text: []byte("diff --git a/f b/f\n"), Salvaged: true}, nil
	broken.Record.Status, broken.Record.Outcome, broken.Record.PatchBytes, broken.Record.Error = "HostFault", vocab.OutcomeInfrastructure, 0, "no space left"
	broken.Exit = &trajectory.Exit{Status: "HostFault", Reason: "no space left", Hint: "free some space"}
	theirs, err := trajectory.Parse([]byte(`{"info":{"model_stats":{"instance_cost":0.5,"api_calls":2},"config":{"model":{"model_name":"openai/gpt-5"}},
"mini_version":"2.4.6","exit_status":"LimitsExceeded","submission":""},"messages":[
{"role":"system","content":"s"},{"role":"user","content":"task"},
{"role":"assistant","content":"THOUGHT: look\n\n` + "```mswea_bash_command\\nls\\n```" + `","extra":{"actions":[{"command":"ls"}],"cost":0.25,"timestamp":100.5,
"response":{"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}}},
{"role":"user","content":"<returncode>1</returncode>","extra":{"raw_output":"no such file\n","returncode":1,"timestamp":101.75,"exception_info":""}},
{"role":"user","content":"Give one command.","extra":{"interrupt_type":"FormatError","n_actions":0,"model_response":"I am done.","cost":0.25,"timestamp":104}},
{"role":"exit","content":"LimitsExceeded","extra":{"exit_status":"LimitsExceeded","submission":""}}],
"trajectory_format":"mini-swe-agent-1.1","instance_id":"org__repo-2"}`))
	if err != nil {
		t.Fatal(err)
	}
	rewritten := viewed()
	rewritten.Steps = rewritten.Steps[:2]
	rewritten.Steps[0].Actions = nil
	rewritten.Steps[1].Rewrites = []trajectory.Rewrite{
		{Policy: "summarize", Before: 90_000, After: 30_000, Messages: 20, Summary: &results.SummaryCall{Cost: 0.05, Usage: vocab.Usage{Input: 80_000, Cached: 79_000, Output: 900}}},
		{Policy: "drop\x1b[31mred", Refused: true, Before: 30_000, After: 8000, Messages: 1},
	}
	for name, c := range map[string]struct {
		view *trajectory.View
		as   report.Reading
	}{
		"trajectory_plain.txt":          {viewed(), report.Reading{}},
		"trajectory_narrow.txt":         {viewed(), report.Reading{Width: 40}},
		"trajectory_color.txt":          {viewed(), report.Reading{Width: 80, Color: true}},
		"trajectory_rewritten.txt":      {rewritten, report.Reading{Width: 80}},
		"trajectory_running.txt":        {running, report.Reading{}},
		"trajectory_broken.txt":         {broken, report.Reading{}},
		"trajectory_graded.txt":         {ofGrade(), report.Reading{Width: 80}},
		"trajectory_mini_swe_agent.txt": {theirs, report.Reading{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := shown(t, c.view, c.as)
			exactGolden(t, name, got)
			if bytes.Contains(got, []byte("\x1b[31mred")) {
				t.Error("an escape from outside reaches the terminal")
			}
		})
	}
}

func TestTheWholeTrajectoryIsShown(t *testing.T) {
	text := string(shown(t, viewed(), report.Reading{Full: true}))
	if strings.Contains(text, "hidden") || !strings.Contains(text, "| line 17 of an output") || !strings.Contains(text, strings.Repeat("x", 3000)) {
		t.Errorf("it shows, want no %q, %q, %q\n%s", "hidden", "| line 17 of an output", strings.Repeat("x", 3000), text)
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	for line := range strings.Lines(string(shown(t, viewed(), report.Reading{Width: 30, Full: true}))) {
		if n := len(strings.TrimRight(line, "\n")); n > 30 && !strings.HasPrefix(line, "---") {
			t.Errorf("line of %d columns: %s; want at most 30 unless it begins with %q", n, line, "---")
		}
	}
}

func TestCRLFInATrajectoryEndsALine(t *testing.T) {
	v := &trajectory.View{Instance: "a", Steps: []trajectory.Step{{Mark: journal.Mark{Number: 1}, Thought: "one\r\ntwo\rthree", Priced: true, Usage: &vocab.Usage{}}}}
	text := string(shown(t, v, report.Reading{}))
	if !strings.Contains(text, "--- step 1  $0.00\n  one\n  two\\u000dthree\n") {
		t.Errorf("it shows, want %q\n%s", "--- step 1  $0.00\n  one\n  two\\u000dthree\n", text)
	}
}

func TestSpacesAtTheEndOfALineMakeNoEmptyLines(t *testing.T) {
	text := "a line of an output" + strings.Repeat(" ", 30)
	v := &trajectory.View{Steps: []trajectory.Step{{
		Mark: journal.Mark{Number: 1}, Thought: text, Actions: []trajectory.Action{{Command: "ls", Output: text + "\t\nend\n", State: trajectory.Done}},
	}}}
	want := "\n--- step 1\n  a line of an output\n\n  $ ls\n  | a line of an output\n  | end\n"
	if got := string(shown(t, v, report.Reading{Width: 30})); !strings.HasSuffix(got, want) {
		t.Errorf("it shows, want %q at its end\n%s", want, got)
	}
}

func TestTheMiddleOfALongPatchIsHidden(t *testing.T) {
	for n, want := range map[int]string{60: "", 61: "  ... 1 line hidden; `--diff` prints the patch ...\n  line 54\n", 70: "  ... 10 lines hidden; `--diff` prints the patch ...\n  line 63\n"} {
		var patch strings.Builder
		for i := range n {
			fmt.Fprintf(&patch, "line %d\n", i+1)
		}
		v := &trajectory.View{Patch: &trajectory.Patch{Text: []byte(patch.String())}}
		text := string(shown(t, v, report.Reading{}))
		if !strings.Contains(text, fmt.Sprintf("--- submission  %d lines\n  line 1\n", n)) || !strings.HasSuffix(text, fmt.Sprintf("  line %d\n", n)) {
			t.Errorf("%d lines: the first or the last is missing in\n%s", n, text)
		}
		if want = "  line 52\n" + want; !strings.Contains(text, want) || strings.Contains(text, "hidden") != (n > 60) {
			t.Errorf("%d lines: want %q in\n%s", n, want, text)
		}
	}
}
