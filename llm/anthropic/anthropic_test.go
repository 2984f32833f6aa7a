package anthropic_test

import (
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
	"batch.example/batch/llm/conformance"
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

// events answers with a stream of the given data, named by their types.
func events(data ...string) conformance.Canned {
	var b strings.Builder
	for _, d := range data {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(d), &e)
		b.WriteString("event: " + e.Type + "\ndata: " + d + "\n\n")
	}
	return conformance.Canned{Kind: "text/event-stream; charset=utf-8", Body: b.String()}
}

func ask(messages ...llm.Message) *llm.Request {
	if len(messages) == 0 {
		messages = []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("hi <b> \u00e9")}}
	}
	return &llm.Request{Messages: messages, Tools: []llm.Tool{{Name: "bash", Parameters: json.RawMessage(`{"type":"object"}`)}}}
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
			m := compose(t, endpoint.Config{BaseURL: "http://model.test", HTTP: events(list...).Client()})
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
	batch := vocab.Price{Rates: vocab.Rates{Input: 0.5, CachedInput: 0.05, Output: 1}}
	rates := price.Table{"claude-opus-4-6": {Price: &vocab.Price{
		Rates: vocab.Rates{Input: 1, CachedInput: 0.1, Output: 2}, Services: map[string]vocab.Price{"batch": batch, "fast": batch},
	}}}
	rates["claude-opus-4-5"] = rates["claude-opus-4-6"]
	const counts = `"input_tokens":100,"cache_read_input_tokens":200`
	for name, tc := range map[string]struct {
		model, start, end string
		want              float64
	}{
		"standard":                     {"claude-opus-4-6", counts, `"output_tokens":10`, 140},
		"a batch":                      {"claude-opus-4-6", counts + `,"service_tier":"batch"`, `"output_tokens":10`, 70},
		"fast":                         {"claude-opus-4-6", counts + `,"service_tier":"standard","speed":"fast"`, `"output_tokens":10`, 70},
		"fast, a gateway says nothing": {"claude-opus-4-6", counts + `,"service_tier":"standard"`, `"output_tokens":10`, 70},
		"fast, refused":                {"claude-opus-4-6", counts + `,"speed":"standard"`, `"output_tokens":10`, 140},
		"anywhere":                     {"claude-opus-4-6", counts + `,"inference_geo":"global"`, `"output_tokens":10`, 140},
		"in the US alone":              {"claude-opus-4-6", counts + `,"inference_geo":"us"`, `"output_tokens":10`, 154},
		"an older model in the US":     {"claude-opus-4-5", counts + `,"inference_geo":"us"`, `"output_tokens":10`, 140},
		"counts that come at the end":  {"claude-opus-4-6", `"input_tokens":0`, counts + `,"output_tokens":10`, 140},
		"counts repeated as 0":         {"claude-opus-4-6", counts, `"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":10`, 140},
		// The API counts the tokens of its summary separately, 50 * 1 + 5 * 2 here.
		"a summary before the answer":  {"claude-opus-4-6", counts, `"output_tokens":10,"iterations":[{"type":"compaction","input_tokens":50,"output_tokens":5},{"type":"message","input_tokens":100,"cache_read_input_tokens":200,"output_tokens":10}]`, 200},
		"counts that grow to the last": {"claude-opus-4-6", `"input_tokens":7,"output_tokens":1`, counts + `,"output_tokens":10`, 140},
	} {
		first := `{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":{` + tc.start + `}}}`
		last := `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{` + tc.end + `}}`
		kwargs := map[string]any{}
		if strings.HasPrefix(name, "fast, ") {
			kwargs["speed"] = "fast"
		}
		answer := events(slices.Concat([]string{first}, block("0", `{"type":"text","text":"a"}`), []string{last, stop})...)
		m := compose(t, endpoint.Config{Model: tc.model, BaseURL: "http://model.test", Prices: rates, Kwargs: kwargs, HTTP: answer.Client()})
		resp, err := m.Generate(t.Context(), ask())
		if err != nil || !resp.Priced || math.Abs(resp.Cost-tc.want) > 1e-9 {
			t.Errorf("%s: %+v, %v; want a cost of %v", name, resp, err, tc.want)
		}
	}
}

