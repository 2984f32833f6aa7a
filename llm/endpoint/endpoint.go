// Package endpoint is shared by the providers that are called over HTTP. It classifies error answers: the
// kind of fault, whether the call may have been charged, when to retry, and what the user should check. Its
// errors contain no secrets.
package endpoint

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// Endpoint is the address of a model's server, with the settings of its requests. It is safe for concurrent
// use; its fields must not be changed.
type Endpoint struct {
	Config                    // with the overrides of the kwargs
	Address string            // the base URL
	Body    map[string]any    // members of each request, without the protocol's own
	Headers map[string]string // headers of each request
	Stream  bool              // whether answers are to be streamed
	Dropped []string          // model_kwargs that the provider does not take
	HTTP    *http.Client      // cuts stalled streams
	Mask    *mask.Masker      // hides the secrets of the config

	AddressVariable string // the environment variable of the address, for a person to check

	named    []string // members of the request as the user wrote them in model_kwargs
	answered atomic.Bool
}

// RetryPolicy returns the retry policy set by the config and its Kwargs, for [llm.Calls].
func (e *Endpoint) RetryPolicy() llm.RetryPolicy { return e.Retry }

// Op names the operation in the faults of a call.
func (e *Endpoint) Op() string { return "asking model " + e.Model }

// address returns the base URL without secrets.
func (e *Endpoint) address() string { return e.Mask.Text(e.Address) }

// proven reports whether such a request has been answered before: by the endpoint, or earlier in the same
// conversation.
func (e *Endpoint) proven(req *llm.Request) bool {
	return e.Proven || e.answered.Load() ||
		slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return msg.Role == llm.RoleAssistant })
}

// Text returns the body of an answer with U+FFFD in place of invalid UTF-8, so that writing it to a file and
// reading it back changes nothing.
func Text(body []byte) []byte {
	if utf8.Valid(body) {
		return body
	}
	return bytes.ToValidUTF8(body, []byte("\uFFFD"))
}

// Members returns the members of an object, which are slices of raw; nil for any other value.
func Members(raw json.RawMessage) map[string]json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	all := gjson.ParseBytes(raw)
	if !all.IsObject() {
		return nil
	}
	m := map[string]json.RawMessage{}
	all.ForEach(func(name, value gjson.Result) bool {
		end := value.Index + len(value.Raw)
		m[name.Str] = raw[value.Index:end:end]
		return true
	})
	return m
}

// IsSet reports whether a member of an answer has a value.
func IsSet(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", `""`, "false":
		return false
	}
	return true
}
