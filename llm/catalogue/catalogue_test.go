package catalogue

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
)

// with returns the settings of a model with environment variables.
func with(model string, env ...string) Config {
	return Config{Model: model, Getenv: func(name string) string {
		for _, e := range env {
			if key, value, _ := strings.Cut(e, "="); key == name {
				return value
			}
		}
		return ""
	}}
}

func TestEveryProviderIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Providers() {
		if p.Name == "" || seen[p.Name] || len(p.Models) == 0 {
			t.Errorf("%q: the provider lacks a name or a prefix of its models", p.Name)
		}
		seen[p.Name] = true
		for _, m := range p.Models {
			if provider, _, _ := strings.Cut(m, "/"); provider != p.Name {
				t.Errorf("%s: the name %s of a model, want the prefix %v", p.Name, m, p.Name)
			}
		}
		asked := p.Key != "" && p.Base != "" && p.Host != "" && p.connect != nil
		if p.Paid != asked || p.Paid == (p.play != nil) {
			t.Errorf("%s: the provider must either be called or be scripted", p.Name)
		}
	}
	first := []string{"openai/", "anthropic/", "gemini/", "oracle", "noop", "scripted/demo", "scripted/demo-hasty", "scripted/"}
	if words := Words(); !slices.Equal(words[:len(first)], first) || !slices.Contains(words, "azure/") || !slices.Contains(words, "ollama_chat/") {
		t.Errorf("completions %q, want %q first, and all others", words, first)
	}
	if want := "oracle, noop and scripted"; Free() != want {
		t.Errorf("got the free providers %s, want %v", Free(), want)
	}
}

func TestAModelThatCannotBeUsedIsRefused(t *testing.T) {
	unpriced := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(unpriced, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := "OPENAI_API_KEY=k"
	registry := with("openai/gpt-5", key)
	registry.Registry = unpriced
	nowhere := registry
	nowhere.Registry += "x"
	caching := with("openai/gpt-5", key)
	rule := "always"
	caching.CacheControl = &rule
	provided := with("a/b", key)
	provided.Provider = "nobody"
	versioned := with("openai/gpt-5", key)
	versioned.Kwargs = map[string]any{"api_version": "2024-10-21"}
	for name, tc := range map[string]struct {
		s    Config
		want string // in the error's text and hint
	}{
		"none":                {with(""), "no model is named"},
		"without a provider":  {with("/x"), "no model is named"},
		"an unknown provider": {with("acme/large"), `model "acme/large": unknown provider "acme"`},
		"and the known ones":  {with("acme/large"), "models are openai/NAME, anthropic/NAME, gemini/NAME, oracle, noop, scripted/demo, scripted/demo-hasty and scripted/PATH"},
		"and the way to it":   {with("acme/large"), "`export OPENAI_BASE_URL=URL` and `-m openai/acme/large`"},
		"one that is set":     {provided, `unknown provider "nobody"`},
		"a cloud":             {with("bedrock/m"), "model \"bedrock/m\": batch has no client for Amazon Bedrock\nrun LiteLLM's proxy"},
		"and its proxy":       {with("vertex_ai/claude-opus-4-8"), "and `-m litellm_proxy/claude-opus-4-8`"},
		"several providers":   {with("deepseek-v3"), "model \"deepseek-v3\": no provider is named\nseveral offer it, maybe under a longer name: `-m deepseek/deepseek-v3, openrouter/deepseek/deepseek-v3 or hosted_vllm/deepseek-ai/deepseek-v3`"},
		"another name of one": {with("together/x"), "did you mean `-m together_ai/x`?"},
		"no provider":         {with("my-model"), "model \"my-model\": no provider is named\nmodels are openai/NAME"},
		"a name of OpenAI's":  {with("gpt-5"), "no key for gpt-5: OPENAI_API_KEY is not set"},
		"Azure nowhere":       {with("azure/d", "AZURE_API_KEY=k"), "the address of Azure is not set\nAZURE_API_BASE or api_base should look like https://HOST"},
		"a provider alone":    {with("gemini", "GEMINI_API_KEY=k"), "the name after gemini/ is missing\nwrite it as the provider does: `-m gemini/NAME`"},
		"a version elsewhere": {versioned, "only Azure has it"},
		"a misspelled one":    {with("opnai/gpt-5"), "did you mean `-m openai/gpt-5`?"},
		"a misspelled oracle": {with("orcale"), "did you mean `-m oracle`?"},
		"a misspelled demo":   {with("scriptd/demo"), "did you mean `-m scripted/demo`?"},
		"Claude's key":        {with("anthropic/claude-opus-4"), "ANTHROPIC_API_KEY is not set"},
		"OpenRouter":          {with("openrouter/anthropic/claude-opus-4", key), "OPENROUTER_API_KEY is not set"},
		"without a name":      {with("openai/", key), "the name after openai/ is missing"},
		"without a key":       {with("openai/gpt-5"), "no key for openai/gpt-5: OPENAI_API_KEY is not set"},
		"elsewhere without":   {with("openai/x", "OPENAI_BASE_URL=https://example.com/v1"), "OPENAI_API_KEY is not set"},
		"at no address":       {with("openai/x", key, "OPENAI_BASE_URL=localhost"), "not an http or https URL"},
		"a broken registry":   {registry, "prices.json"},
		"no registry":         {nowhere, "reading model.litellm_model_registry"},
		"an unknown caching":  {caching, `set_cache_control is "always"`},
		"no script":           {with("scripted/" + unpriced + "x"), unpriced + "x, and no built-in script of this name\ndid you mean `-m scripted/" + unpriced + "`? "},
		"a demo that is not":  {with("scripted/demo"), "there is no file demo,"},
		"and the scripts":     {with("scripted/foo"), "\nscripted/demo and scripted/demo-hasty are built in; scripted/PATH plays"},
		"and the nearest one": {with("scripted/dmo"), "did you mean `-m scripted/demo`? "},
	} {
		_, err := Find(tc.s)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error()+"\n"+fault.HintOf(err), tc.want) {
			t.Errorf("%s: %v (%v), hint %q; want %q", name, err, fault.KindOf(err), fault.HintOf(err), tc.want)
		}
	}
}

