// Package stub is an HTTP server that speaks the providers' protocols: OpenAI's chat completions and
// Responses, Anthropic's Messages and Google's Gemini, streamed or not. It enforces the rules of the real
// servers (roles, answered tool calls, unchanged thoughts, no unknown members), refuses a request that breaks
// one with the provider's status and error, and fails on demand.
//
// [Handler] is the server: `batch stub` runs one that answers from a [Script], and [NewServer] starts one for
// a test. One [Answer] fits all protocols, and [Request.Turns] reads a request of any of them.
//
// Its API is not promised to other programs: see package batch.
package stub

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"batch.example/batch/llm"
)

// maxRequest bounds the size of a request, in bytes.
const maxRequest = 64 << 20

// Handler answers the requests of all protocols. It is safe for concurrent use.
type Handler struct {
	// Next decides the answer to the n-th request, counted from 1. It is
	// called by several goroutines at once when requests are concurrent.
	Next func(n int, r *Request) Answer

	// Key is the API key that requests must have; "" accepts any key, and in OpenAI's protocols also none.
	Key string

	Limits Limits

	// Lenient accepts requests that break the rules, but for their key: those of other programs than batch
	// may have members that are not known here. Of such a request, only Body, Members and Stream are sure.
	Lenient bool

	// Illegal, when not nil, is called for requests that break the rules. They are refused like the provider
	// does, mostly with a 400.
	Illegal func(err error)

	// Done, when not nil, ends all waits when it is closed.
	Done <-chan struct{}

	sent     sent // requests must send it back unchanged
	meter    meter
	mu       sync.Mutex
	requests []*Request
	keep     bool
	n        int
	counts   Counts
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := protocolOf(r)
	if p == "" {
		a := Refusal(http.StatusNotFound, "unknown_url", "unknown request URL: "+r.Method+" "+r.URL.Path)
		(&reply{h: h, w: w, r: r, protocol: Chat, answer: a}).send()
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil { // too large, or the client is gone
		(&reply{h: h, w: w, r: r, protocol: p, answer: Status(http.StatusRequestEntityTooLarge)}).send()
		return
	}
	req, no := dialects[p].read(h, r, body)
	req.ctx = r.Context()
	if h.Lenient && no != nil && no.status == http.StatusBadRequest {
		no = nil
	}
	reply := &reply{h: h, w: w, r: r, protocol: p, call: call{model: req.Model, request: req}}
	reply.answer = h.answer(r, reply, no)
	reply.send()
}

// answer decides the answer to a request: first by the rules, then by the limits, then by Next.
func (h *Handler) answer(r *http.Request, to *reply, no *refused) Answer {
	if no != nil {
		to.call.n = h.count(to.call.request, &h.counts.Illegal)
		if h.Illegal != nil {
			h.Illegal(no)
		}
		return Answer{Status: no.status, Error: no.body}
	}
	rate, wait := h.meter.admit(h.Limits, keyOf(r), len(to.call.request.Body))
	to.rate = rate
	if wait > 0 {
		h.count(nil, &h.counts.Refused)
		return tooMany(to.protocol, wait)
	}
	to.call.n = h.count(to.call.request, &h.counts.Accepted)
	a := h.Next(to.call.n, to.call.request)
	if a.Model != "" {
		to.call.model = a.Model
	}
	return a
}

// Counts returns how many requests came so far.
func (h *Handler) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// count counts a request. A request that limits refuse is not kept and has no number, so that numbered
// answers do not depend on the limits.
func (h *Handler) count(req *Request, kind *int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	*kind++
	if req == nil {
		return 0
	}
	h.n++
	if h.keep {
		h.requests = append(h.requests, req)
	}
	return h.n
}

// wait reports whether c fired before client and server gave up.
func (h *Handler) wait(r *http.Request, c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	case <-r.Context().Done():
	case <-h.Done:
	}
	return false
}

// Server is a running Handler. All protocols share its address; [Server.Base] returns the base URL for the
// clients of one protocol.
type Server struct {
	URL     string // base URL for OpenAI's protocols, ends in /v1
	handler *Handler
}

// Base returns the base URL of a protocol. The clients of Anthropic's and Gemini's APIs append the version to
// it.
func (s *Server) Base(p Protocol) string {
	if p == Anthropic || p == Gemini {
		return strings.TrimSuffix(s.URL, "/v1")
	}
	return s.URL
}

