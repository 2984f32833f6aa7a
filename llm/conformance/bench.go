package conformance

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"batch.example/batch/llm"
)

// A measured conversation has observations of 4 KB, and each call adds two messages.
const shortest, longest = 150, 250

// Benchmark measures the calls of that conversation, which starts again after the longest one. Reply is a
// reply of m with one tool call. To leave out network and server, m sends its requests to a [Canned].
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

// Canned is a transport that gives every request the same answer, without a network.
type Canned struct {
	Status int    // 0 is 200
	Kind   string // media type; "" is JSON
	Body   string
	Header http.Header       // further headers
	Sent   func(body string) // receives the requests; nil discards them
}

// Client returns a client that sends its requests to c.
func (c Canned) Client() *http.Client { return &http.Client{Transport: c} }

// RoundTrip implements [http.RoundTripper].
func (c Canned) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	if c.Sent == nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	} else {
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength {
			return nil, fmt.Errorf("a request has %d bytes (%v), want %d", len(body), err, r.ContentLength)
		}
		c.Sent(string(body))
	}
	header := http.Header{"Content-Type": {cmp.Or(c.Kind, "application/json")}}
	maps.Copy(header, c.Header)
	return &http.Response{
		StatusCode: cmp.Or(c.Status, http.StatusOK), Header: header, Request: r, Body: io.NopCloser(strings.NewReader(c.Body)),
	}, nil
}
