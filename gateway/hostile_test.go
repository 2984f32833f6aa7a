package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// idle is a gateway whose calls are taken by the test.
func idle(t *testing.T, p protocol) *world {
	t.Helper()
	g, err := New(Config{Wire: p.wire, Model: "the-model", Alias: "alias", Token: token, Mask: mask.New()})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	t.Cleanup(func() { g.Close("the test is over") })
	g.Open()
	return &world{Gateway: g, protocol: p, url: front.URL}
}

func (w *world) taken(t *testing.T) *Call {
	t.Helper()
	select {
	case c := <-w.Calls():
		return c
	case <-time.After(3 * time.Second):
		t.Fatal("no call came")
		return nil
	}
}

// A call that waits for its turn shows life.
func TestHostileQueuedCallShowsLife(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		if len(p.signs) == 0 {
			t.Skip("the protocol has no signs of life")
		}
		w := idle(t, p)
		w.change(func() { w.patience, w.aliveEvery = 10*time.Millisecond, 10*time.Millisecond })
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		resp, err := http.DefaultClient.Do(w.request(t, w.plain).WithContext(ctx))
		if err != nil {
			t.Fatal("no life for three seconds: ", err)
		}
		resp.Body.Close()
	})
}

// Two requests that are the same on purpose, while both wait.
func TestHostileSameOnPurposeWhileQueued(t *testing.T) {
	w := idle(t, protocols["messages"])
	for range 2 {
		go func() { _, _ = http.DefaultClient.Do(w.request(t, w.plain)) }()
	}
	time.Sleep(100 * time.Millisecond)
	w.taken(t).End(errors.New("x"))
	w.taken(t).End(errors.New("x"))
}

// The first client hangs up while its call waits, and a second has joined it.
func TestHostileJoinedWhileQueued(t *testing.T) {
	w := idle(t, protocols["messages"])
	ctx, hangUp := context.WithCancel(t.Context())
	go func() { _, _ = http.DefaultClient.Do(w.request(t, w.plain).WithContext(ctx)) }()
	time.Sleep(50 * time.Millisecond)
	got := make(chan string, 1)
	go func() {
		resp, err := http.DefaultClient.Do(w.request(t, w.plain, "X-Stainless-Retry-Count", "1"))
		if err != nil {
			got <- err.Error()
			return
		}
		text, _ := io.ReadAll(resp.Body)
		got <- fmt.Sprint(resp.StatusCode, " ", string(text))
	}()
	time.Sleep(50 * time.Millisecond)
	hangUp()
	time.Sleep(50 * time.Millisecond)
	select {
	case s := <-got:
		t.Error("refused: ", s)
	case c := <-w.Calls():
		c.End(errors.New("ended"))
	case <-time.After(2 * time.Second):
		t.Error("neither")
	}
}

// More than eight in flight, the first is repeated.
func TestHostileManyInFlight(t *testing.T) {
	w := idle(t, protocols["messages"])
	ctx, hangUp := context.WithCancel(t.Context())
	body := func(n int) asking { return w.plain.with("hello", fmt.Sprint("hello ", n)) }
	var calls []*Call
	for n := range 9 {
		req := w.request(t, body(n))
		if n == 0 {
			req = req.WithContext(ctx)
		}
		go func() { _, _ = http.DefaultClient.Do(req) }()
		calls = append(calls, w.taken(t))
	}
	hangUp()
	go func() { _, _ = http.DefaultClient.Do(w.request(t, body(0), "X-Stainless-Retry-Count", "1")) }()
	select {
	case <-w.Calls():
		t.Error("the call in flight is made again, and paid twice")
	case <-time.After(300 * time.Millisecond):
	}
	for _, c := range calls {
		c.End(errors.New("x"))
	}
}

// A call is in flight, and another one has no length.
func TestHostileBodiesWithoutLength(t *testing.T) {
	w := idle(t, protocols["messages"])
	go func() { _, _ = http.DefaultClient.Do(w.request(t, w.plain)) }()
	defer w.taken(t).End(errors.New("x"))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, w.plain.with("hello", "other").body)
	_ = z.Close()
	go func() {
		_, _ = http.DefaultClient.Do(w.request(t, asking{w.plain.path, zipped.String()}, "Content-Encoding", "gzip"))
	}()
	w.taken(t).End(errors.New("x"))
}

// A half-open connection sends no body.
func TestHostileHalfOpen(t *testing.T) {
	w := idle(t, protocols["messages"])
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nTransfer-Encoding: chunked\r\n\r\n", token)
	time.Sleep(50 * time.Millisecond)
	go func() { _, _ = http.DefaultClient.Do(w.request(t, w.plain)) }()
	w.taken(t).End(errors.New("x"))
}

