package gemini

import (
	"errors"
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

// asked returns the answer to one call of a server that sends body.
func asked(t *testing.T, kwargs map[string]any, status int, body string) (*llm.Response, error) {
	t.Helper()
	kind := ""
	if kwargs["stream"] == true {
		kind = "text/event-stream"
	}
	m, err := New(endpoint.Config{
		Model: "gemini-3-pro", BaseURL: "http://model.test", APIKey: "AIzaSecretSecretSecret", Kwargs: kwargs,
		HTTP: conformance.Canned{Status: status, Kind: kind, Body: body}.Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{said("user", "u")}})
}

const counted = `"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":40,"toolUsePromptTokenCount":5,"candidatesTokenCount":7,"thoughtsTokenCount":3,"totalTokenCount":115},"modelVersion":"gemini-3-pro-1"`

// reply returns a whole answer with these parts.
func reply(parts, reason string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"finishReason":"` + reason + `"}],` + counted + `}`
}

func TestRepliesKeepWhatCameWithEachPart(t *testing.T) {
	want := []llm.Part{
		llm.Reasoning{Text: "Hm.", Opaque: kept(thought)},
		llm.Text{Text: "I look.", Opaque: kept(signedText)},
		llm.Reasoning{Opaque: kept(unknown)},
		llm.ToolCall{ID: "f1", Name: "bash", Arguments: `{"command":"ls <a>","n":1.50}`, Opaque: kept(callA)},
		llm.ToolCall{Name: "bash", Arguments: `{}`, Opaque: kept(callB)},
		llm.Text{Text: "plain"},
		llm.Text{Opaque: kept(`{"text":"","thoughtSignature":"Wg=="}`)},
	}
	spaced := strings.ReplaceAll(callA, `":`, `" : `)
	resp, err := asked(t, nil, 200, reply(strings.Join([]string{
		thought, signedText, unknown, spaced, callB, `{"text":"plain"}`, `{"text":""}`, `{"text":"","thoughtSignature":"Wg=="}`,
	}, ",\n"), "STOP"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, resp.Message.Parts); diff != "" {
		t.Error(diff)
	}
	if want := (vocab.Usage{Input: 105, Cached: 40, Output: 10, Reasoning: 3}); resp.Usage != want || resp.Model != "gemini-3-pro-1" || resp.FinishReason != "STOP" {
		t.Errorf("got %+v, %s, %s; want %+v", resp.Usage, resp.Model, resp.FinishReason, want)
	}
}

func TestTheServiceThatAnsweredIsReported(t *testing.T) {
	for _, tt := range []struct{ usage, header, want string }{
		{`{}`, "", ""},
		{`{"serviceTier":"flex"}`, "", "flex"},
		{`{"serviceTier":"SERVICE_TIER_PRIORITY"}`, "", "SERVICE_TIER_PRIORITY"},
		{`{"promptTokenCount":1}`, "priority", "priority"},
		{`{"promptTokenCount":1}`, "standard", "standard"},
		{`{"trafficType":"ON_DEMAND_FLEX"}`, "", "ON_DEMAND_FLEX"},
		{`{"serviceTier":1}`, "", ""},
	} {
		header := http.Header{}
		header.Set("X-Gemini-Service-Tier", tt.header)
		resp, err := model(t, "gemini-3-pro", nil).response([]byte(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":`+tt.usage+`}`), header)
		if err != nil || resp.Service != tt.want {
			t.Errorf("%s, %q: got %+v, %v; want the service %q", tt.usage, tt.header, resp, err, tt.want)
		}
	}
}

// If every try is malformed, the model reads its malformed call, which is nowhere else.
func TestAMalformedCallIsAskedForAgain(t *testing.T) {
	malformed := `{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: bash(ls"}],` + counted + `}`
	_, err := asked(t, nil, 200, malformed)
	odd, ok := errors.AsType[*llm.Lasting](err)
	if !ok || fault.KindOf(err) != fault.Transient || odd.Reply == nil || odd.Reply.Message.Text() != "Malformed function call: bash(ls" || llm.Lost(err) != 1 {
		t.Errorf("got %v, %+v; want a Transient fault that has the reply, lost 1", err, odd)
	}
}

