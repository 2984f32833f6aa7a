package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/runner"
)

const (
	aliceToken = "alice-0123456789abcdef"
	bobToken   = "bob-0123456789abcdef"
)

func withTokens(t testing.TB) func(*Config) {
	t.Helper()
	tokens, err := ParseTokens("# callers\nalice: " + aliceToken + "\n\nbob: " + bobToken + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Tokens = tokens }
}

// post sends a body, and returns the HTTP status, the error's code and the answer.
func post(t testing.TB, url, token, body string) (status, code int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
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
	var got struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(bytes.TrimPrefix(data[max(0, bytes.Index(data, []byte("data: "))):], []byte("data: ")), &got)
	return resp.StatusCode, got.Error.Code, string(data)
}

func TestHostileRequestsAreRefused(t *testing.T) {
	w := newWorld(t, settings{config: withTokens(t)})
	c := w.client(aliceToken)
	mine := send(t, c, say("run echo b >> f.txt"))
	call := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q,"params":%s}`, method, params)
	}
	message := func(more, parts string) string {
		return call("message/send", `{"message":{"messageId":"m","role":"user"`+more+`,"parts":`+parts+`}}`)
	}
	text := `[{"kind":"text","text":"say x"}]`
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"nothing":                 {"", -32700},
		"no JSON":                 {"{", -32700},
		"more behind it":          {call("tasks/get", `{"id":"x"}`) + "{}", -32700},
		"deep nesting":            {strings.Repeat("[", 100_000), -32700},
		"deep nesting in params":  {call("message/send", strings.Repeat(`{"message":`, 9000)+"1"+strings.Repeat("}", 9000)), -32602},
		"a huge body":             {call("tasks/get", `{"id":"`+strings.Repeat("x", 2<<20)+`"}`), -32600},
		"a batch":                 {"[" + call("tasks/get", `{"id":"x"}`) + "]", -32600},
		"another version":         {`{"jsonrpc":"1.0","id":1,"method":"tasks/get"}`, -32600},
		"no method":               {`{"jsonrpc":"2.0","id":1}`, -32600},
		"a method of a type":      {`{"jsonrpc":"2.0","id":1,"method":7}`, -32600},
		"an id of a type":         {`{"jsonrpc":"2.0","id":{},"method":"tasks/get","params":{"id":"x"}}`, -32600},
		"an unknown method":       {call("tasks/steal", `{}`), -32601},
		"no params":               {`{"jsonrpc":"2.0","id":1,"method":"message/send"}`, -32602},
		"params of a type":        {call("message/send", `[1]`), -32602},
		"no message":              {call("message/send", `{}`), -32602},
		"no message in a stream":  {call("message/stream", `{}`), -32602},
		"a message of a type":     {call("message/send", `{"message":"hello"}`), -32602},
		"no parts":                {message("", "[]"), -32602},
		"an unknown part":         {message("", `[{"kind":"soul"}]`), -32602},
		"a file":                  {message("", `[{"kind":"file","file":{"uri":"file:///etc/passwd"}}]`), -32005},
		"data":                    {message("", `[{"kind":"data","data":{}}]`), -32005},
		"no words":                {message("", `[{"kind":"text","text":""}]`), -32602},
		"the agent's role":        {call("message/send", `{"message":{"messageId":"m","role":"agent","parts":`+text+`}}`), -32602},
		"no message id":           {call("message/send", `{"message":{"role":"user","parts":`+text+`}}`), -32602},
		"a long message id":       {call("message/send", `{"message":{"messageId":"`+strings.Repeat("m", 300)+`","role":"user","parts":`+text+`}}`), -32602},
		"an unknown task":         {message(`,"taskId":"nope.1"`, text), -32001},
		"an unknown context":      {message(`,"contextId":"nope"`, text), -32602},
		"a path as a context":     {message(`,"contextId":"../../etc"`, text), -32602},
		"another context's task":  {message(`,"contextId":"nope","taskId":"`+string(mine.ID)+`"`, text), -32602},
		"output it does not have": {call("message/send", `{"configuration":{"acceptedOutputModes":["image/png"]},"message":{"messageId":"m","role":"user","parts":`+text+`}}`), -32005},
		"a negative history":      {call("tasks/get", `{"id":"`+string(mine.ID)+`","historyLength":-1}`), -32602},
		"no task to get":          {call("tasks/get", `{}`), -32602},
		"no task to cancel":       {call("tasks/cancel", `{}`), -32602},
		"no task to follow":       {call("tasks/resubscribe", `{}`), -32602},
		"a task to get":           {call("tasks/get", `{"id":"nope.1"}`), -32001},
		"a task to cancel":        {call("tasks/cancel", `{"id":"nope.1"}`), -32001},
		"a task that has ended":   {call("tasks/cancel", `{"id":"`+string(mine.ID)+`"}`), -32002},
		"a task to follow":        {call("tasks/resubscribe", `{"id":"nope.1"}`), -32001},
		"a hook to a network":     {call("tasks/pushNotificationConfig/set", `{"taskId":"`+string(mine.ID)+`","pushNotificationConfig":{"url":"http://169.254.169.254/latest"}}`), -32003},
		"a hook without params":   {`{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/get"}`, -32003},
		"a hook of a type":        {call("tasks/pushNotificationConfig/list", `{"id":7}`), -32003},
		"a message with a hook":   {call("message/send", `{"configuration":{"pushNotificationConfig":{"url":"http://169.254.169.254/latest"}},"message":{"messageId":"m","role":"user","parts":`+text+`}}`), -32003},
		"the extended card":       {call("agent/getAuthenticatedExtendedCard", `{}`), -32007},
	} {
		t.Run(name, func(t *testing.T) {
			status, code, answer := post(t, w.http.URL, aliceToken, c.body)
			if status != http.StatusOK || code != c.code {
				t.Errorf("HTTP %d, code %d, want 200 and %d: %.300s", status, code, c.code, answer)
			}
		})
	}
	if n := w.server.Contexts(); n != 1 {
		t.Errorf("%d contexts afterwards, want the one", n)
	}
	expect(t, send(t, c, in(say("run cat f.txt"), mine.ContextID)), a2a.TaskStateCompleted, "a\nb")
}