func TestTheHintOfAMissingKeyNamesAServerOfOnesOwnOnlyWhereOneMayBe(t *testing.T) {
	for name, want := range map[string]bool{"openai/m": true, "anthropic/m": true, "azure/m": false, "openrouter/m": false} {
		_, err := Find(with(name))
		if hint := fault.HintOf(err); !strings.HasPrefix(hint, "set it: `export ") || strings.Contains(hint, "server of your own") != want {
			t.Errorf("%s: %v, hint %q; want it to mention a server of your own: %v", name, err, hint, want)
		}
	}
}

func TestCostInformationOfAModel(t *testing.T) {
	const key = "OPENAI_API_KEY=k"
	ignoring := with("openai/nobody-knows", key)
	ignoring.IgnoreCost = true
	prices := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(prices, []byte(`{"nobody-knows":{"input_cost_per_token":1,"output_cost_per_token":2}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	priced := with("openai/nobody-knows", key)
	priced.Registry = prices
	for name, tc := range map[string]struct {
		s      Config
		cost   Cost
		priced bool
	}{
		"a price":           {with("openai/gpt-5", key), Known, true},
		"none":              {with("openai/nobody-knows", key), Unknown, false},
		"one's own":         {priced, Known, true},
		"not wanted":        {ignoring, Uncounted, false},
		"a server here":     {with("openai/nobody-knows", "OPENAI_BASE_URL=http://127.0.0.1:8000/v1"), Uncounted, false},
		"one that tells":    {with("openai/nobody-knows", key, "OPENAI_BASE_URL=https://openrouter.ai/api/v1"), Known, false},
		"one that looks so": {with("openai/nobody-knows", key, "OPENAI_BASE_URL=https://notopenrouter.ai/api/v1"), Unknown, false},
		"played":            {with("oracle"), Known, false},
	} {
		m, err := Find(tc.s)
		if err != nil || m.Cost != tc.cost || (m.Price != nil) != tc.priced {
			t.Errorf("%s: cost %v, price %v, %v; want cost %v, m.Price != nil: %v, no error",
				name, m.Cost, m.Price, err, tc.cost, tc.priced)
		}
	}
}

func TestModelsThatNeedCacheMarks(t *testing.T) {
	for model, want := range map[string]string{"gpt-5": "", "anthropic/Claude-Opus-5": endpoint.CacheControlEnd, "x/SONNET": endpoint.CacheControlEnd} {
		if got := cachesWhereTold(model); got != want {
			t.Errorf("%s: got %q, want %v", model, got, want)
		}
	}
}

func TestModelsWhoseRolesAreStrict(t *testing.T) {
	for model, c := range map[string]struct {
		variable string
		want     bool
	}{
		"openai/gpt-5":                       {"OPENAI_API_KEY=k", false},
		"openai/my-model":                    {"OPENAI_BASE_URL=http://127.0.0.1:8000/v1", true},
		"anthropic/claude-opus-4-6":          {"ANTHROPIC_API_KEY=k", false},
		"openrouter/z-ai/glm-5":              {"OPENROUTER_API_KEY=k", false},
		"openrouter/mistralai/devstral-2512": {"OPENROUTER_API_KEY=k", true},
		"mistral/devstral-medium-latest":     {"MISTRAL_API_KEY=k", true},
		"gemini/gemma-4-27b-it":              {"GEMINI_API_KEY=k", true},
		"hosted_vllm/my-model":               {"HOSTED_VLLM_API_BASE=http://gpu.example:8000/v1", true},
	} {
		if m, err := Find(with(model, c.variable)); err != nil || m.StrictRoles != c.want {
			t.Errorf("%s: strict %v, %v; want %v", model, m.StrictRoles, err, c.want)
		}
	}
}

func TestWhichProtocolAModelSpeaks(t *testing.T) {
	for model, want := range map[string]string{
		"anthropic/claude-sonnet-4-5": "messages", "gemini/gemini-2.5-pro": "gemini", "openai/gpt-4.1": "chat", "openai/responses/gpt-5": "responses",
		"hosted_vllm/qwen": "chat", "openrouter/responses/x": "responses", "azure/x": "chat", "oracle": "",
	} {
		m, err := Find(with(model, "ANTHROPIC_API_KEY=k", "GEMINI_API_KEY=k", "OPENAI_API_KEY=k", "OPENROUTER_API_KEY=k", "AZURE_API_KEY=k", "AZURE_API_BASE=https://x.test"))
		if err != nil || m.Wire != want {
			t.Errorf("%s: %q, %v; want %q", model, m.Wire, err, want)
		}
	}
}

func TestScriptedModelsContinueAfterTheConversation(t *testing.T) {
	demo := fstest.MapFS{"replies.yaml": {Data: []byte("a__1:\n- bash: echo first\n- bash: echo second\n")}}
	path := filepath.Join(t.TempDir(), "replies.yaml")
	if err := os.WriteFile(path, demo["replies.yaml"].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scripted/demo", "scripted/" + path, "oracle", "noop"} {
		s := with(name)
		s.Demo, s.ActionRegex = fs.FS(demo), "<do>(.*?)</do>"
		model := modelOf(t, s, Attempt{ID: "a__1", Patch: "diff --git a/x b/x\n", Heard: 1})
		resp, err := model.Generate(t.Context(), &llm.Request{})
		if err != nil && name != "noop" { // which has no second reply
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(name, "scripted/") && (resp == nil || !strings.Contains(resp.Message.Text(), "<do>echo second</do>")) {
			t.Errorf("%s: %+v", name, resp)
		}
	}
}

// Any configuration of mini-swe-agent must understand the demo and the oracle.
func TestPlayedModelsWriteCommandsAsTheConfigurationAsks(t *testing.T) {
	for _, form := range []string{
		"", "<do>(.*?)</do>", "```bash\\s*\\n(.*?)\\n```", "```mswea_bash_command\\s*\\n(.*?)\\n```",
	} {
		s := with("oracle")
		s.ActionRegex = form
		model := modelOf(t, s, Attempt{ID: "a__1", Patch: "diff --git a/x b/x\n"})
		resp, err := model.Generate(t.Context(), &llm.Request{})
		if err != nil {
			t.Fatal(err)
		}
		asked := regexp.MustCompile("(?s)" + cmp.Or(form, "```mswea_bash_command\\s*\\n(.*?)\\n```"))
		if text := resp.Message.Text(); len(asked.FindAllString(text, -1)) != 1 {
			t.Errorf("%q is not found in the reply %q", form, text)
		}
	}
}

func TestReadyNamesTheProvider(t *testing.T) {
	for want, env := range map[string][]string{
		"OPENAI_API_KEY is set, for api.openai.com":      {"OPENAI_API_KEY=k"},
		"OPENAI_API_KEY is set, for https://example.com": {"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://example.com"},
		"none needed for http://[::1]:8000/v1":           {"OPENAI_BASE_URL=http://[::1]:8000/v1"},
		"OPENAI_API_KEY is not set":                      {"OPENAI_BASE_URL=https://example.com"},
	} {
		text, ok := Providers()[0].Ready(with("", env...).Getenv)
		if text != want || ok != !strings.HasSuffix(want, "not set") {
			t.Errorf("%q: got %q, %v; want %v, ok %v", env, text, ok, want, !strings.HasSuffix(want, "not set"))
		}
	}
}
