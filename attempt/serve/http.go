package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
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