func TestAForeignContextDoesNotExist(t *testing.T) {
	w := newWorld(t, settings{config: withTokens(t)})
	alice, bob := w.client(aliceToken), w.client(bobToken)
	p := say("say secret")
	task := send(t, alice, p)
	id := &a2a.TaskIDParams{ID: task.ID}
	unknown := a2a.TaskID(strings.Repeat("0", 32) + ".1")
	for name, ask := range map[string]func(a2a.TaskID, string) error{
		"get": func(id a2a.TaskID, _ string) error {
			_, err := bob.GetTask(t.Context(), &a2a.TaskQueryParams{ID: id})
			return err
		},
		"cancel": func(id a2a.TaskID, _ string) error {
			_, err := bob.CancelTask(t.Context(), &a2a.TaskIDParams{ID: id})
			return err
		},
		"send": func(id a2a.TaskID, _ string) error {
			_, err := bob.SendMessage(t.Context(), to(say("say x"), id))
			return err
		},
		"begin": func(_ a2a.TaskID, context string) error {
			_, err := bob.SendMessage(t.Context(), in(say("say x"), context))
			return err
		},
		"follow": func(id a2a.TaskID, _ string) error {
			for _, err := range bob.ResubscribeToTask(t.Context(), &a2a.TaskIDParams{ID: id}) {
				return err
			}
			return nil
		},
	} {
		foreign, none := ask(id.ID, task.ContextID), ask(unknown, contextOf(unknown))
		if foreign == nil || none == nil || foreign.Error() != none.Error() {
			t.Errorf("%s: a foreign one is %v, one that does not exist %v; want the same error", name, foreign, none)
		}
	}
	// The same message id from another caller is another message.
	if other := send(t, bob, p); other.ContextID == task.ContextID {
		t.Error("a message id led into a foreign context")
	}
	for _, token := range []string{"", "wrong-0123456789abcdef", aliceToken + "x"} {
		if status, _, answer := post(t, w.http.URL, token, `{}`); status != http.StatusUnauthorized || strings.Contains(answer, "secret") {
			t.Errorf("with the token %q: HTTP %d", token, status)
		}
	}
	// The owner's name is recorded; no file has a token.
	w.stop()
	journal, err := os.ReadFile(filepath.Join(w.server.c.Dir, task.ContextID, "journal.jsonl"))
	if err != nil || !bytes.Contains(journal, []byte(`"owner":"alice"`)) {
		t.Errorf("the journal does not name the owner: %v", err)
	}
	noSecret(t, w, aliceToken, bobToken)
}

