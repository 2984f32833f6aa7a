package gateway

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
)

const (
	token = "token-of-the-attempt"
	real  = "sk-the-real-key-0123456789"
)

// world is a gateway with a provider behind it, and who makes the calls.
type world struct {
	*Gateway
	protocol
	url      string
	config   endpoint.Config
	bare     llm.Model
	model    llm.Model
	provider http.HandlerFunc

	mu       sync.Mutex
	requests []sent
	made     []*Call
	errs     []error
}

// sent is a request as the provider got it.
type sent struct {
	header http.Header
	path   string
	body   string
}

func start(t *testing.T, p protocol, provider http.HandlerFunc) *world {
	t.Helper()
	w := &world{provider: provider, protocol: p}
	upstream := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.requests = append(w.requests, sent{r.Header, r.URL.String(), string(body)})
		w.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.provider(rw, r)
	}))
	t.Cleanup(upstream.Close)
	hidden := mask.New()
	hidden.Add(mask.Secret{Name: "ANTHROPIC_API_KEY", Value: real})
	var err error
	if w.Gateway, err = New(Config{Wire: p.wire, Model: "the-model", Alias: "alias", Token: token, Helper: "X-Helper", Mask: hidden, Count: w.count}); err != nil {
		t.Fatal(err)
	}
	base := upstream.URL
	if p.key == "Authorization" {
		base += "/v1"
	}
	w.patience = time.Hour // signs of life are only where a test wants them
	w.config = endpoint.Config{Model: "the-model", BaseURL: base, APIKey: real, IgnoreCost: true, Retry: llm.RetryPolicy{Base: time.Millisecond}}
	w.connectTo(t, w.config)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.change(func() {}) // what the test has changed is seen
		w.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	w.url = front.URL
	ctx, stop := context.WithCancel(context.Background())
	var making sync.WaitGroup
	making.Go(func() {
		for {
			select {
			case c := <-w.Calls():
				making.Go(func() { w.make(ctx, c) })
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		w.Close("the test is over")
		stop()
		making.Wait()
	})
	w.Open()
	return w
}

// change changes how the requests that follow are served.
func (w *world) change(how func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	how()
}

// connectTo makes calls at an endpoint from now on.
func (w *world) connectTo(t *testing.T, c endpoint.Config) {
	t.Helper()
	m, err := w.connect(c)
	if err != nil {
		t.Fatal(err)
	}
	w.change(func() { w.bare, w.model = m, llm.Calls{}.Compose(m) })
}

// count asks the endpoint how many tokens a conversation has.
func (w *world) count(ctx context.Context, relay *llm.Relay) error {
	_, err := w.bare.Generate(ctx, &llm.Request{Relay: relay})
	return err
}

func (w *world) make(ctx context.Context, c *Call) {
	_, err := w.model.Generate(ctx, &llm.Request{Relay: c.Relay, Trying: func() error {
		if c.Begun() {
			return fault.Newf(fault.Instance, "begun")
		}
		return nil
	}})
	w.mu.Lock()
	w.made, w.errs = append(w.made, c), append(w.errs, err)
	w.mu.Unlock()
	c.End(err)
}

// bearer returns a key as the protocol's header has it.
func (p protocol) bearer(key string) string {
	if p.key == "Authorization" {
		return "Bearer " + key
	}
	return key
}

func (w *world) sent() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// ask sends a request as a program does.
func (w *world) ask(t *testing.T, asked asking, header ...string) (status int, answer string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(w.request(t, asked, header...))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (w *world) request(t *testing.T, asked asking, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+asked.path, strings.NewReader(asked.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{w.key: {w.bearer(token)}}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func answers(w http.ResponseWriter, kind, body string) {
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, body)
}

// Bytes pass as they are in both directions; the key, and what only the client needs, does not.
func TestBytesPassAsTheyAre(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		w := start(t, p, p.answersStream)
		if status, answer := w.ask(t, p.plain); status != http.StatusOK || answer != p.shown {
			t.Errorf("status %d, answer %q", status, answer)
		}
		w.provider = func(rw http.ResponseWriter, _ *http.Request) { answers(rw, "application/json", p.once) }
		if status, answer := w.ask(t, p.whole); status != http.StatusOK || answer != p.once {
			t.Errorf("at once: status %d, answer %s", status, answer)
		}
		header := []string{"X-Own", "mine", "Cookie", "c=1", "Proxy-Authorization", "p", "OpenAI-Organization", "o", "Forwarded", "host=x"}
		for name, values := range p.header {
			header = append(header, name, values[0])
		}
		if status, answer := w.ask(t, p.tools, header...); status != http.StatusOK || answer != p.once {
			t.Errorf("with tools: status %d, answer %s", status, answer)
		}
		got := w.sent()[2]
		if got.body != p.edited || got.path != p.sentAs {
			t.Errorf("sent to %s\n%s\nwant %s\n%s", got.path, got.body, p.sentAs, p.edited)
		}
		want := http.Header{p.key: {p.bearer(real)}}
		maps.Copy(want, p.header)
		for _, name := range []string{"X-Own", "Cookie", "Proxy-Authorization", "OpenAI-Organization", "Forwarded"} {
			want[name] = []string{""}
		}
		for name, values := range want {
			if got.header.Get(name) != values[0] {
				t.Errorf("%s: %q was sent, want %q", name, got.header.Get(name), values[0])
			}
		}
		for i, err := range w.ended() {
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
		var made []*Call
		w.change(func() { made = w.made })
		roles := ""
		for _, m := range made[2].Messages {
			roles += m.Role + " "
		}
		c := made[2]
		if c.Helper || len(c.Tools) == 0 || !strings.HasSuffix(roles, "user assistant tool ") || c.Messages[len(c.Messages)-1].ToolCallID() != "a" {
			t.Errorf("read as %s, %+v", roles, c.Call)
		}
		if plain := made[0]; !plain.Helper || !plain.Stream || plain.MaxTokens != 10 || plain.Messages[0].Text() != "hello" {
			t.Errorf("a call without tools is read as %+v, helper %v", plain.Call, plain.Helper)
		}
	})
}

func TestRequestsThatAreRefused(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		w := start(t, p, p.answersStream)
		body := func(text string) asking { return asking{p.plain.path, text} }
		for name, tt := range map[string]struct {
			asked  asking
			header []string
			status int
			want   string
		}{
			"another key":      {p.plain, []string{p.key, p.bearer("x")}, 401, "the key is not the one"},
			"no JSON":          {body("{"), nil, 400, "unexpected end of JSON input"},
			"no object":        {body("[]"), nil, 400, "cannot unmarshal array"},
			"a limit twice":    {p.plain.with(`"model":"alias",`, `"model":"alias","max_tokens":64000,"maxTokens":1,`).with(`{"contents"`, `{"contents":[],"Contents"`), nil, 400, "is there twice"},
			"no messages":      {body(`{"model":"x"}`), nil, 400, ": expected "},
			"another encoding": {p.plain, []string{"Content-Encoding", "br"}, 400, `"br" is not known`},
			"a broken gzip":    {p.plain, []string{"Content-Encoding", "gzip"}, 400, "gzip"},
		} {
			t.Run(name, func(t *testing.T) {
				status, answer := w.ask(t, tt.asked, tt.header...)
				if said := gjson.Get(answer, "error.message").Str; status != tt.status || !strings.Contains(said, tt.want) {
					t.Errorf("status %d, %s", status, answer)
				}
			})
		}
		paths := []string{
			"GET /v1/messages", "POST /v1/complete", "GET /v1/models/../../x", "POST /api/event_logging", "CONNECT /v1/messages", "POST /", "POST /v1/embeddings",
			"POST /v1/responses/compact", "GET /v1/chat/completions", "POST /v1beta/models/x:embedContent", "GET /v1/responses/resp_1", "POST /v1/files",
		}
		for _, at := range paths {
			method, path, _ := strings.Cut(at, " ")
			rec := w.serve(method, path)
			if rec.Code != http.StatusNotFound || !gjson.GetBytes(rec.Body.Bytes(), "error.message").Exists() {
				t.Errorf("%s: %d %s", at, rec.Code, rec.Body)
			}
		}
		if n := len(w.sent()); n > 0 {
			t.Errorf("%d requests reached the provider", n)
		}
		w.Close("a limit")
		if status, answer := w.ask(t, p.plain); status != 400 || !strings.Contains(answer, "a limit") {
			t.Errorf("after the end: %d %s", status, answer)
		}
	})
}

