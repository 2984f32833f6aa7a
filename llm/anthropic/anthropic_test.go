package anthropic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

const planted = "sk-ant-planted-0123456789"

// fast retries with almost no wait.
var fast = llm.RetryPolicy{Tries: 3, Base: time.Millisecond, Max: time.Millisecond}

func compose(t testing.TB, cfg endpoint.Config) llm.Model {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "claude-sonnet-4-5"
	}
	cfg.APIKey = planted
	m, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return llm.Calls{}.Compose(m)
}

// transport answers requests without a network.
type transport func(*http.Request) *http.Response

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r), nil }

func client(t transport) *http.Client { return &http.Client{Transport: t} }

// events answers with a stream of the given data, named by their types.
func events(data ...string) *http.Response {
	var b strings.Builder
	for _, d := range data {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(d), &e)
		b.WriteString("event: " + e.Type + "\ndata: " + d + "\n\n")
	}
	return stream(b.String())
}

func stream(text string) *http.Response { return body("text/event-stream; charset=utf-8", text) }

func body(kind, text string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(text))}
}

func ask(messages ...llm.Message) *llm.Request {
	if len(messages) == 0 {
		messages = []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("hi <b> \u00e9")}}
	}
	return &llm.Request{Messages: messages, Tools: []llm.Tool{{Name: "bash", Parameters: json.RawMessage(`{"type":"object"}`)}}}
}

// ways are the two in which an answer can come.
var ways = map[string]map[string]any{"streamed": nil, "at once": {"stream": false}}

func TestAConversationGoesBackUnchanged(t *testing.T) {
	for name, kwargs := range ways {
		t.Run(name, func(t *testing.T) {
			s := stub.NewServer(t, stub.Answer{
				Parts: []llm.Part{
					llm.Reasoning{Text: "thought <1>\n\"\u00e9\U0001F600\""},
					llm.Reasoning{},
					llm.Text{Text: "words & \u2028"},
					llm.ToolCall{Name: "bash", Arguments: `{"command": "a\nb",  "n": 1.0}`},
					llm.ToolCall{Name: "bash", Arguments: `{}`},
				},
			})
			m := compose(t, endpoint.Config{BaseURL: s.Base(stub.Anthropic), Kwargs: kwargs, CacheControl: endpoint.CacheControlEnd, Retry: fast})
			req := ask()
			req.Memo = &llm.Memo{}
			for range 3 {
				resp, err := m.Generate(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				req.Messages = append(req.Messages, resp.Message)
				for _, c := range resp.Message.ToolCalls() {
					req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: c.ID, Parts: llm.Say("out")}}})
				}
			}
			// After a restart only the journal is left.
			journal, err := json.Marshal(req.Messages)
			if err != nil {
				t.Fatal(err)
			}
			again := ask()
			if err := json.Unmarshal(journal, &again.Messages); err != nil {
				t.Fatal(err)
			}
			for _, r := range []*llm.Request{req, again} {
				if _, err := compose(t, endpoint.Config{BaseURL: s.Base(stub.Anthropic), Kwargs: kwargs, CacheControl: endpoint.CacheControlEnd}).Generate(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			all := s.Requests()
			if n := len(all); n != 5 || !bytes.Equal(all[n-1].Body, all[n-2].Body) {
				t.Errorf("%d requests; the last two, before and after the journal:\n%s\n%s\nwant 5, and no difference", n, all[n-2].Body, all[n-1].Body)
			}
			if want := `"input":{"command": "a\nb",  "n": 1.0}`; !strings.Contains(string(all[4].Body), want) && name == "streamed" {
				t.Errorf("sent %s, want %s as the model wrote it", all[4].Body, want)
			}
		})
	}
}

