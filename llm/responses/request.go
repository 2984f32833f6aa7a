package responses

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/openaiapi"
)

// opaque is the provider's name in parts of messages. Such a part keeps its item of the answer exactly as the
// server wrote it.
const opaque = "openai"

// encrypted is the part of an answer without which its reasoning cannot be sent back.
const encrypted = "reasoning.encrypted_content"

// toolsOnly lists members that are not allowed in a request without tools.
var toolsOnly = []string{"parallel_tool_calls", "tool_choice", "max_tool_calls"}

func (m *Model) request(req *llm.Request) (history.Body, error) {
	body, err := m.form.Text(req, req.Messages)
	return append(body, []byte("]}")), err
}

// head writes a request up to its items.
func (m *Model) head(tools []llm.Tool, _ []llm.Message) ([]byte, error) {
	members := maps.Clone(m.At.Body)
	members["model"] = m.At.Model
	if _, set := members["store"]; !set {
		members["store"] = false
	}
	if include := m.include(); include != nil {
		members["include"] = include
	}
	if m.At.Stream {
		members["stream"] = true
	}
	if len(tools) == 0 {
		for _, key := range toolsOnly {
			delete(members, key)
		}
	} else {
		list := make([]function, len(tools))
		for i, t := range tools {
			list[i] = function{Type: "function", Tool: t, Parameters: t.Parameters}
		}
		members["tools"] = list
	}
	text, err := history.Encode(members)
	if err != nil {
		return nil, err
	}
	return append(text[:len(text)-len("}")], `,"input":[`...), nil
}

// include lists the additions to an answer's usual content: the configured ones, and encrypted reasoning. It
// leaves out the latter if the configured list is empty, the server keeps answers, or the model does not
// reason.
func (m *Model) include() any {
	given, set := m.At.Body["include"]
	list, ok := given.([]any)
	if set && (!ok || len(list) == 0) || m.stored || openaiapi.Answers(m.At.Model) || slices.Contains(list, any(encrypted)) {
		return given
	}
	return append(slices.Clone(list), any(encrypted))
}

// function is a tool. OpenAI's servers require a strict schema of its arguments unless strict is false.
type function struct {
	Type string `json:"type"`
	llm.Tool
	Parameters json.RawMessage `json:"parameters"` // required, may be null
	Strict     bool            `json:"strict"`
}

