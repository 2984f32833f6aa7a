package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"batch.example/batch/agent/mcp"
	"batch.example/batch/fault"
)

const token = "Bearer sesame-open-sesame"

// overHTTP serves tools of the official SDK to callers with the token. The handler in
// front gets each request first.
func overHTTP(t testing.TB, front func(w http.ResponseWriter, r *http.Request, next http.Handler)) mcp.Server {
	t.Helper()
	server := sdkServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if front != nil {
			front(w, r, handler)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return mcp.Server{
		Name: "web", URL: h.URL + "/mcp", Tools: []string{"*"}, Timeout: 100 * time.Second,
		Headers: map[string]string{"Authorization": token},
	}
}

func TestConnectingOverHTTPFailsWithBlame(t *testing.T) {
	t.Parallel()
	page := func(code int, text string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(code); fmt.Fprint(w, text) }
	}
	for name, c := range map[string]struct {
		front   func(http.ResponseWriter, *http.Request, http.Handler)
		headers map[string]string
		kind    fault.Kind
		says    string
	}{
		"no login":     {headers: map[string]string{}, kind: fault.Usage, says: "headers"},
		"not found":    {front: page(http.StatusNotFound, ""), kind: fault.Usage, says: "url"},
		"a web page":   {front: page(http.StatusOK, "<html>"), kind: fault.Transient, says: "web"},
		"out of order": {front: page(http.StatusServiceUnavailable, ""), kind: fault.Transient, says: "web"},
		"a redirect": {front: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, kind: fault.Usage, says: "307"},
		"an endless page": {front: func(w http.ResponseWriter, r *http.Request, _ http.Handler) { endless(w, r, "application/json") }, kind: fault.Transient, says: "web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := overHTTP(t, c.front)
			if c.headers != nil {
				server.Headers = c.headers
			}
			_, err := mcp.Connect(t.Context(), mcp.Config{Servers: []mcp.Server{server}})
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error()+fault.HintOf(err), c.says) {
				t.Errorf("%v: %v (%s); want a %v fault that says %q", fault.KindOf(err), err, fault.HintOf(err), c.kind, c.says)
			}
			if err != nil && strings.Contains(err.Error()+fault.HintOf(err), "sesame") {
				t.Errorf("the error shows the login: %v", err)
			}
		})
	}
}

// endless answers without end.
func endless(w http.ResponseWriter, r *http.Request, kind string) {
	w.Header().Set("Content-Type", kind)
	for r.Context().Err() == nil {
		if _, err := fmt.Fprint(w, `{"x":"`, strings.Repeat("x", 1<<16), `"}`); err != nil {
			return
		}
	}
}

func TestTheLoginIsNotSentToAnotherServer(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	got.Store("")
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization") + r.Header.Get("X-Key"))
	}))
	defer other.Close()
	server := overHTTP(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, other.URL+"/mcp", http.StatusTemporaryRedirect)
	})
	server.Headers["X-Key"] = "secret"
	if s, err := mcp.Connect(t.Context(), mcp.Config{Servers: []mcp.Server{server}}); err == nil {
		s.Close()
		t.Error("a redirect was followed")
	}
	if got.Load() != "" {
		t.Errorf("the other server got %q", got.Load())
	}
}

// during lets a front act on the first call of a tool only.
func during(act func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request, http.Handler) {
	var acted atomic.Bool
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		data, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(data))
		if strings.Contains(string(data), `"tools/call"`) && acted.CompareAndSwap(false, true) {
			act(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func TestABrokenCallOverHTTP(t *testing.T) {
	t.Parallel()
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, act := range map[string]func(http.ResponseWriter, *http.Request){
		"the connection is reset": hangUp,
		"status 503":              func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"the session is gone":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"not JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "oops")
		},
		"an endless answer": func(w http.ResponseWriter, r *http.Request) { endless(w, r, "application/json") },
		"an endless event":  func(w http.ResponseWriter, r *http.Request) { endless(w, r, "text/event-stream") },
		"an event cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\"")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("of a tool that changes nothing", func(t *testing.T) {
				s := connect(t, overHTTP(t, during(act)))
				if out := mustUse(t, s, "web__echo", "x"); out.ExitCode != 0 || string(out.Bytes) != "you said\nx" {
					t.Errorf("%q, %q; want the call repeated", out.Bytes, out.Note)
				}
			})
			t.Run("of another tool", func(t *testing.T) {
				s := connect(t, overHTTP(t, during(act)))
				if out := mustUse(t, s, "web__pid", "x"); out.ExitCode != 1 || len(out.Bytes) > 0 && !strings.Contains(string(out.Bytes), "terminated") {
					t.Errorf("%q, %q; want the model informed", out.Bytes, out.Note)
				}
				if out := mustUse(t, s, "web__pid", "x"); out.ExitCode != 0 {
					t.Errorf("the next call: %q, %q", out.Bytes, out.Note)
				}
			})
		})
	}
}

func TestATimeLimitEndsACallOverHTTP(t *testing.T) {
	t.Parallel()
	canceled := make(chan struct{})
	server := overHTTP(t, during(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(canceled)
	}))
	server.Timeout = time.Second
	s := connect(t, server)
	out := mustUse(t, s, "web__echo", "x")
	if out.ExitCode != 1 || !strings.Contains(out.Note, "did not answer within 1 seconds") {
		t.Errorf("%q, %q", out.Bytes, out.Note)
	}
	<-canceled
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := use(ctx, t, s, "web__echo", map[string]any{"text": "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestASessionIsEndedAndMayBeLost(t *testing.T) {
	t.Parallel()
	var deleted atomic.Int64
	var lost atomic.Bool
	var log bytes.Buffer
	server := overHTTP(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodDelete {
			deleted.Add(1)
		}
		if id := r.Header.Get("Mcp-Session-Id"); id != "" && lost.CompareAndSwap(true, false) {
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
	s, err := mcp.Connect(t.Context(), mcp.Config{Servers: []mcp.Server{server}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lost.Store(true)
	if out := mustUse(t, s, "web__echo", "x"); string(out.Bytes) != "you said\nx" {
		t.Errorf("after the session was lost: %q, %q", out.Bytes, out.Note)
	}
	s.Close()
	if deleted.Load() != 1 {
		t.Errorf("%d sessions ended, want 1", deleted.Load())
	}
	if !strings.Contains(log.String(), "broke") || strings.Contains(log.String(), "sesame") {
		t.Errorf("log:\n%s", log.String())
	}
}

func TestEarlierAndLaterProtocols(t *testing.T) {
	t.Parallel()
	for method, refuse := range map[string]func(w http.ResponseWriter, id json.RawMessage){
		"server/discover": func(http.ResponseWriter, json.RawMessage) { panic(http.ErrAbortHandler) },
		"initialize": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, id)
		},
	} {
		t.Run("without "+method, func(t *testing.T) {
			t.Parallel()
			server := sdkServer()
			later := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
			s := connect(t, overHTTP(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				data, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(data))
				if method == "initialize" {
					next = later // the other one has sessions, which only earlier protocols know
				}
				var m struct {
					ID     json.RawMessage
					Method string
				}
				if json.Unmarshal(data, &m) == nil && m.Method == method {
					refuse(w, m.ID)
					return
				}
				next.ServeHTTP(w, r)
			}))
			if out := mustUse(t, s, "web__echo", "x"); out.ExitCode != 0 {
				t.Errorf("%q, %q", out.Bytes, out.Note)
			}
		})
	}
}
