package openai

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// proven reports whether requests made as this one was have been answered: to
// this model, before it, or earlier in this very conversation.
func (m *Model) proven(req *llm.Request) bool {
	return m.cfg.Proven || m.answered.Load() ||
		slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return msg.Role == llm.RoleAssistant })
}

// answerLimits are the members of a request that set room aside for the answer.
var answerLimits = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens"}

// misconfigured makes a Host fault of the refusal of a first request that the
// settings would explain, since all conversations share them. A refusal for what
// is in this conversation stays as it is, unless the length that the settings
// ask for in the answer leaves no room for any.
func (m *Model) misconfigured(err error) error {
	if fault.KindOf(err) != fault.Instance || errors.Is(err, llm.ErrContentPolicy) {
		return err
	}
	names := slices.Sorted(maps.Keys(m.kwargs.body))
	if errors.Is(err, llm.ErrContextLength) {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(answerLimits, name) })
		if len(names) == 0 {
			return err
		}
	}
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(err.Error(), name) })
	if len(named) > 0 {
		names = named
	}
	what := "the model's name " + m.cfg.Model
	if len(names) > 0 {
		what = "model_kwargs." + strings.Join(names, ", model_kwargs.")
	}
	return fault.New(fault.Host, "", err).WithHint("no request has been answered yet, and all instances would send one like it: check %s\n"+
		"and what %s supports; should only this instance be refused, run the others first (--filter, --slice)",
		m.mask.Text(what), m.address())
}
