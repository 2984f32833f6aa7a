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
		return resp, nil
	}
	word := e.Mask.Text(resp.FinishReason)
	odd := llm.Lasting{Err: fmt.Errorf("the reply ended by %q", word)}
	switch end := resp.End(); {
	case end == llm.EndFiltered && !resp.Filtered(), end == llm.EndMalformed:
		odd.Reply = resp // another sample may be well; if not, the agent reads why
	case end == llm.EndUnknown:
		odd.Hint = fmt.Sprintf("no provider is known to end a reply by %q; if the replies of %s that end so are whole, declare it:\n"+
			"-c 'model.reply_ends=[%q]'", word, e.address(), word)
	case end == llm.EndFailed, end == llm.EndWhole && resp.FinishReason == "" && broken(resp):
		return nil, fault.New(fault.Transient, e.Op(), odd.Err)
	default:
		return resp, nil
	}
	return nil, fault.New(fault.Transient, e.Op(), &odd)
}

// broken reports whether the end of a call is missing.
func broken(resp *llm.Response) bool {
	return slices.ContainsFunc(resp.Message.ToolCalls(), func(c llm.ToolCall) bool { return !json.Valid([]byte(c.Arguments)) })
}
