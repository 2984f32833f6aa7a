package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
)

const (
	token = "token-of-the-attempt"
	real  = "sk-the-real-key-0123456789"
)

// world is a gateway with a provider behind it, and who makes the calls.
type world struct {
	*Gateway
	url      string
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

func start(t *testing.T, provider http.HandlerFunc) *world {
	t.Helper()
	w := &world{provider: provider}
	upstream := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.requests = append(w.requests, sent{r.Header, r.URL.String(), string(body)})
		w.mu.Unlock()
		w.provider(rw, r)
	}))
	t.Cleanup(upstream.Close)
	hidden := mask.New()
	hidden.Add(mask.Secret{Name: "ANTHROPIC_API_KEY", Value: real})
	var err error
	if w.Gateway, err = New(Config{Wire: "messages", Model: "the-model", Alias: "alias", Token: token, Helper: "X-Helper", Mask: hidden}); err != nil {
		t.Fatal(err)
	}
	m, err := anthropic.New(endpoint.Config{Model: "the-model", BaseURL: upstream.URL, APIKey: real, IgnoreCost: true})
	if err != nil {
		t.Fatal(err)
	}
	w.model = llm.Calls{}.Compose(m)
	front := httptest.NewServer(w.Gateway)
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

func (w *world) make(ctx context.Context, c *Call) {
	_, err := w.model.Generate(ctx, &llm.Request{Relay: c.Relay, Trying: func() error {
		if c.Begun() {
			return errors.New("begun")
		}
		return nil
	}})
	w.mu.Lock()
	w.made, w.errs = append(w.made, c), append(w.errs, err)
	w.mu.Unlock()
	c.End(err)
}

func (w *world) sent() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// ask sends a request as a program does.
func (w *world) ask(t *testing.T, body string, header ...string) (status int, answer string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(w.request(t, body, header...))
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

func (w *world) request(t *testing.T, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"X-Api-Key": {token}, "Anthropic-Version": {"2023-06-01"}}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

const (
	streamed = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"model\":\"x\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hé\\u00e9\"}}\n\n" +
		"event: unheard_of\ndata: {\"type\":\"unheard_of\",\"a\": [1,  2]}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	whole = `{"type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","unheard_of":{"b":2},"usage":{"input_tokens":3,"output_tokens":5}}`
)

func answers(w http.ResponseWriter, kind, body string) {
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, body)
}

func answerStream(w http.ResponseWriter, _ *http.Request) { answers(w, "text/event-stream", streamed) }

const plain = `{"model":"alias","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hello"}]}`

// Bytes pass as they are in both directions; the key, and what only the client needs, does not.
func TestBytesPassAsTheyAre(t *testing.T) {
	w := start(t, answerStream)
	body := `{"messages":[{"role":"user","content":[{"type":"text","text":"h\u00e9","cache_control":{"type":"ephemeral"}}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"c2ln=="},{"type":"tool_use","id":"a","name":"bash","input":{"b": 1}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}],"new_member":{"z":1,"a":2},"model":"opus","max_tokens":10,"stream":true,` +
		`"tools":[{"name":"bash","input_schema":{"type":"object"}}],"metadata":{"user_id":"u"}}`
	status, answer := w.ask(t, body, "Anthropic-Beta", "one,two", "X-Own", "mine", "Cookie", "c=1", "Proxy-Authorization", "p")
	if status != http.StatusOK || answer != streamed {
		t.Errorf("status %d, answer %q", status, answer)
	}
	got := w.sent()[0]
	if want := strings.Replace(body, `"model":"opus"`, `"model":"the-model"`, 1); got.body != want {
		t.Errorf("sent\n%s\nwant\n%s", got.body, want)
	}
	for name, want := range map[string]string{"X-Api-Key": real, "Anthropic-Beta": "one,two", "Anthropic-Version": "2023-06-01", "X-Own": "", "Cookie": "", "Proxy-Authorization": ""} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q was sent, want %q", name, got.header.Get(name), want)
		}
	}
	if got.path != "/v1/messages" {
		t.Errorf("sent to %s", got.path)
	}
	w.provider = func(rw http.ResponseWriter, _ *http.Request) { answers(rw, "application/json", whole) }
	if status, answer := w.ask(t, strings.Replace(plain, `"stream":true,`, "", 1)); status != http.StatusOK || answer != whole {
		t.Errorf("at once: status %d, answer %s", status, answer)
	}
	if c := w.made[0]; c.Helper || len(c.Messages) != 3 || c.Messages[2].ToolCallID() != "a" {
		t.Errorf("read as %+v", c.Call)
	}
	if !w.made[1].Helper {
		t.Error("a call without tools counts as one of the main conversation")
	}
}

