package doctor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

const plantedKey = "sk-planted-0123456789abcdef"

func settings(model, url string) catalogue.Config {
	return catalogue.Config{Model: model, Getenv: func(name string) string {
		return map[string]string{"OPENAI_API_KEY": plantedKey, "OPENAI_BASE_URL": url}[name]
	}}
}

func all(checks []Check) string {
	var b strings.Builder
	for _, c := range checks {
		b.WriteString(string(c.State) + " " + c.Name + " " + c.Text + "\n" + c.Hint + "\n")
	}
	return b.String()
}

func TestDoctorModelCallReportsModelAndCost(t *testing.T) {
	cost := 0.25
	usage := vocab.Usage{Input: 20, Output: 1}
	for _, tt := range []struct {
		model  string
		answer stub.Answer
		want   []string
	}{
		{"openai/gpt-5", stub.Answer{Content: "OK", Model: "gpt-5-2025-08-07", Usage: usage}, []string{
			"ok model openai/gpt-5 answered in ", " s as gpt-5-2025-08-07: 20 tokens in, 1 token out",
			"ok price 1.25 USD in and 10.00 USD out per million tokens; this call cost 0.000035 USD",
		}},
		{"openai/gpt-4o", stub.Answer{Content: "OK", Usage: usage, ServiceTier: "flex"}, []string{
			"warn price 2.50 USD in and 10.00 USD out per million tokens, but not of calls such as this one (flex): costs cannot be counted",
			"model.litellm_model_registry",
		}},
		{"openai/gpt-5", stub.Answer{Content: "OK", NoUsage: true}, []string{"but not of calls such as this one: costs cannot"}},
		{"openai/own", stub.Answer{Content: "OK", Usage: usage}, []string{"ok price unknown: each call costs what its answer says; this one says nothing"}},
		{"openai/own", stub.Answer{Content: "OK", Cost: &cost}, []string{"ok price the provider reports what each call costs; this call cost 0.25 USD"}},
	} {
		server := stub.NewServer(t, tt.answer, tt.answer, tt.answer, tt.answer)
		got := all(Ask(t.Context(), settings(tt.model, server.URL), []llm.Tool{{Name: "bash"}}))
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: want %q in\n%s", tt.model, want, got)
			}
		}
		ignoring := settings(tt.model, server.URL)
		ignoring.IgnoreCost = true
		if got := all(Ask(t.Context(), ignoring, nil)); tt.answer.Cost == nil && strings.Contains(got, "the provider reports") {
			t.Errorf("%s, costs ignored: the provider reports no cost, got\n%s", tt.model, got)
		}
		if r := server.Requests(); len(r) != 4 || len(r[0].Tools) != 1 {
			t.Errorf("%s: got %d requests, want 4, the first with 1 tool", tt.model, len(r))
		}
	}
}