func TestBothFormsOfAnAnswerAreTheSame(t *testing.T) {
	a := stub.Answer{
		Parts:  []llm.Part{llm.Reasoning{Text: "t"}, llm.Reasoning{}, llm.Text{Text: "words"}, llm.ToolCall{ID: "toolu_1", Name: "bash", Arguments: `{"command":"ls"}`}},
		Usage:  vocab.Usage{Input: 100, Cached: 40, CacheWrite: 20, CacheHour: 5, Output: 10, Reasoning: 4},
		Model:  "claude-sonnet-4-5-20250929",
		Header: map[string]string{"Anthropic-Ratelimit-Requests-Limit": "50", "Anthropic-Ratelimit-Requests-Remaining": "49"},
	}
	prices := price.Table{"claude-sonnet-4-5": {Price: &vocab.Price{Rates: vocab.Rates{Input: 3, CachedInput: 0.3, CacheWrite: 3.75, CacheHour: 6, Output: 15}}}}
	var raw []map[string]any
	for name, kwargs := range ways {
		s := stub.NewServer(t, a)
		resp, err := compose(t, endpoint.Config{BaseURL: s.Base(stub.Anthropic), Kwargs: kwargs, Prices: prices}).Generate(t.Context(), ask())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if resp.Usage != a.Usage || resp.FinishReason != "tool_use" || resp.Model != a.Model || resp.Service != "standard" ||
			resp.Message.Text() != "words" || resp.Message.ToolCalls()[0].Arguments != `{"command":"ls"}` || len(resp.Message.Parts) != 4 {
			t.Errorf("%s: %+v, want what the server answered", name, resp)
		}
		if want := 40*3 + 40*0.3 + 15*3.75 + 5*6 + 10*15; !resp.Priced || resp.Cost != want {
			t.Errorf("%s: cost %v (%v), want %v", name, resp.Cost, resp.Priced, want)
		}
		if resp.Rate == nil || resp.Rate.Requests.Limit != 50 {
			t.Errorf("%s: rate %+v, want a limit of 50 requests", name, resp.Rate)
		}
		var members map[string]any
		if err := json.Unmarshal(resp.Raw, &members); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		raw = append(raw, members)
	}
	if d := cmp.Diff(raw[0], raw[1]); d != "" {
		t.Errorf("the JSON of the forms differs: %s", d)
	}
}

const (
	start = `{"type":"message_start","message":{"type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1},"new":1}}`
	stop  = `{"type":"message_stop"}`
)

