package conformance

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/stub"
)

// FuzzAnswer gives a client any answer, with a status, as a stream or at once. The client must never panic;
// each error must have a kind, be short and not contain the key; each reply must be sendable, also after it
// was read from a journal. The caller adds the seeds.
func FuzzAnswer(f *testing.F, c Client) {
	f.Fuzz(func(t *testing.T, status uint16, streamed bool, body string) {
		if status < 200 || status > 599 {
			return
		}
		kind := "application/json"
		if streamed {
			kind = "text/event-stream"
		}
		var sent bytes.Buffer
		keep := func(body string) { sent.WriteString(body) }
		m, err := c.Open(endpoint.Config{
			Model: models[c.Protocol], BaseURL: "http://model.test/v1", APIKey: Key,
			HTTP: Canned{Status: int(status), Kind: kind, Body: body, Sent: keep}.Client(), Kwargs: map[string]any{"stream": streamed},
		})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Generate(t.Context(), ask())
		if err != nil {
			if fault.KindOf(err) == fault.Unknown || len(err.Error()) > 1000 || strings.Contains(err.Error(), Key) {
				t.Errorf("%d bytes of blame %v: %v; want a kind, at most 1000 bytes, without the key", len(err.Error()), fault.KindOf(err), err)
			}
			return
		}
		written, err := json.Marshal(resp.Message)
		if err != nil || !json.Valid(resp.Raw) {
			t.Fatalf("the reply cannot be kept: %v, %s", err, resp.Raw)
		}
		var read llm.Message
		if err := json.Unmarshal(written, &read); err != nil {
			t.Fatal(err)
		}
		back := func(reply llm.Message) string {
			req := ask()
			req.Messages = append(req.Messages, reply)
			said(req, "Continue.")
			sent.Reset()
			if _, err := m.Generate(t.Context(), req); err != nil {
				t.Errorf("the reply cannot be sent back: %v", err)
			}
			text := sent.String()
			for requests := json.NewDecoder(&sent); requests.More(); { // a paused turn has several
				if err := requests.Decode(new(json.RawMessage)); err != nil {
					t.Fatalf("sent %s, want JSON: %v", text, err)
				}
			}
			return text
		}
		// The journal may reorder the members of a chat completion's message.
		if before, after := back(resp.Message), back(read); before != after && c.Protocol != stub.Chat {
			t.Errorf("sent %s, and after the journal %s", before, after)
		}
		back(resp.Message.WithToolCallIDs(make([]string, len(resp.Message.ToolCalls()))))
	})
}
