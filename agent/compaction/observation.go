package compaction

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Members of the extra data of a message that a policy wrote. A message without them is as
// the agent made it.
const (
	rewrittenMember  = "rewritten"      // the policy
	charactersMember = "characters"     // original length of the text of an observation
	messagesMember   = "messages"       // how many messages were left out
	exitMember       = "returncode"     // the agent's mark of an observation
	interruptMember  = "interrupt_type" // and of a message that broke the flow
)

// isObservation reports whether a message shows the output of an action.
func isObservation(m llm.Message) bool {
	_, shows := m.Extra[exitMember]
	return shows && (m.Role == llm.RoleTool || m.Role == llm.RoleUser)
}

// isSaid reports whether a message has a person's words: a task, words in between, or the
// answer to a question, which is the result of a call.
func isSaid(m llm.Message) bool {
	if m.Role != llm.RoleTool && m.Role != llm.RoleUser || isObservation(m) || m.Extra[rewrittenMember] != nil {
		return false
	}
	stop, broken := m.Extra[interruptMember]
	return !broken || stop == string(vocab.StatusUserInterruption)
}

// cutTo returns an observation with only edge characters of its beginning and of its end;
// with none, only a line that says so. Images are left out.
func cutTo(m llm.Message, edge int) llm.Message {
	total := utf8.RuneCountInString(m.Text())
	if n, ok := number(m.Extra[charactersMember]); ok {
		total = n
	}
	policy := Shorten
	if edge == 0 {
		policy = Drop
	}
	short := llm.Message{Role: m.Role, Extra: map[string]any{rewrittenMember: policy, charactersMember: total}}
	if code, ok := m.Extra[exitMember]; ok {
		short.Extra[exitMember] = code
	}
	var bare []llm.Part // of a message that is not a tool's
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			short.Parts = append(short.Parts, llm.ToolResult{CallID: r.CallID, Parts: cutParts(r.Parts, edge, total)})
			continue
		}
		bare = append(bare, p)
	}
	if len(bare) > 0 || len(short.Parts) == 0 {
		short.Parts = append(short.Parts, cutParts(bare, edge, total)...)
	}
	return short
}

// number reads a count, also as the journal has it.
func number(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case float64:
		return int(n), true
	default:
		return 0, false
	}
}

// cutParts returns a text in place of parts. Total is its original length.
func cutParts(parts []llm.Part, edge, total int) []llm.Part {
	var text strings.Builder
	images := 0
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			text.WriteString(p.Text)
		case llm.Image:
			images++
		}
	}
	runes := []rune(text.String())
	if len(runes) <= 2*edge && images == 0 {
		return parts
	}
	what := fmt.Sprintf("%d characters", max(0, total-2*edge))
	if images > 0 {
		what += fmt.Sprintf(" and %d images", images)
	}
	if edge == 0 {
		return llm.Say(fmt.Sprintf("[The output, %s, was left out to shorten the conversation.]", what))
	}
	if len(runes) <= 2*edge {
		return llm.Say(fmt.Sprintf("%s\n[%d images were left out to shorten the conversation.]", text.String(), images))
	}
	return llm.Say(fmt.Sprintf("%s\n\n[... %s were left out to shorten the conversation ...]\n\n%s",
		string(runes[:edge]), what, string(runes[len(runes)-edge:])))
}
