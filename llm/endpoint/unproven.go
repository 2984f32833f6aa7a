package endpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// answerLimits are the members of a request that reserve room for the answer.
var answerLimits = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxOutputTokens"}

// answerLimit returns the number of tokens that requests reserve for the answer; 0 if they do not say.
func (e *Endpoint) answerLimit() (most int64) {
	ofGemini, _ := e.Body["generationConfig"].(map[string]any)
	for _, name := range answerLimits {
		value, _ := json.Marshal(cmp.Or(e.Body[name], ofGemini[name]))
		most = max(most, Tokens(value))
	}
	return most
}

// misconfigured turns the refusal of a first request into a Host fault if the settings may explain it,
// because all conversations share them. A refusal of this conversation's content stays unchanged, unless the
// room that the settings reserve for the answer leaves none for a conversation.
func (e *Endpoint) misconfigured(req *llm.Request, err error) error {
	if fault.KindOf(err) != fault.Instance || errors.Is(err, llm.ErrContentPolicy) || errors.Is(err, llm.ErrAccountLimit) || e.proven(req) {
		return err
	}
	names := e.named
	if errors.Is(err, llm.ErrContextLength) {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(answerLimits, bare(name)) })
		if len(names) == 0 {
			return err
		}
	}
	said := plain(err.Error())
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(said, plain(bare(name))) })
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

// bare returns the provider's name of a member of model_kwargs or of extra_body.
func bare(name string) string { return strings.TrimPrefix(name, inExtraBody) }

// plain returns text in which both spellings of a name are equal: top_p and topP.
func plain(text string) string { return strings.ToLower(strings.ReplaceAll(text, "_", "")) }
