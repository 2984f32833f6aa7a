package responses_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/responses"
	"batch.example/batch/vocab"
)

const planted = "sk-planted-0123456789/abc+def"

// server gives every request the same answer, and keeps the requests.
type server struct {
	conformance.Canned
	bodies []string
}

type reply = conformance.Canned

func serve(r reply) *server {
	s := &server{Canned: r}
	s.Sent = func(body string) { s.bodies = append(s.bodies, body) }
	return s
}

func newModel(t testing.TB, s *server, kwargs map[string]any) *responses.Model {
	t.Helper()
	m, err := responses.New(endpoint.Config{Model: "gpt-5", BaseURL: "http://model.test/v1", HTTP: s.Client(), APIKey: planted, Kwargs: kwargs})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(messages ...llm.Message) *llm.Request {
	return &llm.Request{Messages: append([]llm.Message{
		{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("hi <b> \u00e9")},
	}, messages...)}
}

func bashTool() llm.Tool {
	return llm.Tool{Name: "bash", Description: "run", Parameters: json.RawMessage(`{"type":"object"}`)}
}

// items are an answer's items, whose members must all be sent back unchanged.
var items = []string{
	`{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"I look."},{"type":"summary_text","text":"I see <x>."}],"encrypted_content":"gAAA+/=","status":null}`,
	`{"id":"ws_1","type":"web_search_call","status":"completed","n":12345678901234567890}`,
	`{"id":"msg_1","type":"message","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Now ","annotations":[{"a":1}],"logprobs":[]},{"type":"output_text","text":"<ls>","annotations":[]}]}`,
	`{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"bash","arguments":"{\"command\": \"ls\"}"}`,
	`{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"gBBB"}`,
	`{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_2","name":"bash","arguments":"{"}`,
}

func whole(items ...string) string {
	return `{"id":"resp_1","object":"response","status":"completed","model":"gpt-5-2025-08-07","error":null,"incomplete_details":null,` +
		`"output":[` + strings.Join(items, ",") + `],"service_tier":"default","usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":40,` +
		`"cache_write_tokens":5},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":12},"total_tokens":120}}`
}

// results returns the results of the tool calls with these ids.
func results(ids ...string) (list []llm.Message) {
	for _, id := range ids {
		list = append(list, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: id, Parts: llm.Say("out of " + id)}}})
	}
	return list
}