// noSecret looks for secrets in all files of a run and in the log.
func noSecret(t *testing.T, w *world, secrets ...string) {
	t.Helper()
	_ = filepath.WalkDir(w.server.c.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range secrets {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s has a secret", path)
			}
		}
		return err
	})
	for _, secret := range secrets {
		if strings.Contains(w.log.String(), secret) {
			t.Error("the log has a secret")
		}
	}
}

func TestWebPagesCannotCall(t *testing.T) {
	w := newWorld(t, settings{})
	for name, change := range map[string]func(*http.Request){
		"a form":          func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"a page":          func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"a name for here": func(r *http.Request) { r.Host = "evil.example" },
		"a GET":           func(r *http.Request) { r.Method = http.MethodGet },
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, w.http.URL+"/", strings.NewReader(`{}`))
		req.RequestURI = ""
		req.Header.Set("Content-Type", "application/json")
		change(req)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("%s: HTTP %d, want a refusal", name, resp.StatusCode)
		}
	}
}

func TestLimitsOfContexts(t *testing.T) {
	w := newWorld(t, settings{config: func(c *Config) {
		withTokens(t)(c)
		c.Limits = Limits{Contexts: 2, Turns: 2}
	}})
	alice, bob := w.client(aliceToken), w.client(bobToken)
	p := say("say 1")
	first := send(t, alice, p)
	send(t, alice, in(say("say 2"), first.ContextID))
	if _, err := alice.SendMessage(t.Context(), in(say("say 3"), first.ContextID)); !isError(err, a2a.ErrServerError) || !strings.Contains(err.Error(), "has had 2 messages") {
		t.Errorf("got %v, want the limit of messages", err)
	}
	send(t, bob, say("say 4"))
	if _, err := bob.SendMessage(t.Context(), say("say 5")); !isError(err, a2a.ErrServerError) || !strings.Contains(err.Error(), "2 contexts") {
		t.Errorf("got %v, want the limit of contexts", err)
	}
	if again := send(t, alice, p); again.ID != first.ID {
		t.Errorf("the first message again is task %s, want %s", again.ID, first.ID)
	}
}

func TestATurnHasItsCallersAuthority(t *testing.T) {
	s := settings{dir: t.TempDir(), model: holding(), config: func(c *Config) {
		withTokens(t)(c)
		c.ModelKeyHeader = "X-Batch-Model-Key"
	}}
	w := newWorld(t, s)
	const key = "sk-of-the-caller"
	keyed := w.clientOver(&http.Client{Transport: header{"X-Batch-Model-Key", key, bearer(aliceToken)}})
	task := send(t, keyed, say("say hello"))
	if a := s.model.seen[0]; a.Actor != "alice" || a.ModelKey != key {
		t.Error("the turn did not have the caller's name and key")
	}
	c := w.client(aliceToken)
	send(t, c, in(say("say hello"), task.ContextID))
	if a := s.model.seen[1]; a.Actor != "alice" || a.ModelKey != "" {
		t.Error("the next turn has a key that did not come with it")
	}
	held := send(t, keyed, atOnce(in(say("hold"), task.ContextID)))
	s.model.wait(t)
	w.stop()
	noSecret(t, w, key)

	w = newWorld(t, s)
	c = w.client(aliceToken)
	expect(t, get(t, c, held.ID), a2a.TaskStateAuthRequired, "keeps no credentials")
	close(s.model.release)
	again := to(say("say x"), held.ID)
	again.Message.Metadata = map[string]any{retryKey: true}
	keyed = w.clientOver(&http.Client{Transport: header{"X-Batch-Model-Key", key, bearer(aliceToken)}})
	expect(t, send(t, keyed, again), a2a.TaskStateCompleted, "released")
	w.stop()
	noSecret(t, w, key)
}

