package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/openai/openai-go/v3/option"

	"batch.example/batch/llm"
)

// ephemeral is the mark of a cache breakpoint.
var ephemeral = map[string]string{"type": "ephemeral"}

// request writes req as JSON, in two pieces of which the first is kept from one
// request of a conversation to the next: only what is new in it is encoded.
func (m *Model) request(req *llm.Request) (body, error) {
	d, err := m.draft(req)
	if err != nil {
		return body{}, err
	}
	messages, marked := req.Messages, req.Messages[len(req.Messages):]
	if last := len(messages) - 1; m.cfg.CacheControl == CacheControlEnd && last >= 0 {
		messages, marked = messages[:last], messages[last:]
	}
	if err := d.hold(messages); err != nil {
		return body{}, err
	}
	b := body{kept: d.text}
	for _, msg := range marked {
		if b.rest, err = appendMessage(nil, len(messages), msg, true); err != nil {
			return body{}, err
		}
	}
	b.rest = append(b.rest, "]}"...)
	return b, nil
}

// draft returns what is kept of req's conversation, as far as it fits.
func (m *Model) draft(req *llm.Request) (*draft, error) {
	if req.Memo != nil {
		if d, ok := req.Memo.Kept.(*draft); ok && d.model == m && same(d.tools, req.Tools) {
			return d, nil
		}
	}
	head, err := m.head(req.Tools)
	if err != nil {
		return nil, err
	}
	d := &draft{model: m, tools: req.Tools, text: head}
	if req.Memo != nil {
		req.Memo.Kept = d
	}
	return d, nil
}

// head is a request up to its messages.
func (m *Model) head(tools []llm.Tool) ([]byte, error) {
	members := maps.Clone(m.kwargs.body)
	members["model"] = m.cfg.Model
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
	text, err := encode(members)
	if err != nil {
		return nil, err
	}
	return append(text[:len(text)-len("}")], `,"messages":[`...), nil
}

// draft is a request up to the end of its messages. An earlier one that was made of
// it may still be read: what is in text stays.
type draft struct {
	model    *Model
	tools    []llm.Tool
	messages []llm.Message
	starts   []int // of each message in text
	text     []byte
}

// hold makes messages those of the draft.
func (d *draft) hold(messages []llm.Message) error {
	known := 0
	for known < min(len(d.messages), len(messages)) && unchanged(&d.messages[known], &messages[known]) {
		known++
	}
	if known < len(d.messages) {
		d.text = slices.Clone(d.text[:d.starts[known]])
		d.messages, d.starts = d.messages[:known], d.starts[:known]
	}
	for i, msg := range messages[known:] {
		text, err := appendMessage(d.text, known+i, msg, false)
		if err != nil {
			return err
		}
		d.messages, d.starts, d.text = append(d.messages, msg), append(d.starts, len(d.text)), text
	}
	return nil
}

// unchanged reports whether b is a, by where their parts are: nobody changes those.
func unchanged(a, b *llm.Message) bool {
	return a.Role == b.Role && same(a.Parts, b.Parts) && same(a.Chat, b.Chat)
}

func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// appendMessage adds the i-th message.
func appendMessage(text []byte, i int, msg llm.Message, marked bool) ([]byte, error) {
	encoded, err := message(msg, marked)
	if err != nil {
		return nil, fmt.Errorf("message %d: %w", i, err)
	}
	if i > 0 {
		text = append(text, ',')
	}
	return append(text, encoded...), nil
}

// body is the JSON of a request, in two pieces.
type body struct{ kept, rest []byte }

func (b body) reader() io.ReadCloser {
	return io.NopCloser(io.MultiReader(bytes.NewReader(b.kept), bytes.NewReader(b.rest)))
}

// sized tells the transport how long the body is, and lets it be sent again.
func (b body) sized() option.RequestOption {
	return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		r.ContentLength = int64(len(b.kept) + len(b.rest))
		r.GetBody = func() (io.ReadCloser, error) { return b.reader(), nil }
		return next(r)
	})
}

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
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

// message encodes msg: the provider's own object where there is one. What
// another protocol's provider has sealed in its parts stays behind.
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
	return encode(w)
}

// content is the text of parts; a list where there are images in it, or a mark on its end.
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
