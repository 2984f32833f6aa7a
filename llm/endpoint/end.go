package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// ended returns a reply that ended normally; any other end is a fault, because the agent must not act on a
// reply that may be truncated. Such a reply may have been charged.
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
		odd.Reply = resp // another sample may succeed; if not, the agent reads the reason
	case end == llm.EndUnknown:
		odd.Hint = fmt.Sprintf("no provider is known to end a reply by %q; %s", word, hint)
	case end == llm.EndFailed:
		return nil, fault.New(fault.Transient, e.Op(), odd.Err).WithHint("%s", hint)
	default:
		return resp, nil
	}
	return nil, fault.New(fault.Transient, e.Op(), &odd)
}

// declared replaces a finish reason that the user declared to be the end of a whole reply, so that
// [llm.EndOf] agrees wherever the reply is read, also in a resumed run. The recorded answer keeps the
// provider's word.
const declared = "stop"

// broken reports whether a call's arguments are truncated. A call without arguments is complete.
func broken(resp *llm.Response) bool {
	return slices.ContainsFunc(resp.Message.ToolCalls(), func(c llm.ToolCall) bool { return c.Arguments != "" && !json.Valid([]byte(c.Arguments)) })
}
