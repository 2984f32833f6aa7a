package trajectory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results/trajectory"
)

const sweAgent = `{"environment":"swe_main","trajectory":[
 {"action":"find_file a.py\n","observation":"Found 1 match","response":"I look.\n` + "```" + `\nfind_file a.py\n` + "```" + `","thought":"I look.\n","execution_time":0.25,"state":{"open_file":"n/a"}},
 {"action":"","observation":"Your output was not formatted correctly.","response":"Hm.","thought":"Hm.","execution_time":0},
 {"action":"submit","observation":"diff --git a/a.py b/a.py\r\n","response":"Done.","thought":"Done.","execution_time":1.5,
  "thinking_blocks":[{"type":"thinking","thinking":"All is well."}]}],
 "history":[{"role":"system","content":"SETTING","agent":"main"},{"role":"user","content":[{"type":"text","text":"ISSUE"}],"agent":"main"},
  {"role":"assistant","content":"demo","is_demo":true},{"role":"assistant","content":"I look.","agent":"main"}],
 "info":{"exit_status":"submitted","submission":"diff --git a/a.py b/a.py\r\n","model_stats":{"instance_cost":0.5,"tokens_sent":7141,"tokens_received":243,"api_calls":3},
  "edited_files30":""},
 "replay_config":"{\"agent\":{\"model\":{\"name\":\"gpt-4o\"}}}"}`

const atif = `{"schema_version":"ATIF-v1.4","session_id":"s","agent":{"name":"a","version":"1","model_name":"m"},
 "steps":[{"step_id":1,"timestamp":"2026-01-02T03:04:05Z","source":"user","message":"Fix it."},
  {"step_id":2,"timestamp":"2026-01-02T03:04:07Z","source":"agent","message":"I look.","reasoning_content":"Hm.",
   "tool_calls":[{"tool_call_id":"1","function_name":"bash_command","arguments":{"keystrokes":"ls\n","duration":1}},
    {"tool_call_id":"2","function_name":"edit","arguments":{"path":"a.py","new":"x"}}],
   "observation":{"results":[{"source_call_id":"1","content":"a.py"},{"source_call_id":"2","content":[{"type":"text","text":"edited"}]}]},
   "metrics":{"prompt_tokens":100,"completion_tokens":9,"cached_tokens":60,"cost_usd":0.25}},
  {"step_id":3,"source":"user","message":"Hurry."},
  {"step_id":4,"source":"agent","message":"Done.","observation":{"results":[{"content":"bye"}]}}],
 "final_metrics":{"total_cost_usd":0.25,"total_steps":4}}`

// brief has the members of a step that files of all tools have.
type brief struct {
	Thought, Reasoning string
	Actions            []string // tool, command and output
	Notes              []trajectory.Message
	Cost               float64
}

func briefly(v *trajectory.View) (list []brief) {
	for _, s := range v.Steps {
		b := brief{Thought: s.Thought, Reasoning: s.Reasoning, Notes: s.Notes, Cost: s.Cost}
		for _, a := range s.Actions {
			b.Actions = append(b.Actions, a.Tool+"|"+a.Command+"|"+a.Output)
		}
		list = append(list, b)
	}
	return list
}

func TestAnotherToolsFileIsReadAsSteps(t *testing.T) {
	for _, test := range []struct {
		name, text, instance, model, status, patch string
		prompts                                    []trajectory.Message
		want                                       []brief
	}{
		{
			"x__y-1/x__y-1.traj", sweAgent, "x__y-1", "gpt-4o", "Submitted", "diff --git a/a.py b/a.py\r\n",
			[]trajectory.Message{{Role: "system", Text: "SETTING"}, {Role: "user", Text: "ISSUE"}, {Role: "demonstration", Text: "demo"}},
			[]brief{
				{Thought: "I look.", Actions: []string{"|find_file a.py|Found 1 match"}},
				{Thought: "Hm.", Notes: []trajectory.Message{{Role: "user", Text: "Your output was not formatted correctly."}}},
				{Thought: "Done.", Reasoning: "All is well.", Actions: []string{"|submit|diff --git a/a.py b/a.py\r\n"}},
			},
		},
		{
			"trial__abc/agent/trajectory.json", atif, "trial__abc", "m", "", "",
			[]trajectory.Message{{Role: "user", Text: "Fix it."}},
			[]brief{
				{
					Thought: "I look.", Reasoning: "Hm.", Cost: 0.25, Actions: []string{"|ls\n|a.py", "edit|path: a.py\nnew: x|edited"},
					Notes: []trajectory.Message{{Role: "user", Text: "Hurry."}},
				},
				{Thought: "Done.", Notes: []trajectory.Message{{Role: "user", Text: "bye"}}},
			},
		},
	} {
		path := filepath.Join(t.TempDir(), filepath.FromSlash(test.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := trajectory.Source{File: path}.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimSuffix(path, filepath.FromSlash("/"+test.name))
		if ids := trajectory.Instances(dir); len(ids) != 1 || ids[0] != test.instance {
			t.Errorf("%s: the folder has the instances %v", test.name, ids)
		}
		for _, attempt := range []int{-1, 0} {
			if again, err := (trajectory.Source{Dir: dir, Instance: test.instance, Attempt: attempt}).Read(nil); err != nil || len(again.Steps) != len(v.Steps) {
				t.Errorf("%s: from its folder: %v", test.name, err)
			}
		}
		if d := cmp.Diff(test.want, briefly(v)); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
		if d := cmp.Diff(test.prompts, v.Prompts); d != "" {
			t.Errorf("%s: prompts (-want +got):\n%s", test.name, d)
		}
		if v.Instance != test.instance || v.Model != test.model || string(v.Info.ExitStatus) != test.status {
			t.Errorf("%s: instance %q, model %q, status %q", test.name, v.Instance, v.Model, v.Info.ExitStatus)
		}
		patch := ""
		if v.Patch != nil {
			patch = string(v.Patch.Text)
		}
		if patch != test.patch {
			t.Errorf("%s: patch %q, want %q", test.name, patch, test.patch)
		}
	}
}

// Whatever a file has, reading it neither panics nor returns a view without an error that
// cannot be shown.
func FuzzAnotherToolsFile(f *testing.F) {
	f.Add([]byte(sweAgent))
	f.Add([]byte(atif))
	f.Add([]byte(`{"trajectory":[{"action":1,"thinking_blocks":{}}],"info":{}}`))
	f.Add([]byte(`{"schema_version":"ATIF","steps":[{"source":"agent","tool_calls":[1],"observation":{"results":[{}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := trajectory.Parse(text)
		if err != nil {
			return
		}
		for i, s := range v.Steps {
			if s.Number != i+1 || s.Reply >= len(v.Messages) {
				t.Errorf("step %d has the number %d and the reply %d of %d", i+1, s.Number, s.Reply, len(v.Messages))
			}
			for _, a := range s.Actions {
				if a.Answer < 0 || a.Answer >= len(v.Messages) {
					t.Errorf("an action's answer is message %d of %d", a.Answer, len(v.Messages))
				}
			}
		}
	})
}