// serve answers a request without a body.
func (w *world) serve(method, path string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(method, "http://x"+path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w.ServeHTTP(rec, r)
	return rec
}

// Counting tokens is free: it is passed on, and is no call of the attempt.
func TestTokensAreCounted(t *testing.T) {
	for wire, tt := range map[string]struct{ path, at, body string }{
		"messages": {"/v1/messages/count_tokens?beta=true", "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`},
		"gemini":   {"/v1beta/models/flash:countTokens", "/v1beta/models/the-model:countTokens", `{"contents":[{"parts":[{"text":"hello"}]}]}`},
	} {
		t.Run(wire, func(t *testing.T) {
			const counted = `{"input_tokens":5, "totalTokens":5}`
			w := start(t, protocols[wire], func(rw http.ResponseWriter, _ *http.Request) { answers(rw, "application/json", counted) })
			asked := asking{tt.path, tt.body}
			if status, answer := w.ask(t, asked); status != 200 || answer != counted {
				t.Errorf("%d %s", status, answer)
			}
			if sent := w.sent(); len(sent) != 1 || sent[0].path != tt.at || sent[0].header.Get(w.key) != real || strings.Contains(sent[0].body, `"m"`) || len(w.ended()) > 0 {
				t.Errorf("sent %+v, %d calls", sent, len(w.ended()))
			}
			w.provider = func(rw http.ResponseWriter, _ *http.Request) { http.NotFound(rw, nil) }
			if status, answer := w.ask(t, asked); status != 404 || !gjson.Get(answer, "error.message").Exists() {
				t.Errorf("an endpoint that does not count: %d %s", status, answer)
			}
			w.Close("a limit")
			if status, answer := w.ask(t, asked); status != 400 || !strings.Contains(answer, "a limit") || len(w.sent()) != 2 {
				t.Errorf("after the end: %d %s", status, answer)
			}
		})
	}
}

// Codex asks for a WebSocket first.
func TestAWebSocketIsRefusedAtOnce(t *testing.T) {
	w := start(t, protocols["responses"], nil)
	if rec := w.serve("GET", "/v1/responses"); rec.Code != http.StatusUpgradeRequired || !gjson.ValidBytes(rec.Body.Bytes()) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// A stream of the Gemini API in its other form, a list, is not served.
func TestGeminisStreamsAreEvents(t *testing.T) {
	w := start(t, protocols["gemini"], nil)
	status, answer := w.ask(t, asking{"/v1beta/models/x:streamGenerateContent", w.plain.body})
	if status != 400 || !strings.Contains(answer, "alt=sse") {
		t.Errorf("%d %s", status, answer)
	}
}

// A program decides whether an answer is streamed, whatever batch's own calls are.
func TestAProgramChoosesItsStreams(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		for _, own := range []bool{true, false} {
			w := start(t, p, p.answersStream)
			w.config.Kwargs = map[string]any{"stream": own}
			w.connectTo(t, w.config)
			if status, answer := w.ask(t, p.plain); status != 200 || answer != p.shown || w.ended()[0] != nil {
				t.Errorf("own streams %v: %d %q, %v", own, status, answer, w.ended()[0])
			}
			w.provider = func(rw http.ResponseWriter, _ *http.Request) { answers(rw, "application/json", p.once) }
			if status, answer := w.ask(t, p.whole); status != 200 || answer != p.once || w.ended()[1] != nil {
				t.Errorf("own streams %v, at once: %d %q, %v", own, status, answer, w.ended()[1])
			}
			for i, r := range w.sent() {
				if streams := strings.Contains(r.path+r.body, "alt=sse") || strings.Contains(r.body, `"stream":true`); streams != (i == 0) {
					t.Errorf("own streams %v: request %d is %s %s", own, i, r.path, r.body)
				}
			}
		}
	})
}

// A stream that stalls is cut, as those of batch's own calls are.
func TestAStreamThatStallsIsCut(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		var gone sync.WaitGroup
		w := start(t, p, func(rw http.ResponseWriter, r *http.Request) {
			gone.Add(1)
			defer gone.Done()
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(rw, strings.Repeat(string(firstOf([]byte(p.stream))), 2))
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		})
		w.config.Kwargs = map[string]any{"stream": false}
		w.config.IdleTimeout = 20 * time.Millisecond
		w.connectTo(t, w.config)
		if answer, err := w.broken(t); !errors.Is(err, io.ErrUnexpectedEOF) || answer != string(firstOf([]byte(p.stream))) {
			t.Errorf("answered %q, %v", answer, err)
		}
		if err := w.ended()[0]; err == nil {
			t.Error("the call has no error")
		}
		gone.Wait()
	})
}

