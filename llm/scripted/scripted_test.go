package scripted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/vocab"
)

const yamlScript = `
a__1:
  - just text
  - bash: echo "hi" && ls <x
    content: THOUGHT
    cost: 0.5
    input_tokens: 10
    output_tokens: 2
  - tool_calls:
      - {name: bash, arguments: {command: ls}}
      - {name: editor, arguments: "{broken", id: mine}
      - {name: view}
    finish_reason: length
"*":
  - {bash: "true", delay: 250ms}
  - {content: slow, delay: 1.5}
`

var withTools = &llm.Request{Tools: []llm.Tool{{Name: "bash"}}}

func loadText(t *testing.T, name, text string) scripted.Script {
	t.Helper()
	s, err := scripted.LoadFS(fstest.MapFS{name: {Data: []byte(text)}}, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func playAll(t *testing.T, m *scripted.Model, req *llm.Request) (all []llm.Response) {
	t.Helper()
	for m.Left() > 0 {
		resp, err := m.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *resp)
	}
	return all
}

func TestYAMLScript(t *testing.T) {
	s := loadText(t, "s.yaml", yamlScript)
	got := playAll(t, s.Model("a__1", scripted.Config{}), withTools)
	want := []llm.Response{
		{Message: llm.Message{Role: "assistant", Parts: llm.Say("just text")}, FinishReason: "stop"},
		{
			Message: llm.Message{Role: "assistant", Parts: llm.Say("THOUGHT",
				llm.ToolCall{ID: "call_2_1", Name: "bash", Arguments: `{"command":"echo \"hi\" && ls <x"}`})},
			FinishReason: "tool_calls", Cost: 0.5, Usage: vocab.Usage{Input: 10, Output: 2},
		},
		{
			Message: llm.Message{Role: "assistant", Parts: llm.Say("",
				llm.ToolCall{ID: "call_3_1", Name: "bash", Arguments: `{"command":"ls"}`},
				llm.ToolCall{ID: "mine", Name: "editor", Arguments: "{broken"},
				llm.ToolCall{ID: "call_3_3", Name: "view", Arguments: "{}"})},
			FinishReason: "length",
		},
	}
	for i := range want {
		want[i].Priced, want[i].Model = true, scripted.ModelName
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
	text := playAll(t, s.Model("a__1", scripted.Config{}), &llm.Request{})
	if got, want := text[1].Message.Text(), "THOUGHT\n\n```mswea_bash_command\necho \"hi\" && ls <x\n```"; got != want {
		t.Errorf("without tools %q, want %q", got, want)
	}
}

func TestJSONScriptReadsEscapes(t *testing.T) {
	s := loadText(t, "s.json", `{"a":["\ud83d\ude00 \/", {"bash":"ls","delay":"1ms"}]}`)
	if got := s["a"][0].Content; got != "\U0001F600 /" {
		t.Errorf("content %q, want %q", got, "\U0001F600 /")
	}
	if got := s["a"][1]; got.Bash != "ls" || got.Delay != time.Millisecond {
		t.Errorf("reply %+v, want bash %q, delay %v", got, "ls", time.Millisecond)
	}
}

func TestDelaysHonourTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := loadText(t, "s.yaml", yamlScript).Model("other", scripted.Config{Delay: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := m.Generate(ctx, withTools); err == nil || m.Left() != 2 {
			t.Errorf("error %v, %d replies left: a canceled call must not use up a reply", err, m.Left())
		}
		started := time.Now()
		playAll(t, m, withTools)
		if got, want := time.Since(started), 2*time.Second+1750*time.Millisecond; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
		canceled, stop := context.WithCancel(t.Context())
		stop()
		if _, err := loadText(t, "s.yaml", yamlScript).Model("a__1", scripted.Config{}).Generate(canceled, withTools); !fault.Canceled(err) {
			t.Errorf("error %v, want a cancellation", err)
		}
	})
}

func TestTheEndOfAScriptIsAnInstanceFault(t *testing.T) {
	s := scripted.Script{"a": {{Content: "x"}}}
	m := s.Model("a", scripted.Config{})
	m.Skip(1)
	for range 2 {
		_, err := m.Generate(t.Context(), withTools)
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "no reply left for a after 1") {
			t.Errorf("error %v, want an Instance fault", err)
		}
	}
	_, err := s.Model("b", scripted.Config{}).Generate(t.Context(), withTools)
	if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "no replies for b") {
		t.Errorf("error %v, want an Instance fault", err)
	}
}

