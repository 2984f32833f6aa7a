package openai

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

// ephemeral is the mark of a cache breakpoint.
var ephemeral = map[string]string{"type": "ephemeral"}

// request writes req as JSON, in pieces. All but the last are kept for the conversation's next request: only
// the new end is encoded.
func (m *Model) request(req *llm.Request) (history.Body, error) {
	messages := req.Messages
	last := len(messages) - 1
	mark := m.At.CacheControl == endpoint.CacheControlEnd && last >= 0
	if mark {
		messages = messages[:last]
	}
	kept, err := m.form.Text(req, messages)
	if err != nil {
		return nil, err
	}
	var rest []byte
	if mark {
		text, err := message(req.Messages[last], true)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", last, err)
		}
		if last > 0 {
			rest = append(rest, ',')
		}
		rest = append(rest, text...)
	}
	return append(kept, append(rest, "]}"...)), nil
}

// turn writes one message.
func turn(messages []llm.Message, i int) (history.Turn, error) {
	text, err := message(messages[i], false)
	return history.Turn{Messages: 1, Items: []json.RawMessage{text}}, err
}

// results writes one message, or consecutive results of tools and then their images as the user's: OpenAI
// takes no images in a result.
func results(messages []llm.Message, i int) (t history.Turn, err error) {
	var images []llm.Part
	for t.Messages == 0 || i+t.Messages < len(messages) && oneTurn(messages[i:i+t.Messages], messages[i+t.Messages]) {
		msg := messages[i+t.Messages]
		if r, ok := resultOf(msg); ok && slices.ContainsFunc(r.Parts, isImage) {
			for _, p := range r.Parts {
				if isImage(p) {
					images = append(images, p)
				}
			}
			r.Parts = slices.DeleteFunc(slices.Clone(r.Parts), isImage)
			msg.Parts = []llm.Part{r}
		}
		text, err := message(msg, false)
		if err != nil {
			return t, err
		}
		t.Messages, t.Items = t.Messages+1, append(t.Items, text)
	}
	if images == nil {
		return t, nil
	}
	text, err := message(llm.Message{Role: llm.RoleUser, Parts: images}, false)
	t.Items = append(t.Items, text)
	return t, err
}

// oneTurn reports whether next is a result that belongs to the turn of others.
func oneTurn(turn []llm.Message, next llm.Message) bool {
	return turn[len(turn)-1].Role == llm.RoleTool && next.Role == llm.RoleTool
}

func resultOf(m llm.Message) (r llm.ToolResult, ok bool) {
	if m.Role == llm.RoleTool && len(m.Parts) == 1 {
		r, ok = m.Parts[0].(llm.ToolResult)
	}
	return r, ok
}

func isImage(p llm.Part) bool {
	_, ok := p.(llm.Image)
	return ok
}

// toolsOnly are members that providers refuse in a request without tools.
var toolsOnly = []string{"parallel_tool_calls", "tool_choice"}

// head writes a request up to its messages.
func (m *Model) head(tools []llm.Tool, _ []llm.Message) ([]byte, error) {
	members := maps.Clone(m.At.Body)
	members["model"] = m.At.Model
	if m.At.Stream {
		members["stream"], members["stream_options"] = true, map[string]any{"include_usage": true}
	}
	if len(tools) == 0 {
		for _, key := range toolsOnly {
			delete(members, key)
		}
	} else {
		list := make([]wireTool, len(tools))
		for i, t := range tools {
			list[i] = wireTool{"function", t}
		}
		members["tools"] = list
	}
	text, err := history.Encode(members)
	if err != nil {
		return nil, err
	}
	return append(text[:len(text)-len("}")], `,"messages":[`...), nil
}

type wireTool struct {
	Type     string   `json:"type"`
	Function llm.Tool `json:"function"`
}

// wireMessage is a message in the protocol's form.
type wireMessage struct {
	Role         string            `json:"role"`
	Content      any               `json:"content,omitempty"` // a string or a []wirePart
	ToolCalls    []wireCall        `json:"tool_calls,omitempty"`
	ToolCallID   string            `json:"tool_call_id,omitempty"`
	CacheControl map[string]string `json:"cache_control,omitempty"`
}

