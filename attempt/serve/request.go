package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
)

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