// The first event says that the provider is overloaded: nothing was passed on.
func TestHostileOverloadedInTheStream(t *testing.T) {
	n := 0
	w := start(t, protocols["messages"], func(rw http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			answers(rw, "text/event-stream", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
			return
		}
		protocols["messages"].answersStream(rw, r)
	})
	w.model = llm.Calls{}.Compose(quick{w.model})
	if status, answer := w.ask(t, w.plain); status != 200 || answer != w.stream {
		t.Errorf("%d %s, %d requests", status, answer, n)
	}
}

// An answer that breaks while no client reads it is asked for again.
func TestHostileBrokenUnread(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		hold, n := make(chan struct{}), 0
		w := start(t, p, func(rw http.ResponseWriter, r *http.Request) {
			if n++; n == 1 {
				<-hold
				rw.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(rw, strings.Repeat(string(firstOf([]byte(p.stream))), 3))
				_ = http.NewResponseController(rw).Flush()
				panic(http.ErrAbortHandler)
			}
			p.answersStream(rw, r)
		})
		w.model = llm.Calls{}.Compose(quick{w.model})
		ctx, hangUp := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			_, _ = http.DefaultClient.Do(w.request(t, p.plain).WithContext(ctx))
			close(gone)
		}()
		for len(w.sent()) == 0 {
			time.Sleep(time.Millisecond)
		}
		hangUp()
		<-gone
		for !w.unfollowed() {
			time.Sleep(time.Millisecond)
		}
		close(hold)
		for len(w.ended()) == 0 {
			time.Sleep(time.Millisecond)
		}
		if err := w.ended()[0]; err != nil || len(w.sent()) != 2 {
			t.Errorf("%v, %d requests", err, len(w.sent()))
		}
		if status, answer := w.ask(t, p.plain); status != 200 || answer != p.shown || len(w.sent()) != 2 {
			t.Errorf("%d %q, %d requests", status, answer, len(w.sent()))
		}
	})
}

// unfollowed reports whether no client reads the only answer.
func (w *world) unfollowed() bool {
	w.Gateway.mu.Lock()
	defer w.Gateway.mu.Unlock()
	rec := w.recent[0]
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.following == 0
}

// ended returns the errors of the calls that have ended.
func (w *world) ended() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.errs
}

// A page of a proxy is no stream: nothing of it is the program's.
func TestHostileAPageInPlaceOfAStream(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		w := start(t, p, func(rw http.ResponseWriter, _ *http.Request) {
			answers(rw, "text/html", "<a href=https://gateway.internal.corp/login>\n\n<p>\n\nlog in</a>\n")
		})
		if status, answer := w.ask(t, p.plain); status != 400 || strings.Contains(answer, "gateway.internal") {
			t.Errorf("%d %s", status, answer)
		}
	})
}

// The endpoint cannot be reached.
func TestHostileAddress(t *testing.T) {
	each(t, func(t *testing.T, p protocol) {
		w := start(t, p, p.answersStream)
		w.config.BaseURL = "http://gateway.internal.invalid:4711/org-secret"
		w.connectTo(t, w.config)
		status, answer := w.ask(t, p.plain)
		if status != 400 || !strings.Contains(answer, "did not answer") || strings.Contains(answer, "internal") || strings.Contains(answer, "org-secret") {
			t.Errorf("%d %s", status, answer)
		}
	})
}

// Who has another key, or asks for something else, may still be writing.
func TestHostileRefusedWhileItWrites(t *testing.T) {
	w := idle(t, protocols["messages"])
	large := w.plain.with("hello", strings.Repeat("hello", 8<<20/5))
	if status, answer := w.ask(t, large, "X-Api-Key", "another"); status != http.StatusUnauthorized {
		t.Errorf("another key: %d %s", status, answer)
	}
	large.path = "/v1/files"
	if status, answer := w.ask(t, large); status != http.StatusNotFound {
		t.Errorf("another address: %d %s", status, answer)
	}
}

// A body that is deep is read in the time of its size.
func TestHostileDeepBody(t *testing.T) {
	const depth = 3000
	filler := strings.Repeat("x", 1_000_000)
	deep := strings.Repeat(`{"type":"tool_result","tool_use_id":"a","content":[`, depth) + `{"type":"text","text":"` + filler + `"}` + strings.Repeat("]}", depth)
	body := []byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[` + deep + `]}]}`)
	start := time.Now()
	if _, err := (messages{}).read(nil, body); err != nil {
		t.Error(err)
	}
	if _, _, err := (messages{}).edit(body, "m", false); err == nil || !strings.Contains(err.Error(), "levels deep") {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// quick is a model whose calls are tried again at once.
type quick struct{ llm.Model }

func (quick) RetryPolicy() llm.RetryPolicy {
	return llm.RetryPolicy{Tries: 3, Base: time.Millisecond, Max: time.Millisecond}
}
