package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
)

// FuzzAnswer gives the client any server answer: it never panics, each error
// has a kind, is short and contains no key, and each reply can be sent back.
func FuzzAnswer(f *testing.F) {
	for _, b := range bodies {
		f.Add(uint16(b.status), b.body)
	}
	f.Add(uint16(200), `{"choices":[{"finish_reason":"content_filter: SAFETY"}]}`)
	f.Add(uint16(200), `{"choices":[{"message":{"tool_calls":[{"id":"","function":{"name":"bash","arguments":{}}}]}}]}`)
	f.Add(uint16(400), `{"error":{"message":"sk-planted-0123456789/abc+def","metadata":{"raw":{"error":{"metadata":{"raw":"{}"}}}}}}`)
	f.Fuzz(func(t *testing.T, status uint16, body string) {
		if status < 200 || status > 599 {
			return
		}
		rt := transport(func(r *http.Request) *http.Response {
			a := answer(body, nil)
			a.StatusCode, a.Request = int(status), r
			return a
		})
		m := compose(t, endpoint.Config{
			Model: "m", BaseURL: "http://model.test/v1", APIKey: planted, HTTP: &http.Client{Transport: rt}, Retry: llm.RetryPolicy{Tries: 1},
		})
		resp, err := m.Generate(t.Context(), again())
		if err != nil {
			if fault.KindOf(err) == fault.Unknown || len(err.Error()) > 1000 || strings.Contains(err.Error(), planted) {
				t.Errorf("got %d bytes of blame %v: %v; want an error with a kind, at most 1000 bytes, without %q",
					len(err.Error()), fault.KindOf(err), err, planted)
			}
			return
		}
		ids := make([]string, len(resp.Message.ToolCalls()))
		if own := resp.Message.WithToolCallIDs(ids); !json.Valid(resp.Message.Chat) || !json.Valid(own.Chat) {
			t.Errorf("the reply cannot be sent back: %s, %s", resp.Message.Chat, own.Chat)
		}
	})
}
