package stub

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/llm"
	"batch.example/batch/llm/inbound"
)

// sent remembers the provider's own answers, to check them when a request sends them back. The server
// recognizes signatures that it made itself.
type sent struct {
	mu     sync.Mutex
	given  map[string]string   // signature from an Answer -> the thought
	shapes map[string][]string // id of an answer's first tool call -> shape of the answer
}

// remember keeps the parts of an answer that the rules check.
func (s *sent) remember(parts []llm.Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given == nil {
		s.given, s.shapes = map[string]string{}, map[string][]string{}
	}
	for _, p := range parts {
		if r, ok := p.(llm.Reasoning); ok && r.Opaque.Data != "" {
			s.given[r.Opaque.Data] = r.Text
		}
		if c, ok := p.(llm.ToolCall); ok && c.Opaque.Data != "" {
			s.given[c.Opaque.Data] = c.Name
		}
	}
	if calls := (llm.Message{Parts: parts}).ToolCalls(); len(calls) > 0 && calls[0].ID != "" {
		if shape := shapeOf(parts); len(shape) > len(calls) {
			s.shapes[calls[0].ID] = shape
		}
	}
}

// shapeOf returns the order of thoughts and calls.
func shapeOf(parts []llm.Part) (shape []string) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Reasoning:
			shape = append(shape, "thought "+p.Opaque.Data)
		case llm.ToolCall:
			shape = append(shape, "call "+p.ID)
		}
	}
	return shape
}

// signed reports whether the signature belongs to the thought.
func (s *sent) signed(thought, sig string) bool {
	if sig == signature("thought", thought) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	given, ok := s.given[sig]
	return ok && given == thought
}

// sealed reports whether the server sent data.
func (s *sent) sealed(kind, data string) bool {
	if isSealed(kind, data) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.given[data]
	return ok
}

// checkThinking checks that while tools are used, each of the model's messages has its original thoughts, in
// their order.
func (s *sent) checkThinking(r *Request) error {
	turns := r.Turns()
	place := func(i int) int { // index in the messages, which have no system text
		if turns[0].Role == llm.RoleSystem {
			return i - 1
		}
		return i
	}
	for i := len(turns) - 1; i >= 0; i-- {
		t := turns[i]
		if t.Role == llm.RoleUser && t.ToolCallID() == "" {
			return nil // a new turn: the thoughts before it may be left out
		}
		calls := t.ToolCalls()
		if t.Role != llm.RoleAssistant || len(calls) == 0 {
			continue
		}
		s.mu.Lock()
		want, known := s.shapes[calls[0].ID]
		s.mu.Unlock()
		if !known || slices.Equal(want, shapeOf(t.Parts)) {
			continue
		}
		if _, ok := t.Parts[0].(llm.Reasoning); !ok {
			return fmt.Errorf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", place(i))
		}
		return fmt.Errorf("messages.%d.content: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response", place(i))
	}
	return nil
}

// checkReasoningOf checks that function calls come with their original reasoning.
func (s *sent) checkReasoningOf(items []inbound.Item) *refused {
	start := 0 // start of the current turn: reasoning before it may be left out
	for i, item := range items {
		if item.Type == "message" && item.Role == llm.RoleUser {
			start = i
		}
	}
	var before []string // reasoning since another speaker
	for _, item := range items[start:] {
		switch item.Type {
		case "reasoning":
			before = append(before, "thought "+item.Encrypted)
		case "function_call_output":
			before = nil
		case "function_call":
			s.mu.Lock()
			want := s.shapes[item.CallID]
			s.mu.Unlock()
			for _, thought := range want {
				if !strings.HasPrefix(thought, "thought ") {
					break
				}
				if !slices.Contains(before, thought) {
					return invalid(nil, "input", "Item '%s' of type 'function_call' was provided without its required 'reasoning' item.", item.ID)
				}
			}
		}
	}
	return nil
}

// signature returns a thought's signature, which reveals changes of the thought. It depends on the thought
// alone, so that a restarted server accepts it.
func signature(kind, thought string) string {
	mac := hmac.New(sha256.New, []byte("stub "+kind))
	mac.Write([]byte(thought))
	return base64.StdEncoding.EncodeToString(append([]byte(kind+" "), mac.Sum(nil)...))
}

// sealed returns a thought that only the server can read.
func sealed(kind, thought string) string {
	return base64.StdEncoding.EncodeToString([]byte(thought)) + "." + signature(kind, thought)
}

// isSealed reports whether data comes from sealed.
func isSealed(kind, data string) bool {
	text, _, ok := strings.Cut(data, ".")
	thought, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && data == sealed(kind, string(thought))
}

// canonical returns JSON in one spelling, so that equal values have equal texts.
func canonical(data []byte) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(data)
	}
	return string(encode(v))
}