// Before batch starts the program, no process is served.
func TestNothingIsAnsweredBeforeTheStart(t *testing.T) {
	w := start(t, protocols["messages"], nil)
	w.change(func() { w.open = false })
	if status, answer := w.ask(t, w.plain); status != 400 || !strings.Contains(answer, "has not begun") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestEncodedRequestsAreRead(t *testing.T) {
	w := start(t, protocols["messages"], protocols["messages"].answersStream)
	plain := w.plain.body
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, plain)
	_ = z.Close()
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for encoding, body := range map[string]string{"gzip": zipped.String(), "zstd": string(packer.EncodeAll([]byte(plain), nil))} {
		if status, answer := w.ask(t, asking{w.plain.path, body}, "Content-Encoding", encoding); status != 200 || answer != w.stream {
			t.Errorf("%s: %d %s", encoding, status, answer)
		}
	}
	bomb := packer.EncodeAll(make([]byte, MaxBody+1), nil)
	if status, answer := w.ask(t, asking{w.plain.path, string(bomb)}, "Content-Encoding", "zstd"); status != 400 {
		t.Errorf("a bomb of %d bytes: %d %.100s", len(bomb), status, answer)
	}
}

// A refusal of what the program asks for reaches it as it came, without secrets. One that is about the
// account does not.
func TestTheProvidersRefusals(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		message := gjson.Get(p.tooLong, "error.message").Str
		for name, tt := range map[string]struct {
			status int
			body   string
			want   string // at first
			inside string // within a stream
		}{
			"too long":   {400, p.tooLong, p.tooLong, message},
			"a secret":   {400, strings.Replace(p.tooLong, message, "key "+real, 1), `********`, `********`},
			"no account": {401, strings.Replace(p.tooLong, message, "no account", 1), `"message"`, `"message"`},
		} {
			t.Run(name, func(t *testing.T) {
				w := start(t, p, func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Content-Type", "application/json")
					rw.WriteHeader(tt.status)
					_, _ = io.WriteString(rw, tt.body)
				})
				status, answer := w.ask(t, p.plain)
				if status != 400 || !strings.Contains(answer, tt.want) || strings.Contains(answer, real) || strings.Contains(answer, "127.0.0.1") {
					t.Errorf("%d %s", status, answer)
				}
				w.change(func() { w.patience, w.provider = time.Millisecond, late(w.provider) })
				status, answer = w.ask(t, p.plain)
				if p.ends == "" {
					if status != 400 || !strings.Contains(answer, tt.inside) || strings.Contains(answer, real) {
						t.Errorf("late: %d %s", status, answer)
					}
					return
				}
				last := p.withoutSigns(answer)
				if status != 200 || !strings.HasPrefix(answer, p.signs[0]) || !strings.HasPrefix(last, p.ends) || strings.Count(last, "\n\n") != 1 ||
					!strings.Contains(last, tt.inside) || strings.Contains(answer, real) || !json.Valid(dataOf([]byte(last))) {
					t.Errorf("after the beginning of the stream: %d %s", status, answer)
				}
			})
		}
	})
}

