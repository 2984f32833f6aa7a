package run

import (
	"strings"
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
)

func TestAModelSaysWhoseItIs(t *testing.T) {
	keys := map[string]string{"OPENAI_API_KEY": "sk-0123456789", "OPENROUTER_API_KEY": "sk-0123456789"}
	for _, c := range []struct{ model, provider, name string }{
		{"openai/gpt-5", "openai", "gpt-5"},
		{"gpt-5", "openai", "gpt-5"},
		{"openai/responses/gpt-5", "openai", "gpt-5"},
		{"openrouter/anthropic/claude-sonnet-4.5", "openrouter", "anthropic/claude-sonnet-4.5"},
		{"scripted/demo", "scripted", "demo"},
		{"noop", "noop", ""},
	} {
		cfg, err := config.Load([]string{"model.model_name=" + c.model}, config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := FindModel(cfg, 0, Access{Getenv: func(name string) string { return keys[name] }})
		if err != nil || m.Provider != c.provider || m.Name != c.name {
			t.Errorf("%s is %q of %q, %v; want %q of %q", c.model, m.Name, m.Provider, err, c.name, c.provider)
		}
	}
}

// The cost of calls is unknown for a service without known rates, as for a model without a
// price.
func TestAServiceWithoutAPriceIsRefused(t *testing.T) {
	for _, c := range []struct{ model, kwargs, want string }{
		{"openai/gpt-5", "service_tier=flex", ""},
		{"openai/gpt-5.2", "service_tier=default", ""},
		{"openai/gpt-4o", "service_tier=flex", `no price is known for the service tier of model_kwargs with model "gpt-4o"`},
		{"anthropic/claude-opus-5", "service_tier=standard_only", ""},
		{"anthropic/claude-opus-4-8", "speed=fast", ""},
		{"anthropic/claude-opus-5", "speed=fast", "no price is known"},
		{"openrouter/openai/gpt-4o", "service_tier=flex", ""}, // it says what a call cost
	} {
		cfg, err := config.Load([]string{"model.model_name=" + c.model, "model.model_kwargs." + c.kwargs}, config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = FindModel(cfg, 0, Access{Getenv: func(name string) string {
			return map[string]string{"OPENAI_API_KEY": "sk-0123456789", "ANTHROPIC_API_KEY": "sk-0123456789", "OPENROUTER_API_KEY": "sk-0123456789"}[name]
		}})
		if c.want == "" && err != nil || c.want != "" && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %s: %v, want %q", c.model, c.kwargs, err, c.want)
		}
	}
}
