package stub

import (
	"encoding/json"
	"fmt"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
	"batch.example/batch/llm/inbound"
)

// names returns a set of words.
func names(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// unknownMember returns the name of an unknown member; "" if there is none.
func unknownMember(members map[string]json.RawMessage, known map[string]bool) string {
	least := ""
	for name := range members {
		if !known[name] && (least == "" || name < least) {
			least = name
		}
	}
	return least
}

// readAnthropic fills in a request and enforces the rules of the Messages API.
func readAnthropic(r *Request, sent *sent) error {
	if name := unknownMember(r.Members, anthropicMembers); name != "" {
		return fmt.Errorf("%s: Extra inputs are not permitted", name)
	}
	var head struct {
		Model     string            `json:"model"`
		MaxTokens *int64            `json:"max_tokens"`
		Messages  []json.RawMessage `json:"messages"`
		System    json.RawMessage   `json:"system"`
		Tools     []struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		Thinking struct {
			Type         string `json:"type"`
			BudgetTokens int64  `json:"budget_tokens"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(r.Body, &head); err != nil {
		return err
	}
	r.Model = head.Model
	switch {
	case head.Model == "":
		return fmt.Errorf("model: Field required")
	case head.MaxTokens == nil:
		return fmt.Errorf("max_tokens: Field required")
	case *head.MaxTokens < 1:
		return fmt.Errorf("max_tokens: Input should be greater than or equal to 1")
	case head.Thinking.Type == "enabled" && head.Thinking.BudgetTokens < 1024:
		return fmt.Errorf("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case head.Thinking.Type == "enabled" && head.Thinking.BudgetTokens >= *head.MaxTokens:
		return fmt.Errorf("`max_tokens` must be greater than `thinking.budget_tokens`")
	case len(head.Messages) == 0:
		return fmt.Errorf("messages: at least one message is required")
	}
	for i, t := range head.Tools {
		if t.Name == "" {
			return fmt.Errorf("tools.%d.custom.name: Field required", i)
		}
		if len(t.InputSchema) == 0 && (t.Type == "" || t.Type == "custom") {
			return fmt.Errorf("tools.%d.custom.input_schema: Field required", i)
		}
		r.addTool(t.Name, t.InputSchema)
	}
	return r.readAnthropicMessages(sent, head.System, head.Messages)
}

// addTool adds an offered tool to the request, in the form of chat completions.
func (r *Request) addTool(name string, schema json.RawMessage) {
	t := Tool{Type: "function"}
	t.Function.Name, t.Function.Parameters = name, schema
	r.Tools = append(r.Tools, t)
}

// set sets the conversation.
func (r *Request) set(turns []llm.Message) { r.turns = func() []llm.Message { return turns } }

func (r *Request) readAnthropicMessages(sent *sent, system json.RawMessage, messages []json.RawMessage) error {
	check := anthropicCheck{sent: sent, used: map[string]bool{}}
	var turns []llm.Message
	if len(system) > 0 {
		blocks, err := inbound.Blocks(system)
		if err != nil {
			return fmt.Errorf("system: Input should be a valid string or list")
		}
		check.count(blocks)
		turns = append(turns, llm.Message{Role: llm.RoleSystem, Parts: inbound.Parts(blocks)})
	}
	for i, raw := range messages {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("messages.%d: Input should be a valid dictionary", i)
		}
		blocks, err := inbound.Blocks(m.Content)
		if err != nil {
			return fmt.Errorf("messages.%d.content: Input should be a valid string or list", i)
		}
		r.Messages = append(r.Messages, Message{Role: m.Role, Raw: raw})
		turns = append(turns, llm.Message{Role: m.Role, Parts: inbound.Parts(blocks)})
		r.set(turns)
		if err := check.message(i, m.Role, blocks, i == len(messages)-1); err != nil {
			return err
		}
	}
	r.set(turns)
	return check.end()
}

// anthropicCheck checks the messages in order.
type anthropicCheck struct {
	sent  *sent
	role  string          // role of the previous message
	open  []string        // its tool calls that have no result yet
	used  map[string]bool // ids of all tool calls
	marks int             // cache_control marks
}

var anthropicID = lazy.Regexp(`^[a-zA-Z0-9_-]+$`)

func (c *anthropicCheck) count(blocks []inbound.Block) {
	for _, b := range blocks {
		if len(b.CacheControl) > 0 && string(b.CacheControl) != "null" {
			c.marks++
		}
	}
}

func (c *anthropicCheck) message(i int, role string, blocks []inbound.Block, last bool) error {
	c.count(blocks)
	switch {
	case role != llm.RoleUser && role != llm.RoleAssistant:
		return says("messages: Unexpected role %q. The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.", role)
	case i == 0 && role != llm.RoleUser:
		return fmt.Errorf("messages: first message must use the \"user\" role")
	case len(blocks) == 0 && !(last && role == llm.RoleAssistant):
		return fmt.Errorf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
	}
	if err := c.results(i, blocks); err != nil {
		return err
	}
	for j, b := range blocks {
		if err := c.block(i, j, role, b, last); err != nil {
			return err
		}
	}
	c.role = role
	return nil
}

// results checks that a message after tool calls starts with all their results, and that no other message has
// any.
func (c *anthropicCheck) results(i int, blocks []inbound.Block) error {
	waiting := map[string]bool{}
	for _, id := range c.open {
		waiting[id] = true
	}
	other := false
	for j, b := range blocks {
		if b.Type != "tool_result" {
			other = true
			continue
		}
		if !waiting[b.ToolUseID] {
			return fmt.Errorf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message", i, j, b.ToolUseID)
		}
		if other {
			return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. `tool_result` blocks must come first in the message", i, b.ToolUseID)
		}
		delete(waiting, b.ToolUseID)
	}
	if len(waiting) > 0 {
		var ids []string
		for _, id := range c.open {
			if waiting[id] {
				ids = append(ids, id)
			}
		}
		return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message", i-1, strings.Join(ids, ", "))
	}
	c.open = nil
	return nil
}

func (c *anthropicCheck) block(i, j int, role string, b inbound.Block, last bool) error {
	at := fmt.Sprintf("messages.%d.content.%d", i, j)
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("messages: text content blocks must contain non-whitespace text")
		}
		if last && role == llm.RoleAssistant && strings.TrimRight(b.Text, " \t\n") != b.Text {
			return fmt.Errorf("messages: final assistant content cannot end with trailing whitespace")
		}
	case "image", "document", "tool_result":
	case "tool_use":
		var input map[string]json.RawMessage
		switch {
		case !anthropicID().MatchString(b.ID):
			return fmt.Errorf("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
		case c.used[b.ID]:
			return fmt.Errorf("messages: `tool_use` ids must be unique")
		case json.Unmarshal(b.Input, &input) != nil || input == nil:
			return fmt.Errorf("%s.tool_use.input: Input should be a valid dictionary", at)
		}
		c.used[b.ID], c.open = true, append(c.open, b.ID)
	case "thinking":
		if !c.sent.signed(b.Thinking, b.Signature) {
			return fmt.Errorf("%s: Invalid `signature` in `thinking` block", at)
		}
	case "redacted_thinking":
		if !c.sent.sealed("redacted", b.Data) {
			return fmt.Errorf("%s: Invalid `data` in `redacted_thinking` block", at)
		}
	default:
		return fmt.Errorf("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', 'tool_use'", at, b.Type)
	}
	wrong := role == llm.RoleUser && (b.Type == "tool_use" || b.Type == "thinking" || b.Type == "redacted_thinking")
	if wrong || role == llm.RoleAssistant && b.Type == "tool_result" {
		return fmt.Errorf("messages.%d: `%s` blocks can only be in `%s` messages", i, b.Type, otherRole(role))
	}
	return nil
}

func otherRole(role string) string {
	if role == llm.RoleUser {
		return llm.RoleAssistant
	}
	return llm.RoleUser
}

func (c *anthropicCheck) end() error {
	switch {
	case len(c.open) > 0:
		return fmt.Errorf("messages: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message", strings.Join(c.open, ", "))
	case c.marks > 4:
		return says("A maximum of 4 blocks with cache_control may be provided. Found %d.", c.marks)
	}
	return nil
}