func TestTokens(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":   "\n# x\n",
		"no name":   ": 0123456789abcdef",
		"no token":  "alice",
		"too short": "alice: 0123456789abcde",
		"twice":     "a: 0123456789abcdef\nb: 0123456789abcdef",
		"two names": "alice b: 0123456789abcdef",
	} {
		if _, err := ParseTokens(text); fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "0123") {
			t.Errorf("%s: %v, want a Usage fault without the token", name, err)
		}
	}
}

// logWith is a log of a context with these records.
func logWith(t testing.TB, entries ...entry) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), logName)
	l, _, err := openLog(path, func(entry, journal.Place) error { return nil })
	if err == nil {
		_, err = l.append(entries...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func FuzzReadLog(f *testing.F) {
	message := &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.TextPart{Text: "x"}}}
	text, err := os.ReadFile(logWith(f, entry{Type: entryContext, Owner: "a"}, entry{Type: entryMessage, Task: "c.1", Message: message}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), logName)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, n := New(Config{Width: 1}).conversation("c"), 0
		_ = readLog(path, func(e entry) error { n++; return c.recall(e, 0) })
		if n > bytes.Count(text, []byte("\n")) {
			t.Errorf("%d entries, want no more than lines", n)
		}
	})
}

// A server of before sent notifications to addresses that are in its logs.
func TestAContextThatAskedForNotificationsOpens(t *testing.T) {
	var log bytes.Buffer
	c := New(Config{Width: 1, Log: slog.New(slog.NewTextHandler(&log, nil))}).conversation("c")
	message := &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.TextPart{Text: "x"}}}
	path := logWith(t, entry{Type: entryContext, Owner: "a"}, entry{Type: entryMessage, Task: "c.1", Message: message}, entry{Type: entryPush, Task: "c.1"}, entry{Type: entryUnpush, Task: "c.1"})
	if err := readLog(path, func(e entry) error { return c.recall(e, 0) }); err != nil {
		t.Fatal(err)
	}
	if c.owner != "a" || len(c.tasks) != 1 || strings.Count(log.String(), "asked for push notifications") != 1 {
		t.Errorf("owner %q, %d tasks, log %q", c.owner, len(c.tasks), log.String())
	}
}

func TestALogWithoutChecksumsIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c", logName)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{\"type\":\"context\",\"owner\":\"a\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readLog(path, func(entry) error { return nil }); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), path) || fault.HintOf(err) == "" {
		t.Errorf("%v (%s)", err, fault.HintOf(err))
	}
	var log bytes.Buffer
	s := New(Config{Dir: dir, Width: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := s.Load(runner.NewRoster[dataset.Instance](nil)); err != nil || s.Contexts() != 0 || !strings.Contains(log.String(), "early version of batch") {
		t.Errorf("%v, %d contexts, log %q", err, s.Contexts(), log.String())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := parse(body)
		if err != nil {
			if p, ok := err.(problem); !ok || codes[p.kind] == 0 {
				t.Errorf("an error without a code: %v", err)
			}
			refuse(httptest.NewRecorder(), req, err)
		}
	})
}

// The SDK reads a stream's events on its own goroutine, where nothing recovers a panic.
func TestAPanicInAStreamIsAnError(t *testing.T) {
	panics := func(string, string) (dataset.Instance, error) { panic("a bug") }
	w := newWorld(t, settings{config: func(c *Config) { c.Instance = panics }})
	var got error
	for _, err := range w.client("").SendStreamingMessage(t.Context(), say("say x")) {
		got = err
	}
	if !isError(got, a2a.ErrInternalError) || !strings.Contains(w.log.String(), "a bug") {
		t.Errorf("%v, want an internal error and a line in the log", got)
	}
}
