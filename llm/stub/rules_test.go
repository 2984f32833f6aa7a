package stub_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/llm/stub"
)

// TestEveryProviderRefusesWhatBreaksItsRules checks that a test against the stub finds a client that breaks a
// rule of the real provider.
func TestEveryProviderRefusesWhatBreaksItsRules(t *testing.T) {
	const (
		completions = "/v1/chat/completions"
		messages    = "/v1/messages"
		response    = "/v1/responses"
		generate    = "/v1beta/models/gemini-3-pro:generateContent"
		use         = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"bash","input":{}}]}`
		user        = `{"role":"user","content":"hi"}`
		fcall       = `{"role":"model","parts":[{"functionCall":{"name":"bash","args":{}}}]}`
		task        = `{"role":"user","parts":[{"text":"hi"}]}`
		call        = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]}`
		output      = `{"role":"tool","tool_call_id":"a","content":""}`
	)
	chat := func(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }
	tests := []struct {
		name, path, body, want string
		status                 int
	}{
		{"no messages", completions, chat(``), "at least one", 400},
		{"no model", completions, `{"messages":[` + user + `]}`, "model parameter", 400},
		{"no object", completions, `[]`, "not a JSON object", 400},
		{"parallel calls of no tools", completions, `{"model":"m","parallel_tool_calls":true,"messages":[` + user + `]}`, "only allowed when tools", 400},
		{"role exit", completions, chat(`{"role":"exit","content":""}`), `unknown role "exit"`, 400},
		{"extra", completions, chat(`{"role":"user","content":"x","extra":{}}`), "extra", 400},
		{"user without content", completions, chat(`{"role":"user"}`), "needs content", 400},
		{"assistant with nothing", completions, chat(user + `,{"role":"assistant","content":null}`), "content or tool_calls", 400},
		{"tool call without arguments", completions, chat(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x"}}]}`), "tool_calls[0]", 400},
		{"no answer to a call", completions, chat(call), "1 tool calls have no answer", 400},
		{"someone speaks before the answer", completions, chat(call + `,` + user), "before it have no answer", 400},
		{"an answer to nothing", completions, chat(`{"role":"tool","tool_call_id":"b","content":""}`), "answers no open", 400},
		{"an id of an earlier message", completions, chat(call + `,` + output + `,` + call), "used twice", 400},
		{"two answers to one call", completions, chat(call + `,` + output + `,` + output), "answers no open", 400},
		{"no max_tokens", messages, `{"model":"m","messages":[` + user + `]}`, "max_tokens: Field required", 400},
		{"a member of another protocol", messages, `{"model":"m","max_tokens":9,"seed":1,"messages":[` + user + `]}`, "seed: Extra inputs", 400},
		{"an assistant first", messages, `{"model":"m","max_tokens":9,"messages":[` + use + `]}`, "first message must use", 400},
		{"a tool without a result", messages, `{"model":"m","max_tokens":9,"messages":[` + user + `,` + use + `,` + user + `]}`, "without `tool_result` blocks immediately after: t1", 400},
		{"a result after text", messages, `{"model":"m","max_tokens":9,"messages":[` + user + `,` + use + `,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t1"}]}]}`, "must come first", 400},
		{"a changed thought", messages, `{"model":"m","max_tokens":9,"messages":[` + user + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"c2ln"}]},` + user + `]}`, "Invalid `signature`", 400},
		{"empty text", messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":""}]}`, "non-whitespace", 400},
		{"five breakpoints", messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4) + `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`, "maximum of 4", 400},
		{"a call without an output", response, `{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"b","arguments":"{}"}]}`, "No tool output found for function call c", 400},
		{"an output without a call", response, `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`, "No tool call found", 400},
		{"an unknown parameter", response, `{"model":"m","input":"x","max_tokens":3}`, "Unknown parameter: 'max_tokens'", 400},
		{"an id of another kind", response, `{"model":"m","input":[{"type":"function_call","id":"call_1","call_id":"c","name":"b","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]}`, "Expected an ID that begins with 'fc'", 400},
		{"reasoning that is not stored", response, `{"model":"m","store":false,"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"x"}]}`, "not persisted", 404},
		{"reasoning of someone else", response, `{"model":"m","store":false,"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"role":"user","content":"x"}]}`, "could not be verified", 400},
		{"a call without a signature", generate, `{"contents":[` + task + `,` + fcall + `,{"role":"user","parts":[{"functionResponse":{"name":"bash","response":{}}}]}]}`, "missing a thought_signature", 400},
		{"too few responses", generate, `{"contents":[` + task + `,` + fcall + `,` + task + `]}`, "number of function response parts", 400},
		{"a wrong role", generate, `{"contents":[{"role":"assistant","parts":[{"text":"x"}]}]}`, "valid role", 400},
		{"no parts", generate, `{"contents":[{"role":"user"}]}`, "must not be empty", 400},
		{"an unknown name", generate, `{"contents":[` + task + `],"messages":[]}`, `Unknown name`, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var illegal error
			h := &stub.Handler{Illegal: func(err error) { illegal = err }, Next: func(int, *stub.Request) stub.Answer {
				return stub.Text("answered")
			}}
			r := httptest.NewRequest(http.MethodPost, tt.path, strings.NewReader(tt.body))
			r.Header.Set("X-Api-Key", "k")
			r.Header.Set("X-Goog-Api-Key", "k")
			r.Header.Set("Anthropic-Version", "2023-06-01")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.status || illegal == nil || !strings.Contains(illegal.Error(), tt.want) || !strings.Contains(w.Body.String(), `"error"`) {
				t.Errorf("answered %d %s, illegal: %v; want %d, %q", w.Code, w.Body, illegal, tt.status, tt.want)
			}
		})
	}
}

