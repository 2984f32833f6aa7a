package endpoint_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// calls are replies that call bash, by protocol, with the member that says how they ended.
var calls = map[string]struct{ call, end string }{
	"openai":    {`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]}`, `"finish_reason":"stop"`},
	"responses": {`[{"type":"function_call","call_id":"a","name":"bash","arguments":"{}","status":"completed"}]`, `"status":"completed"`},
	"anthropic": {`[{"type":"tool_use","id":"a","name":"bash","input":{}}]`, `"stop_reason":"end_turn"`},
	"gemini":    {`{"parts":[{"functionCall":{"name":"bash","args":{}}}]}`, `"finishReason":"STOP"`},
}

// An agent may act only on replies whose end is documented.
func TestOnlyAReplyThatEndedItselfIsAnAnswer(t *testing.T) {
	const failed, unknown, sampled = "failed", "unknown", "sampled" // asked again, stops a run, passed on in the end
	for protocol, ends := range map[string]map[string]string{
		"openai": {
			`"stop"`: "", `"tool_calls"`: "", `"function_call"`: "", `"eos"`: "", `"end_turn"`: "", `"STOP"`: "", `null`: "", `""`: "", `"length"`: "",
			`"model_context_window_exceeded"`: "", `"error"`: failed, `"network_error"`: failed, `"insufficient_system_resource"`: failed, `"abort"`: failed,
			`"content_filter"`: sampled, `"sensitive"`: sampled, `"function_call_filter: MALFORMED_FUNCTION_CALL"`: sampled, `"content_filter: NEW"`: sampled,
			`"stop: OTHER"`: failed, `"worn_out: STOP"`: unknown, `"max_output"`: "", `"endoftext"`: "", `"load"`: failed, `"unknown"`: failed, `"worn_out"`: unknown, `3`: unknown, `{"a":1}`: unknown,
		},
		"responses": {`"completed"`: "", `null`: "", `"failed"`: failed, `"cancelled"`: failed, `"in_progress"`: failed, `"queued"`: failed, `"incomplete"`: failed, `"paused"`: unknown},
		"anthropic": {`"end_turn"`: "", `"tool_use"`: "", `"stop_sequence"`: "", `"max_tokens"`: "", `null`: "", `"error"`: failed, `"tired"`: unknown},
		"gemini": {
			`"STOP"`: "", `"MAX_TOKENS"`: "", `null`: "", `"OTHER"`: failed, `"LANGUAGE"`: failed, `"FINISH_REASON_UNSPECIFIED"`: failed,
			`"SAFETY"`: sampled, `"RECITATION"`: sampled, `"MALFORMED_FUNCTION_CALL"`: sampled, `"UNEXPECTED_TOOL_CALL"`: sampled, `"MODEL_ARMOR"`: sampled, `"IMAGE_OTHER"`: sampled, `"NEW"`: unknown,
		},
	} {
		p, c := protocols[protocol], calls[protocol]
		member, _, _ := strings.Cut(c.end, ":")
		for end, want := range ends {
			server := conformance.Canned{Body: strings.Replace(strings.Replace(p.answer, "REPLY", c.call, 1), c.end, member+":"+end, 1)}
			resp, err := p.model(t, server).Generate(t.Context(), &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("u")}}})
			got := ""
			odd, lasting := errors.AsType[*llm.Lasting](err)
			switch {
			case err == nil && len(resp.Message.ToolCalls()) == 1:
			case lasting && odd.Reply != nil:
				got = sampled
			case lasting && strings.Contains(odd.Hint, "model.reply_ends") && strings.Contains(odd.Hint, "http://model.test"):
				got = unknown
			case err != nil && !lasting:
				got = failed
			}
			if got != want || err != nil && (fault.KindOf(err) != fault.Transient || llm.Lost(err) != 1) {
				t.Errorf("%s: %s: got %q, %v (%v, %d lost); want %q", protocol, end, got, err, fault.KindOf(err), llm.Lost(err), want)
			}
		}
	}
}

// If an answer has no finish reason and an incomplete call, the stream broke, or the model wrote the call so:
// after some tries, the agent reads it.
func TestAnEndThatIsMissingIsNoneOfHalfACall(t *testing.T) {
	body := strings.Replace(protocols["openai"].answer, `"finish_reason":"stop"`, `"finish_reason":null`, 1)
	for arguments, whole := range map[string]bool{`{\"command\":\"ls\"}`: true, "": true, `{\"command\":\"rm -rf /a`: false} {
		call := `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"` + arguments + `"}}]}`
		_, _, err := protocols["openai"].heard(t, strings.Replace(body, "REPLY", call, 1))
		odd, lasting := errors.AsType[*llm.Lasting](err)
		if (err == nil) != whole || err != nil && (fault.KindOf(err) != fault.Transient || !lasting || odd.Reply == nil) {
			t.Errorf("%s: %v, want a reply: %v, otherwise one that is passed on in the end", arguments, err, whole)
		}
	}
}

