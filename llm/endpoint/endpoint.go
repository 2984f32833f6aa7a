// Package endpoint is what the providers that are asked over HTTP share: what an
// answer means that is no reply. It says whose fault that is, whether the call may
// have been charged, when to ask again and what a person should check, and promises
// that no secret stands in what it says.
package endpoint

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// Endpoint is an address that a model is asked at. It is safe for concurrent use
// once its fields are set.
type Endpoint struct {
	Model   string // its name there
	Address string // the base URL
	Mask    *mask.Masker

	KeyVariable     string // of the environment, for a person to check
	AddressVariable string

	// Members are those of a request that model_kwargs have added.
	Members []string

	// Proven says that it has answered such requests before, in an earlier process:
	// one that it refuses is then refused for what is in the conversation.
	Proven bool

	answered atomic.Bool
}

// Answered says that a reply came from there.
func (e *Endpoint) Answered() { e.answered.Store(true) }

// Op is what faults of a call say was done.
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
