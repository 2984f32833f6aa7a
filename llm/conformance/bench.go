package conformance

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"batch.example/batch/llm"
)

// A measured conversation has observations of 4 KB, and each call adds two messages.
const shortest, longest = 150, 250

// Benchmark measures the calls of that conversation, which starts again after the longest one. Reply is a
// reply of m with one tool call. To leave out network and server, m sends its requests to [Canned].
func Benchmark(b *testing.B, m llm.Model, reply llm.Message) {
	all := []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("task")}}
	for len(all) < longest {
		result := llm.ToolResult{CallID: reply.ToolCalls()[0].ID, Parts: llm.Say(strings.Repeat("line of <output>\n", 240))}
		all = append(all, reply, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{result}})
	}
	tools := []llm.Tool{{Name: "bash", Parameters: []byte(`{"type":"object"}`)}}
	req := &llm.Request{}
	ask := func(length int) {
		req.Messages = all[:length]
		if _, err := m.Generate(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(req.Messages); n == 0 || n == longest {
			b.StopTimer()
			req = &llm.Request{Tools: tools, Memo: &llm.Memo{}}
			ask(shortest)
			b.StartTimer()
		}
		ask(len(req.Messages) + 2)
	}
}

// Canned returns a client that reads each request and answers with text, of the media type kind, without a
// network.
func Canned(kind, text string) *http.Client {
	return &http.Client{Transport: canned{http.StatusOK, kind, text, io.Discard}}
}

type canned struct {
	status     int
	kind, text string
	to         io.Writer // receives the requests
}

// RoundTrip implements [http.RoundTripper].
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(c.to, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}},
		Body: io.NopCloser(strings.NewReader(c.text)), Request: r,
	}, r.Body.Close()
}
