package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// ended returns a reply that ended as replies do, and otherwise a fault. A reply that did not is
// not for the agent: what it says, and the commands in it, may be half of what the model meant.
// It may have been charged.
func (e *Endpoint) ended(resp *llm.Response) (*llm.Response, error) {
	if slices.ContainsFunc(e.ReplyEnds, func(word string) bool { return strings.EqualFold(word, resp.FinishReason) }) {
		resp.FinishReason = declared
		return resp, nil
	}
	word := e.Mask.Text(resp.FinishReason)
	odd := llm.Lasting{Err: fmt.Errorf("the reply ended by %q", word)}
	hint := fmt.Sprintf("if the replies of %s that end so are whole, declare it:\n-c 'model.reply_ends=[%q]'", e.address(), word)
	switch end := resp.End(); {
	case end == llm.EndFiltered && !resp.Filtered(), end == llm.EndMalformed, resp.FinishReason == "" && broken(resp):
		odd.Reply = resp // another sample may be well; if not, the agent reads why
	case end == llm.EndUnknown:
		odd.Hint = fmt.Sprintf("no provider is known to end a reply by %q; %s", word, hint)
	case end == llm.EndFailed:
		return nil, fault.New(fault.Transient, e.Op(), odd.Err).WithHint("%s", hint)
	default:
		return resp, nil
	}
	return nil, fault.New(fault.Transient, e.Op(), &odd)
}

// declared takes the place of a word that the user has declared to end a whole reply, so that
// [llm.EndOf] says so wherever the reply is read, in a resumed run too. The answer that is kept
// has the provider's word.
const declared = "stop"

// broken reports whether the end of a call is missing. A call without arguments has none.
func broken(resp *llm.Response) bool {
	return slices.ContainsFunc(resp.Message.ToolCalls(), func(c llm.ToolCall) bool { return c.Arguments != "" && !json.Valid([]byte(c.Arguments)) })
}
