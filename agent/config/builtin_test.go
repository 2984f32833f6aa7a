package config

import (
	"context"
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// replies answers first with a reply in no valid form, then with calls or fences.
type replies struct{ n int }

func (r *replies) Generate(_ context.Context, req *llm.Request) (*llm.Response, error) {
	r.n++
	m := llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("nothing")}
	switch {
	case r.n == 1:
		return &llm.Response{Message: m, FinishReason: "length", Priced: true}, nil
	case r.n == 2:
		return &llm.Response{Message: m, FinishReason: "stop", Priced: true}, nil
	case len(req.Tools) == 0:
		m.Parts = llm.Say("```mswea_bash_command\nls\n```")
	default:
		m.Parts = llm.Say("nothing", llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"command":"ls"}`})
	}
	return &llm.Response{Message: m, Priced: true}, nil
}

// long first prints too much, then runs too long, then submits.
type long struct{ n int }

func (l *long) Execute(context.Context, string) (vocab.Output, error) {
	l.n++
	switch l.n {
	case 1:
		return vocab.Output{Bytes: []byte(strings.Repeat("x", 12345))}, nil
	case 2:
		return vocab.Output{TimedOut: true, Timeout: 1e9}, nil
	default:
		return vocab.Output{Bytes: []byte(vocab.Marker + "\np")}, nil
	}
}

func (l *long) Vars() map[string]any { return nil }

func TestBuiltinPromptsRender(t *testing.T) {
	for _, name := range []string{"default", "text", "tools", "chat"} {
		t.Run(name, func(t *testing.T) {
			loop, err := agent.NewLoop(load(t, name).Loop())
			if err != nil {
				t.Fatal(err)
			}
			end, err := loop.Run(t.Context(), agent.Turn{Task: "THE TASK", Model: &replies{}, Env: &long{}})
			if err != nil || !end.Submitted {
				t.Fatalf("got %+v, %v; want submitted true, no error", end, err)
			}
			for i, want := range map[int]string{
				0: "software engineer",
				1: "THE TASK\n",
				2: "limit of output tokens",
				3: "<error>\n",
				5: "2345 characters elided",
				7: "timed out after 1 seconds",
			} {
				if got := end.Messages[i].Text(); !strings.Contains(got, want) {
					t.Errorf("message %d: %q lacks %q", i, got, want)
				}
			}
			if got := end.Messages[1].Text(); !strings.Contains(got, "/testbed") || !strings.Contains(got, "60 seconds") {
				t.Errorf("the task message is %q, want the directory and the time limit in it", got)
			}
		})
	}
}

func TestBuiltinPromptsMentionAMissingNetwork(t *testing.T) {
	const told = "no network"
	for _, tt := range []struct {
		name  string
		specs []string
		none  bool
	}{
		{"by default", nil, true},
		{"left empty", []string{"environment.network="}, true},
		{"the shared bridge", []string{"environment.network=bridge"}, false},
		{"one by its name", []string{"environment.network=mine"}, false},
		{"a bridge by run_args", []string{`environment.run_args=["--network","bridge"]`}, false},
		{"none by run_args", []string{"environment.network=bridge", `environment.run_args=["--network=none"]`}, true},
	} {
		for _, builtin := range []string{"default", "text", "tools"} {
			t.Run(tt.name+" "+builtin, func(t *testing.T) {
				loop, err := agent.NewLoop(load(t, append([]string{builtin}, tt.specs...)...).Loop())
				if err != nil {
					t.Fatal(err)
				}
				end, err := loop.Run(t.Context(), agent.Turn{Task: "THE TASK", Model: &replies{}, Env: &long{}})
				if err != nil {
					t.Fatal(err)
				}
				got := end.Messages[1].Text()
				if strings.Contains(got, told) != tt.none {
					t.Errorf("says %q: %v, want %v", told, !tt.none, tt.none)
				}
				if strings.Contains(got, "\n\n\n") || strings.Contains(got, "seconds.\n-\n") {
					t.Errorf("got an empty line or item in the list: %q", got)
				}
			})
		}
	}
}
