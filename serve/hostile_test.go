package serve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/fault"
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
	return func(c *Config) { c.Callers.Tokens = tokens }
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
		"a task to get":           {call("tasks/get", `{"id":"nope.1"}`), -32001},
		"a task to cancel":        {call("tasks/cancel", `{"id":"nope.1"}`), -32001},
		"a task that has ended":   {call("tasks/cancel", `{"id":"`+string(mine.ID)+`"}`), -32002},
		"a task to follow":        {call("tasks/resubscribe", `{"id":"nope.1"}`), -32001},
		"a hook to a network":     {call("tasks/pushNotificationConfig/set", `{"taskId":"`+string(mine.ID)+`","pushNotificationConfig":{"url":"http://169.254.169.254/latest"}}`), -32602},
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
		"hooks": func(id a2a.TaskID, _ string) error {
			_, err := bob.ListTaskPushConfig(t.Context(), &a2a.ListTaskPushConfigParams{TaskID: id})
			return err
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

func TestLimitsOfACaller(t *testing.T) {
	w := newWorld(t, settings{model: &parrot{price: 0.4}, config: func(c *Config) {
		withTokens(t)(c)
		c.Limits = Limits{Contexts: 3, Turns: 2, Cost: 1}
	}})
	alice, bob := w.client(aliceToken), w.client(bobToken)
	first := send(t, alice, say("say 1"))
	send(t, alice, in(say("say 2"), first.ContextID))
	for what, p := range map[string]*a2a.MessageSendParams{"has had 2 messages": in(say("say 3"), first.ContextID)} {
		if _, err := alice.SendMessage(t.Context(), p); !isError(err, a2a.ErrServerError) || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}
	send(t, alice, say("say 4")) // 1.2 USD so far
	if _, err := alice.SendMessage(t.Context(), say("say 5")); !isError(err, a2a.ErrServerError) || !strings.Contains(err.Error(), "cost limit of 1 USD") {
		t.Errorf("got %v, want the cost limit", err)
	}
	// Another caller has its own budget, and is stopped within a turn.
	send(t, bob, say("say 1"))
	task := send(t, bob, say("run true | run true | run true | run true"))
	expect(t, task, a2a.TaskStateFailed, "cost limit is reached")
	if n := w.model.count(); n != 6 {
		t.Errorf("%d calls, want 6", n)
	}
	w2 := newWorld(t, settings{config: func(c *Config) { c.Limits.Contexts = 1 }})
	c := w2.client("")
	send(t, c, say("say 1"))
	if _, err := c.SendMessage(t.Context(), say("say 2")); !isError(err, a2a.ErrServerError) || !strings.Contains(err.Error(), "1 contexts") {
		t.Errorf("got %v, want the limit of contexts", err)
	}
}

func TestATurnHasItsCallersAuthority(t *testing.T) {
	s := settings{dir: t.TempDir(), model: holding(), config: func(c *Config) {
		withTokens(t)(c)
		c.ModelKeyHeader = "X-Batch-Model-Key"
	}}
	w := newWorld(t, s)
	const key = "sk-of-the-caller"
	keyed := w.clientOver(&http.Client{Transport: header{"X-Batch-Model-Key", key, bearer{aliceToken, http.DefaultTransport}}})
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
	keyed = w.clientOver(&http.Client{Transport: header{"X-Batch-Model-Key", key, bearer{aliceToken, http.DefaultTransport}}})
	expect(t, send(t, keyed, again), a2a.TaskStateCompleted, "released")
	w.stop()
	noSecret(t, w, key)
}

type header struct {
	name, value string
	http.RoundTripper
}

func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return h.RoundTripper.RoundTrip(r)
}

func TestExpiredCredentialsAreAskedFor(t *testing.T) {
	w := newWorld(t, settings{})
	h := handler{w.server}
	ctx := context.WithValue(t.Context(), callerKey{}, caller{name: everybody, expires: time.Now().Add(-time.Hour)})
	res, err := h.OnSendMessage(ctx, say("say hello"))
	if err != nil {
		t.Fatal(err)
	}
	task := res.(*a2a.Task)
	expect(t, task, a2a.TaskStateAuthRequired, "expired")
	expect(t, send(t, w.client(""), to(say("say hello"), task.ID)), a2a.TaskStateCompleted, "hello")
}

