package stub_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"batch.example/batch/llm/stub"
)

// post sends a body to a new handler and returns the status, the body and the illegal request, if any.
func post(t *testing.T, path, body string) (status int, text string, illegal error) {
	t.Helper()
	h := &stub.Handler{
		Next:    func(int, *stub.Request) stub.Answer { return stub.Bash("ls") },
		Illegal: func(err error) { illegal = err },
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	data, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(data), illegal
}

func TestIllegalRequestsAreRefused(t *testing.T) {
	const call = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]}`
	const user = `{"role":"user","content":"hi"}`
	tests := []struct{ name, messages, want string }{
		{"no messages", ``, "at least one"},
		{"role exit", `{"role":"exit","content":""}`, `unknown role "exit"`},
		{"extra", `{"role":"user","content":"x","extra":{}}`, "extra"},
		{"user without content", `{"role":"user"}`, "needs content"},
		{"assistant with nothing", user + `,{"role":"assistant","content":null}`, "content or tool_calls"},
		{"tool call without arguments", `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x"}}]}`, "tool_calls[0]"},
		{"no answer to a call", call, "1 tool calls have no answer"},
		{"someone speaks before the answer", call + `,` + user, "before it have no answer"},
		{"an answer to nothing", `{"role":"tool","tool_call_id":"b","content":""}`, "answers no open"},
		{"an id twice in one message", `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":""}},{"id":"a","type":"function","function":{"name":"x","arguments":""}}]}`, "used twice"},
		{"an id of an earlier message", call + `,{"role":"tool","tool_call_id":"a","content":""},` + call, "used twice"},
		{"two answers to one call", call + `,{"role":"tool","tool_call_id":"a","content":""},{"role":"tool","tool_call_id":"a","content":""}`, "answers no open"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, text, illegal := post(t, "/v1/chat/completions", `{"model":"m","messages":[`+tt.messages+`]}`)
			if status != 400 || illegal == nil || !strings.Contains(illegal.Error(), tt.want) || !strings.Contains(text, `"error"`) {
				t.Errorf("%d %s, illegal: %v, want %q", status, text, illegal, tt.want)
			}
		})
	}
	for _, body := range []string{`{"messages":[` + user + `]}`, `[]`, `{`, `{"model":"m","parallel_tool_calls":true,"messages":[` + user + `]}`} {
		if status, _, illegal := post(t, "/chat/completions", body); status != 400 || illegal == nil {
			t.Errorf("%s: status %d, illegal %v; want status 400, an illegal request", body, status, illegal)
		}
	}
}

func TestLegalRequestsAreAnswered(t *testing.T) {
	status, text, illegal := post(t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
	if status != 200 || illegal != nil || !strings.Contains(text, `"finish_reason":"tool_calls"`) {
		t.Errorf("got %d %s, %v; want status 200, illegal nil, %q", status, text, illegal, `"finish_reason":"tool_calls"`)
	}
	if status, _, _ := post(t, "/v1/models", `{}`); status != http.StatusNotFound {
		t.Errorf("an unknown path: status %d, want 404", status)
	}
}
