package openai_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/price"
	"batch.example/batch/vocab"
)

func paid(t *testing.T, rt http.RoundTripper) llm.Model {
	t.Helper()
	m := compose(t, endpoint.Config{
		Model: "m", BaseURL: "http://model.test/v1", Retry: fast, HTTP: &http.Client{Transport: rt},
		Prices: price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1, Output: 2}}}},
	})
	return m
}

func TestAPaidAnswerIsKeptWhenTheCallerCancels(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := paid(t, canceling{conformance.Canned{Body: `{"choices":[{"message":{"role":"assistant","content":"paid for"}}]}`}, cancel})
	resp, err := m.Generate(ctx, ask())
	if err != nil || resp.Message.Text() != "paid for" {
		t.Errorf("response %+v, error %v; want text %q, no error", resp, err, "paid for")
	}
}

// canceling is a transport whose caller cancels while it reads an answer.
type canceling struct {
	conformance.Canned
	stop func()
}

func (c canceling) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := c.Canned.RoundTrip(r)
	if err == nil {
		a.Body = &stopping{a.Body, c.stop}
	}
	return a, err
}

// stopping is a body during which the caller cancels.
type stopping struct {
	io.ReadCloser
	stop func()
}

func (s *stopping) Read(p []byte) (int, error) {
	s.stop()
	return s.ReadCloser.Read(p)
}

// The cost is the provider's own, otherwise a proxy's in a header, otherwise the table's.
func TestACallCostsWhatItsAnswerSays(t *testing.T) {
	for _, c := range []struct {
		name, usage, header string
		cost                float64
		priced              bool
	}{
		{"whole numbers with a point", `{"prompt_tokens": 3.0, "completion_tokens": 2.0}`, "", 7, true},
		{"an empty list for details", `{"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": []}`, "", 7, true},
		{"a cost as text", `{"prompt_tokens": 3, "completion_tokens": 2, "cost": "0.5"}`, "", 0.5, true},
		{"a list", `[]`, "", 0, false},
		{"text", `"none"`, "", 0, false},
		{"negative counts", `{"prompt_tokens": -3, "completion_tokens": -2}`, "", 0, false},
		{"a cost beside a header", `{"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.25}`, "0.125", 0.25, true},
		{"a cost in the header", `{"prompt_tokens": 3, "completion_tokens": 2}`, "0.125", 0.125, true},
		{"an endless cost in the header", `{"prompt_tokens": 3, "completion_tokens": 2}`, "Inf", 7, true},
		{"an endless cost as text", `{"prompt_tokens": 3, "completion_tokens": 2, "cost": "inf"}`, "", 7, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := 0
			m := paid(t, conformance.Canned{
				Body:   `{"choices":[{"message":{"content":"x"}}],"usage":` + c.usage + `}`,
				Header: http.Header{"X-Litellm-Response-Cost": {c.header}}, Sent: func(string) { calls++ },
			})
			resp, err := m.Generate(t.Context(), ask())
			if err != nil || calls != 1 {
				t.Fatalf("got %d calls, error %v; want calls 1, no error", calls, err)
			}
			if resp.Cost != c.cost || resp.Priced != c.priced {
				t.Errorf("cost %v, priced %v; want %v, %v", resp.Cost, resp.Priced, c.cost, c.priced)
			}
			if resp.Usage.Input < 0 || resp.Usage.Output < 0 {
				t.Errorf("usage %+v, want input at least 0, output at least 0", resp.Usage)
			}
		})
	}
}

// The usage of providers that count in their own way, as they send it.
func TestUsageOfOtherProviders(t *testing.T) {
	for name, c := range map[string]struct {
		usage string
		want  vocab.Usage
	}{
		"xAI counts reasoning apart": {
			`{"prompt_tokens":10120,"completion_tokens":1499,"total_tokens":14428,"prompt_tokens_details":{"cached_tokens":128},"completion_tokens_details":{"reasoning_tokens":2809}}`,
			vocab.Usage{Input: 10120, Cached: 128, Output: 1499 + 2809, Reasoning: 2809},
		},
		"OpenAI does not": {
			`{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":40}}`,
			vocab.Usage{Input: 100, Output: 50, Reasoning: 40},
		},
		"Moonshot": {`{"prompt_tokens":100,"completion_tokens":5,"total_tokens":105,"cached_tokens":80}`, vocab.Usage{Input: 100, Cached: 80, Output: 5}},
		"DeepSeek": {
			`{"prompt_tokens":100,"completion_tokens":5,"total_tokens":105,"prompt_cache_hit_tokens":80,"prompt_cache_miss_tokens":20}`,
			vocab.Usage{Input: 100, Cached: 80, Output: 5},
		},
	} {
		m := paid(t, conformance.Canned{Body: `{"choices":[{"message":{"content":"x"}}],"usage":` + c.usage + `}`})
		resp, err := m.Generate(t.Context(), ask())
		if err != nil || resp.Usage != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, resp, err, c.want)
		}
	}
}