// What each status means is in the conformance suite.
func TestFailures(t *testing.T) {
	refused := func(message, status, details string) string {
		return `{"error":{"code":1,"message":"` + message + `","status":"` + status + `","details":[` + details + `]}}`
	}
	const quota = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPer`
	tests := []struct {
		name   string
		status int
		body   string
		kind   fault.Kind
		want   string // in the text and hint
		is     error
		free   bool // nothing was charged
	}{
		{"a quota for the day", 429, refused("You exceeded your current quota", "RESOURCE_EXHAUSTED", quota+`DayPerProjectPerModel-FreeTier"}]}`), fault.Host, "run again to resume", nil, true},
		{"a quota for the minute", 429, refused("You exceeded your current quota", "RESOURCE_EXHAUSTED", quota+`MinutePerProjectPerModel"},{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"250000"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13.5s"}`), fault.Transient, "quota", nil, true},
		{"blocked", 200, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},` + counted + `}`, fault.Instance, "PROHIBITED_CONTENT", llm.ErrContentPolicy, false},
		{"no candidate", 200, `{"modelVersion":"m"}`, fault.Transient, "no candidate", nil, false},
		{"another protocol", 200, `{"id":"1"}`, fault.Transient, "GEMINI_API_BASE", nil, false},
		{"not JSON", 200, `<html>`, fault.Transient, "not of the Gemini API", nil, false},
	}
	for _, tt := range tests {
		_, err := asked(t, nil, tt.status, tt.body)
		hint := fault.HintOf(err)
		if wrong, ok := errors.AsType[*llm.Lasting](err); ok {
			hint = wrong.Hint
		}
		if err == nil || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error()+hint, tt.want) ||
			tt.is != nil && !errors.Is(err, tt.is) || (llm.Lost(err) == 0) != tt.free {
			t.Errorf("%s: got %v (%v, hint %q, lost %d); want %v with %q", tt.name, err, fault.KindOf(err), hint, llm.Lost(err), tt.kind, tt.want)
		}
		limited, ok := errors.AsType[*llm.RateLimited](err)
		wait := tt.name == "a quota for the minute"
		if wait && (limited == nil || limited.Rate == nil || limited.Rate.Tokens.Limit != 250000) {
			t.Errorf("%s: got %+v, want the limit of tokens", tt.name, limited)
		}
		if ok != wait || wait && limited.After.Seconds() != 13.5 {
			t.Errorf("%s: got %v, want a rate limit: %v", tt.name, limited, wait)
		}
	}
}

// stream returns a streamed answer with these chunks.
func stream(chunks ...string) string {
	return "data: " + strings.Join(chunks, "\r\n\r\ndata: ") + "\r\n\r\n"
}

func chunk(parts string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":1}}`
}

var streamed = map[string]any{"stream": true}

func TestAStreamedReplyIsTheOneThatWouldHaveComeAtOnce(t *testing.T) {
	resp, err := asked(t, streamed, 200, stream(
		chunk(`{"text":"H","thought":true}`), chunk(`{"text":"m.","thought":true}`),
		chunk(`{"text":"I "}`), chunk(`{"text":"look <here>."},`+callA), chunk(unknown+`,`+callB),
		reply(`{"text":"","thoughtSignature":"Wg=="}`, "STOP"),
	))
	if err != nil {
		t.Fatal(err)
	}
	atOnce, err := asked(t, nil, 200, string(resp.Raw))
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Part{
		llm.Reasoning{Text: "Hm.", Opaque: kept(thought)},
		llm.Text{Text: "I look <here>."},
		llm.ToolCall{ID: "f1", Name: "bash", Arguments: `{"command":"ls <a>","n":1.50}`, Opaque: kept(callA)},
		llm.Reasoning{Opaque: kept(unknown)},
		llm.ToolCall{Name: "bash", Arguments: `{}`, Opaque: kept(callB)},
		llm.Text{Opaque: kept(`{"text":"","thoughtSignature":"Wg=="}`)},
	}
	if diff := cmp.Diff(want, resp.Message.Parts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(atOnce, resp); diff != "" || resp.Usage.Input != 105 {
		t.Errorf("usage %+v, %s", resp.Usage, diff)
	}
}

// Other streams that break are in the conformance suite.
func TestStreamsThatBreak(t *testing.T) {
	failure := `{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}`
	tests := []struct {
		name, body, want string
		free             bool
	}{
		{"at once", stream(failure), "overloaded", true},
		{"without an end, rated", stream(`{"promptFeedback":{"safetyRatings":[{"category":"c"}]},` + chunk(`{"text":"a"}`)[1:]), "broke off", false},
		{"nothing", "", "broke off", false},
		{"other JSON", "data: {\"candidates\":1}\n\n", "broke off", false},
	}
	for _, tt := range tests {
		_, err := asked(t, streamed, 200, tt.body)
		if err == nil || !strings.Contains(err.Error(), tt.want) || (llm.Lost(err) == 0) != tt.free {
			t.Errorf("%s: got %v (lost %d), want %q", tt.name, err, llm.Lost(err), tt.want)
		}
	}
}