func TestConvertFitsRepliesToTheRequest(t *testing.T) {
	s := scripted.Script{"a": {
		{Content: "first\n```bash\nls -l\n```\nlast"},
		{Content: "two\n```bash\na\n```\n```bash\nb\n```"},
		{Content: "go", ToolCalls: []llm.ToolCall{{Name: "bash", Arguments: `{"command":"pwd"}`}}},
	}}
	cfg := scripted.Config{Convert: true, Fence: func(c string) string { return "<x>" + c + "</x>" }}
	tools := playAll(t, s.Model("a", cfg), withTools)
	if m := tools[0].Message; m.Text() != "first\n\nlast" || m.ToolCalls()[0].Arguments != `{"command":"ls -l"}` || tools[0].FinishReason != "tool_calls" {
		t.Errorf("fence to tool: %+v, want text %q, arguments %q, finish reason %q",
			m, "first\n\nlast", `{"command":"ls -l"}`, "tool_calls")
	}
	if m := tools[1].Message; len(m.ToolCalls()) != 0 || !strings.Contains(m.Text(), "```bash\nb") {
		t.Errorf("a reply with two fences must not change: %+v", m)
	}
	text := playAll(t, s.Model("a", cfg), &llm.Request{})
	if m := text[2].Message; m.Text() != "go\n\n<x>pwd</x>" || len(m.ToolCalls()) != 0 {
		t.Errorf("tool to fence: %+v, want text %q, no tool calls", m, "go\n\n<x>pwd</x>")
	}
	plain := playAll(t, s.Model("a", scripted.Config{}), withTools)
	if m := plain[0].Message; len(m.ToolCalls()) != 0 {
		t.Errorf("converted unasked: %+v, want no tool calls", m)
	}
}

func TestRealTrajectoriesCanBePlayed(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "trajectories")
	for name, want := range map[string]int{"github_issue": 10, "local": 2} {
		file := filepath.Join(dir, name+".traj.json")
		if _, err := os.Stat(file); err != nil {
			t.Skip("no recorded trajectories beside the project")
		}
		s, err := scripted.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		all := playAll(t, s.Model("whatever", scripted.Config{}), &llm.Request{})
		if len(all) != want || strings.Count(all[0].Message.Text(), "```mswea_bash_command") != 1 || all[0].Message.Chat == nil {
			t.Errorf("%s: %d replies, want %d; first %+v", name, len(all), want, all[0].Message)
		}
	}
	s, err := scripted.Load(dir)
	if err != nil || len(s["github_issue"]) != 10 || len(s["local"]) != 2 {
		t.Errorf("the folder: %d scripts, %v; want 10 github_issue, 2 local, no error", len(s), err)
	}
}

const trajectory = `{"info":{},"trajectory_format":"mini-swe-agent-1.1","instance_id":"x__1","messages":[
 {"role":"system","content":"s"},{"role":"user","content":"u"},
 {"role":"assistant","content":null,"reasoning":"hm","tool_calls":[{"id":"t1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}],
  "extra":{"cost":0.25,"response":{"choices":[{"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}}},
 {"role":"tool","tool_call_id":"t1","content":"a"},
 {"role":"user","content":"Tool call error","extra":{"interrupt_type":"FormatError","cost":0.5,"response":{"choices":[{"finish_reason":"length","message":{"role":"assistant","content":"cut o"}}]}}},
 {"role":"user","content":"error","extra":{"interrupt_type":"FormatError","model_response":"no fence"}},
 {"role":"user","content":"limits","extra":{"interrupt_type":"Other"}},
 {"role":"exit","content":"","extra":{"exit_status":"Submitted","submission":""}}]}`

func TestRecordedTrajectory(t *testing.T) {
	fsys := fstest.MapFS{
		"run/x__1/x__1.traj.json": {Data: []byte(trajectory)},
		"run/y__1/y__1.traj.json": {Data: []byte(`[{"role":"assistant","content":"hi"}]`)},
		"run/logs/batch.log":      {Data: []byte("not a script")},
		"run/preds.json":          {Data: []byte("{}")},
	}
	s, err := scripted.LoadFS(fsys, "run")
	if err != nil || len(s) != 2 {
		t.Fatalf("got %d scripts, %v; want 2, no error", len(s), err)
	}
	all := playAll(t, s.Model("x__1", scripted.Config{}), withTools)
	if len(all) != 3 {
		t.Fatalf("%d replies, want the call and two unreadable ones", len(all))
	}
	first := all[0]
	if first.Cost != 0.25 || first.Usage != (vocab.Usage{Input: 7, Output: 3}) || first.FinishReason != "tool_calls" ||
		first.Message.Extra != nil || !strings.Contains(string(first.Message.Chat), "reasoning") || first.Message.ToolCalls()[0].ID != "t1" {
		t.Errorf("first reply %+v, want cost 0.25, usage %v, finish reason %q, extra nil, %q in the chat, ID %q",
			first, (vocab.Usage{Input: 7, Output: 3}), "tool_calls", "reasoning", "t1")
	}
	if all[1].Message.Text() != "cut o" || all[1].FinishReason != "length" || all[1].Cost != 0.5 || all[2].Message.Text() != "no fence" {
		t.Errorf("unreadable replies: %+v", all[1:])
	}
	text := playAll(t, s.Model("x__1", scripted.Config{Convert: true}), &llm.Request{})
	if got := text[0].Message; got.Text() != "```mswea_bash_command\nls\n```" || got.Chat != nil {
		t.Errorf("converted to text: %+v, want text %q, chat nil", got, "```mswea_bash_command\nls\n```")
	}
}