type wirePart struct {
	Type         string            `json:"type"`
	Text         *string           `json:"text,omitempty"`
	ImageURL     map[string]string `json:"image_url,omitempty"`
	CacheControl map[string]string `json:"cache_control,omitempty"`
}

type wireCall struct {
	ID       string            `json:"id"`
	Type     string            `json:"type"`
	Function map[string]string `json:"function"`
}

// message encodes msg: the provider's own object if there is one. It leaves out data sealed by providers of
// other protocols.
func message(msg llm.Message, marked bool) (json.RawMessage, error) {
	w := wireMessage{Role: msg.Role}
	switch msg.Role {
	case llm.RoleSystem, llm.RoleUser:
		w.Content = content(msg.Parts, marked)
	case llm.RoleTool:
		w.ToolCallID, w.Content = msg.ToolCallID(), content(msg.Parts, false)
		if marked {
			w.CacheControl = ephemeral
		}
	case llm.RoleAssistant:
		if msg.Chat != nil {
			if !json.Valid(msg.Chat) {
				return nil, fmt.Errorf("the provider's message is not JSON")
			}
			return msg.Chat, nil
		}
		for _, c := range msg.ToolCalls() {
			f := map[string]string{"name": c.Name, "arguments": c.Arguments}
			w.ToolCalls = append(w.ToolCalls, wireCall{c.ID, "function", f})
		}
		if text := msg.Text(); text != "" || w.ToolCalls == nil {
			w.Content = text
		}
	default:
		return nil, fmt.Errorf("role %q cannot be sent", msg.Role)
	}
	return history.Encode(w)
}

// content returns the text of parts; it is a list if parts have images, or its end is marked.
func content(parts []llm.Part, marked bool) any {
	list, images := wireParts(parts)
	if !images && !marked {
		return llm.Message{Parts: parts}.Text()
	}
	if len(list) == 0 {
		list = []wirePart{{Type: "text", Text: new(string)}}
	}
	if marked {
		list[len(list)-1].CacheControl = ephemeral
	}
	return list
}

func wireParts(parts []llm.Part) (list []wirePart, images bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			list = append(list, wirePart{Type: "text", Text: &p.Text})
		case llm.Image:
			url := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
			list, images = append(list, wirePart{Type: "image_url", ImageURL: map[string]string{"url": url}}), true
		case llm.ToolResult:
			inner, some := wireParts(p.Parts)
			list, images = append(list, inner...), images || some
		}
	}
	return list, images
}

// taken lists the members of a request that OpenAI's servers take and the run does not set. They are from the
// SDK's ChatCompletionNewParams.
var taken = []string{
	"audio", "frequency_penalty", "function_call", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata", "modalities",
	"moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options",
	"prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
	"temperature", "tool_choice", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
}

// translate adapts members to a model of OpenAI. OpenAI's servers refuse unknown members; other servers
// receive all. A model that reasons has another member for the length of its answer, and does not take some
// members (according to LiteLLM).
func translate(members map[string]any, model, base string) (refused []string, err error) {
	if _, set := members["usage"]; !set && openaiapi.IsOpenRouter(base) {
		members["usage"] = map[string]any{"include": true} // with the call's cost
	}
	if value, ok := members["max_tokens"]; ok && openaiapi.Reasons(model) {
		delete(members, "max_tokens")
		if _, set := members["max_completion_tokens"]; !set {
			members["max_completion_tokens"] = value
		}
	}
	if !openaiapi.IsOpenAI(base) {
		return nil, nil
	}
	effort, err := openaiapi.Effort(members["reasoning_effort"])
	if err != nil {
		return nil, fmt.Errorf("reasoning_effort: %w", err)
	}
	asked, _ := effort["effort"].(string)
	if _, isWord := members["reasoning_effort"].(string); !isWord && asked != "" {
		members["reasoning_effort"] = asked // chat completions accept only the word
	}
	refused = openaiapi.Refused(model, asked, members)
	for name := range members {
		if !slices.Contains(taken, name) {
			refused = append(refused, name)
		}
	}
	return refused, nil
}
