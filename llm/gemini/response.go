package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/vocab"
)

// answer holds the members that we need of a GenerateContentResponse.
type answer struct {
	Candidates []candidate `json:"candidates"`
	Feedback   struct {
		BlockReason string `json:"blockReason"`
		Message     string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage json.RawMessage `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	Error json.RawMessage `json:"error"`
}

type candidate struct {
	Content struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	FinishReason  string `json:"finishReason"`
	FinishMessage string `json:"finishMessage"`
}

// response reads an answer. Anything that is wrong with a model's reply is part of the
// reply: it is paid for, and the model must hear of it.
func (m *Model) response(body []byte, header http.Header) (*llm.Response, error) {
	body = endpoint.Text(body)
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, m.garbled("the answer is not of the Gemini API", err)
	}
	if endpoint.IsSet(a.Error) {
		return nil, m.at.RefusedInside(header, body)
	}
	if len(a.Candidates) == 0 {
		return nil, m.withoutReply(a)
	}
	reply := a.Candidates[0]
	msg := llm.Message{Role: llm.RoleAssistant}
	for i, raw := range reply.Content.Parts {
		p, err := readPart(raw)
		if err != nil {
			return nil, m.garbled(fmt.Sprintf("part %d of the answer is not an object", i+1), nil)
		}
		if p != nil {
			msg.Parts = append(msg.Parts, p)
		}
	}
	if reply.malformed() && reply.FinishMessage != "" {
		// Its call, which is nowhere else. Without it the model could not see what it did wrong.
		msg.Parts = append(msg.Parts, llm.Text{Text: reply.FinishMessage})
	}
	resp := &llm.Response{
		Message:      msg,
		FinishReason: reply.FinishReason,
		Usage:        usage(a.Usage),
		Service:      service(a.Usage, header),
		Model:        cmp.Or(a.Model, m.at.Model),
		Raw:          body,
	}
	m.at.Price(resp, nil)
	return resp, nil
}

// malformed reports whether the server could not read the model's call.
func (c candidate) malformed() bool {
	switch c.FinishReason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
		return true
	}
	return false
}

// withoutReply is the fault of an answer that has no candidate.
func (m *Model) withoutReply(a answer) error {
	if reason := a.Feedback.BlockReason; reason != "" {
		said := strings.TrimSuffix(m.at.Mask.Text(reason+": "+a.Feedback.Message), ": ")
		return fault.New(fault.Instance, m.at.Op(), fmt.Errorf("%w: the prompt was blocked: %s", llm.ErrContentPolicy, said))
	}
	if a.Model != "" || endpoint.IsSet(a.Usage) {
		return fault.Newf(fault.Transient, "%s: the answer has no candidate", m.at.Op())
	}
	return m.garbled("the answer has no candidate", nil)
}

// garbled is the fault of an answer that the Gemini API would not give.
func (m *Model) garbled(what string, err error) error {
	return m.at.NoReply(what, err, "is an endpoint of the Gemini API, such as "+Protocol.DefaultBase)
}

// part holds the members of a part that have a meaning here.
type part struct {
	Text         *string `json:"text"`
	Thought      bool    `json:"thought"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// readPart returns a part of a reply, nil if it is empty. All of it is kept where it is
// more than text: its signature, or what we do not know.
func readPart(raw json.RawMessage) (llm.Part, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	kept := llm.Opaque{Provider: provider, Data: compact(raw)}
	var p part
	if len(members) == 0 || json.Unmarshal(raw, &p) != nil {
		return llm.Reasoning{Opaque: kept}, nil
	}
	switch {
	case p.FunctionCall != nil:
		c := llm.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: "{}", Opaque: kept}
		if endpoint.IsSet(p.FunctionCall.Args) {
			c.Arguments = compact(p.FunctionCall.Args)
		}
		return c, nil
	case p.Text == nil:
		return llm.Reasoning{Opaque: kept}, nil
	case p.Thought:
		return llm.Reasoning{Text: *p.Text, Opaque: kept}, nil
	case len(members) > 1:
		return llm.Text{Text: *p.Text, Opaque: kept}, nil
	case *p.Text == "":
		return nil, nil
	}
	return llm.Text{Text: *p.Text}, nil
}

// usage adds up what the protocol counts apart: what a server's tools put into the prompt
// is input, and thoughts are output.
func usage(raw json.RawMessage) vocab.Usage {
	var u struct {
		Prompt, Cached, ToolUse, Candidates, Thoughts int64
	}
	members := endpoint.Members(raw)
	for name, into := range map[string]*int64{
		"promptTokenCount": &u.Prompt, "cachedContentTokenCount": &u.Cached, "toolUsePromptTokenCount": &u.ToolUse,
		"candidatesTokenCount": &u.Candidates, "thoughtsTokenCount": &u.Thoughts,
	} {
		var n int32 // as the protocol has it; another value is passed over, since the answer is paid for
		if json.Unmarshal(members[name], &n) == nil && n > 0 {
			*into = int64(n)
		}
	}
	return vocab.Usage{
		Input: u.Prompt + u.ToolUse, Cached: u.Cached,
		Output: u.Candidates + u.Thoughts, Reasoning: u.Thoughts,
	}
}

// service is the tier that answered, which may be another one than was asked for: the API
// says it in the usage or in a header, Vertex AI as the type of traffic.
func service(raw json.RawMessage, header http.Header) string {
	var said struct {
		Tier    string `json:"serviceTier"`
		Traffic string `json:"trafficType"`
	}
	_ = json.Unmarshal(raw, &said) // another value is passed over, since the answer is paid for
	name := strings.ToLower(cmp.Or(said.Tier, header.Get("X-Gemini-Service-Tier"), said.Traffic))
	name = strings.TrimPrefix(strings.TrimPrefix(name, "service_tier_"), "on_demand_")
	switch name {
	case "unspecified", "standard", "on_demand", "traffic_type_unspecified":
		return ""
	}
	return name
}
