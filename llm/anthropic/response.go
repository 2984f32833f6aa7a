package anthropic

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/vocab"
)

// message holds the members of an answer that this package uses. The SDK's own type is stricter than servers
// that claim to be compatible.
type message struct {
	Model      json.RawMessage `json:"model"`
	Content    json.RawMessage `json:"content"`
	StopReason json.RawMessage `json:"stop_reason"`
	Usage      json.RawMessage `json:"usage"`
	Error      json.RawMessage `json:"error"`
}

func (m *Model) response(raw []byte, header http.Header) (*llm.Response, error) {
	raw = endpoint.Text(raw)
	var answer message
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, m.At.Garbled("the answer is not a message", err)
	}
	if endpoint.IsError(answer.Error) {
		return nil, m.At.RefusedInside(header, raw)
	}
	stopped := endpoint.Word(answer.StopReason)
	var list []json.RawMessage
	if json.Unmarshal(answer.Content, &list) != nil && readUsage(answer.Usage) == (vocab.Usage{}) {
		return nil, m.At.Garbled("the answer has no content", nil)
	}
	resp := &llm.Response{
		Message:      llm.Message{Role: llm.RoleAssistant, Parts: parts(endpoint.List(answer.Content), stopped)},
		FinishReason: stopped,
		Service:      m.service(answer.Usage),
		Model:        cmp.Or(endpoint.Word(answer.Model), m.At.Model),
		Raw:          raw,
	}
	m.bill(resp, answer.Usage)
	return resp, nil
}

// parts returns the parts of an answer.
func parts(content []json.RawMessage, stopped string) []llm.Part {
	var list []llm.Part
	for _, raw := range content {
		if p := readPart(raw); p != nil {
			list = append(list, p)
		}
	}
	if stopped == "refusal" {
		return withdrawn(list)
	}
	if last := len(list) - 1; last >= 0 && slices.Contains([]string{"max_tokens", "model_context_window_exceeded"}, stopped) {
		list[last] = cut(list[last])
	}
	return list
}

// cut returns the last part of a truncated answer. The API refuses thinking without its signature, which
// comes at the end.
func cut(p llm.Part) llm.Part {
	thought, ok := p.(llm.Reasoning)
	if !ok {
		return p
	}
	own, ok := sealed(thought.Opaque)
	if signature, _ := word(own.members["signature"]); ok && own.kind() == kindThinking && signature == "" {
		thought.Opaque = llm.Opaque{}
	}
	return thought
}

// withdrawn turns the text of a refused answer into reasoning, which is kept for readers and not sent.
func withdrawn(list []llm.Part) (kept []llm.Part) {
	for _, p := range list {
		var said llm.Reasoning
		switch p := p.(type) {
		case llm.Text:
			said.Text = p.Text
		case llm.Reasoning:
			said.Text = p.Text
		case llm.ToolCall:
			said.Text = p.Name + " " + p.Arguments
		}
		if said.Text != "" {
			kept = append(kept, said)
		}
	}
	return kept
}

// readPart converts a content block to a part; nil if it is empty. Data that the part has no field for is
// sealed in it.
func readPart(raw json.RawMessage) llm.Part {
	members := endpoint.Members(raw)
	if members == nil {
		return endpoint.Plain(raw)
	}
	kind, _ := word(members["type"])
	whole := llm.Opaque{Provider: provider, Data: string(raw)}
	switch kind {
	case kindText:
		if _, ok := word(members["text"]); !ok {
			members["text"] = quote(endpoint.Word(members["text"]))
			whole.Data = string(write(members))
		}
		if text, ok := word(members["text"]); ok {
			p := llm.Text{Text: text, Opaque: seal(members, "type", "text")}
			if !exact(text) {
				p.Opaque = whole
			}
			if p == (llm.Text{}) {
				return nil
			}
			return p
		}
	case kindThinking:
		if text, ok := word(members["thinking"]); ok {
			p := llm.Reasoning{Text: text, Opaque: seal(members, "thinking")}
			if !exact(text) {
				p.Opaque = whole
			}
			return p
		}
	case kindToolUse:
		id, name := endpoint.Word(members["id"]), endpoint.Word(members["name"])
		return llm.ToolCall{
			ID: id, Name: name, Arguments: arguments(members["input"]), Opaque: seal(members, "type", "id", "name", "input"),
		}
	}
	return llm.Reasoning{Opaque: whole}
}

