package responses_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/responses"
)

type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return f(r), r.Body.Close()
}

// FuzzAnswer gives the client any answer, as a stream or at once: it never panics, each
// error has a kind, is short and contains no key, and each reply can be sent back.
func FuzzAnswer(f *testing.F) {
	f.Add(whole(items...), false)
	f.Add(events(`{"type":"response.output_item.done","output_index":-1,"item":null}`, `{"type":"response.completed","response":`+whole()+`}`).body, true)
	f.Add(events(`{"type":"error","error":{"code":400,"type":3,"message":"sk-planted-0123456789/abc+def"}}`).body, true)
	f.Add(`{"output":[null,{"type":"function_call","arguments":{}},{"type":"reasoning","id":3}],"usage":[],"error":{}}`, false)
	f.Add("{\"output\":[{\"type\":\"message\",\"x\":\"\x85\"}]}", false)
	f.Fuzz(func(t *testing.T, body string, streamed bool) {
		var sent []byte
		rt := transport(func(r *http.Request) *http.Response {
			sent, _ = io.ReadAll(r.Body)
			typ := "application/json"
			if streamed {
				typ = "text/event-stream"
			}
			return &http.Response{
				StatusCode: 200, Request: r, Header: http.Header{"Content-Type": {typ}}, Body: io.NopCloser(strings.NewReader(body)),
			}
		})
		m, err := responses.New(endpoint.Config{
			Model: "m", BaseURL: "http://model.test/v1", APIKey: planted, HTTP: &http.Client{Transport: rt}, Kwargs: map[string]any{"stream": streamed},
		})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Generate(t.Context(), ask())
		if err != nil {
			if fault.KindOf(err) == fault.Unknown || len(err.Error()) > 1000 || strings.Contains(err.Error(), planted) {
				t.Errorf("got %d bytes of blame %v: %v", len(err.Error()), fault.KindOf(err), err)
			}
			return
		}
		body = whole()
		streamed = false
		for _, msg := range []llm.Message{resp.Message, resp.Message.WithToolCallIDs(make([]string, len(resp.Message.ToolCalls()))), reread(t, resp.Message)} {
			if _, err := m.Generate(t.Context(), ask(msg)); err != nil || !json.Valid(sent) {
				t.Errorf("the reply cannot be sent back: %v, %s", err, sent)
			}
		}
	})
}