func TestAnAnswerIsRead(t *testing.T) {
	s := serve(reply{Body: whole(items...)})
	m, err := responses.New(endpoint.Config{
		Model: "gpt-5", BaseURL: "http://model.test/v1", HTTP: s.Client(), APIKey: planted,
		Prices: price.Table{"gpt-5": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1, CachedInput: 0.5, Output: 2}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := m.Generate(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	kept := func(i int) llm.Opaque { return llm.Opaque{Provider: "openai", Data: items[i]} }
	want := &llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.Reasoning{Text: "I look.\n\nI see <x>.", Opaque: kept(0)},
			llm.Reasoning{Opaque: kept(1)},
			llm.Text{Text: "Now <ls>", Opaque: kept(2)},
			llm.ToolCall{ID: "call_1", Name: "bash", Arguments: `{"command": "ls"}`, Opaque: kept(3)},
			llm.Reasoning{Opaque: kept(4)},
			llm.ToolCall{ID: "call_2", Name: "bash", Arguments: "{", Opaque: kept(5)},
		}},
		FinishReason: "tool_calls", Usage: vocab.Usage{Input: 100, Cached: 40, CacheWrite: 5, Output: 20, Reasoning: 12},
		Service: "default", Cost: 60 + 20 + 40, Priced: true, Model: "gpt-5-2025-08-07", Raw: json.RawMessage(whole(items...)),
	}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

// reread returns a message after it was written to and read from a journal, as a resumed run reads it.
func reread(t *testing.T, m llm.Message) (read llm.Message) {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestItemsGoBackVerbatim(t *testing.T) {
	s := serve(reply{Body: whole(items...)})
	m := newModel(t, s, map[string]any{"parallel_tool_calls": true})
	req := ask()
	req.Tools = []llm.Tool{bashTool()}
	resp, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	first := `{"include":["reasoning.encrypted_content"],"model":"gpt-5","parallel_tool_calls":true,"store":false,` +
		`"tools":[{"type":"function","name":"bash","description":"run","parameters":{"type":"object"},"strict":false}],"input":[` +
		`{"type":"message","role":"system","content":"s"},{"type":"message","role":"user","content":"hi <b> ` + "\u00e9" + `"}`
	if s.bodies[0] != first+"]}" {
		t.Errorf("got  %s\nwant %s", s.bodies[0], first+"]}")
	}
	want := first + "," + strings.Join(items, ",") +
		`,{"type":"function_call_output","call_id":"call_1","output":"out of call_1"},{"type":"function_call_output","call_id":"call_2","output":"out of call_2"}]}`
	for name, answered := range map[string]llm.Message{"at once": resp.Message, "resumed": reread(t, resp.Message)} {
		next := *req
		next.Messages = append(ask().Messages, append([]llm.Message{answered}, results("call_1", "call_2")...)...)
		if _, err := m.Generate(t.Context(), &next); err != nil {
			t.Fatal(err)
		}
		if got := s.bodies[len(s.bodies)-1]; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestACallWithAnotherIDIsSentWithIt(t *testing.T) {
	s := serve(reply{Body: whole(items[3])})
	m := newModel(t, s, nil)
	resp, err := m.Generate(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	own := resp.Message.WithToolCallIDs([]string{"mine"})
	if _, err := m.Generate(t.Context(), ask(append([]llm.Message{own}, results("mine")...)...)); err != nil {
		t.Fatal(err)
	}
	want := `{"arguments":"{\"command\": \"ls\"}","call_id":"mine","id":"fc_1","name":"bash","status":"completed","type":"function_call"},` +
		`{"type":"function_call_output","call_id":"mine","output":"out of mine"}]}`
	if got := s.bodies[1]; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want it to end in %s", got, want)
	}
}

func TestReasoningThatAServerWouldRefuseIsLeftOut(t *testing.T) {
	const stored = `{"id":"rs_9","type":"reasoning","summary":[]}`
	const text = `{"id":"msg_9","type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`
	const open = `{"id":"rs_8","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`
	for name, tc := range map[string]struct {
		kwargs map[string]any
		items  []string
		want   string
	}{
		"that is only on the server": {nil, []string{stored, text}, text},
		"that the server keeps":      {map[string]any{"store": true}, []string{stored, text}, stored + "," + text},
		"that is readable":           {nil, []string{open, text}, open + "," + text},
		"that leads to nothing":      {nil, []string{items[0], text, items[4]}, items[0] + "," + text},
		"alone":                      {nil, []string{items[0]}, ""},
	} {
		s := serve(reply{Body: whole(tc.items...)})
		m := newModel(t, s, tc.kwargs)
		resp, err := m.Generate(t.Context(), ask())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Generate(t.Context(), ask(resp.Message)); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSuffix(s.bodies[0], "]}") + "," + tc.want
		if got := strings.TrimSuffix(s.bodies[1], "]}"); got != strings.TrimSuffix(want, ",") {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestPartsOfOtherOriginAreSent(t *testing.T) {
	s := serve(reply{Body: whole()})
	m := newModel(t, s, nil)
	image := llm.Image{MediaType: "image/png", Data: []byte("png")}
	other := llm.Opaque{Provider: "anthropic", Data: "{}"}
	_, err := m.Generate(t.Context(), ask(
		llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "see"}, image}},
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.Reasoning{Text: "hidden", Opaque: other}, llm.Text{Text: "ok", Opaque: other}, llm.ToolCall{ID: "a", Name: "bash", Arguments: "", Opaque: other},
		}},
		llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "a", Parts: []llm.Part{image}}}},
		llm.Message{Role: llm.RoleAssistant},
	))
	if err != nil {
		t.Fatal(err)
	}
	const picture = `{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}`
	want := `,{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},` + picture + `]},` +
		`{"type":"message","role":"assistant","content":"ok"},{"type":"function_call","call_id":"a","name":"bash","arguments":""},` +
		`{"type":"function_call_output","call_id":"a","output":[` + picture + `]}]}`
	if !strings.HasSuffix(s.bodies[0], want) {
		t.Errorf("got %s, want it to end in %s", s.bodies[0], want)
	}
}