func ended(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"input_tokens":null,"output_tokens":9},"context_management":{"applied_edits":[]}}`
}

func block(i, b string, deltas ...string) (list []string) {
	list = append(list, `{"type":"content_block_start","index":`+i+`,"content_block":`+b+`}`)
	for _, d := range deltas {
		list = append(list, `{"type":"content_block_delta","index":`+i+`,"delta":`+d+`}`)
	}
	return append(list, `{"type":"content_block_stop","index":`+i+`}`)
}

func TestAStreamIsReadAsTheMessageThatItTells(t *testing.T) {
	sealed := func(data string) llm.Opaque { return llm.Opaque{Provider: "anthropic", Data: data} }
	for name, tc := range map[string]struct {
		reason  string
		blocks  []string
		content string // of Raw
		parts   []llm.Part
	}{
		"texts": {
			"end_turn", slices.Concat(block("0", `{"type":"text","text":""}`, `{"type":"text_delta","text":"a\ud83d"}`, `{"type":"text_delta","text":"\ude00<"}`), block("1", `{"type":"text","text":""}`)),
			`[{"type":"text","text":"a😀<"},{"type":"text","text":""}]`,
			[]llm.Part{llm.Text{Text: "a😀<"}},
		},
		"citations": {
			"end_turn", block("0", `{"type":"text","text":"","citations":[]}`, `{"type":"citations_delta","citation":{"n":1}}`, `{"type":"text_delta","text":"a"}`, `{"type":"citations_delta","citation":{"n":2}}`),
			`[{"type":"text","text":"a","citations":[{"n":1},{"n":2}]}]`,
			[]llm.Part{llm.Text{Text: "a", Opaque: sealed(`{"citations":[{"n":1},{"n":2}]}`)}},
		},
		"thinking": {
			"end_turn", slices.Concat(block("0", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"t"}`, `{"type":"thinking_delta","thinking":"u"}`, `{"type":"signature_delta","signature":"c2ln"}`),
				block("1", `{"type":"redacted_thinking","data":"ZA=="}`)),
			`[{"type":"thinking","thinking":"tu","signature":"c2ln"},{"type":"redacted_thinking","data":"ZA=="}]`,
			[]llm.Part{llm.Reasoning{Text: "tu", Opaque: sealed(`{"signature":"c2ln","type":"thinking"}`)}, llm.Reasoning{Opaque: sealed(`{"data":"ZA==","type":"redacted_thinking"}`)}},
		},
		"thinking that was cut": {
			"max_tokens", block("0", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"t"}`),
			`[{"type":"thinking","thinking":"t","signature":""}]`,
			[]llm.Part{llm.Reasoning{Text: "t"}},
		},
		"tools": {
			"tool_use", slices.Concat(block("0", `{"type":"tool_use","id":"1","name":"bash","input":{},"caller":{"type":"direct"}}`, `{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":"{\"a\":"}`, `{"type":"input_json_delta","partial_json":" 1}"}`),
				block("1", `{"type":"tool_use","id":"2","name":"bash","input":{}}`)),
			`[{"type":"tool_use","id":"1","name":"bash","input":{"a":1},"caller":{"type":"direct"}},{"type":"tool_use","id":"2","name":"bash","input":{}}]`,
			[]llm.Part{llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"a": 1}`, Opaque: sealed(`{"caller":{"type":"direct"}}`)}, llm.ToolCall{ID: "2", Name: "bash", Arguments: `{}`}},
		},
		"input that is cut within a letter": {
			"tool_use", block("0", `{"type":"tool_use","id":"1","name":"bash","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"a\":\"\ud83d"}`, `{"type":"input_json_delta","partial_json":"\ude00\"}"}`),
			`[{"type":"tool_use","id":"1","name":"bash","input":{"a":"😀"}}]`,
			[]llm.Part{llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"a":"😀"}`}},
		},
		"input that is not JSON": {
			"max_tokens", block("0", `{"type":"tool_use","id":"1","name":"bash","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"a\":"}`),
			`[{"type":"tool_use","id":"1","name":"bash","input":{"INVALID_JSON":"{\"a\":"}}]`,
			[]llm.Part{llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"a":`}},
		},
		"an unknown block": {
			"end_turn", block("0", `{"type":"compaction","content":null,"x":1}`, `{"type":"compaction_delta","content":"a"}`, `{"type":"compaction_delta","content":"b","x":{"y":2},"z":null}`),
			`[{"type":"compaction","content":"ab","x":{"y":2}}]`,
			[]llm.Part{llm.Reasoning{Opaque: sealed(`{"content":"ab","type":"compaction","x":{"y":2}}`)}},
		},
		"a refusal": {
			"refusal", slices.Concat(block("0", `{"type":"text","text":"so"}`), block("1", `{"type":"tool_use","id":"1","name":"bash","input":{}}`)),
			`[{"type":"text","text":"so"},{"type":"tool_use","id":"1","name":"bash","input":{}}]`,
			[]llm.Part{llm.Reasoning{Text: "so"}, llm.Reasoning{Text: "bash {}"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			list := slices.Concat([]string{start, `{"type":"ping"}`}, tc.blocks, []string{`{"type":"new_event","x":[]}`, ended(tc.reason), stop})
			m := compose(t, endpoint.Config{BaseURL: "http://model.test", HTTP: client(func(*http.Request) *http.Response { return events(list...) })})
			resp, err := m.Generate(t.Context(), ask())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.parts, resp.Message.Parts); d != "" {
				t.Errorf("parts -want +got: %s", d)
			}
			var want, got any
			whole := `{"type":"message","role":"assistant","model":"m","content":` + tc.content + `,"stop_reason":"` + tc.reason + `","usage":{"input_tokens":3,"output_tokens":9},"new":1,"context_management":{"applied_edits":[]}}`
			if err := errors.Join(json.Unmarshal([]byte(whole), &want), json.Unmarshal(resp.Raw, &got)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("JSON -want +got: %s", d)
			}
			if resp.Filtered() != (tc.reason == "refusal") {
				t.Errorf("filtered %v, want %v", resp.Filtered(), tc.reason == "refusal")
			}
		})
	}
}

