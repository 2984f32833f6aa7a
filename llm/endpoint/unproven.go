package endpoint

import (
	"errors"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// answerLimits are the members of a request that set room aside for the answer.
var answerLimits = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens"}

// Misconfigured makes a Host fault of the refusal of a first request that the
// settings would explain, since all conversations share them. A refusal for what
// is in this conversation stays as it is, unless the length that the settings
// ask for in the answer leaves no room for any.
func (e *Endpoint) Misconfigured(req *llm.Request, err error) error {
	if fault.KindOf(err) != fault.Instance || errors.Is(err, llm.ErrContentPolicy) || e.proven(req) {
		return err
	}
	names := slices.Sorted(slices.Values(e.Members))
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
	what := "the model's name " + e.Model
	if len(names) > 0 {
		what = "model_kwargs." + strings.Join(names, ", model_kwargs.")
	}
	return fault.New(fault.Host, "", err).WithHint("no request was answered yet, and all instances send a similar one: check %s\n"+
		"and what %s supports; if only this instance is refused, run the others first (--filter, --slice)",
		e.Mask.Text(what), e.address())
}