func TestKwargsAreThoseOfLiteLLM(t *testing.T) {
	for name, tc := range map[string]struct {
		kwargs string
		want   string // the request up to its input
	}{
		"of chat completions": {
			`{"max_tokens":9,"reasoning_effort":"high","verbosity":"low","n":1,"seed":null,"drop_params":true,"tool_choice":"auto",
			 "response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}}}`,
			`{"include":["reasoning.encrypted_content"],"max_output_tokens":9,"model":"gpt-5","reasoning":{"effort":"high"},"store":false,` +
				`"text":{"format":{"name":"n","schema":{},"type":"json_schema"},"verbosity":"low"},`,
		},
		"of the Responses API": {
			`{"max_output_tokens":8,"max_tokens":9,"reasoning":{"effort":"low","summary":"auto"},"text":{"verbosity":"high"},"service_tier":"flex",
			 "include":["message.output_text.logprobs"],"temperature":1}`,
			`{"include":["message.output_text.logprobs","reasoning.encrypted_content"],"max_output_tokens":8,"model":"gpt-5",` +
				`"reasoning":{"effort":"low","summary":"auto"},"service_tier":"flex","store":false,"temperature":1,"text":{"verbosity":"high"},`,
		},
		"effort as an object": {
			`{"reasoning_effort":{"effort":"high","summary":"auto"},"reasoning":{"summary":"detailed"},"store":true,"extra_body":{"top_k":5}}`,
			`{"model":"gpt-5","reasoning":{"effort":"high","summary":"detailed"},"store":true,"top_k":5,`,
		},
		"nothing included": {`{"include":[]}`, `{"include":[],"model":"gpt-5","store":false,`},
	} {
		s := serve(reply{Body: whole()})
		var kwargs map[string]any
		if err := json.Unmarshal([]byte(tc.kwargs), &kwargs); err != nil {
			t.Fatal(err)
		}
		if _, err := newModel(t, s, kwargs).Generate(t.Context(), ask()); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(s.bodies[0], `"input":`); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, tc.want)
		}
	}
}

func TestWhatOpenAIDoesNotTakeIsRefusedOrDropped(t *testing.T) {
	for name, tc := range map[string]struct {
		model  string
		kwargs map[string]any
		want   string // in the error
	}{
		"an unknown member":         {"gpt-5", map[string]any{"seed": 1}, "model_kwargs.seed: OpenAI does not take it"},
		"chat's logprobs":           {"gpt-4.1", map[string]any{"logprobs": true}, "model_kwargs.logprobs"},
		"a temperature":             {"gpt-5-mini", map[string]any{"temperature": 0.0}, "model_kwargs.temperature"},
		"while it reasons":          {"gpt-5.2", map[string]any{"temperature": 0.0, "reasoning_effort": "low"}, "model_kwargs.temperature"},
		"a conversation":            {"gpt-5", map[string]any{"previous_response_id": "resp_1"}, "previous_response_id: the run sends the whole conversation"},
		"waiting":                   {"gpt-5", map[string]any{"background": true}, "background: the run"},
		"an effort as a number":     {"gpt-5", map[string]any{"reasoning_effort": 3}, "reasoning_effort: expected a word"},
		"a text as a string":        {"gpt-5", map[string]any{"text": "low"}, "text: expected a mapping"},
		"while it does not reason":  {"gpt-5.2", map[string]any{"temperature": 0.0}, ""},
		"a model without reasoning": {"gpt-4.1", map[string]any{"temperature": 0.0, "top_p": 0.5}, ""},
		"members without a value":   {"gpt-5", map[string]any{"seed": nil, "background": false}, ""},
	} {
		cfg := endpoint.Config{Model: tc.model, APIKey: planted, Kwargs: tc.kwargs}
		_, err := responses.New(cfg)
		if tc.want == "" && err != nil || tc.want != "" && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	cfg := endpoint.Config{Model: "gpt-5", APIKey: planted, Kwargs: map[string]any{"seed": 1, "temperature": 0, "drop_params": true}}
	if _, err := responses.New(cfg); err != nil {
		t.Error(err)
	}
}

func TestWhyAnAnswerEnded(t *testing.T) {
	const text = `{"type":"message","content":[{"type":"refusal","refusal":"I will not."}]}`
	for name, tc := range map[string]struct {
		body     string
		reason   string
		text     string
		filtered bool
	}{
		"a reply":          {whole(text), "stop", "I will not.", false},
		"calls":            {whole(items[3]), "tool_calls", "", false},
		"cut off":          {`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + items[0] + `]}`, "length", "", false},
		"filtered call":    {`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[{"type":"function_call","call_id":"a","name":"bash","arguments":"{","status":"incomplete"}]}`, "content_filter", "", false},
		"filtered":         {`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, "content_filter", "", true},
		"without a status": {`{"output":[` + text + `]}`, "stop", "I will not.", false},
	} {
		resp, err := newModel(t, serve(reply{Body: tc.body}), nil).Generate(t.Context(), ask())
		if odd, ok := errors.AsType[*llm.Lasting](err); ok && odd.Reply != nil { // it is passed on in the end
			resp, err = odd.Reply, nil
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if resp.FinishReason != tc.reason || resp.Message.Text() != tc.text || resp.Filtered() != tc.filtered {
			t.Errorf("%s: %q, %q, filtered %v; want %q, %q, filtered %v",
				name, resp.FinishReason, resp.Message.Text(), resp.Filtered(), tc.reason, tc.text, tc.filtered)
		}
	}
}