// Hand-computed: 100 of input at 1 dollar, 200 of it read from the cache at 0.1, 10 of output
// at 2 dollars a token.
func TestCostsFollowWhatTheUsageSays(t *testing.T) {
	rates := price.Table{"claude-opus-4-6": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1, CachedInput: 0.1, Output: 2}}}}
	rates["claude-opus-4-5"] = rates["claude-opus-4-6"]
	const counts = `"input_tokens":100,"cache_read_input_tokens":200`
	for name, tc := range map[string]struct {
		model, start, end string
		want              float64
	}{
		"standard":                    {"claude-opus-4-6", counts, `"output_tokens":10`, 140},
		"anywhere":                    {"claude-opus-4-6", counts + `,"inference_geo":"global"`, `"output_tokens":10`, 140},
		"in the US alone":             {"claude-opus-4-6", counts + `,"inference_geo":"us"`, `"output_tokens":10`, 154},
		"an older model in the US":    {"claude-opus-4-5", counts + `,"inference_geo":"us"`, `"output_tokens":10`, 140},
		"counts that come at the end": {"claude-opus-4-6", `"input_tokens":0`, counts + `,"output_tokens":10`, 140},
		"counts repeated as 0":        {"claude-opus-4-6", counts, `"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":10`, 140},
		// The API counts apart what it needed to summarize the conversation, 50 * 1 + 5 * 2 here.
		"a summary before the answer":  {"claude-opus-4-6", counts, `"output_tokens":10,"iterations":[{"type":"compaction","input_tokens":50,"output_tokens":5},{"type":"message","input_tokens":100,"cache_read_input_tokens":200,"output_tokens":10}]`, 200},
		"counts that grow to the last": {"claude-opus-4-6", `"input_tokens":7,"output_tokens":1`, counts + `,"output_tokens":10`, 140},
	} {
		first := `{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":{` + tc.start + `}}}`
		last := `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{` + tc.end + `}}`
		m := compose(t, endpoint.Config{Model: tc.model, BaseURL: "http://model.test", Prices: rates, HTTP: client(func(*http.Request) *http.Response {
			return events(slices.Concat([]string{first}, block("0", `{"type":"text","text":"a"}`), []string{last, stop})...)
		})})
		resp, err := m.Generate(t.Context(), ask())
		if err != nil || !resp.Priced || math.Abs(resp.Cost-tc.want) > 1e-9 {
			t.Errorf("%s: %+v, %v; want a cost of %v", name, resp, err, tc.want)
		}
	}
}