func TestDoctorSaysWhetherAModelTakesImages(t *testing.T) {
	ok := stub.Answer{Content: "OK", Usage: vocab.Usage{Input: 20, Output: 1}}
	registry := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(registry, []byte(`{"gpt-text": {"supports_vision": false}, "gpt-eyes": {"supports_vision": true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for model, tt := range map[string]struct {
		answer stub.Answer
		asked  int
		want   string
	}{
		"openai/gpt-5":    {ok, 2, "ok images openai/gpt-5 takes them"},
		"openai/gpt-eyes": {ok, 2, "ok images openai/gpt-eyes takes them"},
		"openai/gpt-old":  {stub.Refusal(400, "invalid_request_error", "image input is not supported"), 2, "warn images openai/gpt-old took none: "},
		"openai/gpt-text": {ok, 1, "ok images openai/gpt-text takes none, by model.litellm_model_registry"},
	} {
		server := stub.NewServer(t, ok, tt.answer)
		s := settings(model, server.URL)
		s.Registry = registry
		got := all(Ask(t.Context(), s, nil))
		if !strings.Contains(got, tt.want) {
			t.Errorf("want %q in\n%s", tt.want, got)
		}
		requests := server.Requests()
		if len(requests) != tt.asked || tt.asked == 2 && !strings.Contains(string(requests[1].Body), "data:image/png;base64,") {
			t.Errorf("%s: got %d requests, want %d, the second with an image", model, len(requests), tt.asked)
		}
	}
}

func TestDoctorModelCallThatFailsGivesAHint(t *testing.T) {
	limited := stub.Refusal(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down")
	limited.Header = map[string]string{"Retry-After": "7"}
	for name, tt := range map[string]struct {
		answer stub.Answer
		want   []string
	}{
		"a bad key":        {stub.Refusal(401, "invalid_api_key", "Incorrect API key provided: "+plantedKey), []string{"401 unauthorized", "check OPENAI_API_KEY"}},
		"an unknown model": {stub.Refusal(404, "model_not_found", "The model does not exist"), []string{"404 not found", "check the model name gpt-5"}},
		"a rate limit":     {limited, []string{"429 too many requests", "wait, or ask it for a higher limit"}},
		"no credit":        {stub.Refusal(429, "insufficient_quota", "You exceeded your quota"), []string{"no credit left"}},
		"an outage":        {stub.Refusal(503, "", "down for maintenance"), []string{"503", "try again in a minute"}},
		"an overload":      {stub.Refusal(503, "", "overloaded"), []string{"503", "or is overloaded"}},
		"a bad parameter":  {stub.Refusal(400, "invalid_request_error", "tools are not supported"), []string{"tools are not supported", "what "}},
		"no model there":   {stub.Answer{Fault: stub.Garbage}, []string{"OPENAI_BASE_URL"}},
		"a hang-up":        {stub.Answer{Fault: stub.Hangup}, []string{"is right and reachable"}},
	} {
		server := stub.NewServer(t, tt.answer)
		checks := Ask(t.Context(), settings("openai/gpt-5", server.URL), nil)
		got := all(checks)
		if len(checks) != 1 || checks[0].State != Bad || checks[0].Hint == "" || strings.Contains(got, plantedKey) {
			t.Errorf("got %s, want 1 check, state %v, some hint, no %q:\n%s", name, Bad, plantedKey, got)
		}
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: want %q in\n%s", name, want, got)
			}
		}
		if n := len(server.Requests()); n != 1 {
			t.Errorf("%s: got %d requests, want 1", name, n)
		}
	}
}

func TestDoctorReportsWhyAModelCannotBeCalled(t *testing.T) {
	closed := httptest.NewServer(nil)
	url := closed.URL
	closed.Close()
	keyless := settings("openai/gpt-5", "")
	keyless.Getenv = func(string) string { return "" }
	for want, s := range map[string]catalogue.Config{
		"check OPENAI_BASE_URL, now " + url: settings("openai/gpt-5", url),
		"OPENAI_API_KEY is not set":         keyless,
		"did you mean `-m openai/gpt-5`?":   settings("opnai/gpt-5", url),
		"ANTHROPIC_API_KEY is not set":      settings("claude-opus-4", url),
		"not an http or https URL":          settings("openai/gpt-5", "localhost:8000"),
	} {
		checks := Ask(t.Context(), s, nil)
		if got := all(checks); len(checks) != 1 || checks[0].State != Bad || !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if got := all(Ask(t.Context(), settings("oracle", url), nil)); !strings.HasPrefix(got, "ok model oracle is part of batch") {
		t.Errorf("got %s, want beginning with %q", got, "ok model oracle is part of batch")
	}
}

func TestDoctorSaysWhichOfSeveralKeysFails(t *testing.T) {
	s := stub.NewServer(t, stub.Answer{Content: "OK", Usage: vocab.Usage{Input: 20, Output: 1}}, stub.Refusal(http.StatusPaymentRequired, "", "pay first"), stub.Answer{Content: "OK"})
	two := settings("openai/gpt-5", s.URL)
	getenv := two.Getenv
	two.Getenv = func(name string) string {
		if name == "OPENAI_API_KEYS" {
			return plantedKey + "," + plantedKey + "2"
		}
		return getenv(name)
	}
	got := all(Ask(t.Context(), two, nil))
	if !strings.Contains(got, "ok model key 1 of 2: openai/gpt-5 answered") || !strings.Contains(got, "FAIL model key 2 of 2: ") {
		t.Errorf("got\n%s\nwant that the second key fails", got)
	}
}
