package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/vocab"
)

// streamed answers with a stream of pieces and, unless cut, the mark of its end.
func streamed(cut bool, pieces ...string) *http.Client {
	return conformance.Canned{Kind: "text/event-stream", Body: events(cut, pieces...)}.Client()
}

func events(cut bool, pieces ...string) (body string) {
	for _, p := range pieces {
		body += "data: " + p + "\n\n"
	}
	if !cut {
		body += "data: [DONE]\n\n"
	}
	return body
}

func askStreamed(t testing.TB, client *http.Client) (*llm.Response, error) {
	t.Helper()
	m := compose(t, endpoint.Config{
		Model: "m", BaseURL: "http://model.test/v1", APIKey: planted, HTTP: client, Retry: llm.RetryPolicy{Tries: 1},
		Kwargs: map[string]any{"stream": true},
	})
	return m.Generate(t.Context(), again())
}

// delta returns a piece with members of the message.
func delta(members string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m-1","choices":[{"index":0,"delta":{` + members + `},"finish_reason":null}]}`
}

func ended(reason string) string {
	return `{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}],"usage":null}`
}

const usagePiece = `{"id":"c1","model":"m-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"cost":0.25}}`

func TestAStreamedAnswerIsPutTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		pieces []string
		want   string // the message
	}{
		"text": {
			[]string{delta(`"role":"assistant","content":""`), delta(`"content":"Hel"`), delta(`"content":"lo <b>"`)},
			`{"role":"assistant","content":"Hello <b>"}`,
		},
		"reasoning in either name": {
			[]string{delta(`"role":"assistant","content":null,"reasoning_content":"I "`), delta(`"reasoning_content":"see"`), delta(`"content":"x"`), delta(`"reasoning":"a","reasoning_content":null`)},
			`{"role":"assistant","content":"x","reasoning_content":"I see","reasoning":"a"}`,
		},
		"two calls": {
			[]string{
				delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""}}]`),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]`),
				delta(`"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"edit","arguments":"{"}}]`),
				delta(`"tool_calls":[{"index":1,"id":"","function":{"name":"","arguments":"}"}},{"index":0,"function":{"arguments":":1}"}}]`),
			},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"x\":1}"}},` +
				`{"id":"b","type":"function","function":{"name":"edit","arguments":"{}"}}]}`,
		},
		"whole calls without an index": {
			[]string{delta(`"tool_calls":[{"id":"a","function":{"name":"bash","arguments":"{}"}},{"id":"b","function":{"name":"bash","arguments":"{}"}}]`)},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}},` +
				`{"id":"b","type":"function","function":{"name":"bash","arguments":"{}"}}]}`,
		},
		"whole calls with one index": {
			[]string{
				delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s+/="}}}]`),
				delta(`"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"bash","arguments":"{}"}}]`),
			},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s+/="}}},` +
				`{"id":"b","type":"function","function":{"name":"bash","arguments":"{}"}}]}`,
		},
		"a new id in each piece": {
			[]string{
				delta(`"tool_calls":[{"index":0,"id":"a1","type":"function","function":{"name":"bash"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"a2","type":"function","function":{"arguments":"{}"}}]`),
			},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a1","type":"function","function":{"name":"bash","arguments":"{}"}}]}`,
		},
		"OpenRouter's details": {
			[]string{
				delta(`"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"anthropic-claude-v1","index":0}]`),
				delta(`"reasoning":"see","reasoning_details":[{"type":"reasoning.text","text":"see","format":"anthropic-claude-v1","index":0}]`),
				delta(`"reasoning_details":[{"type":"reasoning.text","signature":"s+/=","format":"anthropic-claude-v1","index":0}]`),
				delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"AA","id":"r1","index":0},{"type":"reasoning.encrypted","data":"BB","id":"r2","index":0}]`),
				delta(`"reasoning_details":[{"type":"reasoning.text","text":"apart"},{"type":"reasoning.text","text":"too"}]`),
			},
			`{"role":"assistant","content":null,"reasoning":"I see","reasoning_details":[` +
				`{"type":"reasoning.text","text":"I see","signature":"s+/=","format":"anthropic-claude-v1","index":0},` +
				`{"type":"reasoning.encrypted","data":"AA","id":"r1","index":0},{"type":"reasoning.encrypted","data":"BB","id":"r2","index":0},` +
				`{"type":"reasoning.text","text":"apart"},{"type":"reasoning.text","text":"too"}]}`,
		},
		"members of other servers": {
			[]string{delta(`"annotations":[{"a":1}],"n":12345678901234567890,"audio":{"id":"x","data":"AA"},"odd":"a"`), delta(`"annotations":[{"a":2}],"audio":{"id":"x","data":"BB"},"odd":"b"`)},
			`{"role":"assistant","content":null,"annotations":[{"a":1},{"a":2}],"n":12345678901234567890,"audio":{"id":"x","data":"AABB"},"odd":"ab"}`,
		},
		"the whole message in one piece": {
			[]string{`{"choices":[{"message":{"role":"assistant","content":"x"}}]}`},
			`{"role":"assistant","content":"x"}`,
		},
		"the whole message after its pieces": {
			[]string{
				delta(`"role":"assistant","content":"Hel","reasoning_content":"a","kept":"b"`), delta(`"content":"lo"`),
				delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]`),
				`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"a","kept":"",` +
					`"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]}}]}`,
			},
			`{"role":"assistant","content":"Hello","reasoning_content":"a","kept":"b","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]}`,
		},
		"another choice besides": {
			[]string{`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}`},
			`{"role":"assistant","content":"yes"}`,
		},
	} {
		resp, err := askStreamed(t, streamed(false, append(tc.pieces, ended("stop"), usagePiece)...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(members(t, tc.want), members(t, string(resp.Message.Chat))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if resp.FinishReason != "stop" || resp.Usage != (vocab.Usage{Input: 9, Output: 4}) || resp.Cost != 0.25 || !resp.Priced {
			t.Errorf("%s: %+v", name, resp)
		}
	}
}

func members(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func TestTheRawAnswerIsAsOneThatCameAtOnce(t *testing.T) {
	first := `{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m-1","provider":"P","system_fingerprint":"fp",` +
		`"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}]},"finish_reason":null,"native_finish_reason":null}],"usage":null}`
	second := `{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m-1","choices":[{"index":0,"delta":{"content":"b"},` +
		`"logprobs":{"content":[{"token":"b"}]},"finish_reason":"stop","native_finish_reason":"end_turn"}]}`
	resp, err := askStreamed(t, streamed(false, first, second, usagePiece))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"c1","object":"chat.completion","created":7,"model":"m-1","provider":"P","system_fingerprint":"fp",` +
		`"choices":[{"index":0,"message":{"content":"ab"},"logprobs":{"content":[{"token":"a"},{"token":"b"}]},"finish_reason":"stop","native_finish_reason":"end_turn"}],` +
		`"usage":{"prompt_tokens":9,"completion_tokens":4,"cost":0.25}}`
	if diff := cmp.Diff(members(t, want), members(t, string(resp.Raw))); diff != "" {
		t.Errorf("raw (-want +got):\n%s", diff)
	}
}

// Moonshot writes the usage into the last choice, with or without the mark of the end.
func TestTheUsageInAChoiceIsRead(t *testing.T) {
	last := `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":9,"completion_tokens":4,"cached_tokens":3}}]}`
	for _, cut := range []bool{false, true} {
		resp, err := askStreamed(t, streamed(cut, delta(`"content":"a"`), last))
		if want := (vocab.Usage{Input: 9, Cached: 3, Output: 4}); err != nil || resp.Usage != want {
			t.Errorf("without the mark %v: got %+v, %v; want %+v", cut, resp, err, want)
		}
	}
}

func TestStreamsThatEndBadly(t *testing.T) {
	const refused = `{"error":{"code":429,"message":"slow down"}}`
	for name, tc := range map[string]struct {
		client *http.Client
		want   string // in the error
		lost   int
	}{
		"cut":               {streamed(true, delta(`"content":"a"`)), "the stream ended before the answer was complete", 1},
		"without its usage": {streamed(true, delta(`"content":"a"`), ended("stop")), "the stream ended before", 1},
		"without its end":   {streamed(true, delta(`"content":"a"`), usagePiece), "the stream ended before", 1},
		"a mark alone":      {streamed(false, delta(`"content":"a"`)), "the stream ended before", 1},
		"empty":             {streamed(true), "not a stream of chat completions", 1},
		"soiled":            {streamed(true, delta(`"content":"a"`), `{"x`), "a piece of the answer is not an object", 1},
		"an error":          {streamed(true, delta(`"content":"a"`), refused), "slow down", 1},
		"an error at first": {streamed(true, refused), "slow down", 0},
		"a choice's error":  {streamed(true, delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"upstream"}}]}`), "upstream", 1},
		"no choice":         {streamed(false, usagePiece), "", 1},
		"no mark":           {streamed(true, delta(`"content":"a"`), ended("stop"), usagePiece), "a", 1},
	} {
		resp, err := askStreamed(t, tc.client)
		if strings.HasPrefix(name, "no ") {
			if err != nil || resp.Message.Text() != tc.want {
				t.Errorf("%s: got %+v, %v; want the answer %q", name, resp, err, tc.want)
			}
			continue
		}
		kind := fault.Transient
		if name == "empty" {
			kind = fault.Host // the address is probably wrong
		}
		if fault.KindOf(err) != kind || !strings.Contains(err.Error(), tc.want) || llm.Lost(err) != tc.lost {
			t.Errorf("%s: %v (%v, lost %d), want %v with %q, lost %d", name, err, fault.KindOf(err), llm.Lost(err), kind, tc.want, tc.lost)
		}
	}
}