func TestAPausedTurnIsContinued(t *testing.T) {
	var sent []string
	answers := []*http.Response{
		events(slices.Concat([]string{start}, block("0", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), []string{ended("pause_turn"), stop})...),
		events(slices.Concat([]string{start}, block("0", `{"type":"text","text":"done"}`), []string{ended("end_turn"), stop})...),
	}
	m := compose(t, endpoint.Config{
		BaseURL: "http://model.test", Prices: price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1, Output: 2}}}},
		HTTP: client(func(r *http.Request) *http.Response {
			text, _ := io.ReadAll(r.Body)
			sent = append(sent, string(text))
			return answers[len(sent)-1]
		}),
	})
	resp, err := m.Generate(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"role":"assistant","content":[{"id":"s","input":{},"name":"web_search","type":"server_tool_use"}]}]}`; len(sent) != 2 || !strings.HasSuffix(sent[1], want) {
		t.Errorf("sent %q, want the answer at the end of the second request", sent)
	}
	if resp.Message.Text() != "done" || len(resp.Message.Parts) != 2 || resp.Cost != 2*(3+2*9) || resp.Usage.Output != 18 || strings.Count(string(resp.Raw), `"type":"server_tool_use"`) != 1 {
		t.Errorf("got %+v, want both parts and what both cost", resp)
	}
}

func TestFailuresAreBlamed(t *testing.T) {
	refuse := func(status int, kind, message string) func() *http.Response {
		return func() *http.Response {
			a := body("application/json", `{"type":"error","error":{"type":"`+kind+`","message":"`+message+`"},"request_id":"req_1"}`)
			a.StatusCode = status
			return a
		}
	}
	streamed := func(list ...string) func() *http.Response {
		return func() *http.Response { return events(list...) }
	}
	// LiteLLM's proxy names neither the event nor its type.
	proxied := `{"error":{"message":"litellm.RateLimitError: no deployment available","type":"None","param":"None","code":"429"}}`
	overloaded := `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for name, tc := range map[string]struct {
		answer func() *http.Response
		kind   fault.Kind
		lost   int // of 3 tries
		cause  error
		want   string
	}{
		"bad key":               {refuse(401, "authentication_error", "invalid x-api-key"), fault.Host, 0, nil, "ANTHROPIC_API_KEY"},
		"no credit":             {refuse(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."), fault.Host, 0, nil, "billing"},
		"no credit by its code": {refuse(402, "billing_error", "pay"), fault.Host, 0, nil, "billing"},
		"forbidden":             {refuse(403, "permission_error", "no"), fault.Host, 0, nil, "ANTHROPIC_API_KEY"},
		"no such model":         {refuse(404, "not_found_error", "model: claude-x"), fault.Host, 0, nil, "model name"},
		"a bad request":         {refuse(400, "invalid_request_error", "messages: no"), fault.Instance, 0, nil, "messages: no"},
		"too long":              {refuse(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), fault.Instance, 0, llm.ErrContextLength, "208310"},
		"too long with answer":  {refuse(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"), fault.Instance, 0, llm.ErrContextLength, "188240"},
		"too large":             {refuse(413, "request_too_large", "Request exceeds the maximum size"), fault.Instance, 0, llm.ErrContextLength, "413"},
		"filtered":              {refuse(400, "invalid_request_error", "Output blocked by content filtering policy"), fault.Instance, 0, llm.ErrContentPolicy, "filtering"},
		"rate limit":            {refuse(429, "rate_limit_error", "slow down"), fault.Transient, 0, nil, "slow down"},
		"overloaded":            {refuse(529, "overloaded_error", "Overloaded"), fault.Transient, 0, nil, "Overloaded"},
		"server error":          {refuse(500, "api_error", "oops"), fault.Transient, 0, nil, "oops"},
		"timeout":               {refuse(504, "timeout_error", "slow"), fault.Transient, 3, nil, "slow"},
		"overloaded in a 200":   {refuse(200, "overloaded_error", "Overloaded"), fault.Transient, 0, nil, "Overloaded"},
		"overloaded at once":    {streamed(overloaded), fault.Transient, 0, nil, "Overloaded"},
		"overloaded later":      {streamed(start, overloaded), fault.Transient, 3, nil, "Overloaded"},
		"a proxy's at once":     {streamed(proxied), fault.Transient, 0, nil, "429"},
		"a proxy's later":       {streamed(start, proxied), fault.Transient, 3, nil, "no deployment"},
		"a stream without end":  {streamed(start, `{"type":"ping"}`, ended("end_turn")), fault.Transient, 3, nil, "ended before"},
		"a stream of nothing":   {streamed(), fault.Transient, 3, nil, "no message"},
		"events that are text":  {streamed(start, "{"), fault.Transient, 3, nil, "not JSON"},
		"a lost start":          {streamed(start, block("1", `{}`)[0]), fault.Transient, 3, nil, "not one of the API"},
		"a page":                {func() *http.Response { return body("text/html", "<html>") }, fault.Transient, 3, nil, "not a message"},
		"no content":            {func() *http.Response { return body("application/json", `{}`) }, fault.Transient, 3, nil, "no content"},
	} {
		t.Run(name, func(t *testing.T) {
			m := compose(t, endpoint.Config{BaseURL: "http://model.test", Retry: fast, Proven: true, HTTP: client(func(r *http.Request) *http.Response {
				a := tc.answer()
				a.Request = r
				return a
			})})
			_, err := m.Generate(t.Context(), ask())
			kind := tc.kind
			if strings.HasPrefix(name, "a page") || name == "no content" || name == "a stream of nothing" || name == "events that are text" || name == "a lost start" {
				kind = fault.Host // three wrong addresses in a row
			}
			if fault.KindOf(err) != kind || llm.Lost(err) != tc.lost || !strings.Contains(err.Error()+fault.HintOf(err), tc.want) {
				t.Errorf("%v (%v), %d lost, hint %q; want %v, %d, %q", err, fault.KindOf(err), llm.Lost(err), fault.HintOf(err), kind, tc.lost, tc.want)
			}
			if tc.cause != nil && !errors.Is(err, tc.cause) || tc.cause == nil && (errors.Is(err, llm.ErrContextLength) || errors.Is(err, llm.ErrContentPolicy)) {
				t.Errorf("%v, want the cause %v", err, tc.cause)
			}
		})
	}
}

func TestCutAndSilentServers(t *testing.T) {
	for name, f := range map[string]stub.Fault{"half": stub.Half, "hangup": stub.Hangup} {
		for way, kwargs := range ways {
			s := stub.NewServer(t, stub.Answer{Content: strings.Repeat("x", 9999), Fault: f})
			_, err := compose(t, endpoint.Config{BaseURL: s.Base(stub.Anthropic), Kwargs: kwargs, Retry: llm.RetryPolicy{Tries: 1}}).Generate(t.Context(), ask())
			if fault.KindOf(err) != fault.Transient || llm.Lost(err) != 1 {
				t.Errorf("%s, %s: %v, %d lost; want a Transient fault that may have been charged", name, way, err, llm.Lost(err))
			}
		}
	}
}

func TestPingsKeepAStreamAliveAndSilenceEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			pings int
			ok    bool
		}{"pings": {20, true}, "silence": {0, false}} {
			read, write := io.Pipe()
			go func() {
				_, _ = io.WriteString(write, "data: "+start+"\n\n")
				for range tc.pings {
					time.Sleep(50 * time.Second)
					_, _ = io.WriteString(write, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
				}
				if tc.ok {
					_, _ = io.WriteString(write, "data: "+ended("end_turn")+"\n\ndata: "+stop+"\n\n")
					_ = write.Close()
				}
			}()
			m := compose(t, endpoint.Config{
				BaseURL: "http://model.test", IdleTimeout: time.Minute, Retry: llm.RetryPolicy{Tries: 1},
				HTTP: client(func(r *http.Request) *http.Response {
					a := stream("")
					a.Body = read
					context.AfterFunc(r.Context(), func() { _ = read.CloseWithError(context.Cause(r.Context())) })
					return a
				}),
			})
			_, err := m.Generate(t.Context(), ask())
			if (err == nil) != tc.ok || !tc.ok && !strings.Contains(err.Error(), "stalled") {
				t.Errorf("%s: %v; want no error: %v, otherwise that it stalled", name, err, tc.ok)
			}
			_ = read.Close()
		}
	})
}

