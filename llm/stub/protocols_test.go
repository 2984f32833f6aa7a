package stub_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// ask posts a body to a server's path with the headers of every protocol.
func ask(t *testing.T, s *stub.Server, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Base(stub.Anthropic)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"X-Api-Key": "k", "X-Goog-Api-Key": "k", "Anthropic-Version": "2023-06-01", "Content-Type": "application/json",
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// requests asks each protocol the same question, whole and streamed.
var requests = map[stub.Protocol][2]struct{ path, body string }{
	stub.Chat: {
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`},
	},
	stub.Responses: {
		{"/v1/responses", `{"model":"m","input":"hi","store":false,"include":["reasoning.encrypted_content"]}`},
		{"/v1/responses", `{"model":"m","input":[{"role":"user","content":"hi"}],"stream":true,"store":false,"include":["reasoning.encrypted_content"]}`},
	},
	stub.Anthropic: {
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true}`},
	},
	stub.Gemini: {
		{"/v1beta/models/gemini-3-pro:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`},
		{"/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`},
	},
}

func TestEveryProtocolAnswersWholeAndStreamed(t *testing.T) {
	answer := stub.Answer{
		Parts: []llm.Part{
			llm.Reasoning{Text: "let me think about this for a moment"},
			llm.Reasoning{},
			llm.Text{Text: "I will look, if that is fine with you: é"},
			stub.BashCall("", "ls -la /testbed && echo done"),
		},
		Usage: vocab.Usage{Input: 100, Cached: 40, CacheWrite: 20, CacheHour: 5, Output: 30, Reasoning: 10},
	}
	for p, asked := range requests {
		t.Run(string(p), func(t *testing.T) {
			s := stub.NewServer(t, answer)
			status, whole := ask(t, s, asked[0].path, asked[0].body)
			if status != http.StatusOK || !json.Valid([]byte(whole)) {
				t.Errorf("answered %d %s, want 200 and JSON", status, whole)
			}
			status, stream := ask(t, s, asked[1].path, asked[1].body)
			if status != http.StatusOK {
				t.Errorf("answered %d %s, want 200", status, stream)
			}
			events := 0
			for lines := bufio.NewScanner(strings.NewReader(stream)); lines.Scan(); {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("event %s, want JSON", data)
				}
				if ok {
					events++
				}
			}
			if events < 6 {
				t.Errorf("%d events in %s, want several for each part", events, stream)
			}
			for _, r := range s.Requests() {
				if got := r.Task(); got != "hi" || r.Protocol != p {
					t.Errorf("read %s request with task %q, want %s, %q", r.Protocol, got, p, "hi")
				}
			}
		})
	}
}

func TestARequestThatIsTooLargeIsRefused(t *testing.T) {
	s := stub.NewServer(t)
	body := strings.Repeat("x", 64<<20+1)
	for _, path := range []string{"/chat/completions", "/responses"} {
		answer, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d, want %d", path, answer.StatusCode, http.StatusRequestEntityTooLarge)
		}
	}
}