// exact reports whether a text survives in a Go string: half a surrogate pair, which JSON can contain, does
// not.
func exact(text string) bool { return !strings.ContainsRune(text, utf8.RuneError) }

// seal returns the members that are neither named in without nor empty; the zero value if none is left.
func seal(members map[string]json.RawMessage, without ...string) llm.Opaque {
	rest := map[string]json.RawMessage{}
	for name, value := range members {
		if empty := string(value) == "null" || string(value) == "[]"; !empty && !slices.Contains(without, name) {
			rest[name] = value
		}
	}
	if len(rest) == 0 {
		return llm.Opaque{}
	}
	return llm.Opaque{Provider: provider, Data: string(write(rest))}
}

// readUsage reads the known members of an answer's usage and ignores the rest: the answer is paid for, and
// another request would be paid for again. The API counts cache reads and writes apart from other input.
func readUsage(raw json.RawMessage) vocab.Usage {
	usage := endpoint.Members(raw)
	u := vocab.Usage{
		Cached:     endpoint.Tokens(usage["cache_read_input_tokens"]),
		CacheWrite: endpoint.Tokens(usage["cache_creation_input_tokens"]),
		CacheHour:  endpoint.Tokens(endpoint.Members(usage["cache_creation"])["ephemeral_1h_input_tokens"]),
		Output:     endpoint.Tokens(usage["output_tokens"]),
		Reasoning:  endpoint.Tokens(endpoint.Members(usage["output_tokens_details"])["thinking_tokens"]),
	}
	u.Input = endpoint.Tokens(usage["input_tokens"]) + u.Cached + u.CacheWrite
	return u
}

// bill fills in an answer's usage and cost. The counts of an answer do not include the summaries that the API
// made of the conversation before it (context_management): these are separate requests with a length of their
// own.
func (m *Model) bill(resp *llm.Response, usage json.RawMessage) {
	resp.Usage = readUsage(usage)
	m.At.Price(resp, nil)
	var iterations []json.RawMessage
	_ = json.Unmarshal(endpoint.Members(usage)["iterations"], &iterations) // mostly there are none
	for _, i := range iterations {
		if kind, _ := word(endpoint.Members(i)["type"]); kind != "compaction" {
			continue
		}
		summary := &llm.Response{Usage: readUsage(i), Service: resp.Service, Model: resp.Model}
		m.At.Price(summary, nil)
		resp.Usage = resp.Usage.Add(summary.Usage)
		resp.Cost, resp.Priced = resp.Cost+summary.Cost, resp.Priced && summary.Priced
	}
	resp.Cost *= m.surcharge(usage)
}

// service returns the name of the service that answered, if it affects the price of tokens. Speed and tier
// are separate members: gateways leave out the one that was asked for, and report the other.
func (m *Model) service(raw json.RawMessage) string {
	usage := endpoint.Members(raw)
	speed, said := word(usage["speed"])
	if asked, _ := m.At.Body["speed"].(string); speed == "fast" || !said && asked == "fast" {
		return "fast"
	}
	tier, _ := word(usage["service_tier"])
	return cmp.Or(tier, speed)
}

// inPlace is the price factor for requests that are answered in a region of the user's choice
// (platform.claude.com/docs, data residency, 2026).
const inPlace = 1.1

// surcharge returns the price factor of a call's region. For older models it is 1.
func (m *Model) surcharge(usage json.RawMessage) float64 {
	f := familyOf(m.At.Model)
	where, _ := word(endpoint.Members(usage)["inference_geo"])
	if where == "us" && f.version >= 406 {
		return inPlace
	}
	return 1
}