// Some proxies keep the connection open after the last event.
func TestAnAnswerIsWholeBeforeItsStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		go func() {
			for _, e := range []string{start, ended("end_turn"), stop} {
				_, _ = io.WriteString(write, "data: "+e+"\n\n")
			}
		}()
		m := compose(t, endpoint.Config{BaseURL: "http://model.test", HTTP: client(func(r *http.Request) *http.Response {
			a := stream("")
			a.Body = read
			context.AfterFunc(r.Context(), func() { _ = read.CloseWithError(context.Cause(r.Context())) })
			return a
		})})
		began := time.Now()
		_, err := m.Generate(t.Context(), ask())
		if waited := time.Since(began); err != nil || waited > time.Second {
			t.Errorf("answered after %v with %v; want at once, no error", waited, err)
		}
	})
}

func TestNothingOfTheEnvironmentIsUsed(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_CUSTOM_HEADERS"} {
		t.Setenv(name, "http://elsewhere.test: x")
	}
	for _, base := range []string{"", "/", "/v1", "/v1/", "/v1/messages"} {
		s := stub.NewServer(t, stub.Text("ok"))
		m := compose(t, endpoint.Config{BaseURL: s.Base(stub.Anthropic) + base, Kwargs: map[string]any{"extra_headers": map[string]any{"anthropic-beta": "b"}}})
		if _, err := m.Generate(t.Context(), ask()); err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		h := s.Requests()[0].Header
		if h.Get("X-Api-Key") != planted || h.Get("Authorization") != "" || h.Get("Anthropic-Beta") != "b" || h.Get("Traceparent") != "" {
			t.Errorf("headers %v, want the key and the beta of the config alone", h)
		}
	}
}