// Codex compacts a conversation on one code of a failed response, and ends on another; it asks again on any
// that it does not know.
func TestAFailedResponseIsFinal(t *testing.T) {
	for said, want := range map[string]string{
		protocols["responses"].tooLong: "context_length_exceeded",
		"":                             "invalid_prompt",
		`{"error":{"message":"m","code":"server_error"}}`: "invalid_prompt",
		"no JSON": "invalid_prompt",
	} {
		event := dialects["responses"].broken([]byte(said), "a limit")
		if got := gjson.GetBytes(dataOf(event), "response.error"); got.Get("code").Str != want || got.Get("message").Str == "" {
			t.Errorf("%s: %s", said, event)
		}
	}
}

// late answers after a life sign was sent.
func late(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(50 * time.Millisecond)
		answer(w, r)
	}
}

// A client that waits sees life, between events alone, and all of the answer's bytes.
func TestAStreamShowsLife(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		pause := make(chan struct{})
		w := start(t, p, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			<-pause
			half := len(p.stream) * 3 / 4
			_, _ = io.WriteString(rw, p.stream[:half])
			_ = http.NewResponseController(rw).Flush()
			<-pause
			_, _ = io.WriteString(rw, p.stream[half:])
		})
		w.change(func() { w.patience, w.aliveEvery = time.Millisecond, time.Millisecond })
		pauses := func() {
			pause <- struct{}{}
			time.Sleep(20 * time.Millisecond)
			pause <- struct{}{}
		}
		if len(p.signs) == 0 {
			go pauses()
		}
		resp, err := http.DefaultClient.Do(w.request(t, p.plain))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if len(p.signs) > 0 {
			first := make([]byte, 3*len(p.signs[0]))
			if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != strings.Repeat(p.signs[0], 3) {
				t.Errorf("%q, %v", first, err)
			}
			pauses()
		}
		rest, err := io.ReadAll(resp.Body)
		if err != nil || p.withoutSigns(string(rest)) != p.shown {
			t.Errorf("%q, %v", rest, err)
		}
		for _, sign := range p.signs[min(1, len(p.signs)):] {
			if !strings.Contains(string(rest), sign) {
				t.Errorf("no %q in %q", sign, rest)
			}
		}
	})
}

