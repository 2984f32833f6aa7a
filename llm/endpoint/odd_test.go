package endpoint_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/gemini"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/responses"
	"batch.example/batch/vocab"
)

// protocol is a way to ask, and an answer with a usage of 1,000 input and 10 output tokens.
type protocol struct {
	open   func(endpoint.Config) (llm.Model, error)
	answer string // with REPLY in place of the model's text
}

func opened[M llm.Model](open func(endpoint.Config) (M, error)) func(endpoint.Config) (llm.Model, error) {
	return func(c endpoint.Config) (llm.Model, error) { return open(c) }
}

var protocols = map[string]protocol{
	"openai":    {opened(openai.New), `{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":REPLY}],"usage":{"prompt_tokens":1000,"completion_tokens":10}}`},
	"responses": {opened(responses.New), `{"model":"m","status":"completed","output":REPLY,"usage":{"input_tokens":1000,"output_tokens":10}}`},
	"anthropic": {opened(anthropic.New), `{"model":"m","type":"message","role":"assistant","stop_reason":"end_turn","content":REPLY,"usage":{"input_tokens":1000,"output_tokens":10}}`},
	"gemini":    {opened(gemini.New), `{"modelVersion":"m","candidates":[{"finishReason":"STOP","content":REPLY}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":10}}`},
}

func (p protocol) model(t testing.TB, server conformance.Canned) llm.Model {
	t.Helper()
	m, err := p.open(endpoint.Config{
		Model: "m", APIKey: "k", BaseURL: "http://model.test/v1", HTTP: server.Client(),
		Prices: price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1e-5, CachedInput: 1e-5, Output: 1e-5}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// heard asks once, and returns a summary of the reply: its text, and its calls as "id name arguments".
func (p protocol) heard(t testing.TB, body string) (string, *llm.Response, error) {
	t.Helper()
	m := p.model(t, conformance.Canned{Body: body})
	resp, err := m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("hi")}}})
	if err != nil {
		return "", nil, err
	}
	said := resp.Message.Text()
	for _, c := range resp.Message.ToolCalls() {
		said += fmt.Sprintf(" [%s %s %s]", c.ID, c.Name, c.Arguments)
	}
	return strings.TrimSpace(said), resp, nil
}

// A reply is paid for: its readable parts are read, and the model corrects the rest.
func TestOddRepliesArePaidOnceAndRead(t *testing.T) {
	const call = `{"id":ID,"type":"function","function":{"name":"bash","arguments":"{}"}}`
	with := func(id string) string { return strings.Replace(call, "ID", id, 1) }
	for _, c := range []struct{ protocol, reply, want string }{
		{"openai", `{"role":"assistant","content":"x"}`, "x"},
		{"openai", `{"content":null,"tool_calls":[` + with("0") + `]}`, "[0 bash {}]"},
		{"openai", `{"content":null,"tool_calls":[` + with("1.5") + `]}`, "[1.5 bash {}]"},
		{"openai", `{"content":["plain"," text"],"tool_calls":[` + with(`"a"`) + `]}`, "plain text [a bash {}]"},
		{"openai", `{"content":{"type":"text","text":"x"},"tool_calls":[` + with(`"a"`) + `]}`, "x [a bash {}]"},
		{"openai", `{"content":[{"type":"text","text":null},{"type":"text","text":5}]}`, "5"},
		{"openai", `{"content":false,"extra":"x","tool_calls":[` + with("null") + `]}`, "[ bash {}]"},
		{"openai", `{"content":7,"role":3}`, "7"},
		{"openai", `{"content":"x","tool_calls":` + with(`"a"`) + `}`, "x"},
		{"openai", `{"content":"x","tool_calls":["y",null,{"id":"a","function":"bash"}]}`, "x [a  ]"},
		{"openai", `{"content":null,"tool_calls":[{"id":"a","function":{"name":null,"arguments":{"a":1}}}]}`, `[a  {"a":1}]`},
		{"openai", `{"content":null,"tool_calls":[{"id":"a","type":1,"function":{"name":"bash","arguments":"{}"}}]}`, "[a bash {}]"},
		{"openai", `"just text"`, "just text"},
		{"openai", `null`, ""},
		{"openai", `[1]`, "[1]"},
		{"responses", `[{"type":"function_call","call_id":5,"name":"bash","arguments":{"a":1}}]`, `[5 bash {"a":1}]`},
		{"responses", `[{"type":"message","content":"x"},"y"]`, "xy"},
		{"responses", `{"type":"message","content":["x",{"type":"output_text","text":"y"}]}`, "xy"},
		{"responses", `null`, ""},
		{"anthropic", `"I think so."`, "I think so."},
		{"anthropic", `null`, ""},
		{"anthropic", `[{"type":"text","text":null},{"type":"tool_use","id":5,"name":"bash","input":{}},"y"]`, "y [5 bash {}]"},
		{"anthropic", `[{"type":"tool_use","id":"a","name":"bash","input":"{\"a\":1}"}]`, `[a bash {"a":1}]`},
		{"anthropic", `{"type":"text","text":"x"}`, "x"},
		{"gemini", `{"parts":["plain",{"functionCall":{"id":3,"name":"bash","args":"{\"a\":1}"}}]}`, `plain [3 bash {"a":1}]`},
		{"gemini", `{"parts":{"text":"x"}}`, "x"},
		{"gemini", `"x"`, "x"},
		{"gemini", `{}`, ""},
		{"gemini", `null`, ""},
	} {
		p := protocols[c.protocol]
		got, resp, err := p.heard(t, strings.Replace(p.answer, "REPLY", c.reply, 1))
		if err != nil || got != c.want {
			t.Errorf("%s: %s: %q, %v; want %q", c.protocol, c.reply, got, err, c.want)
			continue
		}
		if resp.Usage.Input != 1000 || resp.Usage.Output != 10 || !resp.Priced || resp.Cost < 0.01 {
			t.Errorf("%s: %s: used %+v, cost %v (%v)", c.protocol, c.reply, resp.Usage, resp.Cost, resp.Priced)
		}
		if _, err := json.Marshal(resp.Message); err != nil {
			t.Errorf("%s: %s: the trajectory: %v", c.protocol, c.reply, err)
		}
	}
}