// FuzzAnswer gives the client any answer: it never panics, each error has a kind, is short
// and contains no key, and each reply can be sent back.
func FuzzAnswer(f *testing.F) {
	add := func(streamed bool, list ...string) {
		text, _ := io.ReadAll(events(list...).Body)
		f.Add(uint16(200), streamed, string(text))
	}
	add(true, slices.Concat([]string{start}, block("0", `{"type":"thinking","thinking":null}`, `{"type":"thinking_delta","thinking":"t\ud800"}`, `{"thinking":1}`), []string{ended("max_tokens"), stop})...)
	add(true, slices.Concat([]string{start}, block("0", `{"type":"tool_use","id":1,"input":null}`, `{"type":"input_json_delta","partial_json":"["}`, `{"type":"citations_delta","citation":1}`), []string{ended("pause_turn"), stop})...)
	add(true, start, start)
	f.Add(uint16(200), false, `{"content":[{"type":"text","text":"x"},{"type":"tool_use"},{},null,1],"usage":{"input_tokens":-1},"stop_reason":"refusal"}`)
	f.Add(uint16(200), false, "{\"content\":[{\"\":\"\x85\"}]}")
	f.Add(uint16(529), false, `{"type":"error","error":{"type":"overloaded_error","message":"`+planted+`"}}`)
	f.Fuzz(func(t *testing.T, status uint16, streamed bool, text string) {
		if status < 200 || status > 599 {
			return
		}
		m := compose(t, endpoint.Config{
			BaseURL: "http://model.test", Retry: llm.RetryPolicy{Tries: 1}, HTTP: client(func(r *http.Request) *http.Response {
				a := body("application/json", text)
				if streamed {
					a = stream(text)
				}
				a.StatusCode, a.Request = int(status), r
				return a
			}),
		})
		resp, err := m.Generate(t.Context(), ask())
		if err != nil {
			if fault.KindOf(err) == fault.Unknown || len(err.Error()) > 1000 || strings.Contains(err.Error(), planted) {
				t.Errorf("%d bytes of blame %v: %v; want a kind, at most 1000 bytes, without %q", len(err.Error()), fault.KindOf(err), err, planted)
			}
			return
		}
		journal, err := json.Marshal(resp.Message)
		var again llm.Message
		if err != nil || json.Unmarshal(journal, &again) != nil || !json.Valid(resp.Raw) {
			t.Fatalf("the reply cannot be kept: %v, %s", err, resp.Raw)
		}
		var sent [2]string
		for i, msg := range []llm.Message{resp.Message, again} {
			next := compose(t, endpoint.Config{BaseURL: "http://model.test", HTTP: client(func(r *http.Request) *http.Response {
				text, _ := io.ReadAll(r.Body)
				sent[i] = string(text)
				return events(start, ended("end_turn"), stop)
			})})
			if _, err := next.Generate(t.Context(), ask(append(ask().Messages, msg, ask().Messages[1])...)); err != nil {
				t.Fatal(err)
			}
		}
		if !json.Valid([]byte(sent[0])) || sent[0] != sent[1] {
			t.Errorf("sent %s, and after the journal %s", sent[0], sent[1])
		}
	})
}