// item is an input item that does not come from an answer.
type item struct {
	Type      string  `json:"type"`
	Role      string  `json:"role,omitempty"`
	Content   any     `json:"content,omitempty"` // a string or a []content
	CallID    *string `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Output    any     `json:"output,omitempty"` // like Content
}

// content is a part of an item's content.
type content struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	ImageURL string  `json:"image_url,omitempty"`
	Detail   string  `json:"detail,omitempty"`
}

// turn writes one message.
func (m *Model) turn(messages []llm.Message, i int) (history.Turn, error) {
	items, err := m.items(messages[i])
	return history.Turn{Messages: 1, Items: items}, err
}

// items returns a message as input items.
func (m *Model) items(msg llm.Message) ([]json.RawMessage, error) {
	switch msg.Role {
	case llm.RoleSystem, llm.RoleUser:
		return encodeAll(item{Type: "message", Role: msg.Role, Content: input(msg.Parts)})
	case llm.RoleTool:
		var results []any
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results = append(results, item{Type: "function_call_output", CallID: &r.CallID, Output: input(r.Parts)})
			}
		}
		return encodeAll(results...)
	case llm.RoleAssistant:
		return m.answered(msg.Parts)
	}
	return nil, fmt.Errorf("role %q cannot be sent", msg.Role)
}

func encodeAll(values ...any) (list []json.RawMessage, err error) {
	for _, v := range values {
		text, err := history.Encode(v)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

// answered returns the items of an answer exactly as the server wrote them, in its order. A server refuses
// reasoning without the item after it, which a truncated answer lacks.
func (m *Model) answered(parts []llm.Part) (list []json.RawMessage, err error) {
	kept := 0 // number of items up to the last one other than reasoning
	for _, p := range parts {
		raw, reasoning, err := m.answeredItem(p)
		if err != nil {
			return nil, err
		}
		if raw == nil {
			continue
		}
		if list = append(list, raw); !reasoning {
			kept = len(list)
		}
	}
	return list[:kept], nil
}

// answeredItem returns the item of a part of an answer; nil if there is none.
func (m *Model) answeredItem(p llm.Part) (raw json.RawMessage, reasoning bool, err error) {
	switch p := p.(type) {
	case llm.Text:
		if p.Opaque.Provider == opaque {
			return json.RawMessage(p.Opaque.Data), false, valid(p.Opaque)
		}
		if p.Text != "" {
			raw, err = history.Encode(item{Type: "message", Role: llm.RoleAssistant, Content: p.Text})
		}
	case llm.Reasoning:
		if p.Opaque.Provider != opaque {
			return nil, true, nil
		}
		return m.reasoning(p)
	case llm.ToolCall:
		raw, err = call(p)
	}
	return raw, false, err
}

// valid returns an error if o is not an object.
func valid(o llm.Opaque) error {
	if len(o.Data) == 0 || o.Data[0] != '{' || !json.Valid([]byte(o.Data)) {
		return fmt.Errorf("an item of the provider is not a JSON object")
	}
	return nil
}

// reasoning returns an item of reasoning, or of an unknown kind. It leaves out an item that only refers to
// reasoning which the server has not kept.
func (m *Model) reasoning(p llm.Reasoning) (raw json.RawMessage, isReasoning bool, err error) {
	if err := valid(p.Opaque); err != nil {
		return nil, false, err
	}
	var members struct {
		Type      string            `json:"type"`
		ID        string            `json:"id"`
		Encrypted string            `json:"encrypted_content"`
		Content   []json.RawMessage `json:"content"`
	}
	raw = json.RawMessage(p.Opaque.Data)
	if json.Unmarshal(raw, &members) != nil || members.Type != "reasoning" {
		return raw, false, nil
	}
	if !m.stored && members.ID != "" && members.Encrypted == "" && len(members.Content) == 0 {
		return nil, true, nil
	}
	return raw, true, nil
}

// call returns the item of a tool call. The agent may have changed the call's id.
func call(c llm.ToolCall) (json.RawMessage, error) {
	if c.Opaque.Provider != opaque {
		return history.Encode(item{Type: "function_call", CallID: &c.ID, Name: c.Name, Arguments: &c.Arguments})
	}
	if err := valid(c.Opaque); err != nil {
		return nil, err
	}
	raw := json.RawMessage(c.Opaque.Data)
	var own struct {
		CallID string `json:"call_id"`
	}
	if json.Unmarshal(raw, &own) == nil && own.CallID == c.ID {
		return raw, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	id, err := history.Encode(c.ID)
	if err != nil {
		return nil, err
	}
	members["call_id"] = id
	return history.Encode(members)
}

// input returns the text of parts; it is a list if they have images.
func input(parts []llm.Part) any {
	list, images := contents(parts)
	if !images {
		return llm.Message{Parts: parts}.Text()
	}
	return list
}

func contents(parts []llm.Part) (list []content, images bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			list = append(list, content{Type: "input_text", Text: &p.Text})
		case llm.Image:
			url := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
			list, images = append(list, content{Type: "input_image", ImageURL: url, Detail: "auto"}), true
		}
	}
	return list, images
}

// same lists the members of a request that OpenAI's servers take and the run does not set, without the
// translated ones. They are from the SDK's ResponseNewParams.
var same = []string{
	"access_programs", "context_management", "include", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
	"moderation", "parallel_tool_calls", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"safety_identifier", "service_tier", "store", "temperature", "top_logprobs", "top_p", "truncation", "user",
}

// rows translate keywords, mostly of chat completions.
var rows = []endpoint.Keyword{
	{Names: "background conversation previous_response_id", Take: stateless},
	{Names: "n", Take: endpoint.Ignore}, // always 1
	{Names: "max_tokens max_completion_tokens", Take: endpoint.As("max_output_tokens")},
	{Names: "reasoning", Take: object("reasoning")},
	{Names: "reasoning_effort", Take: effort},
	{Names: "text", Take: object("text")},
	{Names: "response_format", Take: flat("json_schema", "text", "format")},
	{Names: "verbosity", Take: endpoint.As("text", "verbosity")},
	{Names: "tool_choice", Take: flat("function", "tool_choice")},
}

// translate turns keywords of chat completions and LiteLLM into members of the Responses API. OpenAI's
// servers refuse any others; other servers receive all members.
func translate(members map[string]any, model, base string) (refused []string, err error) {
	openAI := openaiapi.IsOpenAI(base)
	refused, err = endpoint.Keywords{Rows: rows, Same: same, Open: !openAI}.Translate(members)
	if err != nil || !openAI {
		return nil, err
	}
	reasoning, _ := members["reasoning"].(map[string]any)
	asked, _ := reasoning["effort"].(string)
	return append(refused, openaiapi.Refused(model, asked, members)...), nil
}

// stateless accepts only false.
func stateless(_ map[string]any, value any) error {
	if value != false {
		return fmt.Errorf("the run sends the whole conversation and waits for each answer; remove it")
	}
	return nil
}

// object accepts an object, under the same name.
func object(name string) func(map[string]any, any) error {
	return func(members map[string]any, value any) error {
		if _, ok := value.(map[string]any); !ok {
			return fmt.Errorf("expected a mapping")
		}
		return endpoint.Fill(members, value, name)
	}
}

func effort(members map[string]any, value any) error {
	given, err := openaiapi.Effort(value)
	if err != nil {
		return err
	}
	if err := endpoint.Fill(members, map[string]any{}, "reasoning"); err != nil {
		return err
	}
	for name, value := range given {
		if err := endpoint.Fill(members, value, "reasoning", name); err != nil {
			return err
		}
	}
	return nil
}

// flat accepts {"type": t, t: {...}}, the form of chat completions, and puts the inner members next to the
// type.
func flat(t string, path ...string) func(map[string]any, any) error {
	return func(members map[string]any, value any) error {
		given, _ := value.(map[string]any)
		if inner, ok := given[t].(map[string]any); ok && given["type"] == t {
			out := map[string]any{"type": t}
			maps.Copy(out, inner)
			value = out
		}
		return endpoint.Fill(members, value, path...)
	}
}
