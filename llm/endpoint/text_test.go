package endpoint_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/gemini"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/responses"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Half a letter in an answer is neither kept nor sent back: JSON has none, and the journal
// would change it.
func TestWhatIsKeptOfAnAnswerIsText(t *testing.T) {
	for name, tc := range map[string]struct {
		open   func(endpoint.Config) (llm.Model, error)
		answer string
	}{
		"anthropic": {func(c endpoint.Config) (llm.Model, error) { return anthropic.New(c) }, "{\"content\":[{\"type\":\"new\",\"x\":\"\x85\"}]}"},
		"gemini":    {func(c endpoint.Config) (llm.Model, error) { return gemini.New(c) }, "{\"candidates\":[{\"content\":{\"parts\":[{\"x\":\"\x85\"}]}}]}"},
		"openai":    {func(c endpoint.Config) (llm.Model, error) { return openai.New(c) }, "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"a\",\"x\":\"\x85\"}}]}"},
		"responses": {func(c endpoint.Config) (llm.Model, error) { return responses.New(c) }, "{\"output\":[{\"type\":\"new\",\"x\":\"\x85\"}]}"},
	} {
		var sent []byte
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			var err error
			sent, err = io.ReadAll(r.Body)
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(tc.answer)), Request: r,
			}, err
		})}
		m, err := tc.open(endpoint.Config{Model: "m", BaseURL: "http://model.test", HTTP: client})
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("u")}}}
		resp, err := m.Generate(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		req.Messages = append(req.Messages, resp.Message, req.Messages[0])
		if _, err := m.Generate(t.Context(), req); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !utf8.Valid(resp.Raw) || !utf8.Valid(sent) || !strings.Contains(string(sent), "\uFFFD") {
			t.Errorf("%s: kept %q and sent %q, want both with U+FFFD", name, resp.Raw, sent)
		}
	}
}