// Other members of an answer may be odd too, and amounts absurd.
func TestOddAnswersArePaidOnce(t *testing.T) {
	for body, name := range map[string]string{
		`{"model":5,"service_tier":{},"choices":{"message":{"content":"x"}},"usage":{"prompt_tokens":"1000","completion_tokens":10.0}}`:   "openai",
		`{"error":{"code":0,"message":""},"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":1000,"completion_tokens":10}}`: "openai",
		`{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":10}}`:                                                            "openai",
		`{"choices":"x","usage":{"prompt_tokens":1000,"completion_tokens":10,"cost":1e308}}`:                                              "openai",
		`{"model":{},"status":"completed","incomplete_details":"x","output":5,"usage":{"input_tokens":1000,"output_tokens":10}}`:          "responses",
		`{"model":5,"stop_reason":null,"usage":{"input_tokens":"1000","output_tokens":10}}`:                                               "anthropic",
		`{"modelVersion":[],"promptFeedback":"x","candidates":[],"usageMetadata":{"promptTokenCount":"1000","candidatesTokenCount":10}}`:  "gemini",
		`{"candidates":["x"],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":10}}`:                                        "gemini",
	} {
		_, resp, err := protocols[name].heard(t, body)
		if err != nil || resp.Usage.Input != 1000 || resp.Usage.Output != 10 || resp.Cost < 0.01 || resp.Cost > 0.02 {
			t.Errorf("%s: %s: %+v, %v", name, body, resp, err)
		}
	}
}

// An odd answer without a cost is not a reply.
func TestOddAnswersThatCostNothingAreFaults(t *testing.T) {
	for body, name := range map[string]string{
		`{"choices":[],"usage":{"cost":0}}`: "openai", `{"content":"upstream overloaded"}`: "anthropic", `{"candidates":"x"}`: "gemini",
		`{"output":[1]}`: "responses", `{"object":"chat.completion","choices":[]}`: "responses", `{"status":"in_progress","output":[]}`: "responses",
		`{"error":"overloaded","choices":[]}`: "openai", `{"error":{"message":"x"}}`: "gemini",
	} {
		if said, _, err := protocols[name].heard(t, body); err == nil {
			t.Errorf("%s: %s: %q", name, body, said)
		}
	}
}

// Half a letter in an answer is neither kept nor sent back: JSON cannot contain it, and the journal would
// change it.
func TestWhatIsKeptOfAnAnswerIsText(t *testing.T) {
	for name, reply := range map[string]string{
		"openai":    "{\"role\":\"assistant\",\"content\":\"a\",\"x\":\"\x85\"}",
		"responses": "[{\"type\":\"new\",\"x\":\"\x85\"}]",
		"anthropic": "[{\"type\":\"new\",\"x\":\"\x85\"}]",
		"gemini":    "{\"parts\":[{\"x\":\"\x85\"}]}",
	} {
		p := protocols[name]
		sent := ""
		server := conformance.Canned{Body: strings.Replace(p.answer, "REPLY", reply, 1), Sent: func(body string) { sent = body }}
		m, req := p.model(t, server), &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("u")}}}
		resp, err := m.Generate(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		req.Messages = append(req.Messages, resp.Message, req.Messages[0])
		if _, err := m.Generate(t.Context(), req); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !utf8.Valid(resp.Raw) || !utf8.ValidString(sent) || !strings.Contains(sent, "\uFFFD") {
			t.Errorf("%s: kept %q and sent %q, want both with U+FFFD", name, resp.Raw, sent)
		}
	}
}

func FuzzReplies(f *testing.F) {
	for _, reply := range []string{
		`{"content":["x"],"tool_calls":[{"id":0,"function":{"name":1,"arguments":{}}}],"extra":{"parts":[{}]}}`, `[{"type":"text","text":1},{"type":"tool_use","id":{}}]`,
		`{"parts":[{"functionCall":{"id":1,"args":"x"}},5,null]}`, `[{"type":"function_call","call_id":[],"name":{}}]`, `{"role":"assistant","content":"x","extra":{"parts":[{"type":"call"}]}}`,
	} {
		f.Add(reply)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		if !json.Valid([]byte(reply)) {
			return
		}
		for name, p := range protocols {
			_, resp, err := p.heard(t, strings.Replace(p.answer, "REPLY", reply, 1))
			if err != nil {
				t.Errorf("%s: %s: %v (%v)", name, reply, err, fault.KindOf(err))
				continue
			}
			if resp.Usage.Input != 1000 || resp.Usage.Output != 10 {
				t.Errorf("%s: %s: %+v", name, reply, resp.Usage)
			}
			if _, err := json.Marshal(resp.Message); err != nil {
				t.Errorf("%s: %s: the trajectory: %v", name, reply, err)
			}
		}
	})
}