// OpenAI counts reasoning with the output, gateways to Gemini do not.
func TestReasoningIsOutput(t *testing.T) {
	for usage, want := range map[string]vocab.Usage{
		`{"input_tokens":21,"output_tokens":90,"total_tokens":111,"output_tokens_details":{"reasoning_tokens":60}}`: {Input: 21, Output: 90, Reasoning: 60},
		`{"input_tokens":21,"output_tokens":0,"total_tokens":81,"output_tokens_details":{"reasoning_tokens":60}}`:   {Input: 21, Output: 60, Reasoning: 60},
	} {
		m := newModel(t, serve(reply{Body: `{"status":"completed","output":[],"usage":` + usage + `}`}), nil)
		if resp, err := m.Generate(t.Context(), ask()); err != nil || resp.Usage != want {
			t.Errorf("%s: got %+v, %v; want %+v", usage, resp, err, want)
		}
	}
}

// Failures that come with status 200, as an answer and in a stream.
func TestFailuresInsideAnAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		err  string
		kind fault.Kind
		is   error
		lost int
		rate bool
	}{
		"the server":       {`{"code":"server_error","message":"oops sk-planted-0123456789/abc+def"}`, fault.Transient, nil, 1, false},
		"the rate":         {`{"code":"rate_limit_exceeded","message":"slow down"}`, fault.Transient, nil, 0, true},
		"the account":      {`{"code":"insufficient_quota","message":"pay"}`, fault.Host, nil, 0, false},
		"the policy":       {`{"code":"invalid_prompt","message":"no"}`, fault.Instance, llm.ErrContentPolicy, 0, false},
		"another policy":   {`{"code":"bio_policy","message":"no"}`, fault.Instance, llm.ErrContentPolicy, 0, false},
		"the length":       {`{"code":"context_length_exceeded","message":"too much"}`, fault.Instance, llm.ErrContextLength, 0, false},
		"the request":      {`{"type":"invalid_request_error","message":"no such item","code":null}`, fault.Instance, nil, 0, false},
		"vLLM, the length": {`{"message":"This model's maximum context length is 8192 tokens","type":"BadRequestError","code":400}`, fault.Instance, llm.ErrContextLength, 0, false},
		"vLLM, the server": {`{"message":"oops","type":"InternalServerError","code":500}`, fault.Transient, nil, 1, false},
		"words":            {`"busy"`, fault.Transient, nil, 1, false},
		"an unknown error": {`{"message":"hm"}`, fault.Transient, nil, 1, false},
	} {
		for form, r := range map[string]reply{
			"answer":  {Body: `{"status":"failed","output":[],"error":` + tc.err + `}`},
			"stream":  {Kind: "text/event-stream", Body: "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":" + tc.err + "}}\n\n"},
			"event":   {Kind: "text/event-stream", Body: "event: error\ndata: {\"type\":\"error\",\"error\":" + tc.err + "}\n\n"},
			"no type": {Kind: "text/event-stream", Body: "data: {\"error\":" + tc.err + "}\n\n"},
		} {
			m := newModel(t, serve(r), map[string]any{"stream": form != "answer"})
			req := ask(llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("before")})
			_, err := m.Generate(t.Context(), req)
			_, limited := errors.AsType[*llm.RateLimited](err)
			if fault.KindOf(err) != tc.kind || tc.is != nil && !errors.Is(err, tc.is) || llm.Lost(err) != tc.lost || limited != tc.rate {
				t.Errorf("%s, %s: %v (%v, %d lost, limited %v), want %v, %v, %d lost, limited %v",
					name, form, err, fault.KindOf(err), llm.Lost(err), limited, tc.kind, tc.is, tc.lost, tc.rate)
			}
			if err != nil && strings.Contains(err.Error(), planted) {
				t.Errorf("%s, %s: the key is in %v", name, form, err)
			}
		}
	}
	const flat = "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\",\"param\":null,\"sequence_number\":3}\n\n"
	m := newModel(t, serve(reply{Kind: "text/event-stream", Body: flat}), map[string]any{"stream": true})
	if _, err := m.Generate(t.Context(), ask()); llm.Lost(err) != 0 || !strings.Contains(err.Error(), "slow down") {
		t.Errorf("got %v, want the event's message, unpaid", err)
	}
}

