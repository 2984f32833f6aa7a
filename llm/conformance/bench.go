package conformance

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"batch.example/batch/llm"
)

// The conversation that calls are measured with: observations of 4 KB, two messages more in
// each call.
const shortest, longest = 150, 250

// growing returns a function that makes the next call of that conversation, again from the
// beginning after the longest one. Rest is called around what does not count.
func growing(t testing.TB, m llm.Model, reply llm.Message, rest func(func())) (next func()) {
	all := []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("task")}}
	for len(all) < longest {
		result := llm.ToolResult{CallID: reply.ToolCalls()[0].ID, Parts: llm.Say(strings.Repeat("line of <output>\n", 240))}
		all = append(all, reply, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{result}})
	}
	tools := []llm.Tool{{Name: "bash", Parameters: []byte(`{"type":"object"}`)}}
	req := &llm.Request{}
	ask := func(length int) {
		req.Messages = all[:length]
		if _, err := m.Generate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if n := len(req.Messages); n == 0 || n == longest {
			rest(func() {
				req = &llm.Request{Tools: tools, Memo: &llm.Memo{}}
				ask(shortest)
			})
		}
		ask(len(req.Messages) + 2)
	}
}

// Benchmark measures the calls of a growing conversation. Reply is one of m's, with one tool
// call. No network and no server are counted if m sends its requests to [Canned].
func Benchmark(b *testing.B, m llm.Model, reply llm.Message) {
	next := growing(b, m, reply, func(f func()) {
		b.StopTimer()
		f()
		b.StartTimer()
	})
	b.ReportAllocs()
	for b.Loop() {
		next()
	}
}

// Frugal holds that a call makes at most so many allocations, and that it encodes and copies
// the new messages, not the conversation.
func Frugal(t *testing.T, m llm.Model, reply llm.Message, allocations uint64) {
	t.Helper()
	next := growing(t, m, reply, func(f func()) { f() })
	next()
	const calls = (longest-shortest)/2 - 1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		next()
	}
	runtime.ReadMemStats(&after)
	if n := (after.Mallocs - before.Mallocs) / calls; n > allocations {
		t.Errorf("a call makes %d allocations, want at most %d", n, allocations)
	}
	const most = 96 << 10 // what is kept of the requests grows; a request has 300 to 500 KB
	if n := (after.TotalAlloc - before.TotalAlloc) / calls; n > most {
		t.Errorf("a call allocates %d bytes, want at most %d", n, most)
	}
}

// Canned returns a client that reads each request and answers with text, of the media
// type kind, without a network.
func Canned(kind, text string) *http.Client { return &http.Client{Transport: canned{kind, text}} }

type canned struct{ kind, text string }

// RoundTrip implements [http.RoundTripper].
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.kind}},
		Body: io.NopCloser(strings.NewReader(c.text)), Request: r,
	}, r.Body.Close()
}
