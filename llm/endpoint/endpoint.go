// Package endpoint is shared by the providers that are called over HTTP. It classifies
// error answers: the kind of fault, whether the call may have been charged,
// when to retry and what the user should check. Its errors contain no secrets.
package endpoint

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// Endpoint is the address of a model's server. It is safe for concurrent use
// once its fields are set.
type Endpoint struct {
	Model   string // its name there
	Address string // the base URL
	Mask    *mask.Masker

	KeyVariable     string // of the environment, for a person to check
	AddressVariable string

	// Members are the request members that model_kwargs added.
	Members []string

	// Proven means that it has answered such requests before, in an earlier process:
	// if it refuses one, the cause is then in the conversation.
	Proven bool

	answered atomic.Bool
}

// Answered records that the endpoint has sent a reply.
func (e *Endpoint) Answered() { e.answered.Store(true) }

// Op is the operation that faults of a call name.
func (e *Endpoint) Op() string { return "asking model " + e.Model }

// address is the base URL without secrets.
func (e *Endpoint) address() string { return e.Mask.Text(e.Address) }

// proven reports whether requests made as this one was have been answered: by
// the endpoint, before, or earlier in this very conversation.
func (e *Endpoint) proven(req *llm.Request) bool {
	return e.Proven || e.answered.Load() ||
		slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return msg.Role == llm.RoleAssistant })
}

// Members returns the members of an object, and none of anything else.
func Members(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// IsSet reports whether a member of an answer says anything.
func IsSet(raw json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "{}", `""`, "false"}, strings.TrimSpace(string(raw)))
}