// The text before a failure is charged, whatever the failure is.
func TestAFailureAfterAPartOfTheAnswerMayBeCharged(t *testing.T) {
	const begun = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`
	const limit = `{"code":"rate_limit_exceeded","message":"slow down"}`
	for name, r := range map[string]reply{
		"an event":             events(begun, `{"type":"error","error":`+limit+`}`),
		"the end":              events(begun, `{"type":"response.failed","response":{"status":"failed","error":`+limit+`}}`),
		"an answer with usage": {Body: `{"status":"failed","output":[],"usage":{"input_tokens":9,"output_tokens":3},"error":` + limit + `}`},
		"an answer with items": {Body: `{"status":"failed","output":[{"type":"message"}],"error":` + limit + `}`},
	} {
		m := newModel(t, serve(r), map[string]any{"stream": r.Kind != ""})
		_, err := m.Generate(t.Context(), ask())
		if _, limited := errors.AsType[*llm.RateLimited](err); !limited || llm.Lost(err) != 1 {
			t.Errorf("%s: %v, %d lost; want a rate limit after which a call is lost", name, err, llm.Lost(err))
		}
	}
}

func events(list ...string) reply {
	r := reply{Kind: "text/event-stream; charset=utf-8"}
	for _, e := range list {
		r.Body += "data: " + e + "\n\n"
	}
	return r
}

func TestAStreamedAnswerIsAsTheWholeOne(t *testing.T) {
	var done []string
	for i := range items {
		j := len(items) - 1 - i // they are ordered by their index
		done = append(done, `{"type":"response.output_item.done","output_index":`+string(rune('0'+j))+`,"item":`+items[j]+`}`)
	}
	delta := `{"type":"response.output_text.delta","delta":"x"}`
	last := `{"type":"response.completed","response":` + whole(items...) + `}`
	bare := `{"type":"response.completed","response":` + whole() + `}`
	want, err := newModel(t, serve(reply{Body: whole(items...)}), nil).Generate(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]reply{
		"with all in the last event":  events(`{"type":"response.created","response":{}}`, delta, done[0], last),
		"with nothing in it":          events(append(append([]string{delta}, done...), bare)...),
		"with a mark of the end":      events(last, "[DONE]"),
		"with the type on its line":   {Kind: "text/event-stream", Body: "event: response.completed\ndata: {\"response\":" + whole(items...) + "}\n\n"},
		"that is not a stream at all": {Body: whole(items...)},
	} {
		s := serve(r)
		got, err := newModel(t, s, map[string]any{"stream": true}).Generate(t.Context(), ask())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var raw [2]any
		if json.Unmarshal(want.Raw, &raw[0]) != nil || json.Unmarshal(got.Raw, &raw[1]) != nil || !cmp.Equal(raw[0], raw[1]) {
			t.Errorf("%s: raw is %s, want %s", name, got.Raw, want.Raw)
		}
		got.Raw = want.Raw
		if name == "with nothing in it" {
			continue // written again, without the spaces
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-whole +streamed):\n%s", name, diff)
		}
		if !strings.Contains(s.bodies[0], `"stream":true`) {
			t.Errorf("%s: no stream is asked for: %s", name, s.bodies[0])
		}
	}
}