func TestLimitsAdmitAsManyAsTheySay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &stub.Handler{
			Limits: stub.Limits{RPM: 600, Burst: 5, Every: time.Minute, Refuse: time.Second},
			Next:   func(int, *stub.Request) stub.Answer { return stub.Text("ok") },
		}
		ask := func(key string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
			r.Header.Set("Authorization", "Bearer "+key)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		if w := ask("a"); w.Code != 429 || w.Header().Get("Retry-After-Ms") != "1000" {
			t.Errorf("in the refusing second: %d, %v; want 429 and 1000 ms", w.Code, w.Header())
		}
		time.Sleep(time.Second)
		for i := range 7 {
			want := 200
			if i >= 5 {
				want = 429
			}
			if w := ask("a"); w.Code != want {
				t.Errorf("request %d at once: %d, want %d", i+1, w.Code, want)
			}
		}
		if w := ask("b"); w.Code != 200 {
			t.Errorf("another key: %d, want 200", w.Code)
		}
		time.Sleep(100 * time.Millisecond)
		if w := ask("a"); w.Code != 200 || w.Header().Get("X-Ratelimit-Limit-Requests") != "600" || w.Header().Get("X-Ratelimit-Remaining-Requests") != "0" {
			t.Errorf("a tenth of a second later: %d %v, want 200 and the limits", w.Code, w.Header())
		}
		if got, want := h.Counts(), (stub.Counts{Accepted: 7, Refused: 3}); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
	})
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

func TestAnInstanceIsFoundByTheFirstGroup(t *testing.T) {
	for expr, want := range map[string]string{
		`a__b-\d+`:                "a__b-17",
		`instance (\S+)`:          "a__b-17",
		`instance (\S+) of (\S+)`: "a__b-17",
		`instance ((\w+)-(\d+))`:  "a__b-17",
		`instance (x)?(\S+)`:      "",
		`nothing (\S+)`:           "",
	} {
		got := "none asked"
		script := stub.Script{ID: regexp.MustCompile(expr)}
		s := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
			got = script.Instance(r)
			return stub.Text("ok")
		})
		const body = `{"model":"m","messages":[{"role":"user","content":"fix instance a__b-17 of lite"}]}`
		answer, err := http.Post(s.URL+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got != want {
			t.Errorf("%s finds %q, want %q", expr, got, want)
		}
	}
}