func TestNotificationsAreSent(t *testing.T) {
	got := make(chan *http.Request, 10)
	bodies := make(chan []byte, 10)
	fails := 1
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fails > 0 {
			fails--
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		got <- r
		bodies <- body
	}))
	defer hook.Close()
	s := settings{dir: t.TempDir()}
	w := newWorld(t, s)
	w.server.push.pause = time.Millisecond
	c := w.client("")
	p := say("ask Which?")
	p.Config = &a2a.MessageSendConfig{PushConfig: &a2a.PushConfig{
		URL: hook.URL + "/path", Token: "tok", Auth: &a2a.PushAuthInfo{Schemes: []string{"Bearer"}, Credentials: "cred"},
	}}
	task := send(t, c, p)
	for _, want := range []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateInputRequired} {
		r, body := <-got, <-bodies
		var seen a2a.Task
		if err := json.Unmarshal(body, &seen); err != nil || seen.ID != task.ID || seen.Status.State != want {
			t.Errorf("got %s, %v; want the task as %s", body, err, want)
		}
		if r.Header.Get("X-A2A-Notification-Token") != "tok" || r.Header.Get("Authorization") != "Bearer cred" || r.URL.Path != "/path" {
			t.Errorf("the headers are %v", r.Header)
		}
	}
	list, err := c.ListTaskPushConfig(t.Context(), &a2a.ListTaskPushConfigParams{TaskID: task.ID})
	if len(list) != 1 {
		// The SDK's client reads the list as one configuration: see the raw answer.
		_, _, answer := post(t, w.http.URL, "", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/list","params":{"id":"`+string(task.ID)+`"}}`)
		if strings.Count(answer, `"url"`) != 1 {
			t.Fatalf("listing: %v, %v, %s", list, err, answer)
		}
	}
	w.stop()

	// The configuration survives a restart, and can be deleted.
	w = newWorld(t, s)
	c = w.client("")
	one, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigParams{TaskID: task.ID})
	if err != nil || one.Config.URL != hook.URL+"/path" {
		t.Fatalf("getting: %+v, %v", one, err)
	}
	for range 2 {
		if err := c.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigParams{TaskID: task.ID, ConfigID: one.Config.ID}); err != nil {
			t.Errorf("deleting: %v", err)
		}
	}
	for _, config := range []a2a.PushConfig{{URL: hook.URL + "/old"}, {ID: "another", URL: hook.URL + "/another"}, {URL: hook.URL}} {
		if set, err := c.SetTaskPushConfig(t.Context(), &a2a.TaskPushConfig{TaskID: task.ID, Config: config}); err != nil || set.Config.ID == "" {
			t.Errorf("setting: %+v, %v", set, err)
		}
	}
	// A configuration without an id replaces the earlier one without an id, and is found without
	// one.
	if got, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigParams{TaskID: task.ID}); err != nil || got.Config.URL != hook.URL {
		t.Errorf("getting: %+v, %v", got, err)
	}
	if err := c.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigParams{TaskID: task.ID, ConfigID: "another"}); err != nil {
		t.Errorf("deleting: %v", err)
	}
	send(t, c, to(say("say x"), task.ID))
	for range 2 {
		r, body := <-got, <-bodies
		if r.URL.Path != "/" || r.Header.Get("Authorization") != "" {
			t.Errorf("after the change, it went to %s with %v: %s", r.URL, r.Header, body)
		}
	}
}