// A mistake is named in the words of the file's format, not of its decoder.
func TestErrorsNameTheBadFile(t *testing.T) {
	tests := []struct{ name, data, want, hint string }{
		{"s.yaml", "a:\n  - x\n  - 5\n", `line 3: "a", reply 2: expected a string`, ""},
		{"s.yaml", "a:\n  - x\na:\n  - y\n", "line 3", ""},
		{"s.yaml", "a: x\n", "expected a list", ""},
		{"s.yaml", "- x\n", "expected a mapping", ""},
		{"s.yaml", "", "expected a mapping", ""},
		{"s.yaml", "a: [", "line 1", ""},
		{"s.yaml", "a: [{delay: soon}]", "delay", ""},
		{"s.yaml", "a: [{delay: -1}]", "delay", ""},
		{"s.yaml", "a: [{cost: -1}]", "negative", ""},
		{"s.yaml", "a: [{tool_calls: [{arguments: {}}]}]", "tool_calls[0]: no name", ""},
		{"s.yaml", "a: [{cost: x}]", "reply 1: cost: expected a number, got a text", ""},
		{"s.yaml", "a: [{bash: [ls]}]", "bash: expected a text, got a list", ""},
		{"s.yaml", "a: [{content: 3}]", "content: expected a text, got a number", ""},
		{"s.yaml", "a: [{input_tokens: 1.5}]", "input_tokens: expected a whole number, got number 1.5", ""},
		{"s.yaml", "a: [{tool_calls: {name: bash}}]", "tool_calls: expected a list, got an object", ""},
		{"s.yaml", "a: [{tool_calls: [{name: true}]}]", "name: expected a text, got true or false", ""},
		{"s.yaml", "a: [{bsh: ls}]", `unknown field "bsh"`, "did you mean bash? a reply has content, bash, "},
		{"s.yaml", "a: [{tool_calls: [{nme: b}]}]", `unknown field "nme"`, "did you mean name? "},
		{"s.yaml", "a: [{something_else_entirely: nme}]", `unknown field "something_else_entirely"`, "a reply has content, bash, "},
		{"s.json", "{\n\"a\": [\n}", "line 3", ""},
		{"s.json", `{"a": null}`, "expected a list", ""},
		{"s.json", `{"a": [null]}`, "reply 1: expected a string", ""},
		{"s.json", `5`, "expected a trajectory", ""},
		{"t.traj.json", `{"messages": [{"role": 5}]}`, "messages[0]", ""},
		{"t.traj.json", `{"messages": "x"}`, "expected a trajectory", ""},
	}
	for _, tt := range tests {
		_, err := scripted.LoadFS(fstest.MapFS{tt.name: {Data: []byte(tt.data)}}, tt.name)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.name) ||
			tt.name == "s.yaml" && strings.Contains(err.Error(), "Go ") || !strings.HasPrefix(fault.HintOf(err), tt.hint) {
			t.Errorf("%q: error %v, hint %q; want %q, %q", tt.data, err, fault.HintOf(err), tt.want, tt.hint)
		}
	}
	for _, name := range []string{"none.yaml", "empty"} {
		fsys := fstest.MapFS{"empty/x": {}}
		if _, err := scripted.LoadFS(fsys, name); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want a Usage fault with %q", name, err, name)
		}
	}
}

func TestAThousandPlayersShareAScript(t *testing.T) {
	s := loadText(t, "s.yaml", yamlScript)
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			m := s.Model("a__1", scripted.Config{})
			for range 3 {
				resp, err := m.Generate(t.Context(), withTools)
				if err != nil {
					t.Error(i, err)
					return
				}
				resp.Message.Extra = map[string]any{"mine": i}
				resp.Message.Parts = append(resp.Message.Parts, llm.ToolCall{ID: fmt.Sprint(i)})
			}
		})
	}
	wg.Wait()
}

func FuzzLoad(f *testing.F) {
	f.Add(yamlScript, false)
	f.Add(trajectory, true)
	f.Add(`{"a":[{"tool_calls":[{"name":"x","arguments":[]}]}]}`, true)
	f.Add("a: &x [*x]", false)
	f.Add("a:\n  - ? [1]\n    : 2\n", false)
	f.Fuzz(func(t *testing.T, data string, isJSON bool) {
		name := "s.yaml"
		if isJSON {
			name = "s.json"
		}
		s, err := scripted.LoadFS(fstest.MapFS{name: {Data: []byte(data)}}, name)
		if err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("an error that is not a Usage fault: %v, want no error, or a Usage fault", err)
		}
		for id, replies := range s {
			for i := range replies {
				replies[i].Delay = 0
			}
			for _, req := range []*llm.Request{withTools, {}} {
				for _, resp := range playAll(t, s.Model(id, scripted.Config{Convert: true}), req) {
					if _, err := json.Marshal(resp.Message); err != nil {
						t.Errorf("a reply cannot be written: %v", err)
					}
				}
			}
		}
	})
}