func TestAnUnknownEndIsAskedAgainTwiceAndCanBeDeclared(t *testing.T) {
	odd := stub.Answer{Content: "x", FinishReason: "worn_out"}
	for name, tt := range map[string]struct {
		answers []stub.Answer
		ends    []string
		asked   int
		kind    fault.Kind // Unknown: no error
		text    string
	}{
		"once":                {[]stub.Answer{odd, stub.Text("y")}, nil, 2, fault.Unknown, "y"},
		"three times":         {[]stub.Answer{odd, odd, odd, stub.Text("y")}, nil, 3, fault.Host, ""},
		"declared":            {[]stub.Answer{odd}, []string{"Worn_Out"}, 1, fault.Unknown, "x"},
		"a failure, declared": {[]stub.Answer{{Content: "x", FinishReason: "other"}}, []string{"other"}, 1, fault.Unknown, "x"},
		"a filter, then odd":  {[]stub.Answer{filtered, filtered, odd, stub.Text("y")}, nil, 4, fault.Unknown, "y"},
		"odd, then a filter":  {[]stub.Answer{odd, filtered, odd, filtered, odd, stub.Text("y")}, nil, 5, fault.Host, ""},
		"a failure, 4 times":  {[]stub.Answer{failure, failure, failure, failure, stub.Text("y")}, nil, 5, fault.Unknown, "y"},
		"a filter, always":    {[]stub.Answer{filtered, filtered, filtered, stub.Text("y")}, nil, 3, fault.Unknown, "part"},
		"a filter, for once":  {[]stub.Answer{filtered, stub.Text("y")}, nil, 2, fault.Unknown, "y"},
		"a filter, emptied":   {[]stub.Answer{{FinishReason: stub.FinishRefused}, stub.Text("y")}, nil, 1, fault.Unknown, ""},
		"a filter, otherwise": {[]stub.Answer{filtered, failure, filtered, stub.Text("y")}, nil, 4, fault.Unknown, "y"},
	} {
		s := stub.NewServer(t, tt.answers...)
		m, err := openai.New(endpoint.Config{Model: "m", BaseURL: s.Base(stub.Chat), APIKey: "k", ReplyEnds: tt.ends, Retry: llm.RetryPolicy{Base: time.Microsecond, Max: time.Microsecond}})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := llm.Calls{}.Compose(m).Generate(t.Context(), &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("u")}}})
		if fault.KindOf(err) != tt.kind || len(s.Requests()) != tt.asked {
			t.Errorf("%s: %v (%v) after %d requests, want %v after %d", name, err, fault.KindOf(err), len(s.Requests()), tt.kind, tt.asked)
			continue
		}
		if err == nil && tt.ends != nil && resp.End() != llm.EndWhole {
			t.Errorf("%s: the reply ended by %q, want a whole one", name, resp.FinishReason)
		}
		if err == nil && (resp.Message.Text() != tt.text || resp.Lost != tt.asked-1) {
			t.Errorf("%s: %q, %d lost; want %q, %d", name, resp.Message.Text(), resp.Lost, tt.text, tt.asked-1)
		}
		if hint := fault.HintOf(err); err != nil && (!strings.Contains(hint, `model.reply_ends=["worn_out"]`) || !strings.Contains(hint, s.Base(stub.Chat))) {
			t.Errorf("%s: hint %q, want the key, the word and the address", name, hint)
		}
	}
}

var (
	failure  = stub.Answer{Content: "x", FinishReason: "error"}
	filtered = stub.Answer{Content: "part", FinishReason: stub.FinishRefused}
)

// Gateways leave the service tier out of their answers: the requested tier's price counts then.
func TestTheServiceThatAnsweredOrWasAskedForIsPriced(t *testing.T) {
	dearer := map[string]vocab.Price{"priority": {Rates: vocab.Rates{Input: 4}}, "fast": {Rates: vocab.Rates{Input: 6}}}
	prices := price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1}, Services: dearer}}}
	for _, c := range []struct {
		member, asked, said string
		want                float64 // -1: not known
	}{
		{"service_tier", "priority", "", 4},
		{"service_tier", "priority", "default", 1},
		{"service_tier", "", "priority", 4},
		{"service_tier", "auto", "", 1},
		{"service_tier", "standard_only", "", 1},
		{"service_tier", "flex", "", -1},
		{"serviceTier", "SERVICE_TIER_PRIORITY", "", 4},
		{"serviceTier", "priority", "standard", 1},
		{"serviceTier", "priority", "TRAFFIC_TYPE_UNSPECIFIED", 1},
		{"serviceTier", "flex", "ON_DEMAND_PRIORITY", 4},
		{"speed", "fast", "", 6},
	} {
		e := endpoint.Endpoint{Config: endpoint.Config{Model: "m", Prices: prices}, Body: map[string]any{c.member: c.asked}}
		resp := llm.Response{Usage: vocab.Usage{Input: 1}, Service: c.said}
		e.Price(&resp, nil)
		if resp.Priced != (c.want >= 0) || resp.Priced && resp.Cost != c.want {
			t.Errorf("%+v: cost %v, known %v", c, resp.Cost, resp.Priced)
		}
	}
}

// A conversation is sent in the pieces in which it is kept, without a copy.
func TestABodyIsSentWithoutACopy(t *testing.T) {
	body := history.Body{bytes.Repeat([]byte("conversation "), 100_000), []byte("]}")}
	want := bytes.Join(body, nil)
	equal := make(chan bool, 1)
	buf := make([]byte, len(want)+1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.ReadFull(r.Body, buf)
		equal <- err == io.ErrUnexpectedEOF && r.ContentLength == int64(n) && bytes.Equal(buf[:n], want)
	}))
	t.Cleanup(s.Close)
	client := http.Client{Transport: endpoint.Transport()}
	t.Cleanup(client.CloseIdleConnections)
	send := func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		body.Attach(r)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if !<-equal {
			t.Fatal("the server got another body")
		}
	}
	send()                          // connects
	least := uint64(math.MaxUint64) // the least of several, because the server's pools may be empty
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		send()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > 24<<10 {
		t.Errorf("a request allocates %d bytes, want less than a buffer of net/http", least)
	}
}