func TestWhereNotificationsMayGo(t *testing.T) {
	home := newPusher(PushRules{Loopback: true}, nil)
	world := newPusher(PushRules{}, nil)
	listed := newPusher(PushRules{Hosts: []string{"hook.corp", "10.9.9.9:8080"}, Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, nil)
	for _, c := range []struct {
		p    *pusher
		url  string
		goes bool
	}{
		{world, "https://example.org/hook", true},
		{world, "http://example.org/hook", false},
		{world, "https://127.0.0.1/", false},
		{world, "https://localhost/", false},
		{world, "https://[::1]/", false},
		{world, "https://[::ffff:127.0.0.1]/", false},
		{world, "https://10.0.0.1/", false},
		{world, "https://192.168.1.1/", false},
		{world, "https://100.64.0.1/", false},
		{world, "https://169.254.169.254/latest", false},
		{world, "https://[fe80::1]/", false},
		{world, "https://[fd00::1]/", false},
		{world, "https://0.0.0.0/", false},
		{world, "https://0.1.2.3/", false},
		{world, "https://192.0.0.8/", false},
		{world, "https://198.18.0.1/", false},
		{world, "https://240.0.0.1/", false},
		{world, "https://[fec0::1]/", false},
		{world, "https://[2606:2800:220::1]/", true},
		// Translations of IPv4 addresses are treated like the addresses.
		{world, "https://[64:ff9b::8.8.8.8]/", true},
		{world, "https://[64:ff9b::127.0.0.1]/", false},
		{world, "https://[64:ff9b::10.0.0.1%25eth0]/", false},
		{world, "https://[64:ff9b::a9fe:a9fe]/latest", false},
		{world, "https://[64:ff9b::192.168.1.1]/", false},
		{world, "https://[64:ff9b:1::8.8.8.8]/", false},
		{world, "https://[64:ff9b:1:ffff::127.0.0.1]/", false},
		{world, "https://[2002:0808:0808::1]/", true},
		{world, "https://[2002:7f00:1::]/", false},
		{world, "https://[2002:a00:1::1]/", false},
		{world, "https://[2001::1]/", false},
		{world, "https://[2001:0:4136:e378:8000:63bf:80ff:fffe]/", false},
		{world, "https://[::127.0.0.1]/", false},
		{world, "https://[::10.0.0.1]/", false},
		{world, "https://[::ffff:10.0.0.1]/", false},
		{world, "https://[::ffff:a9fe:a9fe]/", false},
		{world, "https://[::ffff:0:127.0.0.1]/", false},
		{home, "https://[64:ff9b::127.0.0.1]/", false},
		{home, "https://[2002:7f00:1::]/", false},
		{world, "https://user:pw@example.org/", false},
		{world, "file:///etc/passwd", false},
		{world, "gopher://example.org/", false},
		{world, "", false},
		{home, "http://127.0.0.1:8080/", true},
		{home, "http://localhost:8080/", true},
		{home, "http://10.0.0.1/", false},
		{listed, "http://hook.corp/", true},
		{listed, "http://hook.corp:99/", true},
		{listed, "http://10.9.9.9:8080/", true},
		{listed, "http://10.9.9.9:8081/", false},
		{listed, "http://10.1.2.3/", true},
		{listed, "http://10.2.2.3/", false},
	} {
		if err := c.p.check(&a2a.PushConfig{URL: c.url}); (err == nil) != c.goes {
			t.Errorf("%s: %v, want allowed: %v", c.url, err, c.goes)
		}
	}
	for address, goes := range map[string]bool{
		"93.184.216.34:443": true, "127.0.0.1:443": false, "10.0.0.1:443": false, "[fe80::1]:443": false,
		"[64:ff9b::7f00:1]:443": false, "[64:ff9b::7f00:1%eth0]:443": false, "[2002:a00:1::1]:443": false, "[::ffff:127.0.0.1]:443": false,
	} {
		if err := world.dialed(t.Context(), "tcp", address, nil); (err == nil) != goes {
			t.Errorf("dialing %s: %v, want allowed: %v", address, err, goes)
		}
	}
}

// A receiver at an allowed address cannot redirect the server to another address.
func TestNotificationsAreNotRedirected(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer inside.Close()
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		hook := httptest.NewServer(http.RedirectHandler(inside.URL, status))
		defer hook.Close()
		p := newPusher(PushRules{Hosts: []string{strings.TrimPrefix(hook.URL, "http://")}}, slog.New(slog.DiscardHandler))
		if again, err := p.send(a2a.PushConfig{URL: hook.URL}, []byte("{}")); again || err == nil {
			t.Errorf("%d: got %v, %v; want an error that is not tried again", status, again, err)
		}
		p.close()
	}
}

// issuer makes certificates.
type issuer struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	a := &issuer{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, "ca")
	return a
}

func (a *issuer) sign(c *x509.Certificate, name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

func (a *issuer) pair(name string) tls.Certificate {
	cert, key := a.sign(&x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, name)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func TestCertificatesNameCallers(t *testing.T) {
	ca, other := newIssuer(t), newIssuer(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	w := newWorld(t, settings{config: func(c *Config) { c.Callers.Certificates = true }, tls: func(s *httptest.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.pair("server")}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
		s.StartTLS()
	}})
	over := func(certs ...tls.Certificate) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}}}
	}
	alice := w.clientOver(over(ca.pair("alice")))
	task := send(t, alice, say("say hello"))
	expect(t, task, a2a.TaskStateCompleted, "hello")
	if a := w.model.seen[0]; a.Actor != "alice" || a.Expires.IsZero() {
		t.Errorf("the turn was of %q until %v", a.Actor, a.Expires)
	}
	if _, err := w.clientOver(over(ca.pair("bob"))).GetTask(t.Context(), &a2a.TaskQueryParams{ID: task.ID}); !isError(err, a2a.ErrTaskNotFound) {
		t.Errorf("another certificate: %v", err)
	}
	for name, hc := range map[string]*http.Client{"none": over(), "of another authority": over(other.pair("alice")), "without a name": over(ca.pair(""))} {
		if _, err := w.clientOver(hc).GetTask(t.Context(), &a2a.TaskQueryParams{ID: task.ID}); err == nil {
			t.Errorf("a certificate %s was accepted", name)
		}
	}
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

func FuzzReadLog(f *testing.F) {
	f.Add([]byte("{\"type\":\"context\",\"owner\":\"a\"}\n{\"type\":\"message\",\"task\":\"c.1\",\"message\":{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"kind\":\"text\",\"text\":\"x\"}]}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := New(Config{Width: 1}).conversation("c")
		list, err := readOld(text)
		if len(list) > bytes.Count(text, []byte("\n")) {
			t.Errorf("%d entries, %v; want no more than lines", len(list), err)
		}
		for _, e := range list {
			if c.recall(e, 0) != nil {
				return
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := parse(body)
		if err != nil {
			if p, ok := err.(problem); !ok || codes[p.kind] == 0 {
				t.Errorf("an error without a code: %v", err)
			}
			refuse(httptest.NewRecorder(), req.id(), err)
		}
	})
}
