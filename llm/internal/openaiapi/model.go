package openaiapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"batch.example/batch/llm"
)

// Sight is what OpenAI takes, and what is asked of those who follow it. A request may have 50 MB, so that a
// quarter is left for text. The number of images is measured in https://github.com/earendil-works/pi/pull/120.
var Sight = llm.Sight{Most: 500, Total: 37 << 20, NoGIF: true}

// IsOpenAI reports whether a base URL belongs to OpenAI itself or to Azure's deployments of its models: these
// refuse unknown members, while other servers have members of their own.
func IsOpenAI(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".cognitiveservices.azure.com")
}

// IsOpenRouter reports whether a base URL belongs to OpenRouter, which reports the cost of each call.
func IsOpenRouter(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "openrouter.ai" || strings.HasSuffix(u.Hostname(), ".openrouter.ai"))
}

// OnlyResponds reports whether only the Responses API is known to offer a model of OpenAI.
func OnlyResponds(model string) bool {
	model = strings.ToLower(model)
	return Reasons(model) && (strings.Contains(model, "codex") || strings.Contains(model, "deep-research") ||
		strings.HasSuffix(model, "-pro") || strings.Contains(model, "-pro-20"))
}

// effort says whether and when a family of OpenAI's models reasons.
type effort int

const (
	none     effort = iota // never reasons
	always                 // reasons, whatever the request says
	optional               // reasoning_effort can be none, which may be its default
)

// reasoning returns how a model of OpenAI reasons, by its name. The rules are LiteLLM's: o1, o3, o4 and gpt-5
// always reason, gpt-5.1 and later as the request says, and chat models never. The result is none for names
// that are not OpenAI's.
func reasoning(model string) effort {
	model = strings.ToLower(model)
	switch {
	case strings.Contains(model, "-chat"):
		return none
	case strings.HasPrefix(model, "gpt-5."), strings.HasPrefix(model, "gpt-6"):
		return optional
	case slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "codex"}, func(family string) bool {
		return model == family || strings.HasPrefix(model, family+"-")
	}):
		return always
	}
	return none
}

// Reasons reports whether a model of OpenAI is known to reason.
func Reasons(model string) bool { return reasoning(model) != none }

// Answers reports whether a model of OpenAI is known not to reason: a request for its encrypted reasoning is
// refused.
func Answers(model string) bool {
	model = strings.TrimPrefix(strings.ToLower(model), "ft:")
	return strings.Contains(model, "-chat") && strings.HasPrefix(model, "gpt-") ||
		slices.ContainsFunc([]string{"gpt-3", "gpt-4", "chatgpt-"}, func(family string) bool { return strings.HasPrefix(model, family) })
}

// sampling lists members that a model does not accept while it reasons.
var sampling = []string{"temperature", "top_p", "logprobs", "top_logprobs"}

// Refused returns the names of members that a model of OpenAI does not accept because it reasons; asked is
// the request's effort, or empty.
func Refused(model, asked string, members map[string]any) (names []string) {
	how := reasoning(model)
	if how == none {
		return nil
	}
	refused := []string{"presence_penalty", "frequency_penalty", "logit_bias"}
	if how == always || asked != "" && asked != "none" {
		refused = append(refused, sampling...)
	}
	if strings.HasPrefix(strings.ToLower(model), "gpt-") {
		refused = append(refused, "stop")
	}
	for _, name := range refused {
		value, ok := members[name]
		if ok && value != nil && (name != "temperature" && name != "top_p" || !isOne(value)) {
			names = append(names, name)
		}
	}
	return names
}

func isOne(value any) bool { return value == 1 || value == 1.0 || value == int64(1) }

// Effort reads reasoning_effort: a word, or an object in the form of the Responses API.
func Effort(value any) (map[string]any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return map[string]any{"effort": v}, nil
	case map[string]any:
		return v, nil
	}
	return nil, fmt.Errorf("expected a word, such as high")
}
