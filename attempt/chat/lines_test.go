package chat

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Programs read these lines: each event has the same members, in the same order.
func TestTheLinesOfATurn(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var out strings.Builder
	f := NewLines(&out)
	f.Began(2)
	for _, e := range []agent.Event{
		{Type: agent.EventMessages},
		{Type: agent.EventReply, Response: &llm.Response{Message: llm.Message{Parts: llm.Say("I <look>")}, Usage: vocab.Usage{Input: 5, Output: 2}}, Cost: 0.5},
		{Type: agent.EventProbed, Response: &llm.Response{Message: llm.Message{Parts: llm.Say("a summary")}}, Cost: 0.75},
		{Type: agent.EventAction, Action: 1, Tool: "bash", CallID: "c", Command: "ls"},
		{Type: agent.EventOutput, Action: 1, Output: &vocab.Output{Bytes: []byte("a\xff"), ExitCode: 0, TimedOut: true}},
		{Type: agent.EventAction, Action: 2, Tool: "find", Arguments: map[string]any{"n": 1}},
		{Type: agent.EventRepeat, Repeat: &llm.Repeat{Reason: "slow"}},
		{Type: agent.EventInterrupt, Interrupt: vocab.StatusFormatError},
		{Type: agent.EventWarning, Warning: "long"},
	} {
		e.Time, e.Turn, e.Step = at, 2, 3
		f.Event(e)
	}
	f.Ended(&session.Result{Turn: 2, End: journal.TurnFailed, Error: "broken", Ending: &agent.Ending{Calls: 3, Cost: 0.75}})
	got := regexp.MustCompile(`"time":"[^"]*","turn":2`).ReplaceAllString(out.String(), "T")
	const want = `{"event":"status",T,"status":"busy"}
{"event":"text",T,"step":3,"text":"I <look>","cost":0.5}
{"event":"usage",T,"step":3,"usage":{"input_tokens":5,"cached_tokens":0,"output_tokens":2,"reasoning_tokens":0},"cost":0.5}
{"event":"usage",T,"step":3,"usage":{"input_tokens":0,"cached_tokens":0,"output_tokens":0,"reasoning_tokens":0},"cost":0.75}
{"event":"tool_call",T,"step":3,"action":1,"tool":"bash","call_id":"c","command":"ls"}
{"event":"tool_result",T,"step":3,"action":1,"output":"a` + "\ufffd" + `","exit_code":0,"timed_out":true}
{"event":"tool_call",T,"step":3,"action":2,"tool":"find","arguments":{"n":1}}
{"event":"status",T,"step":3,"status":"busy","note":"the model call failed and will be made again: slow"}
{"event":"status",T,"step":3,"status":"busy","note":"FormatError"}
{"event":"status",T,"step":3,"status":"busy","note":"long"}
{"event":"status",T,"step":3,"status":"ready","end":"failed","error":"broken","cost":0.75}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
