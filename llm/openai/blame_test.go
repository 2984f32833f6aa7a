package openai_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/stub"
)

func TestFaultKindOfAnswers(t *testing.T) {
	const n = 3 // tries of the policy fast
	tests := []struct {
		name   string
		answer stub.Answer
		kind   fault.Kind
		asked  int
		want   string // in the error's text or hint
	}{
		{"key refused", stub.Refusal(401, "invalid_api_key", "no"), fault.Host, 1, "OPENAI_API_KEY"},
		{"model not allowed", stub.Refusal(403, "", "no access"), fault.Host, 1, "OPENAI_API_KEY"},
		{"no such model", stub.Refusal(404, "model_not_found", "the model `m` does not exist"), fault.Host, 1, "check the model name m"},
		{"no credit", stub.Refusal(402, "", "insufficient balance"), fault.Host, 1, "credit"},
		{"quota spent", stub.Refusal(429, "insufficient_quota", "you exceeded your current quota"), fault.Host, 1, "billing"},
		{"request timeout", stub.Refusal(408, "", "slow"), fault.Transient, n, "408"},
		{"conflict", stub.Refusal(409, "", "again"), fault.Transient, n, "409"},
		{"rate limit", stub.Refusal(429, "rate_limit_exceeded", "slow down"), fault.Transient, n, "slow down"},
		{"server error", stub.Refusal(500, "", "oops"), fault.Transient, n, "500"},
		{"gateway in HTML", stub.Answer{Status: 502, Body: []byte("<html>bad gateway</html>")}, fault.Transient, n, "bad gateway"},
		{"overloaded", stub.Refusal(529, "", "overloaded"), fault.Transient, n, "overloaded"},
		{"empty error", stub.Answer{Status: 500, Body: []byte{}}, fault.Transient, n, "500"},
		{"error of a bare text", stub.Answer{Status: 500, Body: []byte(`{"error":"no memory"}`)}, fault.Transient, n, "no memory"},
		{"gateway timeout", stub.Refusal(504, "", "upstream timed out"), fault.Transient, n, "upstream"},
		{"garbage", stub.Answer{Fault: stub.Garbage}, fault.Host, n, "not a chat completion"},
		{"half an answer", stub.Answer{Content: strings.Repeat("x", 9999), Fault: stub.Half}, fault.Transient, n, "unexpected EOF"},
		{"half an error", stub.Answer{Status: 500, Body: make([]byte, 9999), Fault: stub.Half}, fault.Transient, n, "500"},
		{"hangup", stub.Answer{Fault: stub.Hangup}, fault.Transient, n, "EOF"},
		{"empty body", stub.Answer{Body: []byte{}}, fault.Host, n, "not a chat completion"},
		{"no choices", stub.Answer{Body: []byte(`{"choices":[]}`)}, fault.Host, n, "no choices"},
		{"no message", stub.Answer{Body: []byte(`{"choices":[{}]}`)}, fault.Transient, n, "no message"},
		{"null message", stub.Answer{Body: []byte(`{"choices":[{"message":null}]}`)}, fault.Transient, n, "no message"},
		{"error in a 200", stub.Answer{Body: []byte(`{"error":{"code":429,"message":"upstream"}}`)}, fault.Transient, n, "upstream"},
		{"key refused in a 200", stub.Answer{Body: []byte(`{"error":{"code":401,"message":"no"}}`)}, fault.Host, 1, "OPENAI_API_KEY"},
		{"error in a choice", stub.Answer{Body: []byte(`{"choices":[{"error":{"code":502,"message":"cut"},"message":{"content":"ha"}}]}`)}, fault.Transient, n, "cut"},
	}
	// A request that the provider did not refuse may have been charged.
	unanswered := []string{
		"gateway timeout", "garbage", "half an answer", "hangup", "empty body", "no choices", "no message", "null message", "error in a choice",
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stub.NewServer(t, tt.answer)
			_, err := newModel(t, s, nil).Generate(t.Context(), ask())
			if fault.KindOf(err) != tt.kind {
				t.Fatalf("error %v is %v, want %v", err, fault.KindOf(err), tt.kind)
			}
			// net/http itself may retry a cut connection.
			if got := len(s.Requests()); got < tt.asked || (got > tt.asked && tt.answer.Fault != stub.Hangup) {
				t.Errorf("asked %d times, want %d", got, tt.asked)
			}
			if text := err.Error() + " " + fault.HintOf(err); !strings.Contains(text, tt.want) || !strings.Contains(text, "asking model m: ") {
				t.Errorf("text %q, want %q in it", text, tt.want)
			}
			lost := 0
			if slices.Contains(unanswered, tt.name) {
				lost = len(s.Requests())
			}
			if got := llm.Lost(err); got != lost && !(tt.answer.Fault == stub.Hangup && got == n) {
				t.Errorf("%d calls may have been charged, want %d", got, lost)
			}
			if errors.Is(err, llm.ErrContextLength) || errors.Is(err, llm.ErrContentPolicy) {
				t.Error("the error is taken for one of the conversation, want one of the settings")
			}
		})
	}
}

func TestRetryAfterIsReadInAllForms(t *testing.T) {
	tests := []struct {
		header, value string
		low, high     time.Duration
	}{
		{"Retry-After-Ms", "40", 40 * time.Millisecond, 40 * time.Millisecond},
		{"Retry-After", "7", 7 * time.Second, 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond, 500 * time.Millisecond},
		{"Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 59 * time.Minute, time.Hour},
		{"Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 0, 0},
		{"Retry-After", "1e300", 1000 * time.Hour, 1 << 62},
	}
	for _, tt := range tests {
		a := stub.Refusal(429, "rate_limit_exceeded", "slow down")
		a.Header = map[string]string{tt.header: tt.value}
		m := newModel(t, stub.NewServer(t, a), func(c *endpoint.Config) { c.Retry.Tries = 1 })
		_, err := m.Generate(t.Context(), ask())
		limited, ok := errors.AsType[*llm.RateLimited](err)
		if !ok || limited.After < tt.low || limited.After > tt.high {
			t.Errorf("got %s %s: %v; want ok true, after at least %v, after at most %v",
				tt.header, tt.value, err, tt.low, tt.high)
		}
	}
	a := stub.Refusal(503, "", "slow down")
	a.Header = map[string]string{"Retry-After-Ms": "60"}
	m := newModel(t, stub.NewServer(t, a, stub.Text("ok")), func(c *endpoint.Config) { c.Retry.Max = 20 * time.Millisecond })
	if resp, err := m.Generate(t.Context(), ask()); err != nil || resp.Waited < 60*time.Millisecond {
		t.Errorf("%+v, %v: want an answer after at least 60 ms", resp, err)
	}
}

func TestUnreachableEndpoint(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	defer secure.Close()
	for url, kind := range map[string]fault.Kind{dead.URL: fault.Host, secure.URL: fault.Host} {
		m := compose(t, endpoint.Config{Model: "m", BaseURL: url, Retry: fast})
		_, err := m.Generate(t.Context(), ask())
		if fault.KindOf(err) != kind || fault.HintOf(err) == "" {
			t.Errorf("%s: %v (%v), want %v with a hint", url, err, fault.KindOf(err), kind)
		}
		if n := llm.Lost(err); n != 0 {
			t.Errorf("%s: %d calls may have been charged although no server was reached; want 0", url, n)
		}
	}
}