// A client of chat completions believes the last reason for the end that it reads, so a sign of life repeats it.
func TestASignOfLifeKeepsTheReasonForTheEnd(t *testing.T) {
	for last, want := range map[string]string{"": `null`, chatBegins: `null`, chatEnds: `"stop"`} {
		if sign := string(chat{}.alive([]byte(event1(chatBegins)), []byte(event1(last)))); !strings.Contains(sign, `"finish_reason":`+want) {
			t.Errorf("after %s: %s, want %s", last, sign, want)
		}
	}
}

// The last event of an answer comes when the call is on record.
func TestTheLastEventWaitsForTheRecord(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		for name, stream := range map[string]string{"as it is": p.stream, "with a mark": strings.TrimSuffix(p.stream, event1("[DONE]")) + event1("[DONE]")} {
			t.Run(name, func(t *testing.T) {
				last := p.last
				if stream != p.stream {
					last += event1("[DONE]")
				}
				testLastEvent(t, p, stream, last)
			})
		}
	})
}

func testLastEvent(t *testing.T, p protocol, stream, last string) {
	w := start(t, p, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		for i := range len(stream) { // in the smallest pieces
			_, _ = io.WriteString(rw, stream[i:i+1])
			_ = http.NewResponseController(rw).Flush()
		}
	})
	end := make(chan struct{})
	if p.wire == "gemini" && stream != p.stream {
		t.Skip("no server of this protocol ends with a mark")
	}
	w.model = slow{w.model, end}
	resp, err := http.DefaultClient.Do(w.request(t, p.plain))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	before := strings.TrimSuffix(strings.TrimSuffix(p.shown, p.last), last)
	got := make([]byte, len(before))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != before {
		t.Fatalf("%q, %v", got, err)
	}
	more := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(resp.Body)
		more <- string(text)
	}()
	select {
	case text := <-more:
		t.Errorf("%q came before", text)
	case <-time.After(50 * time.Millisecond):
	}
	close(end)
	if text := <-more; text != last {
		t.Errorf("then came %q", text)
	}
}

// slow is a model whose answers are recorded later.
type slow struct {
	llm.Model
	end chan struct{}
}

func (s slow) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	resp, err := s.Model.Generate(ctx, req)
	<-s.end
	return resp, err
}

// A request that is sent again is paid once, whether the first answer is under way or was not read. One that
// is sent twice on purpose is paid twice.
func TestARepeatedRequestIsPaidOnce(t *testing.T) {
	each(t, testRepeated)
}

func testRepeated(t *testing.T, p protocol) {
	hold := make(chan struct{})
	w := start(t, p, func(rw http.ResponseWriter, r *http.Request) {
		<-hold
		p.answersStream(rw, r)
	})
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(w.request(t, p.plain).WithContext(ctx))
		gone <- err
	}()
	for len(w.sent()) == 0 {
		time.Sleep(time.Millisecond)
	}
	hangUp()
	if err := <-gone; err == nil {
		t.Error("it was answered")
	}
	again := make(chan string)
	go func() {
		_, answer := w.ask(t, p.plain, "X-Stainless-Retry-Count", "1")
		again <- answer
	}()
	time.Sleep(20 * time.Millisecond)
	close(hold)
	if answer := <-again; answer != p.shown || len(w.sent()) != 1 {
		t.Errorf("the repetition: %q, %d requests", answer, len(w.sent()))
	}
	if _, answer := w.ask(t, p.plain); answer != p.shown || len(w.sent()) != 2 {
		t.Errorf("the same on purpose: %q, %d requests", answer, len(w.sent()))
	}
	if _, answer := w.ask(t, p.plain, "X-Stainless-Retry-Count", "2"); answer != p.shown || len(w.sent()) != 2 {
		t.Errorf("a repetition of an answered one: %q, %d requests", answer, len(w.sent()))
	}
}