// What each status means is in the conformance suite. Three wrong addresses in a row are a
// Host fault.
func TestFailuresAreBlamed(t *testing.T) {
	refuse := func(status int, kind, message string) conformance.Canned {
		return conformance.Canned{Status: status, Body: `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`}
	}
	// LiteLLM's proxy names neither the event nor its type.
	proxied := `{"error":{"message":"litellm.RateLimitError: no deployment available","type":"None","param":"None","code":"429"}}`
	overloaded := `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for name, tc := range map[string]struct {
		answer conformance.Canned
		kind   fault.Kind
		lost   int // of 3 tries
		want   string
	}{
		"bad key":               {refuse(401, "authentication_error", "invalid x-api-key"), fault.Host, 0, "ANTHROPIC_API_KEY"},
		"a limit of the month":  {refuse(400, "invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."), fault.Host, 0, "billing"},
		"no credit":             {refuse(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."), fault.Host, 0, "billing"},
		"no credit by its code": {refuse(402, "billing_error", "pay"), fault.Host, 0, "billing"},
		"overloaded in a 200":   {refuse(200, "overloaded_error", "Overloaded"), fault.Transient, 0, "Overloaded"},
		"overloaded at once":    {events(overloaded), fault.Transient, 0, "Overloaded"},
		"overloaded later":      {events(start, overloaded), fault.Transient, 3, "Overloaded"},
		"a proxy's at once":     {events(proxied), fault.Transient, 0, "429"},
		"a proxy's later":       {events(start, proxied), fault.Transient, 3, "no deployment"},
		"a stream without end":  {events(start, `{"type":"ping"}`, ended("end_turn")), fault.Transient, 3, "ended before"},
		"an end without reason": {events(start, stop), fault.Transient, 3, "without a stop_reason"},
		"a stream of nothing":   {events(), fault.Host, 3, "no message"},
		"events that are text":  {events(start, "{"), fault.Host, 3, "not JSON"},
		"a lost start":          {events(start, block("1", `{}`)[0]), fault.Host, 3, "not one of the API"},
		"no content":            {conformance.Canned{Body: `{}`}, fault.Host, 3, "no content"},
	} {
		t.Run(name, func(t *testing.T) {
			m := compose(t, endpoint.Config{BaseURL: "http://model.test", Retry: fast, Proven: true, HTTP: tc.answer.Client()})
			_, err := m.Generate(t.Context(), ask())
			if fault.KindOf(err) != tc.kind || llm.Lost(err) != tc.lost || !strings.Contains(err.Error()+fault.HintOf(err), tc.want) {
				t.Errorf("%v (%v), %d lost, hint %q; want %v, %d, %q", err, fault.KindOf(err), llm.Lost(err), fault.HintOf(err), tc.kind, tc.lost, tc.want)
			}
		})
	}
}

// piped is a transport whose answer is a stream from a pipe.
type piped struct{ from *io.PipeReader }

func (p piped) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := events().RoundTrip(r)
	a.Body = p.from
	context.AfterFunc(r.Context(), func() { _ = p.from.CloseWithError(context.Cause(r.Context())) })
	return a, err
}

// Some proxies keep the connection open after the last event.
func TestPingsKeepAStreamAliveAndSilenceEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			pings    int
			ended    bool
			answered time.Duration
			want     string
		}{
			"pings":                        {20, true, 1000 * time.Second, ""},
			"a connection that stays open": {0, true, 0, ""},
			"silence":                      {0, false, time.Minute, "stalled"},
		} {
			read, write := io.Pipe()
			go func() {
				_, _ = io.WriteString(write, "data: "+start+"\n\n")
				for range tc.pings {
					time.Sleep(50 * time.Second)
					_, _ = io.WriteString(write, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
				}
				if tc.ended {
					_, _ = io.WriteString(write, "data: "+ended("end_turn")+"\n\ndata: "+stop+"\n\n")
				}
			}()
			m := compose(t, endpoint.Config{
				BaseURL: "http://model.test", IdleTimeout: time.Minute, Retry: llm.RetryPolicy{Tries: 1},
				HTTP: &http.Client{Transport: piped{read}},
			})
			began := time.Now()
			_, err := m.Generate(t.Context(), ask())
			if took := time.Since(began); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) || took < tc.answered || took > tc.answered+time.Second {
				t.Errorf("%s: %v after %v, want %q after %v", name, err, took, tc.want, tc.answered)
			}
			_ = read.Close()
		}
	})
}

func TestRequestsGoWhereTheConfigurationSays(t *testing.T) {
	for _, base := range []string{"", "/", "/v1", "/v1/", "/v1/messages"} {
		s := stub.NewServer(t, stub.Text("ok"))
		m := compose(t, endpoint.Config{BaseURL: s.Base(stub.Anthropic) + base, Kwargs: map[string]any{"extra_headers": map[string]any{"anthropic-beta": "b"}}})
		if _, err := m.Generate(t.Context(), ask()); err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		if h := s.Requests()[0].Header; h.Get("X-Api-Key") != planted || h.Get("Authorization") != "" || h.Get("Anthropic-Beta") != "b" {
			t.Errorf("headers %v, want the key and the beta of the config alone", h)
		}
	}
}