// TB has the methods of a test that a server uses. *testing.T implements it; programs that use a [Handler]
// need not link package testing.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// NewServer starts a server that sends the answers in order and repeats the last one. It is closed when the
// test ends. A request that breaks the rules fails the test.
func NewServer(t TB, answers ...Answer) *Server {
	t.Helper()
	return NewServerFunc(t, func(n int, _ *Request) Answer {
		if len(answers) == 0 {
			return Text("")
		}
		return answers[min(n, len(answers))-1]
	})
}

// NewServerFunc is NewServer with a function instead of a list.
func NewServerFunc(t TB, next func(n int, r *Request) Answer) *Server {
	t.Helper()
	return Start(t, &Handler{Next: next})
}

// Start serves h, which must not be in use yet, until the test ends. A request that breaks the
// rules fails the test unless h.Illegal is set.
func Start(t TB, h *Handler) *Server {
	t.Helper()
	done := make(chan struct{})
	h.Done, h.keep = done, true
	if h.Illegal == nil {
		h.Illegal = func(err error) { t.Errorf("illegal request: %v", err) }
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("starting a provider: %v", err)
	}
	var running sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		h.ServeHTTP(w, r)
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // serves until it is closed
	}()
	t.Cleanup(func() {
		close(done)
		_ = server.Close()
		<-ended
		running.Wait()
	})
	return &Server{URL: "http://" + l.Addr().String() + "/v1", handler: h}
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []*Request {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	return append([]*Request(nil), s.handler.requests...)
}

// Counts returns how many requests came so far.
func (s *Server) Counts() Counts { return s.handler.Counts() }

// Protocol is one of the four protocols of the server.
type Protocol string

// The protocols.
const (
	Chat      Protocol = "chat"      // OpenAI chat completions
	Responses Protocol = "responses" // OpenAI Responses
	Anthropic Protocol = "anthropic" // Anthropic Messages
	Gemini    Protocol = "gemini"    // Google Gemini
)

// dialect reads and writes a protocol. The results of methods that write depend only on their arguments.
type dialect interface {
	// read parses a request and enforces the provider's rules. It returns the parsed part of the request also
	// with an error.
	read(h *Handler, r *http.Request, body []byte) (*Request, *refused)
	// whole returns the answer to a request that does not stream.
	whole(a Answer, c call) []byte
	// events returns the answer to a request that streams.
	events(a Answer, c call) []event
	// named returns an answer's content with the ids and signatures that are sent.
	named(a Answer, c call) []llm.Part
	// failure returns an error answer and its status.
	failure(a Answer) (status int, body []byte)
	// interrupted returns the event of a stream that ends with an error.
	interrupted(a Answer, c call) event
}

var dialects = map[Protocol]dialect{
	Chat: chat{}, Responses: responses{}, Anthropic: anthropic{}, Gemini: gemini{},
}

// call holds the parts of a request that determine its answer.
type call struct {
	n       int // number of the request, from 1
	model   string
	request *Request
}

// event is an event of a stream of server-sent events.
type event struct {
	name string // "" for protocols that do not name events
	data []byte
}

func (e event) bytes() []byte {
	var b []byte
	if e.name != "" {
		b = append(b, "event: "+e.name+"\n"...)
	}
	return append(append(append(b, "data: "...), e.data...), "\n\n"...)
}

// refused says why a request is not answered.
type refused struct {
	status int
	body   ErrorBody
}

func (r *refused) Error() string { return r.body.Message }

// protocolOf returns the protocol for a path; "" if no provider has the path.
func protocolOf(r *http.Request) Protocol {
	path := r.URL.Path
	method := path[strings.LastIndexByte(path, ':')+1:]
	switch {
	case r.Method != http.MethodPost:
		return ""
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat
	case strings.HasSuffix(path, "/responses"):
		return Responses
	case strings.HasSuffix(path, "/v1/messages"):
		return Anthropic
	case strings.Contains(path, "/models/") && (method == "generateContent" || method == "streamGenerateContent"):
		return Gemini
	}
	return ""
}

// said is an error in a provider's words.
type said string

func (s said) Error() string { return string(s) }

func says(format string, args ...any) error { return said(fmt.Sprintf(format, args...)) }
