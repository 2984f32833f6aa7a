package run

import (
	"testing"

	"batch.example/batch/agent/config"
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
