// Package llmtest is a fake provider: an HTTP server for OpenAI's chat completions
// that enforces the rules of the real one (roles, answered tool calls, no unknown
// members) and fails on demand. [NewServer] is for tests; [Handler] serves the same from a
// program.
package llmtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxRequest is the size in bytes from which a request is refused.
const maxRequest = 64 << 20

// Handler answers POST .../chat/completions. It is safe for concurrent use.
type Handler struct {
	// Next decides the answer to the n-th request, counted from 1. It is
	// called by several goroutines at once when requests are concurrent.
	Next func(n int, r *Request) Answer

	// Illegal, when not nil, is called for requests that break the rules; they
	// are answered by a 400.
	Illegal func(err error)

	// Done, when not nil, ends all waiting when it is closed.
	Done <-chan struct{}

	mu       sync.Mutex
	requests []*Request
	keep     bool
	n        int
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		send(w, Refusal(http.StatusNotFound, "unknown_url", "unknown request URL: "+r.Method+" "+r.URL.Path), 0, "")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return
	}
	req, err := readRequest(r.Header, body)
	n := h.count(req)
	if err != nil {
		if h.Illegal != nil {
			h.Illegal(err)
		}
		send(w, Refusal(http.StatusBadRequest, "invalid_request_error", err.Error()), n, "")
		return
	}
	a := h.Next(n, req)
	if a.Delay > 0 && !h.wait(r, time.After(a.Delay)) {
		return
	}
	if a.Fault == Silence {
		h.wait(r, nil)
		panic(http.ErrAbortHandler)
	}
	send(w, a, n, req.Model)
}

func (h *Handler) count(req *Request) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	if h.keep {
		h.requests = append(h.requests, req)
	}
	return h.n
}

// wait reports whether the time came before client and server gave up.
func (h *Handler) wait(r *http.Request, c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	case <-r.Context().Done():
	case <-h.Done:
	}
	return false
}

func send(w http.ResponseWriter, a Answer, n int, model string) {
	body := a.body(n, model)
	w.Header().Set("Content-Type", "application/json")
	if a.Fault == Garbage {
		w.Header().Set("Content-Type", "text/html")
	}
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	switch a.Fault {
	case Hangup:
		panic(http.ErrAbortHandler)
	case Half:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(a.status())
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(a.status())
	_, _ = w.Write(body) // the client may be gone, which is its own business
}

// Server is a running stand-in.
type Server struct {
	URL     string // base URL, ends in /v1
	handler *Handler
}

// NewServer starts a server that gives the answers in order, the last one for
// ever, and is closed when the test ends. A request that breaks the rules
// fails the test.
func NewServer(t testing.TB, answers ...Answer) *Server {
	t.Helper()
	return NewServerFunc(t, func(n int, _ *Request) Answer {
		if len(answers) == 0 {
			return Text("")
		}
		return answers[min(n, len(answers))-1]
	})
}

// NewServerFunc is NewServer with a function in place of a list.
func NewServerFunc(t testing.TB, next func(n int, r *Request) Answer) *Server {
	t.Helper()
	done := make(chan struct{})
	h := &Handler{Next: next, Done: done, keep: true, Illegal: func(err error) {
		t.Errorf("illegal request: %v", err)
	}}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		close(done)
		s.CloseClientConnections()
		s.Close()
	})
	return &Server{URL: s.URL + "/v1", handler: h}
}

// Requests returns the requests so far, in the order in which they came.
func (s *Server) Requests() []*Request {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	return append([]*Request(nil), s.handler.requests...)
}