// broken asks for a stream, and returns what came of it and how it broke.
func (w *world) broken(t *testing.T) (answer string, broke error) {
	t.Helper()
	resp, err := http.DefaultClient.Do(w.request(t, w.plain))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// An answer that breaks after its beginning breaks for the program too, and is not tried again by batch: the
// program has read a part of it, and asks again if it wants to.
func TestAnAnswerThatBreaks(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		begun := firstOf([]byte(p.stream))
		broken := p.stream[:len(p.stream)*3/4]
		if p.wire == "gemini" { // it has two events, of which the first waits for the second
			broken = string(begun) + broken
		}
		w := start(t, p, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(rw, broken)
			_ = http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		})
		answer, err := w.broken(t)
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(answer, string(begun)) || strings.Contains(answer, `"error"`) || len(w.sent()) != 1 {
			t.Errorf("%q, %v, %d requests", answer, err, len(w.sent()))
		}
		w.provider = p.answersStream
		if status, answer := w.ask(t, p.plain, "X-Stainless-Retry-Count", "1"); status != 200 || answer != p.shown {
			t.Errorf("again: %d %q", status, answer)
		}
	})
}

// An answer that batch ends after its beginning, such as at a limit, ends with an error that clients take as
// final.
func TestAnAnswerThatIsEnded(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		w := idle(t, p)
		first := string(firstOf([]byte(p.stream)))
		ending := make(chan *Call, 1)
		go func() {
			c := <-w.Calls()
			_, _ = io.WriteString(c.Relay.Begin(http.Header{"Content-Type": {"text/event-stream"}}), first+first)
			ending <- c
		}()
		resp, err := http.DefaultClient.Do(w.request(t, p.plain))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		begun := make([]byte, len(first))
		if _, err := io.ReadFull(resp.Body, begun); err != nil || string(begun) != first {
			t.Fatalf("%q, %v", begun, err)
		}
		(<-ending).End(errors.New("batch: a limit"))
		last, err := io.ReadAll(resp.Body)
		if err != nil || !strings.HasPrefix(string(last), cmp.Or(p.ends, `data: {"error":`)) || !strings.Contains(string(last), "a limit") {
			t.Errorf("%q, %v", last, err)
		}
	})
}

func TestModelsAndHealth(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		w := start(t, p, nil)
		for _, at := range []string{"HEAD /", "GET /", "GET /health"} {
			method, path, _ := strings.Cut(at, " ")
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
			if rec.Code != 200 || rec.Body.Len() > 0 {
				t.Errorf("%s: %d %s", at, rec.Code, rec.Body)
			}
		}
		paths := map[string]string{"/v1/models?limit=1000": "data.0.id", "/v1/models/opus": "id"}
		if p.wire == "gemini" {
			paths = map[string]string{"/v1beta/models": "models.0.name", "/v1beta/models/flash": "name"}
		}
		for path, name := range paths {
			if rec := w.serve("GET", path); rec.Code != 200 || !strings.HasSuffix(gjson.GetBytes(rec.Body.Bytes(), name).Str, "alias") {
				t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
			}
		}
	})
}

// Large bodies wait for each other, and all are served.
func TestLargeBodies(t *testing.T) {
	w := start(t, protocols["messages"], protocols["messages"].answersStream)
	large := w.plain.with("hello", strings.Repeat("hello", 30<<20/5))
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			asked := large.with(`"max_tokens":10`, fmt.Sprintf(`"max_tokens":%d`, 10+n))
			if status, answer := w.ask(t, asked); status != 200 || answer != w.stream {
				t.Errorf("%d %.100q", status, answer)
			}
		})
	}
	all.Wait()
	if status, _ := w.ask(t, asking{w.plain.path, strings.Repeat(" ", MaxBody+1)}); status != 400 {
		t.Errorf("a body that is too large: %d", status)
	}
}