// What reaches beyond the call, or the network from the provider, is taken out.
func TestWhatReachesBeyondTheCallIsTakenOut(t *testing.T) {
	for name, tt := range map[string]struct{ given, want string }{
		"tools": {
			`{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"bash"},{"type":"code_execution_20250522","name":"c"}],"tool_choice":{"type":"auto"}}`,
			`{"model":"the-model","tools":[{"name":"bash"}],"tool_choice":{"type":"auto"}}`,
		},
		"all tools":      {`{"tool_choice":{"type":"tool","name":"web_fetch"},"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}],"model":"m"}`, `{"model":"the-model"}`},
		"a chosen tool":  {`{"tool_choice":{"type":"tool","name":"web_fetch"},"tools":[{"name":"bash"},{"type":"web_fetch_20250910","name":"web_fetch"}],"model":"m"}`, `{"tools":[{"name":"bash"}],"model":"the-model"}`},
		"no other model": {`{"model":"a","\u006dodel":"b","x":1}`, `{"model":"the-model","model":"the-model","x":1}`},
		"members":        {`{"container":"c1","model":"m","mcp_servers":[{"url":"http://x"}],"service_tier":"priority"}`, `{"model":"the-model"}`},
		"an address": {
			`{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://x/a.png"}},{"type":"text","text":"\u00e9"}]},{"role":"user","content":"a \"url\" in text"}]}`,
			`{"model":"the-model","messages":[{"role":"user","content":[` + took + `,{"type":"text","text":"\u00e9"}]},{"role":"user","content":"a \"url\" in text"}]}`,
		},
		"an address in a result": {
			`{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}]}`,
			`{"model":"the-model","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[` + took + `]}]}]}`,
		},
		"bytes of an image stay": {
			`{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\"url\""}}]}]}`,
			`{"model":"the-model","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\"url\""}}]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, removed, err := messages{}.edit([]byte(tt.given), "the-model", false)
			if err != nil || string(got) != tt.want || !json.Valid(got) {
				t.Errorf("%v\n%s\nwant\n%s", err, got, tt.want)
			}
			t.Log(removed)
		})
	}
}

const took = `{"type":"text","text":"[batch took out what the provider would have to fetch]"}`

func TestRequestsThatAreRefused(t *testing.T) {
	w := start(t, answerStream)
	for name, tt := range map[string]struct {
		body   string
		header []string
		status int
		want   string
	}{
		"another key":      {plain, []string{"X-Api-Key", "x"}, 401, "the key is not the one"},
		"no JSON":          {"{", nil, 400, "unexpected end of JSON input"},
		"no messages":      {`{"model":"x"}`, nil, 400, "messages: expected at least one"},
		"another encoding": {plain, []string{"Content-Encoding", "br"}, 400, `"br" is not known`},
		"a broken gzip":    {plain, []string{"Content-Encoding", "gzip"}, 400, "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := w.ask(t, tt.body, tt.header...)
			var said struct {
				Type  string
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(answer), &said); err != nil || said.Type != "error" || status != tt.status || !strings.Contains(said.Error.Message, tt.want) {
				t.Errorf("status %d, %s, %v", status, answer, err)
			}
		})
	}
	for _, at := range []string{"GET /v1/messages", "POST /v1/complete", "GET /v1/models/../../x", "POST /api/event_logging", "CONNECT /v1/messages"} {
		method, path, _ := strings.Cut(at, " ")
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(method, "http://x"+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w.ServeHTTP(rec, r)
		if rec.Code != http.StatusNotFound || !json.Valid(rec.Body.Bytes()) {
			t.Errorf("%s: %d %s", at, rec.Code, rec.Body)
		}
	}
	if n := len(w.sent()); n > 0 {
		t.Errorf("%d requests reached the provider", n)
	}
	w.Close("a limit")
	if status, answer := w.ask(t, plain); status != 400 || !strings.Contains(answer, "a limit") {
		t.Errorf("after the end: %d %s", status, answer)
	}
}

// Before batch starts the program, no process is served.
func TestNothingIsAnsweredBeforeTheStart(t *testing.T) {
	w := start(t, answerStream)
	w.open = false
	if status, answer := w.ask(t, plain); status != 400 || !strings.Contains(answer, "has not begun") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestEncodedRequestsAreRead(t *testing.T) {
	w := start(t, answerStream)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, plain)
	_ = z.Close()
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for encoding, body := range map[string]string{"gzip": zipped.String(), "zstd": string(packer.EncodeAll([]byte(plain), nil))} {
		if status, answer := w.ask(t, body, "Content-Encoding", encoding); status != 200 || answer != streamed {
			t.Errorf("%s: %d %s", encoding, status, answer)
		}
	}
	bomb := packer.EncodeAll(make([]byte, MaxBody+1), nil)
	if status, answer := w.ask(t, string(bomb), "Content-Encoding", "zstd"); status != 400 {
		t.Errorf("a bomb of %d bytes: %d %.100s", len(bomb), status, answer)
	}
}

// A refusal of what the program asks for reaches it as it came, without secrets. One that is about the
// account does not.
func TestTheProvidersRefusals(t *testing.T) {
	tooLong := `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"},"x":1}`
	for name, tt := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"too long":   {400, tooLong, tooLong},
		"a secret":   {400, `{"type":"error","error":{"type":"invalid_request_error","message":"key ` + real + `"}}`, `********`},
		"no account": {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, `"invalid_request_error"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(tt.status)
				_, _ = io.WriteString(rw, tt.body)
			})
			status, answer := w.ask(t, plain)
			if status != 400 || !strings.Contains(answer, tt.want) || strings.Contains(answer, real) || strings.Contains(answer, "127.0.0.1") {
				t.Errorf("%d %s", status, answer)
			}
			w.patience = time.Millisecond
			w.provider = late(w.provider)
			status, answer = w.ask(t, plain)
			last := answer[strings.LastIndex(answer[:len(answer)-2], "\n\n")+2:]
			if status != 200 || !strings.HasPrefix(answer, "event: ping\n") || !strings.HasPrefix(last, "event: error\ndata: {") || strings.Contains(answer, real) {
				t.Errorf("after the beginning of the stream: %d %s", status, answer)
			}
		})
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
	pause := make(chan struct{})
	w := start(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		<-pause
		half := len(streamed) / 2
		_, _ = io.WriteString(rw, streamed[:half])
		_ = http.NewResponseController(rw).Flush()
		<-pause
		_, _ = io.WriteString(rw, streamed[half:])
	})
	w.patience, w.aliveEvery = time.Millisecond, time.Millisecond
	resp, err := http.DefaultClient.Do(w.request(t, plain))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	const sign = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	first := make([]byte, 3*len(sign))
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != strings.Repeat(sign, 3) {
		t.Errorf("%q, %v", first, err)
	}
	pause <- struct{}{}
	time.Sleep(20 * time.Millisecond)
	pause <- struct{}{}
	rest, err := io.ReadAll(resp.Body)
	if err != nil || strings.ReplaceAll(string(rest), sign, "") != streamed {
		t.Errorf("%q, %v", rest, err)
	}
}

// The last event of an answer comes when the call is on record.
func TestTheLastEventWaitsForTheRecord(t *testing.T) {
	w := start(t, answerStream)
	end := make(chan struct{})
	w.model = slow{w.model, end}
	resp, err := http.DefaultClient.Do(w.request(t, plain))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	before, last, _ := strings.Cut(streamed, "event: message_stop")
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
	if text := <-more; text != "event: message_stop"+last {
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
	hold := make(chan struct{})
	w := start(t, func(rw http.ResponseWriter, r *http.Request) {
		<-hold
		answerStream(rw, r)
	})
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(w.request(t, plain).WithContext(ctx))
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
		_, answer := w.ask(t, plain, "X-Stainless-Retry-Count", "1")
		again <- answer
	}()
	time.Sleep(20 * time.Millisecond)
	close(hold)
	if answer := <-again; answer != streamed || len(w.sent()) != 1 {
		t.Errorf("the repetition: %q, %d requests", answer, len(w.sent()))
	}
	if _, answer := w.ask(t, plain); answer != streamed || len(w.sent()) != 2 {
		t.Errorf("the same on purpose: %q, %d requests", answer, len(w.sent()))
	}
	if _, answer := w.ask(t, plain, "X-Stainless-Retry-Count", "2"); answer != streamed || len(w.sent()) != 2 {
		t.Errorf("a repetition of an answered one: %q, %d requests", answer, len(w.sent()))
	}
}

// An answer that breaks after its beginning is told as such, and not tried again by batch: the program has
// read a part of it.
func TestAnAnswerThatBreaks(t *testing.T) {
	w := start(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(rw, streamed[:len(streamed)*2/3])
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	})
	status, answer := w.ask(t, plain)
	if status != 200 || !strings.Contains(answer, "event: content_block_start") || !strings.Contains(answer, "event: error") || len(w.sent()) != 1 {
		t.Errorf("%d %q, %d requests", status, answer, len(w.sent()))
	}
}

func TestModelsAndHealth(t *testing.T) {
	w := start(t, answerStream)
	for _, at := range []string{"HEAD /", "GET /", "GET /health"} {
		method, path, _ := strings.Cut(at, " ")
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
		if rec.Code != 200 || rec.Body.Len() > 0 {
			t.Errorf("%s: %d %s", at, rec.Code, rec.Body)
		}
	}
	rec := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/v1/models?limit=1000", nil)
	r.Header.Set("X-Api-Key", token)
	w.ServeHTTP(rec, r)
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), `"id":"alias"`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// Large bodies wait for each other, and all are served.
func TestLargeBodies(t *testing.T) {
	w := start(t, answerStream)
	large := strings.Replace(plain, "hello", strings.Repeat("hello", 30<<20/5), 1)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			body := strings.Replace(large, `"max_tokens":10`, fmt.Sprintf(`"max_tokens":%d`, 10+n), 1)
			if status, answer := w.ask(t, body); status != 200 || answer != streamed {
				t.Errorf("%d %.100q", status, answer)
			}
		})
	}
	all.Wait()
	if status, _ := w.ask(t, strings.Repeat(" ", MaxBody+1)); status != 400 {
		t.Errorf("a body that is too large: %d", status)
	}
}
