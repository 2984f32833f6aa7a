package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/log"
)

const (
	readLimit  = 30 * time.Second // for the body of a request
	writeLimit = 30 * time.Second // for a caller to read one piece of an answer
)

// Handler answers HTTP requests: the agent card at its well-known address, and JSON-RPC at the
// address in the card. It limits the time for request bodies and for reading answers; the caller
// limits the time for headers.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(s.card()))
	rpc := a2asrv.NewJSONRPCHandler(handler{s, a2asrv.NewHandler(nil, a2asrv.WithLogger(s.c.Log))})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, rpc) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(log.WithLogger(r.Context(), s.c.Log))
		mux.ServeHTTP(&timed{ResponseWriter: w, control: http.NewResponseController(w)}, r)
	})
}

// answer checks the form of a JSON-RPC request, and answers it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, rpc http.Handler) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "JSON-RPC takes POST", http.StatusMethodNotAllowed)
		return
	}
	if s.c.Tokens == nil && !atHome(r) {
		http.Error(w, "without bearer tokens, only programs on this machine may call", http.StatusForbidden)
		return
	}
	who, ok := s.c.Tokens.identify(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer realm="batch"`)
		http.Error(w, "the caller is not known", http.StatusUnauthorized)
		return
	}
	// Pages in a browser can send only other types to another site without its consent.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "expected Content-Type: application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := s.body(w, r)
	if err != nil {
		refuse(w, request{}, err)
		return
	}
	req, err := parse(body)
	if err != nil {
		refuse(w, req, err)
		return
	}
	if s.c.ModelKeyHeader != "" {
		who.modelKey = r.Header.Get(s.c.ModelKeyHeader)
	}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.Header().Set("Content-Type", "application/json")
	rpc.ServeHTTP(w, r)
}

// atHome reports whether a request comes from a program on this machine: not from a web page, and
// not through a foreign name that points to this machine.
func atHome(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if r.Header.Get("Origin") != "" {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// body reads the body of a request within the time limit.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readLimit)) // a test's recorder has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.c.Limits.Body))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, problem{a2a.ErrInvalidRequest, "the request is larger than the server takes"}
	}
	if err != nil {
		return nil, problem{a2a.ErrParseError, "the request did not arrive"}
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, nil
}

// timed is a response with a time limit for reading each piece.
type timed struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements [io.Writer].
func (t *timed) Write(p []byte) (int, error) {
	_ = t.control.SetWriteDeadline(time.Now().Add(writeLimit)) // a test's recorder has none
	return t.ResponseWriter.Write(p)
}

// Flush implements [http.Flusher].
func (t *timed) Flush() { _ = t.control.Flush() }

// Unwrap lets [http.ResponseController] reach the underlying writer.
func (t *timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// request is the envelope of a JSON-RPC request.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	ID      json.RawMessage `json:"id"`
}

// id returns the id for the answer; null if it is unknown.
func (r request) id() json.RawMessage {
	if len(r.ID) > 0 && (r.ID[0] == '"' || r.ID[0] == '-' || '0' <= r.ID[0] && r.ID[0] <= '9') {
		return r.ID
	}
	return json.RawMessage("null")
}

// params creates the parameters of each method.
var params = map[string]func() any{
	"message/send":      func() any { return new(a2a.MessageSendParams) },
	"message/stream":    func() any { return new(a2a.MessageSendParams) },
	"tasks/get":         func() any { return new(a2a.TaskQueryParams) },
	"tasks/cancel":      func() any { return new(a2a.TaskIDParams) },
	"tasks/resubscribe": func() any { return new(a2a.TaskIDParams) },
}

// problem is an error of the protocol and its reason.
type problem struct {
	kind error
	why  string
}

// Error implements error.
func (p problem) Error() string { return p.why }

// Unwrap returns the protocol's error.
func (p problem) Unwrap() error { return p.kind }

// codes are the JSON-RPC codes of [parse]'s errors.
var codes = map[error]int{
	a2a.ErrParseError: -32700, a2a.ErrInvalidRequest: -32600, a2a.ErrInvalidParams: -32602,
	a2a.ErrPushNotificationNotSupported: -32003,
}

// parse checks the form of a request more strictly than the SDK, which has only one error for all
// mistakes.
func parse(body []byte) (req request, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	var any json.RawMessage
	if err := d.Decode(&any); err != nil {
		return req, problem{a2a.ErrParseError, "it is not JSON"}
	}
	if _, err := d.Token(); err != io.EOF {
		return req, problem{a2a.ErrParseError, "there is more behind the request"}
	}
	if err := json.Unmarshal(any, &req); err != nil || any[0] != '{' {
		return req, problem{a2a.ErrInvalidRequest, "it is not a request of JSON-RPC 2.0"}
	}
	switch {
	case req.JSONRPC != "2.0" || req.Method == "":
		return req, problem{a2a.ErrInvalidRequest, "expected jsonrpc 2.0 and a method"}
	case len(req.ID) > 0 && string(req.ID) != "null" && string(req.id()) == "null":
		return req, problem{a2a.ErrInvalidRequest, "the id is neither a string nor a number"}
	case strings.HasPrefix(req.Method, "tasks/pushNotificationConfig/"): // whatever its params are
		return req, problem{a2a.ErrPushNotificationNotSupported, "callers follow a task by tasks/resubscribe"}
	}
	make, ok := params[req.Method]
	if !ok {
		return req, nil // the SDK answers unknown methods
	}
	if len(req.Params) == 0 || req.Params[0] != '{' {
		return req, problem{a2a.ErrInvalidParams, "params: expected an object"}
	}
	if err := json.Unmarshal(req.Params, make()); err != nil {
		return req, problem{a2a.ErrInvalidParams, "params: " + err.Error()}
	}
	return req, nil
}

// refuse answers a request with an error from [parse].
func refuse(w http.ResponseWriter, r request, err error) {
	p, _ := err.(problem)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a caller that is gone reads no error
		"jsonrpc": "2.0", "id": r.id(),
		"error": map[string]any{"code": codes[p.kind], "message": p.kind.Error(), "data": map[string]any{"error": p.why}},
	})
}

// Card configures the agent card.
type Card struct {
	Name        string // empty: batch
	Description string
	Version     string
	URL         string // the server's address for callers
}

// protocolVersion is the version of the protocol that the SDK implements.
const protocolVersion = "0.3.0"

// outputModes are the media types of a task's messages and artifacts.
var outputModes = []string{"text/plain", "text/x-diff"}

// offered reports whether mode, a media type that a caller accepts, matches an output mode.
func offered(mode string) bool {
	return slices.Contains(outputModes, mode) || mode == "text/*" || mode == "*/*" || mode == "text"
}

// card returns the agent card.
func (s *Server) card() *a2a.AgentCard {
	c := s.c.Card
	card := &a2a.AgentCard{
		Name: c.Name, Description: c.Description, Version: c.Version, URL: c.URL,
		ProtocolVersion: protocolVersion, PreferredTransport: a2a.TransportProtocolJSONRPC,
		Capabilities:      a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: outputModes,
		Skills: []a2a.AgentSkill{{
			ID: "code", Name: "Work on code", Tags: []string{"code", "shell", "git"},
			Description: "Works on a repository in a container of its own, with a shell. Each message is a turn; " +
				"the changes come as the artifact patch.",
			Examples: []string{"Fix the failing test in tests/test_io.py."},
		}},
	}
	if card.Name == "" {
		card.Name = "batch"
	}
	if s.c.Tokens != nil {
		card.SecuritySchemes = a2a.NamedSecuritySchemes{"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		card.Security = []a2a.SecurityRequirements{{"bearer": a2a.SecuritySchemeScopes{}}}
	}
	return card
}
