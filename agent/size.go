package agent

import (
	"bytes"
	"encoding/json"

	"batch.example/batch/llm"
)

// The parts of an estimate, in tokens. Text and code of most models have 3 to 4.5 bytes per
// token; the first answer of the provider corrects the estimate.
const (
	bytesPerToken = 4
	messageTokens = 4    // of a message around its parts
	imageTokens   = 1500 // of an image, whatever its size in bytes
)

// EstimateTokens estimates how many tokens a message has, from its size alone.
func EstimateTokens(m llm.Message) int64 {
	bytes, images := sizeOf(m.Parts)
	return messageTokens + tokensIn(bytes+reasoningIn(m.Chat)) + images*imageTokens
}

func tokensIn(bytes int) int64 { return int64(bytes+bytesPerToken-1) / bytesPerToken }

func sizeOf(parts []llm.Part) (bytes int, images int64) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			bytes += len(p.Text) + len(p.Opaque.Data)
		case llm.Reasoning:
			bytes += len(p.Text) + len(p.Opaque.Data)
		case llm.ToolCall:
			bytes += len(p.Name) + len(p.Arguments) + len(p.Opaque.Data)
		case llm.Image:
			images++
		case llm.ToolResult:
			b, i := sizeOf(p.Parts)
			bytes, images = bytes+b, images+i
		}
	}
	return bytes, images
}

// gauge estimates the length of the next request: the provider's count for the last request
// and its answer, and an estimate of everything that was added since. Without a count, all of
// it is estimated. The same records give the same estimate.
type gauge struct {
	tokens   int64 // of the next request
	estimate int64 // of the next request, from sizes alone
	said     int64 // tokens of the last answer, until it is added; 0 if unknown
}

func newGauge(tools []llm.Tool) (g gauge) {
	for _, t := range tools {
		g.estimate += messageTokens + tokensIn(len(t.Name)+len(t.Description)+len(t.Parameters))
	}
	g.tokens = g.estimate
	return g
}

// add counts a message that will be sent.
func (g *gauge) add(m llm.Message) {
	n := EstimateTokens(m)
	g.estimate += n
	if m.Role == llm.RoleAssistant && g.said > 0 {
		n, g.said = g.said, 0
	}
	g.tokens += n
}

// answered takes over the provider's count. The answer's message may be added next, or never
// if it does not have the required form.
func (g *gauge) answered(resp *llm.Response) {
	if g.said = 0; resp.Usage.Input <= 0 {
		return
	}
	g.tokens, g.said = resp.Usage.Input, resp.Usage.Output
	if !sendsReasoning(resp.Message) {
		g.said = max(0, g.said-resp.Usage.Reasoning)
	}
}

// sendsReasoning reports whether a reply's reasoning is sent back with it.
func sendsReasoning(m llm.Message) bool {
	for _, p := range m.Parts {
		if _, ok := p.(llm.Reasoning); ok {
			return true
		}
	}
	return reasoningIn(m.Chat) > 0
}

// reasoningIn returns how many bytes of reasoning are in a reply's own members, which are
// sent back. If a server wrote it in several forms, one counts. Null and empty are none.
func reasoningIn(chat json.RawMessage) (size int) {
	var members struct {
		Content any `json:"reasoning_content"`
		Text    any `json:"reasoning"`
		Details any `json:"reasoning_details"`
	}
	if !bytes.Contains(chat, []byte("easoning")) || json.Unmarshal(chat, &members) != nil {
		return 0
	}
	for _, value := range []any{members.Content, members.Text, members.Details} {
		if text, err := json.Marshal(value); err == nil && value != nil {
			size = max(size, len(text)-len(`""`)) // or [] or {}
		}
	}
	return size
}

// size estimates a message's share of the tokens from its size, corrected by the error of such
// an estimate for the whole request.
func (g *gauge) size(m llm.Message) int64 {
	n := EstimateTokens(m)
	if g.estimate <= 0 {
		return n
	}
	return (n*g.tokens + g.estimate - 1) / g.estimate
}
